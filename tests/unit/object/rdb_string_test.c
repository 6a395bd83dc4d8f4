/* rdb_string_test.c -- compares RDB strings with bytes of the reference server; round trips, and damaged input.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_value.h"
#include "unit.h"

#include <math.h>
#include "zmalloc.h"

static const struct {
    const char *text;
    size_t len;
    const char *bytes;
    size_t bytes_len;
} known[] = {
    {"0", 1, "\300\000", 2},
    {"1", 1, "\300\001", 2},
    {"127", 3, "\300\177", 2},
    {"-128", 4, "\300\200", 2},
    {"128", 3, "\301\200\000", 3},
    {"-129", 4, "\301\177\377", 3},
    {"32767", 5, "\301\377\177", 3},
    {"32768", 5, "\302\000\200\000\000", 5},
    {"-32769", 6, "\302\377\177\377\377", 5},
    {"2147483647", 10, "\302\377\377\377\177", 5},
    {"2147483648", 10, "\0122147483648", 11},
    {"-2147483648", 11, "\302\000\000\000\200", 5},
    {"-2147483649", 11, "\013-2147483649", 12},
    {"9223372036854775807", 19, "\0239223372036854775807", 20},
    {"-9223372036854775808", 20, "\024-9223372036854775808", 21},
    {"hello", 5, "\005hello", 6},
    {"", 0, "\000", 1},
    {"aaaaaaaaaaaaaaaaaaaa", 20, "\024aaaaaaaaaaaaaaaaaaaa", 21},
    {"aaaaaaaaaaaaaaaaaaaaa", 21, "\303\006\025\001aa\340\012\000", 9},
    {"abababababababababababababababababab", 36, "\303\012$\002aba\340\026\001\001ab", 13},
    {"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ01", 64,
     "@@abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ01", 66},
    {"-0", 2, "\002-0", 3},
    {"007", 3, "\003007", 4},
    {"\000\377\042\134", 4, "\004\000\377\042\134", 5},
    {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddabcdaaaaaaaa", 52,
     "\303\0364\001aa\300\000\000b\340\000\000\000c\340\000\000\000d\340\000\000\003abcd\200)\001aa", 33},
};

static sds written(slice text, bool compress) {
    rdbWriter w;
    rdbWriterBegin(&w, compress, 0);
    rdbWriteString(&w, text);
    return rdbWriterTake(&w);
}

TEST(rdb_string_writes_what_the_reference_server_writes) {
    for (size_t i = 0; i < array_len(known); i++) {
        sds out = written(sliceOf(known[i].text, known[i].len), true);
        /* Compressed by another encoder: at most as large. */
        bool compressed = known[i].bytes[0] == '\303';
        if (compressed) CHECK(out[0] == '\303' && sdsLen(out) <= known[i].bytes_len);
        else if (CHECK_EQ_INT(sdsLen(out), known[i].bytes_len)) CHECK_MEM(out, known[i].bytes, known[i].bytes_len);
        robj *o = objectCreateString(sliceStr("k"), sliceOf(known[i].text, known[i].len), false, 0);
        sds of_object = rdbValueBytes(o, true);
        CHECK(of_object[0] == RDB_TYPE_STRING);
        CHECK(sliceEq(sdsSlice(out), sliceOf(of_object + 1, sdsLen(of_object) - 1)));
        decrRefCount(o);
        sdsFree(of_object);
        sdsFree(out);
    }
}

/* Reads `bytes` from a block of exactly that size, so that a sanitizer detects any read past the end. Returns NULL if
 * they are malformed. */
static sds readBack(slice bytes) {
    char *copy = zmalloc(bytes.len ? bytes.len : 1);
    if (bytes.len) memcpy(copy, bytes.ptr, bytes.len);
    rdbReader r = {copy, copy + bytes.len};
    rdbText read;
    sds text = NULL;
    if (rdbReadText(&r, &read)) {
        CHECK(r.p == r.end);
        text = sdsFromSlice(read.text);
        rdbTextFree(&read);
    }
    zfree(copy);
    return text;
}

TEST(rdb_string_reads_what_the_reference_server_writes) {
    for (size_t i = 0; i < array_len(known); i++) {
        sds text = readBack(sliceOf(known[i].bytes, known[i].bytes_len));
        if (!CHECK(text != NULL)) continue;
        CHECK(sliceEq(sdsSlice(text), sliceOf(known[i].text, known[i].len)));
        sdsFree(text);
        for (size_t cut = 0; cut < known[i].bytes_len; cut++) {
            sds part = readBack(sliceOf(known[i].bytes, cut));
            CHECK(part == NULL);
            sdsFree(part);
        }
    }
}

TEST(rdb_length_has_four_forms) {
    static const uint64_t lengths[] = {0, 63, 64, 16383, 16384, UINT32_MAX, 1ull << 32, UINT64_MAX};
    static const size_t sizes[] = {1, 1, 2, 2, 5, 5, 9, 9};
    for (size_t i = 0; i < array_len(lengths); i++) {
        rdbWriter w;
        rdbWriterBegin(&w, false, 0);
        rdbWriteLength(&w, lengths[i]);
        sds out = rdbWriterTake(&w);
        CHECK_EQ_INT(sdsLen(out), sizes[i]);
        rdbReader r = {out, out + sdsLen(out)};
        uint64_t len = 0;
        bool encoded = true;
        CHECK(rdbReadLength(&r, &len, &encoded));
        CHECK(!encoded && len == lengths[i] && r.p == r.end);
        sdsFree(out);
    }
}

TEST(rdb_string_round_trips_random_values) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 300; round++) {
        size_t len = unitRandom(&seed) % (round % 10 ? 300 : 70000);
        unsigned letters = 1 + (unsigned)(unitRandom(&seed) % 256);
        char *text = zmalloc(len + 1);
        for (size_t i = 0; i < len; i++) text[i] = (char)(unitRandom(&seed) % letters);
        sds out = written(sliceOf(text, len), round & 1);
        rdbReader r = {out, out + sdsLen(out)};
        robj *o = rdbReadStringObject(&r, sliceStr("key"), round & 2);
        char digits[LONG_STR_SIZE];
        if (CHECK(o != NULL)) {
            CHECK(sliceEq(objectString(o, digits), sliceOf(text, len)));
            decrRefCount(o);
        }
        sdsFree(out);
        zfree(text);
    }
}

TEST(rdb_string_refuses_damaged_input) {
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {{"\304", 1},
               {"\377", 1},
               {"\202\0\0\0\3abc", 8},
               {"\277\0\0\0\3abc", 8},
               {"\201\377\377\377\377\377\377\377\377abc", 12},
               {"\200\177\377\377\377", 5},
               {"\303\6\26\1aa\340\12\0", 9},
               {"\303\6\24\1aa\340\12\0", 9},
               {"\303\5\25\1aa\340\12", 8},
               {"\303\0\5", 3},
               {"\303\300\5", 3},
               {"\303\6\200\177\377\377\377\1aa\340\12\0", 13},
               {"\303\201\377\377\377\377\377\377\377\377\5abc", 14}};
    for (size_t i = 0; i < array_len(bad); i++) {
        sds text = readBack(sliceOf(bad[i].bytes, bad[i].len));
        CHECK(text == NULL);
        sdsFree(text);
    }
    sds empty = readBack(sliceOf("\303\0\0", 3));
    CHECK(empty && sdsLen(empty) == 0);
    sdsFree(empty);
}

/* Any bytes must give NULL or a value; the sanitizers detect other faults. */
TEST(rdb_string_survives_random_bytes) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 20000; round++) {
        char bytes[24];
        size_t len = unitRandom(&seed) % sizeof(bytes);
        for (size_t i = 0; i < len; i++) bytes[i] = (char)unitRandom(&seed);
        if (len && round & 1) bytes[0] = (char)0xc3;
        char *copy = zmalloc(len ? len : 1);
        memcpy(copy, bytes, len);
        rdbReader r = {copy, copy + len};
        rdbText read;
        if (rdbReadText(&r, &read)) rdbTextFree(&read);
        zfree(copy);
    }
}

TEST(rdb_numbers_come_back) {
    static const double doubles[] = {0.0, -0.0, 1.5, -1e300, INFINITY, -INFINITY, 5e-324};
    for (size_t i = 0; i < array_len(doubles); i++) {
        rdbWriter w;
        rdbWriterBegin(&w, false, 0);
        rdbWriteLength(&w, i * 1000);
        rdbWriteDouble(&w, doubles[i]);
        rdbWriteMs(&w, -1 - (int64_t)i);
        sds out = rdbWriterTake(&w);
        for (size_t cut = 0; cut <= sdsLen(out); cut++) {
            rdbReader r = {out, out + cut};
            uint64_t count;
            double d;
            int64_t ms;
            bool whole = rdbReadCount(&r, &count) && rdbReadDouble(&r, &d) && rdbReadMs(&r, &ms);
            if (!CHECK(whole == (cut == sdsLen(out))) || !whole) continue;
            CHECK_EQ_INT(count, i * 1000);
            CHECK(memcmp(&d, &doubles[i], sizeof(d)) == 0);
            CHECK_EQ_INT(ms, -1 - (int64_t)i);
        }
        sdsFree(out);
    }
    rdbWriter w;
    rdbWriterBegin(&w, false, 0);
    rdbWriteDouble(&w, NAN);
    sds nan_text = rdbWriterTake(&w);
    rdbReader r = {nan_text, nan_text + sdsLen(nan_text)};
    double d;
    CHECK(!rdbReadDouble(&r, &d));
    sdsFree(nan_text);
    static const char integer[] = "\xc0\x01";
    rdbReader encoded = {integer, integer + 2};
    uint64_t count;
    CHECK(!rdbReadCount(&encoded, &count));
}

TEST(rdb_versions) {
    CHECK(!rdbVersionIsReadable(0, false) && !rdbVersionIsReadable(0, true));
    CHECK(rdbVersionIsReadable(1, false) && rdbVersionIsReadable(11, false) && rdbVersionIsReadable(80, false));
    CHECK(rdbVersionIsReadable(12, false) && rdbVersionIsReadable(13, false) && !rdbVersionIsReadable(14, false));
    CHECK(!rdbVersionIsReadable(79, false) && !rdbVersionIsReadable(81, false));
    CHECK(rdbVersionIsReadable(12, true) && rdbVersionIsReadable(81, true) && rdbVersionIsReadable(65535, true));
}
