/* function_dump_test.c -- libraries to bytes and back, and malformed bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "endian.h"
#include "function_table.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "toy_engine.h"
#include "unit.h"

#include <string.h>

static functionTable *twoLibraries(void) {
    toyEngineUse();
    functionTable *t = functionTableCreate();
    toyLoad(t, "#!toy name=a\nfunction1 function2 function3 function4 function5 function6", false, NULL);
    toyLoad(t, "#!toy name=b\ng", false, NULL);
    return t;
}

static void check(functionTable *t, slice payload, bool relaxed, const char *want) {
    sds error = functionDumpLoad(t, payload, relaxed, (functionLoading){.replace = false});
    CHECK_EQ_STR(error ? error : "", want);
    sdsFree(error);
}

/* Returns `bytes` with version and checksum appended. */
static sds withFooter(slice bytes, unsigned version) {
    char footer[10];
    storeLe16(footer, (uint16_t)version);
    sds payload = sdsCatLen(sdsFromSlice(bytes), footer, 2);
    storeLe64(footer, crc64(0, payload, sdsLen(payload)));
    return sdsCatLen(payload, footer, 8);
}

TEST(there_and_back) {
    for (int compressed = 0; compressed < 2; compressed++) {
        object_settings.compression = compressed;
        functionTable *from = twoLibraries(), *to = functionTableCreate();
        sds payload = functionDump(from);
        check(to, sdsSlice(payload), false, "");
        CHECK_EQ_INT(to->count, 7);
        CHECK(functionTableFind(to, sliceStr("g")) && functionTableFind(to, sliceStr("function6")));
        check(to, sdsSlice(payload), false, "Library 'a' already exists");
        sdsFree(payload);
        functionTableFree(from, true);
        functionTableFree(to, true);
    }
}

TEST(no_library_is_a_footer) {
    static const char want[] = "\x50\x00\x92\xb1\x95\xd1\x91\x2d\xc5\x2e";
    toyEngineUse();
    functionTable *t = functionTableCreate();
    sds payload = functionDump(t);
    CHECK_EQ_INT(sdsLen(payload), 10);
    CHECK(memcmp(payload, want, 10) == 0);
    check(t, sdsSlice(payload), false, "");
    CHECK_EQ_INT(t->count, 0);
    sdsFree(payload);
    functionTableFree(t, true);
}

/* Each byte is changed once, and the payload is cut at each length. */
TEST(nothing_of_a_damaged_payload) {
    functionTable *from = twoLibraries(), *to = functionTableCreate();
    sds payload = functionDump(from);
    for (size_t i = 0; i < sdsLen(payload); i++) {
        payload[i] ^= 1;
        check(to, sdsSlice(payload), false, "DUMP payload version or checksum are wrong");
        payload[i] ^= 1;
        check(to, sliceOf(payload, i), false, "DUMP payload version or checksum are wrong");
    }
    CHECK_EQ_INT(to->count, 0);
    sdsFree(payload);
    functionTableFree(from, true);
    functionTableFree(to, true);
}

TEST(good_sums_over_bad_bytes) {
    static const struct {
        slice bytes;
        unsigned version;
        const char *error;
    } cases[] = {
        {{"\xf6", 1}, RDB_VERSION, "Pre-GA function format not supported"},
        {{"\x00", 1}, RDB_VERSION, "given type is not a function"},
        {{"\xf5", 1}, RDB_VERSION, "Failed loading library payload"},
        {{"\xf5\x05"
          "abc",
          5},
         RDB_VERSION,
         "Failed loading library payload"},
        {{"\xf5\xc3\x01\x7f\x00", 5}, RDB_VERSION, "Failed loading library payload"},
        {{"\xf5\x03"
          "abc",
          5},
         RDB_VERSION,
         "Missing library metadata"},
        {{"", 0}, RDB_VERSION + 1, "DUMP payload version or checksum are wrong"},
    };
    toyEngineUse();
    functionTable *t = functionTableCreate();
    for (size_t i = 0; i < array_len(cases); i++) {
        sds payload = withFooter(cases[i].bytes, cases[i].version);
        check(t, sdsSlice(payload), false, cases[i].error);
        sdsFree(payload);
    }
    sds foreign = withFooter(sliceStr(""), RDB_VERSION + 1);
    check(t, sdsSlice(foreign), true, "");
    sdsFree(foreign);
    functionTableFree(t, true);
}
