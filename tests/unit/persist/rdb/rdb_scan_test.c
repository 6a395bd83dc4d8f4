/* rdb_scan_test.c -- splitting snapshots into complete items with any division into pieces; false lengths.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_scan.h"

#include "hash.h"
#include "rdb_format.h"
#include "rdb_test_file.h"
#include "unit.h"
#include "zmalloc.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const rdbScanOptions all_checks = {.checksum = true};

/* The result of a scan. */
typedef struct seen {
    size_t keys, others, pieces;
    bool ended;
    rdbFaultKind fault;
    uint64_t fault_offset, offset;
    uint64_t sum; /* digest of types, keys and values */
} seen;

static void look(const rdbPiece *p, seen *out) {
    size_t last = 0;
    for (size_t i = 0; i < p->count; i++) {
        const rdbItem *item = &p->items[i];
        CHECK(item->at > last && item->value >= item->at && item->end >= item->value && item->end <= p->len);
        last = item->end - (item->kind == RDB_ITEM_END);
        out->ended |= item->kind == RDB_ITEM_END;
        if (item->kind != RDB_ITEM_KEY) {
            out->others++;
            continue;
        }
        out->keys++;
        out->sum = crc64(out->sum, &item->type, 1);
        out->sum = crc64(out->sum, p->bytes + item->at, item->end - item->at);
    }
}

static seen scan(slice bytes, const rdbScanOptions *options) {
    int fd = rdbTestOpen(bytes);
    rdbScanner *s = rdbScanCreate(fd, options);
    rdbPiece p = {0};
    seen out = {0};
    bool good = true;
    while (good && !out.ended) {
        good = rdbScanNext(s, &p);
        out.pieces++;
        if (good) look(&p, &out);
    }
    out.fault = rdbScanFault(s)->kind;
    out.fault_offset = rdbScanFault(s)->offset;
    out.offset = rdbScanOffset(s);
    CHECK(good == (out.fault == RDB_FAULT_NONE));
    rdbPieceFree(&p);
    rdbScanFree(s);
    close(fd);
    return out;
}

static sds randomFile(uint64_t *random, size_t keys, size_t size, uint64_t *sum) {
    sds f = rdbTestCatDb(rdbTestBegin(), 0, keys, 0);
    *sum = 0;
    for (size_t i = 0; i < keys; i++) {
        char name[32];
        int len = snprintf(name, sizeof(name), "key:%zu", i);
        robj *o = rdbTestValue(random, sliceOf(name, (size_t)len), size);
        size_t before = sdsLen(f);
        f = rdbTestCatKey(f, sliceOf(name, (size_t)len), o, -1);
        *sum = crc64(*sum, f + before, sdsLen(f) - before);
        objectFree(o);
    }
    return rdbTestEnd(f);
}

TEST(scan_items_of_any_size_are_whole) {
    rdbTestReset();
    uint64_t random = unitRandomSeed();
#ifdef DEBUG_ASSERTIONS /* building large values checks them repeatedly */
    const size_t largest = 1000;
#else
    const size_t largest = 100000;
#endif
    for (size_t size = 1; size <= largest; size *= 10) {
        uint64_t sum;
        sds f = randomFile(&random, 100, size, &sum);
        seen got = scan(sdsSlice(f), &all_checks);
        CHECK_EQ_INT(got.keys, 100);
        CHECK_EQ_INT(got.others, 3);
        CHECK(got.sum == sum);
        CHECK(got.ended && got.fault == RDB_FAULT_NONE);
        CHECK_EQ_INT(got.offset, sdsLen(f));
        sdsFree(f);
    }
}

TEST(scan_stops_at_every_cut) {
    rdbTestReset();
    uint64_t random = unitRandomSeed(), sum;
    sds f = randomFile(&random, 12, 20, &sum);
    for (size_t len = 0; len < sdsLen(f); len++) {
        seen got = scan(sliceOf(f, len), &all_checks);
        CHECK(!got.ended && got.fault == RDB_FAULT_SHORT && got.fault_offset <= len);
    }
    sdsFree(f);
}

TEST(scan_what_follows_the_end_is_not_its_own) {
    rdbTestReset();
    sds f = rdbTestEnd(rdbTestBegin());
    size_t len = sdsLen(f);
    f = sdsCat(f, "*1\r\n$4\r\nPING\r\n");
    seen got = scan(sdsSlice(f), &all_checks);
    CHECK(got.ended);
    CHECK_EQ_INT(got.offset, len);
    sdsFree(f);
}

TEST(scan_lengths_are_not_trusted) {
    rdbTestReset();
    static const char *const values[] = {
        "\x00\x01k\x81\xff\xff\xff\xff\xff\xff\xff\xff",         /* a string of 2^64-1 bytes */
        "\x02\x01k\x81\xff\xff\xff\xff\xff\xff\xff\xff",         /* a set of 2^64-1 members */
        "\x00\x01k\x80\x7f\xff\xff\xff",                         /* 2 GiB */
        "\x00\x01k\xc3\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01", /* LZF of 2^64-1 bytes */
    };
    static const size_t lens[] = {12, 12, 8, 13};
    for (size_t i = 0; i < array_len(values); i++) {
        sds f = sdsCatLen(rdbTestBegin(), values[i], lens[i]);
        size_t before = zmallocUsed();
        seen got = scan(sdsSlice(f), &all_checks);
        CHECK(got.fault == RDB_FAULT_SHORT);
        CHECK(zmallocUsed() < before + (1 << 20));
        sdsFree(f);
    }
}

/* Returns the result with which reading stopped, and its offset. */
static rdbStep stopOf(const char *rest, size_t len, uint64_t *reached) {
    sds f = sdsCatLen(rdbTestBegin(), rest, len);
    int fd = rdbTestOpen(sdsSlice(f));
    rdbScanner *s = rdbScanCreate(fd, &all_checks);
    rdbPiece p = {0};
    while (rdbScanNext(s, &p)) CHECK(p.count > 0);
    rdbStep step = rdbScanFault(s)->step;
    *reached = rdbScanFault(s)->reached - RDB_MAGIC_BYTES;
    rdbPieceFree(&p);
    rdbScanFree(s);
    close(fd);
    sdsFree(f);
    return step;
}

TEST(scan_tells_how_far_it_came) {
    rdbTestReset();
    static const struct {
        const char *bytes;
        size_t len;
        rdbStep step;
        uint64_t reached;
    } cuts[] = {
        {"", 0, RDB_STEP_TYPE, 0},
        {"\xfc\1\2", 3, RDB_STEP_EXPIRE, 1},
        {"\xfe\x40", 2, RDB_STEP_LENGTH, 2},
        {"\xfe\x80\1\2", 4, RDB_STEP_LENGTH, 2},
        {"\xfe\x82", 2, RDB_STEP_LENGTH, 2},
        {"\xfa\1", 2, RDB_STEP_AUX, 2},
        {"\xfa\1a\2b", 5, RDB_STEP_AUX, 4},
        {"\xf5", 1, RDB_STEP_FUNCTION, 1},
        {"\xf7\1\2", 3, RDB_STEP_MODULE_AUX, 3},
        {"\xf7\1\2\1\6", 5, RDB_STEP_MODULE_AUX, 5},
        {"\xf8", 1, RDB_STEP_TYPE, 1},
        {"\xff\1\2", 3, RDB_STEP_CHECKSUM, 1},
        {"\0\3k", 3, RDB_STEP_KEY, 2},
        {"\0\xc4", 2, RDB_STEP_KEY, 2},
        {"\0\1k", 3, RDB_STEP_VALUE, 3},
        {"\0\1k\xc3", 4, RDB_STEP_VALUE, 4},
        {"\0\1k\xc3\x40", 5, RDB_STEP_VALUE, 5},
        {"\0\1k\xc3\x40\x80\x41\0abc", 11, RDB_STEP_VALUE, 8},
        {"\0\1k\xc1z", 5, RDB_STEP_VALUE, 4},
        {"\2\1k\3\1a\1b", 8, RDB_STEP_VALUE, 8},
        {"\3\1k\1\1a\5"
         "1.",
         9, RDB_STEP_VALUE, 7},
        {"\x17", 1, RDB_STEP_TYPE, 1},
    };
    for (size_t i = 0; i < array_len(cuts); i++) {
        uint64_t reached;
        CHECK_EQ_INT(stopOf(cuts[i].bytes, cuts[i].len, &reached), cuts[i].step);
        CHECK_EQ_INT(reached, cuts[i].reached);
    }
}

static rdbFaultKind faultOf(const char *head, const char *rest, size_t len, bool relaxed) {
    sds f = sdsCatLen(sdsNew(head), rest, len);
    rdbScanOptions options = {.relaxed = relaxed, .checksum = true};
    seen got = scan(sdsSlice(f), &options);
    sdsFree(f);
    return got.fault;
}

TEST(scan_versions_and_magic) {
    rdbTestReset();
    static const char end[9] = "\xff";
    CHECK(faultOf("REDIS0011", end, 9, false) == RDB_FAULT_NONE);
    CHECK(faultOf("REDIS0004", end, 1, false) == RDB_FAULT_NONE);
    CHECK(faultOf("REDIS0005", end, 1, false) == RDB_FAULT_SHORT);
    CHECK(faultOf("REDIS0012", end, 9, false) == RDB_FAULT_NONE);
    CHECK(faultOf("REDIS0013", end, 9, false) == RDB_FAULT_NONE);
    CHECK(faultOf("REDIS0014", end, 9, false) == RDB_FAULT_VERSION);
    CHECK(faultOf("REDIS0014", end, 9, true) == RDB_FAULT_NONE);
    CHECK(faultOf("REDIS0080", end, 9, true) == RDB_FAULT_VERSION);
    CHECK(faultOf("VALKEY079", end, 9, true) == RDB_FAULT_VERSION);
    CHECK(faultOf("VALKEY080", end, 9, false) == RDB_FAULT_NONE);
    CHECK(faultOf("VALKEY081", end, 9, false) == RDB_FAULT_VERSION);
    CHECK(faultOf("VALKEY081", end, 9, true) == RDB_FAULT_NONE);
    CHECK(faultOf("VALKEY08x", end, 9, true) == RDB_FAULT_VERSION);
    CHECK(faultOf("REDIS00ab", end, 9, true) == RDB_FAULT_VERSION);
    CHECK(faultOf("REDIS1000", end, 9, true) == RDB_FAULT_SIGNATURE);
    CHECK(faultOf("REDIS0011", "\x16", 1, false) == RDB_FAULT_FOREIGN);
    CHECK(faultOf("REDIS0011", "\xf3", 1, false) == RDB_FAULT_FOREIGN);
    CHECK(faultOf("REDIS0013", "\xf3", 1, false) == RDB_FAULT_FOREIGN);
    CHECK(faultOf("REDIS0011", "\x18", 1, false) == RDB_FAULT_FOREIGN);
    /* Types that only Redis has, and one that means something else in its files. */
    for (char type = 22; type < 29; type++) {
        CHECK(faultOf("REDIS0013", &type, 1, false) == (type < 27 ? RDB_FAULT_SHORT : RDB_FAULT_FOREIGN));
        CHECK(faultOf("VALKEY080", &type, 1, false) == (type == 22 || type == 26 ? RDB_FAULT_SHORT : RDB_FAULT_TYPE));
    }
    CHECK(faultOf("VALKEY080", "\x06", 1, false) == RDB_FAULT_TYPE);
    CHECK(faultOf("VALKEY080", "\x08", 1, false) == RDB_FAULT_TYPE);
    CHECK(faultOf("VALKEY080", "\xf6", 1, false) == RDB_FAULT_TYPE);
    CHECK(faultOf("VALKEY080", "\xfe\x82", 2, false) == RDB_FAULT_LENGTH);
    CHECK(faultOf("VALKEY080", "\x00\xc4", 2, false) == RDB_FAULT_LENGTH);
}

static rdbFaultKind firstFault(int fd, long failing) {
    rdbScanner *s = rdbScanCreate(fd, &all_checks);
    rdbPiece p = {0};
    zmallocFailAfter(failing);
    bool good = rdbScanNext(s, &p);
    zmallocFailAfter(0);
    rdbFaultKind kind = rdbScanFault(s)->kind;
    CHECK(good == (kind == RDB_FAULT_NONE));
    rdbPieceFree(&p);
    rdbScanFree(s);
    close(fd);
    return kind;
}

TEST(scan_says_when_it_cannot_read_or_has_no_memory) {
    rdbTestReset();
    sds f = rdbTestEnd(rdbTestBegin());
    CHECK(firstFault(rdbTestOpen(sdsSlice(f)), 0) == RDB_FAULT_NONE);
    CHECK(firstFault(rdbTestOpen(sdsSlice(f)), 1) == RDB_FAULT_MEMORY);
    CHECK(firstFault(open("/", O_RDONLY), 0) == RDB_FAULT_READ);
    sdsFree(f);
}

TEST(scan_a_modules_value_is_passed) {
    rdbTestReset();
    static const char value[] = "\x07\x01k\x01\x02\x05\x01\x41\x00\x03" /* id; 5; 256; */
                                "flt_\x04"
                                "dbl_dbl_\x05\x03"
                                "abc\x00";
    sds f = sdsCatLen(rdbTestBegin(), value, sizeof(value) - 1);
    f = sdsCatLen(f, "\x00\x01l\x01v", 5);
    sds whole = rdbTestEnd(f);
    seen got = scan(sdsSlice(whole), &all_checks);
    CHECK(got.fault == RDB_FAULT_NONE);
    CHECK_EQ_INT(got.keys, 2);
    sdsFree(whole);
}
