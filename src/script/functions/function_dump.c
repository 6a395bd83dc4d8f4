/* function_dump.c -- libraries as a payload of bytes that another server can load (FUNCTION DUMP, FUNCTION RESTORE).
 *
 *   +---------+------------------+     +---------------------------+
 *   | 245     | text, an RDB     | ... | version, checksum         |
 *   | 1 byte  | string           |     | (object/rdb_value.h)      |
 *   +---------+------------------+     +---------------------------+
 *
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. A payload is untrusted: its version and checksum are checked before a library is loaded.
 * Tests       tests/unit/script/functions/function_dump_test.c, tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_table.h"

#include "rdb_value.h"
#include "object_settings.h"
#include "rdb_string.h"

#define FUNCTION 245
#define FUNCTION_OLD 246 /* written by prereleases of 7.0 */

sds functionDump(const functionTable *t) {
    rdbWriter out;
    dictIterator it;
    const functionLibrary *library;
    rdbWriterBegin(&out, object_settings.compression, 256);
    dictIterBegin(&it, t->libraries, false);
    while ((library = dictIterNext(&it))) {
        rdbWriteByte(&out, FUNCTION);
        rdbWriteString(&out, sdsSlice(library->text));
    }
    dictIterEnd(&it);
    return dumpPayloadSealTake(rdbWriterTake(&out));
}

static sds loadOne(functionTable *t, rdbReader *r, functionLoading how) {
    unsigned char type = (unsigned char)*r->p++;
    if (type == FUNCTION_OLD) return sdsNew("Pre-GA function format not supported");
    if (type != FUNCTION) return sdsNew("given type is not a function");
    rdbText text;
    sds error;
    if (!rdbReadText(r, &text)) return sdsNew("Failed loading library payload");
    functionTableLoad(t, text.text, how, &error);
    rdbTextFree(&text);
    return error;
}

sds functionDumpLoad(functionTable *t, slice payload, bool relaxed, functionLoading how) {
    if (!dumpPayloadIsGood(payload, relaxed, object_settings.skip_checksums))
        return sdsNew("DUMP payload version or checksum are wrong");
    rdbReader r = {payload.ptr, payload.ptr + payload.len - DUMP_FOOTER_BYTES};
    while (r.p < r.end) {
        sds error = loadOne(t, &r, how);
        if (error) return error;
    }
    return NULL;
}
