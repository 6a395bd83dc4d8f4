/* function_dump.c -- libraries as bytes that another server can take.
 *
 *   +---------+------------------+     +-----------------+------------------+
 *   | 245     | text, as RDB has | ... | RDB version     | CRC-64 of all    |
 *   | 1       | strings          |     | 2, little-endian| before, 8, l.-e. |
 *   +---------+------------------+     +-----------------+------------------+
 *
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. A payload is untrusted: version and checksum have been found good before a library is made.
 * Tests       tests/unit/script/function_dump_test.c, tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_dump.h"

#include "crc64.h"
#include "endian.h"
#include "object_settings.h"
#include "rdb_string.h"
#include "rdb_value.h"

#define FUNCTION 245
#define FUNCTION_OLD 246 /* before 7.0 was done */
#define FOOTER_SIZE 10
#define CRC_SIZE 8

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
    sds payload = rdbWriterTake(&out);
    char footer[FOOTER_SIZE];
    storeLe16(footer, RDB_VERSION);
    payload = sdsCatLen(payload, footer, FOOTER_SIZE - CRC_SIZE);
    storeLe64(footer, crc64(0, payload, sdsLen(payload)));
    return sdsCatLen(payload, footer, CRC_SIZE);
}

static bool isGood(slice payload, bool relaxed) {
    if (payload.len < FOOTER_SIZE) return false;
    if (!rdbVersionIsReadable(loadLe16(payload.ptr + payload.len - FOOTER_SIZE), relaxed)) return false;
    return crc64(0, payload.ptr, payload.len - CRC_SIZE) == loadLe64(payload.ptr + payload.len - CRC_SIZE);
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
    if (!isGood(payload, relaxed)) return sdsNew("DUMP payload version or checksum are wrong");
    rdbReader r = {payload.ptr, payload.ptr + payload.len - FOOTER_SIZE};
    while (r.p < r.end) {
        sds error = loadOne(t, &r, how);
        if (error) return error;
    }
    return NULL;
}
