/* rdb_fault.c -- describes a fault of a snapshot as text, for the log and for valkey-check-rdb.
 *
 * Threads     any.
 * Tests       tests/persist/loading.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_scan.h"

#include "rdb_format.h"

#include <string.h>

#define MODULE_NAME_CHARS 9
#define MODULE_VERSION_BITS 10

/* The name takes six bits of the ID per letter, the first letter in the highest bits. */
sds rdbModuleName(uint64_t id) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char name[MODULE_NAME_CHARS];
    id >>= MODULE_VERSION_BITS;
    for (int i = MODULE_NAME_CHARS - 1; i >= 0; i--, id >>= 6) name[i] = letters[id & 63];
    return sdsNewLen(name, sizeof(name));
}

static sds moduleText(const rdbFault *f) {
    sds name = rdbModuleName(f->number);
    bool is_value = f->type >= 0;
    sds text = sdsCatPrintf(sdsEmpty(), "The RDB file contains %smodule data I can't load: no matching module %s'%s'",
                            is_value ? "" : "AUX ", is_value ? "type " : "", name);
    sdsFree(name);
    return text;
}

static sds typeText(const rdbFault *f, unsigned version) {
    if (f->number == RDB_TYPE_MODULE_OLD) return sdsNew("Pre-release module format not supported");
    if (f->number == RDB_OP_FUNCTION_OLD) return sdsNew("Pre-release function format not supported.");
    if (version > RDB_VERSION)
        return sdsNew("Unknown type or opcode when loading DB. Unrecoverable error, aborting now.");
    return sdsCatPrintf(sdsEmpty(), "Unknown RDB encoding type %d", (int)f->number);
}

sds rdbFaultText(const rdbFault *f, unsigned version) {
    sds out = sdsEmpty();
    switch (f->kind) {
    case RDB_FAULT_NONE: return out;
    case RDB_FAULT_SIGNATURE:
        return sdsCatPrintf(out, "Wrong signature trying to load DB from file: %s", f->key ? f->key : "");
    case RDB_FAULT_VERSION: return sdsCatPrintf(out, "Can't handle RDB format version %d", (int)f->number);
    case RDB_FAULT_FOREIGN:
        return sdsCatPrintf(out, "Can't handle foreign type or opcode %d in RDB with version %u", (int)f->number,
                            version);
    case RDB_FAULT_SHORT:
        return sdsCat(out, "Short read or OOM loading DB. Unrecoverable error, aborting now. Unexpected EOF reading "
                           "RDB file");
    case RDB_FAULT_LENGTH: return sdsCat(out, "A length in the RDB file is malformed");
    case RDB_FAULT_CHECKSUM:
        return sdsCatPrintf(out, "Wrong RDB checksum expected: (%llx) but got (%llx). Aborting now. RDB CRC error",
                            (unsigned long long)f->expected, (unsigned long long)f->computed);
    case RDB_FAULT_READ: return sdsCatPrintf(out, "Reading the RDB file failed: %s", strerror((int)f->number));
    case RDB_FAULT_MEMORY:
        return sdsCat(out, "Short read or OOM loading DB. Unrecoverable error, aborting now. No memory for the bytes "
                           "of this key");
    case RDB_FAULT_VALUE: return sdsCat(out, "A value in the RDB file is malformed, or there is no memory for it");
    case RDB_FAULT_AUX: return sdsCat(out, "An AUX field of the RDB file is malformed");
    case RDB_FAULT_IMPORT: return sdsCat(out, "The RDB file has a slot import, but this server is not in cluster mode");
    case RDB_FAULT_DATABASE:
        return sdsCatPrintf(out,
                            "FATAL: Data file was created with a Valkey server configured to handle more than %llu "
                            "databases. Exiting",
                            (unsigned long long)f->number);
    case RDB_FAULT_LIBRARY: return sdsCat(out, "A function library of the RDB file cannot be loaded");
    case RDB_FAULT_DUPLICATE: return sdsCatPrintf(out, "RDB has duplicated key in DB %u", f->db);
    case RDB_FAULT_TYPE: sdsFree(out); return typeText(f, version);
    case RDB_FAULT_MODULE: sdsFree(out); return moduleText(f);
    }
    return out;
}

sds rdbFaultLocation(const rdbFault *f, bool hide_user_data) {
    sds out = sdsCatPrintf(sdsEmpty(), "at byte %llu", (unsigned long long)f->offset);
    if (f->step == RDB_STEP_START) return out;
    out = sdsCatPrintf(out, ", database %u", f->db);
    if (f->key && hide_user_data) out = sdsCat(out, ", key *redacted*");
    else if (f->key) out = sdsCatRepr(sdsCat(out, ", key "), f->key, sdsLen(f->key));
    if (f->type >= 0) out = sdsCatPrintf(out, ", type %d", f->type);
    return out;
}
