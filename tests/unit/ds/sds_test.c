/* sds_test.c -- compares strings with plain buffers, splitting with known results.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sds.h"
#include "unit.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void checkSds(sds s, const char *want, size_t len) {
    CHECK_EQ_INT(sdsLen(s), len);
    CHECK_MEM(s, want, len);
    CHECK_EQ_INT(s[sdsLen(s)], 0);
    CHECK(sdsAllocSize(s) >= len + sdsAvail(s) + 4);
}

TEST(sds_random_operations) {
    enum { MAX = 200000 };
    uint64_t rng = unitRandomSeed();
    char *want = malloc(MAX), noise[300];
    for (size_t i = 0; i < sizeof(noise); i++) noise[i] = (char)unitRandom(&rng);
    size_t len = 0;
    sds s = sdsEmpty();
    for (int i = 0; i < 20000; i++) {
        size_t n = unitRandom(&rng) % sizeof(noise);
        switch (unitRandom(&rng) % 12) {
        default:
            if (len + n > MAX) break;
            s = sdsCatLen(s, noise, n);
            memcpy(want + len, noise, n);
            len += n;
            break;
        case 0:
        case 1:
            s = sdsMakeRoomFor(s, n * 5);
            CHECK(sdsAvail(s) >= n * 5);
            break;
        case 2:
            s = sdsMakeRoomForNonGreedy(s, n);
            CHECK(sdsAvail(s) >= n);
            break;
        case 3:
            if (len + n > MAX) break;
            s = sdsMakeRoomFor(s, n);
            memset(s + len, 'q', n);
            sdsIncrLen(s, (ptrdiff_t)n);
            memset(want + len, 'q', n);
            len += n;
            break;
        case 4:
            n = n < len ? n : len;
            sdsIncrLen(s, -(ptrdiff_t)n);
            len -= n;
            break;
        case 5:
            if (len + n > MAX) break;
            s = sdsGrowZero(s, len + n);
            memset(want + len, 0, n);
            len += n;
            break;
        case 6: {
            size_t from = len ? unitRandom(&rng) % len : 0;
            if (from > 5000) break;
            sdsRange(s, (ptrdiff_t)from, -1);
            memmove(want, want + from, len - from);
            len -= from;
            break;
        }
        case 7:
            if (unitRandom(&rng) % 100) break;
            s = sdsCpyLen(s, noise, n);
            memcpy(want, noise, n);
            len = n;
            break;
        case 8: {
            sds copy = sdsDup(s);
            CHECK_EQ_INT(sdsCmp(s, copy), 0);
            sdsFree(s);
            s = copy;
        }
        }
        if (i % 100 == 0) checkSds(s, want, len);
    }
    checkSds(s, want, len);
    sdsFree(s);
    free(want);
}

TEST(sds_widths) {
    static const size_t lens[] = {0, 1, 31, 32, 254, 255, 256, 65534, 65535, 65536, 3000000};
    for (size_t i = 0; i < array_len(lens); i++) {
        sds s = sdsNewLen(NULL, lens[i]);
        CHECK_EQ_INT(sdsLen(s), lens[i]);
        s = sdsCatLen(s, "abc", 3);
        CHECK_EQ_INT(sdsLen(s), lens[i] + 3);
        CHECK_EQ_STR(s + lens[i], "abc");
        sdsFree(s);
    }
    sds s = sdsNewLen(NULL, 2 << 20);
    s = sdsMakeRoomFor(s, sdsAvail(s) + 1); /* one step of 1 MiB, and the rounding of the allocator */
    CHECK(sdsAvail(s) >= 1 << 20 && sdsAvail(s) < 3 << 20);
    sdsFree(s);
    sdsFree(NULL);
}

static void checkOwned(sds s, const char *want) {
    checkSds(s, want, strlen(want));
    sdsFree(s);
}

static sds ranged(const char *text, ptrdiff_t start, ptrdiff_t end) {
    sds s = sdsNew(text);
    sdsRange(s, start, end);
    return s;
}
static sds trimmed(const char *text, const char *set) {
    sds s = sdsNew(text);
    sdsTrim(s, set);
    return s;
}

TEST(sds_small_functions) {
    checkOwned(sdsFromLongLong(LLONG_MIN), "-9223372036854775808");
    checkOwned(sdsFromSlice(sliceStr("slice")), "slice");
    checkOwned(sdsCat(sdsCatSlice(sdsEmpty(), sliceStr("a")), "b"), "ab");
    checkOwned(sdsCatPrintf(sdsNew("<"), "%d-%s>", 42, "x"), "<42-x>");
    /* Simple conversions, which are done without printf, and one that needs it. */
    const char *formats[] = {"%s|%d|%u|%ld|%lu|%lld|%llu|%zu|%zd|%%", "%s|%d|%u|%ld|%lu|%lld|%llu|%zu|%zd|%%|%c"};
    char want[1200], *none = NULL;
    for (size_t i = 0; i < array_len(formats); i++)
        for (size_t start = 0; start < 300; start += 7) {
            sds text = sdsNewLen(NULL, start);
            snprintf(want, sizeof(want), formats[i], "text", INT_MIN, UINT_MAX, LONG_MIN, ULONG_MAX, LLONG_MIN,
                     ULLONG_MAX, SIZE_MAX, (ssize_t)-1, 'c');
            text = sdsCatPrintf(text, formats[i], "text", INT_MIN, UINT_MAX, LONG_MIN, ULONG_MAX, LLONG_MIN, ULLONG_MAX,
                                SIZE_MAX, (ssize_t)-1, 'c');
            CHECK_EQ_INT(sdsLen(text), start + strlen(want));
            CHECK_EQ_STR(text + start, want);
            sdsFree(text);
        }
    checkOwned(sdsCatPrintf(sdsNew("<"), "%s>", none), "<(null)>");
    double fixed[] = {0,     -0.0,   0.005,    0.015,     1.005, 2.675,
                      0.125, 0.375,  -0.125,   99.995,    1e14,  123456789012.345,
                      1e15,  -1e300, INFINITY, -INFINITY, 5e-324};
    uint64_t rnd = unitRandomSeed();
    for (size_t i = 0; i < 2000; i++) {
        double x = i < array_len(fixed)
                       ? fixed[i]
                       : (double)(int64_t)unitRandom(&rnd) / (double)(1 + unitRandom(&rnd) % (1ull << (i % 63)));
        snprintf(want, sizeof(want), "%.2f;%.0f;%.4f", x, x, x);
        checkOwned(sdsCatPrintf(sdsEmpty(), "%.2f;%.0f;%.4f", x, x, x), want);
        long n = (long)(unitRandom(&rnd) >> (i % 64));
        snprintf(want, sizeof(want), "%ld.%06ld;%03d;%09llu", n, n, (int)n, (unsigned long long)n);
        checkOwned(sdsCatPrintf(sdsEmpty(), "%ld.%06ld;%03d;%09llu", n, n, (int)n, (unsigned long long)n), want);
    }
    sds s = sdsCatPrintf(sdsNew("n"), "%5000d", 7);
    CHECK(sdsLen(s) == 5001 && s[5000] == '7');
    sdsFree(s);
    checkOwned(ranged("hello", 1, 3), "ell");
    checkOwned(ranged("hello", -3, -2), "ll");
    checkOwned(ranged("hello", -100, 100), "hello");
    checkOwned(ranged("hello", 3, 1), "");
    checkOwned(ranged("hello", 9, 12), "");
    checkOwned(ranged("hello", 0, -100), "");
    checkOwned(ranged("", 0, -1), "");
    checkOwned(trimmed("xxhixyx", "xy"), "hi");
    checkOwned(trimmed("xx", "xy"), "");
    checkOwned(trimmed("hi", ""), "hi");
    checkOwned(sdsCatRepr(sdsEmpty(), "a\"\\\n\r\t\a\b\0\xff~", 11), "\"a\\\"\\\\\\n\\r\\t\\a\\b\\x00\\xff~\"");
    s = sdsNew("MiXed1[");
    sdsToLower(s);
    CHECK_EQ_STR(s, "mixed1[");
    sdsToUpper(s);
    CHECK_EQ_STR(s, "MIXED1[");
    sds t = sdsNew("MIXED");
    CHECK(sdsCmp(s, t) > 0 && sdsCmp(t, s) < 0);
    sdsClear(t);
    CHECK_EQ_INT(sdsLen(t), 0);
    sdsFree(s);
    sdsFree(t);
}

TEST(sds_split_and_join) {
    static const struct {
        const char *text, *sep, *joined;
        int count;
    } cases[] = {{"a,b,,c", ",", "a|b||c", 4},
                 {"", ",", "", 0},
                 {",", ",", "|", 2},
                 {"abc", "xy", "abc", 1},
                 {"1xy2xyx", "xy", "1|2|x", 3},
                 {"a,b,c,d,e,f,g,h,i,j", ",", "a|b|c|d|e|f|g|h|i|j", 10}};
    for (size_t i = 0; i < array_len(cases); i++) {
        int count;
        sds *parts = sdsSplitLen(cases[i].text, strlen(cases[i].text), cases[i].sep, strlen(cases[i].sep), &count);
        CHECK(parts != NULL);
        CHECK_EQ_INT(count, cases[i].count);
        checkOwned(sdsJoin(parts, count, "|"), cases[i].joined);
        sdsFreeSplitRes(parts, count);
    }
}

TEST(sds_split_args) {
    static const struct {
        const char *line, *joined; /* NULL if rejected */
        int count;
    } cases[] = {
        {"", "", 0},
        {"  \t ", "", 0},
        {"set a b", "set|a|b", 3},
        {"  set   a\r\n", "set|a", 2},
        {"\"a b\" 'c d'", "a b|c d", 2},
        {"\"\" ''", "|", 2},
        {"\"\\x41\\x4a\\n\\q\\\"\"", "AJ\nq\"", 1},
        {"\"\\xzz\"", "xzz", 1},
        {"'it\\'s' '\\n'", "it's|\\n", 2},
        {"a\"b c\"", "ab c", 1},
        {"\"a\"b", "ab", 1},
        {"'a b'c", "a bc", 1},
        {"\"a\"'b'\"\"c d", "abc|d", 2},
        {"\v a\vb", "a\vb", 1},
        {"a\"b\"\"", NULL, 0},
        {"\"a", NULL, 0},
        {"'a", NULL, 0},
        {"\"a\\", NULL, 0},
        {"\"a\\\"", NULL, 0},
        {"x \"y", NULL, 0},
        {"1 2 3 4 5 6 7 8 9", "1|2|3|4|5|6|7|8|9", 9},
        {"\"\\t\\r\\b\\a\"", "\t\r\b\a", 1},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        int count = -1;
        sds *words = sdsSplitArgs(cases[i].line, &count);
        CHECK_EQ_INT(count, cases[i].count);
        if (!CHECK((words != NULL) == (cases[i].joined != NULL)) || !words) continue;
        checkOwned(sdsJoin(words, count, "|"), cases[i].joined);
        sdsFreeSplitRes(words, count);
    }
    int count;
    sds *words = sdsSplitArgs("\"a\\x00b\"", &count);
    checkSds(words[0], "a\0b", 3);
    sdsFreeSplitRes(words, count);
}
