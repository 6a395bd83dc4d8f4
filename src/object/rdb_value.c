/* rdb_value.c -- which byte stands for which type of value in RDB.
 *
 * Not here    how a type's value is written (rdb_string.c); checksums and the framing of a payload or file.
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/object/rdb_string_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_value.h"

#include "panic.h"

enum { RDB_TYPE_STRING = 0 };

bool rdbVersionIsReadable(unsigned version, bool relaxed) {
    if (version < 1) return false;
    if (relaxed) return true;
    return version <= RDB_VERSION && (version < RDB_VERSION_FOREIGN_MIN || version > RDB_VERSION_FOREIGN_MAX);
}

sds rdbCatValue(sds out, const robj *o, bool compress) {
    unsigned char type = RDB_TYPE_STRING;
    serverAssert(o->type == OBJ_STRING);
    return rdbCatStringObject(sdsCatLen(out, &type, 1), o, compress);
}

robj *rdbReadValue(rdbReader *r, slice key, bool with_expire) {
    if (r->p == r->end) return NULL;
    switch ((unsigned char)*r->p++) {
    case RDB_TYPE_STRING: return rdbReadStringObject(r, key, with_expire);
    default: return NULL;
    }
}
