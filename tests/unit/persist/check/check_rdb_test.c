/* check_rdb_test.c -- the results of valkey-check-rdb: counts, percentiles, the largest keys, damage.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_pass.h"
#include "check_rdb_report.h"
#include "check_rdb_text.h"
#include "rdb_test_file.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Text ---- */

static void checkText(const char *bytes, size_t len, const char *want) {
    sds text = checkRdbText(sliceOf(bytes, len));
    CHECK_EQ_STR(text, want);
    sdsFree(text);
}

TEST(check_text_is_one_printable_line) {
    checkText("plain", 5, "plain");
    checkText("a\0b\n\r\t\\\x7f\xc3\xa4'", 11, "a\\x00b\\n\\r\\t\\\\\\x7f\\xc3\\xa4'");
    sds name = sdsGrowZero(sdsEmpty(), 1 << 20), text = checkRdbText(sdsSlice(name));
    CHECK_EQ_INT(sdsLen(text), 4 * 4096 + 3);
    CHECK_EQ_STR(text + sdsLen(text) - 7, "\\x00...");
    sdsFree(name);
    sdsFree(text);
}

TEST(check_types_have_names) {
    CHECK_EQ_STR(checkRdbTypeName(0), "string");
    CHECK_EQ_STR(checkRdbTypeName(22), "hash-volatile-items");
    CHECK_EQ_STR(checkRdbTypeName(8), "unknown");
    CHECK_EQ_STR(checkRdbTypeName(28), "unknown");
    CHECK_EQ_STR(checkRdbTypeName(-1), "unknown");
}

TEST(check_json_strings) {
    char *bytes;
    size_t len;
    FILE *f = open_memstream(&bytes, &len);
    checkRdbPutJson(f, "a\"b\\c\x01");
    fclose(f);
    CHECK_EQ_STR(bytes, "\"a\\\"b\\\\c\\u0001\"");
    free(bytes);
}

/* ---- The largest keys ---- */

static int descending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

TEST(check_biggest_are_those_of_a_sorted_row) {
    uint64_t random = unitRandomSeed(), all[500];
    for (size_t wanted = 0; wanted < 40; wanted += 3) {
        checkRdbBiggest b = {.capacity = wanted};
        size_t n = unitRandom(&random) % array_len(all);
        for (size_t i = 0; i < n; i++) {
            all[i] = unitRandom(&random) % 100;
            const checkRdbBig big = {.bytes = all[i], .offset = i};
            checkRdbBiggestAdd(&b, &big, sliceStr("k"));
        }
        qsort(all, n, sizeof(all[0]), descending);
        checkRdbBiggestSort(&b);
        CHECK_EQ_INT(b.count, n < wanted ? n : wanted);
        for (size_t i = 0; i < b.count; i++) {
            CHECK_EQ_INT(b.keys[i].bytes, all[i]);
            CHECK(i == 0 || b.keys[i].bytes < b.keys[i - 1].bytes || b.keys[i].offset > b.keys[i - 1].offset);
        }
        checkRdbBiggestFree(&b);
    }
}

/* ---- Figures ---- */

static void addString(checkRdbStats *s, uint32_t db, size_t bytes) {
    sds text = sdsGrowZero(sdsEmpty(), bytes);
    robj *o = objectCreateString(sliceStr("key"), sdsSlice(text), false, 0);
    const checkRdbKey key = {.db = db, .type = OBJ_STRING, .name_bytes = 3, .value = o};
    CHECK_EQ_INT(checkRdbStatsAdd(s, &key), 1);
    objectFree(o);
    sdsFree(text);
}

TEST(check_percentiles_of_few_and_of_many) {
    rdbTestReset();
    for (size_t n = 1; n <= 300; n += 13) {
        checkRdbStats *s = checkRdbStatsCreate();
        for (size_t i = 0; i < n; i++) addString(s, 0, (i * 7919) % n); /* each length below n once */
        const checkRdbTypeStats *t = checkRdbStatsOf(s, 0, OBJ_STRING);
        CHECK_EQ_INT(t->keys, n);
        CHECK_EQ_INT(t->value_bytes, n * (n - 1) / 2);
        CHECK_EQ_INT(t->element_max, n - 1);
        CHECK_EQ_INT(checkRdbPercentile(t->sizes, 50), (n + 1) / 2 - 1);
        CHECK_EQ_INT(checkRdbPercentile(t->sizes, 100), n - 1);
        CHECK_EQ_INT(checkRdbPercentile(t->counts, 50), 1);
        checkRdbStatsFree(s);
    }
    CHECK_EQ_INT(checkRdbPercentile(NULL, 50), 0);
}

TEST(check_databases_stand_in_order_and_have_a_bound) {
    rdbTestReset();
    checkRdbStats *s = checkRdbStatsCreate();
    for (uint32_t i = 0; i < 256; i++) addString(s, i * 40503 % 65536, 1);
    const checkRdbKey more = {.db = 1 << 20, .type = OBJ_MODULE};
    CHECK_EQ_INT(checkRdbStatsAdd(s, &more), 0);
    CHECK_EQ_INT(checkRdbStatsLeftOut(s), 1);
    uint32_t db, last = 0;
    size_t seen = 0;
    for (size_t next = 0; checkRdbStatsNextDb(s, &next, &db); seen++) {
        CHECK(seen == 0 || db > last);
        last = db;
    }
    CHECK_EQ_INT(seen, 256);
    CHECK(checkRdbStatsOf(s, 40503, OBJ_STRING) && !checkRdbStatsOf(s, 40503, OBJ_LIST) &&
          !checkRdbStatsOf(s, 1 << 20, OBJ_MODULE));
    checkRdbStatsFree(s);
}

/* ---- Files ---- */

typedef struct verdict {
    bool good;
    uint64_t keys, expires, expired;
    size_t big;
    sds fault; /* owns */
} verdict;

static verdict verdictOf(slice bytes) {
    checkRdbStats *stats = checkRdbStatsCreate();
    checkRdbBiggest biggest = {.capacity = 3};
    FILE *nowhere = fopen("/dev/null", "w");
    const checkRdbPassOptions options = {.lines = nowhere, .stats = stats, .biggest = &biggest};
    checkRdbFound found;
    int fd = rdbTestOpen(bytes);
    checkRdbPass(fd, "test.rdb", &options, &found);
    checkRdbPutStats(nowhere, CHECK_RDB_TABLE, stats);
    checkRdbPutObject(nowhere, "test.rdb", &found, stats, &biggest);
    verdict v = {found.is_good, found.keys, found.expires, found.expired, biggest.count, found.fault};
    found.fault = NULL;
    checkRdbFoundFree(&found);
    checkRdbBiggestFree(&biggest);
    checkRdbStatsFree(stats);
    fclose(nowhere);
    close(fd);
    return v;
}

/* Makes a file of twenty keys, four of them with an expire, two of which have expired. */
static sds makeFile(uint64_t *random) {
    sds f = rdbTestCatDb(rdbTestBegin(), 3, 20, 4);
    for (int i = 0; i < 20; i++) {
        char name[LONG_STR_SIZE];
        slice key = sliceOf(name, ll2string(name, i));
        robj *o = rdbTestValue(random, key, 30);
        f = rdbTestCatKey(f, key, o, i < 2 ? 1000 : i < 4 ? 4102444800000 : -1);
        objectFree(o);
    }
    return rdbTestEnd(f);
}

TEST(check_a_good_file) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    sds f = makeFile(&random);
    verdict v = verdictOf(sdsSlice(f));
    CHECK(v.good && v.fault == NULL);
    CHECK_EQ_INT(v.keys, 20);
    CHECK_EQ_INT(v.expires, 4);
    CHECK_EQ_INT(v.expired, 2);
    CHECK_EQ_INT(v.big, 3);
    sdsFree(f);
}

TEST(check_every_cut_is_found) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    sds f = makeFile(&random);
    size_t before = zmallocUsed();
    for (size_t len = 0; len < sdsLen(f); len++) {
        verdict v = verdictOf(sliceOf(f, len));
        CHECK(!v.good && v.fault != NULL);
        sdsFree(v.fault);
    }
    CHECK_EQ_INT(zmallocUsed(), before);
    sdsFree(f);
}

TEST(check_every_flipped_bit_is_found) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
    sds f = makeFile(&random);
    size_t before = zmallocUsed();
    for (size_t i = 0; i < sdsLen(f); i++) {
        char was = f[i];
        f[i] ^= (char)(1 << unitRandom(&random) % 8);
        verdict v = verdictOf(sdsSlice(f));
        CHECK(!v.good && v.fault != NULL); /* by the checksum at the latest */
        sdsFree(v.fault);
        f[i] = was;
    }
    CHECK_EQ_INT(zmallocUsed(), before);
    sdsFree(f);
}

static void checkFault(const char *rest, size_t len, const char *want) {
    sds f = sdsCatLen(rdbTestBegin(), rest, len);
    verdict v = verdictOf(sdsSlice(f));
    if (want) CHECK_EQ_STR(v.fault, want);
    CHECK(v.good == (want == NULL));
    sdsFree(v.fault);
    sdsFree(f);
}

#define END "\xff\0\0\0\0\0\0\0\0"

TEST(check_what_a_load_would_refuse_or_leave_out) {
    rdbTestReset();
    checkFault("\2\1k\0" END, 13, NULL);           /* an empty set */
    checkFault("\7\1a\x50\0\2\5\0" END, 17, NULL); /* a value of a module */
    checkFault("\7\1a\x50\0\6\5\0" END, 17, "A length in the RDB file is malformed");
    checkFault("\xf7\1\2\1\0" END, 14, NULL);
    checkFault("\xf7\1\3\1\0" END, 14, "A value in the RDB file is malformed, or there is no memory for it");
    checkFault("\xfa\x09slot-info\3"
               "1,2" END,
               24, "An AUX field of the RDB file is malformed");
    checkFault("\xf3\1a\1\1\1" END, 15, "A slot import in the RDB file is malformed");
    checkFault("\2\1k\2\1a\1a" END, 17, "A value in the RDB file is malformed, or there is no memory for it");
    checkFault("\x06\1k", 3, "Pre-release module format not supported");
    checkFault("\xf6", 1, "Pre-release function format not supported 80");
    checkFault("\x08", 1, "Invalid object type: 8");
    checkFault("\xf5\x05"
               "abc",
               5, "Failed loading library, Failed loading library payload");
    checkFault(END, 9, NULL);
    checkFault("\xff\1\0\0\0\0\0\0\0", 9, "RDB CRC error");
}
