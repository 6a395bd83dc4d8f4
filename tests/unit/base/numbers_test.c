/* numbers_test.c -- numbers to text and back.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "numbers.h"
#include "unit.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool readsLl(const char *s, long long want) {
    long long v = 77;
    return string2ll(s, strlen(s), &v) && v == want;
}

static bool refusesLl(const char *s) {
    long long v = 77;
    return !string2ll(s, strlen(s), &v) && v == 77;
}

TEST(string2ll_takes_the_whole_range) {
    CHECK(readsLl("0", 0));
    CHECK(readsLl("-1", -1));
    CHECK(readsLl("9223372036854775807", LLONG_MAX));
    CHECK(readsLl("-9223372036854775808", LLONG_MIN));
}

TEST(string2ll_refuses_what_is_not_exactly_a_number) {
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "01",
                                      "-0",
                                      "00",
                                      "1a",
                                      "a",
                                      "--1",
                                      "-01",
                                      "0x1",
                                      "1.0",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999",
                                      "18446744073709551616",
                                      "123456789012345678901"};
    for (size_t i = 0; i < array_len(bad); i++) {
        if (!CHECK(refusesLl(bad[i]))) printf("    %s\n", bad[i]);
    }
    long long v = 5;
    CHECK(!string2ll("1\0002", 3, &v));
}

TEST(string2ull_ends_at_its_own_limit) {
    unsigned long long v = 0;
    CHECK(string2ull("18446744073709551615", 20, &v) && v == ULLONG_MAX);
    CHECK(!string2ull("18446744073709551616", 20, &v));
    CHECK(!string2ull("-1", 2, &v));
    CHECK(!string2ull("", 0, &v));
}

TEST(ll2string_equals_printf) {
    uint64_t seed = unitRandomSeed();
    char got[LONG_STR_SIZE], want[32];
    long long edge[] = {0, 9, 10, 99, 100, 999, 1000, 9999, 10000, -1, -10, LLONG_MAX, LLONG_MIN, LLONG_MIN + 1};
    for (size_t i = 0; i < 20000; i++) {
        long long v = i < array_len(edge) ? edge[i] : (long long)(unitRandom(&seed)) >> (unitRandom(&seed) % 64);
        size_t n = ll2string(got, v);
        snprintf(want, sizeof(want), "%lld", v);
        if (!CHECK_EQ_STR(got, want) || !CHECK_EQ_INT(n, strlen(want)) || !CHECK_EQ_INT(sdigits10(v), n)) return;
        long long back;
        if (!CHECK(string2ll(got, n, &back) && back == v)) return;
        unsigned long long u = (unsigned long long)v;
        ull2string(got, u);
        snprintf(want, sizeof(want), "%llu", u);
        if (!CHECK_EQ_STR(got, want)) return;
    }
}

TEST(digits_are_counted_at_every_border) {
    char text[LONG_STR_SIZE], want[LONG_STR_SIZE];
    unsigned long long power = 1;
    for (int digits = 1; digits <= 20; digits++) {
        for (unsigned long long v = power - 1; v != power + 2; v++) {
            size_t len = (size_t)snprintf(want, sizeof(want), "%llu", v);
            CHECK_EQ_INT(ull2string(text, v), len);
            CHECK_EQ_STR(text, want);
            if (v <= LLONG_MAX) CHECK_EQ_INT(sdigits10((long long)v), len);
            if (v && v <= LLONG_MAX) CHECK_EQ_INT(sdigits10(-(long long)v), len + 1);
        }
        if (digits < 20) power *= 10;
    }
    for (int bit = 0; bit < 64; bit++) {
        unsigned long long v = 1ull << bit;
        CHECK_EQ_INT(ull2string(text, v), snprintf(want, sizeof(want), "%llu", v));
        CHECK_EQ_INT(ull2string(text, v - 1), snprintf(want, sizeof(want), "%llu", v - 1));
    }
    CHECK_EQ_INT(sdigits10(LLONG_MIN), 20);
}

TEST(d2string_writes_what_clients_expect) {
    static const struct {
        double v;
        const char *text;
    } cases[] = {{3, "3"},
                 {-0.0, "-0"},
                 {0, "0"},
                 {0.1, "0.1"},
                 {1e21, "1e+21"},
                 {1e20, "1e+20"},
                 {1e17, "100000000000000000"},
                 {1.2345678901234568e17, "123456789012345680"},
                 {0.00001, "0.00001"},
                 {1.5e-7, "1.5e-7"},
                 {0.00000123, "1.23e-6"},
                 {0.000123, "0.000123"},
                 {123456789.123456789, "1.2345678912345679e+8"},
                 {1234567.891, "1234567.891"},
                 {5e-324, "5e-324"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {0x1p62, "4611686018427387904"},
                 {-0x1p62, "-4611686018427387904"},
                 {4611686018427388928.0, "4611686018427389000"},
                 {9223372036854775807.0, "9223372036854776000"},
                 {12345678901234567000.0, "12345678901234567000"},
                 {1e19, "1e+19"},
                 {708562907618300.2, "708562907618300.3"}, /* one of the values where Grisu2 is not closest */
                 {8975142074675356000000.0, "8975142074675357000000"},
                 {0.30000000000000004, "0.30000000000000004"},
                 {HUGE_VAL, "inf"},
                 {-HUGE_VAL, "-inf"},
                 {NAN, "nan"}};
    char got[DOUBLE_STR_SIZE];
    for (size_t i = 0; i < array_len(cases); i++) {
        size_t n = d2string(got, sizeof(got), cases[i].v);
        CHECK_EQ_STR(got, cases[i].text);
        CHECK_EQ_INT(n, strlen(got));
    }
}

TEST(d2fixed_equals_printf) {
    double fixed[] = {0,    -0.0, 0.5,   1.5,   -2.5,     0.005,     0.125, 0.00005, 0.03125,   99.99995,
                      1e14, 1e15, -1e15, 1e300, INFINITY, -INFINITY, NAN,   5e-324,  -2.2e-308, 999999999999999.9};
    uint64_t seed = unitRandomSeed();
    char got[FIXED_STR_SIZE], want[FIXED_STR_SIZE];
    for (size_t i = 0; i < 20000; i++) {
        uint64_t bits = unitRandom(&seed);
        double v = (double)(int64_t)bits / (double)(1ull << unitRandom(&seed) % 64); /* ties among them */
        if (i < array_len(fixed)) v = fixed[i];
        else if (i % 2) memcpy(&v, &bits, sizeof(v));
        unsigned places = (unsigned)(unitRandom(&seed) % 5);
        snprintf(want, sizeof(want), "%.*f", (int)places, v);
        size_t n = d2fixed(got, v, places);
        if (!CHECK_EQ_STR(got, want) || !CHECK_EQ_INT(n, strlen(want))) return;
        if (fabs(v) < FIXED_SHORT_BELOW && !CHECK(n < FIXED_SHORT_SIZE)) return;
    }
}

TEST(d2string_reads_back_as_the_same_double) {
    uint64_t seed = unitRandomSeed();
    char got[DOUBLE_STR_SIZE];
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = unitRandom(&seed);
        double v, fast;
        if (i % 3 == 0) v = (double)(int64_t)bits / 1000.0;
        else if (i % 3 == 1) v = (double)(bits >> 40) / 100.0;
        else memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v)) continue;
        size_t n = d2string(got, sizeof(got), v);
        if (!CHECK(n < 32) || !CHECK_EQ_DOUBLE(strtod(got, NULL), v)) return;
        if (!CHECK(string2d(got, n, &fast)) || !CHECK_EQ_DOUBLE(fast, v)) return;
    }
}

TEST(string2d_takes_what_the_commands_take) {
    static const struct {
        const char *text;
        double want;
    } good[] = {{"1", 1},      {"-1.5", -1.5},         {"+1", 1},           {".5", 0.5},        {"5.", 5},
                {"1e5", 1e5},  {"1.e2", 100},          {"0001", 1},         {"inf", HUGE_VAL},  {"+.5", 0.5},
                {"-.5e1", -5}, {"INFINITY", HUGE_VAL}, {"-INF", -HUGE_VAL}, {"1e-310", 1e-310}, {"4e-324", 5e-324},
                {"0e-999", 0}};
    static const char *const bad[] = {"",   " 1",   "1 ",  "nan",   "-nan",   "0x10",   "0x1p3",
                                      "1e", "e5",   "1e+", "--1",   "+-1",    "-",      ".",
                                      "in", "infi", "1_0", "1e400", "1e-400", "2e-324", "1f"};
    double v;
    for (size_t i = 0; i < array_len(good); i++) {
        if (CHECK(string2d(good[i].text, strlen(good[i].text), &v))) CHECK_EQ_DOUBLE(v, good[i].want);
        else printf("    %s\n", good[i].text);
    }
    for (size_t i = 0; i < array_len(bad); i++) {
        v = 77;
        if (!CHECK(!string2d(bad[i], strlen(bad[i]), &v) && v == 77)) printf("    %s\n", bad[i]);
    }
    CHECK(string2d("-0", 2, &v) && v == 0 && signbit(v));
    CHECK(!string2d("1\0", 2, &v));
}

TEST(long_doubles_as_incrbyfloat_shows_them) {
    char got[LONG_DOUBLE_STR_SIZE];
    long double v;
    CHECK(string2ld("10.6", 4, &v));
    ld2string(got, sizeof(got), v, true);
    CHECK_EQ_STR(got, "10.6");
    CHECK(string2ld("0x1p3", 5, &v) && v == 8);
    CHECK(string2ld("+1", 2, &v) && v == 1);
    CHECK(!string2ld("1e5000", 6, &v));
    CHECK(!string2ld("1e-5000", 7, &v));
    CHECK(!string2ld(" 1", 2, &v));
    CHECK(!string2ld("nan", 3, &v));
    ld2string(got, sizeof(got), 1e17L + 5000.296875L, true);
    CHECK_EQ_STR(got, "100000000000005000.296875");
    ld2string(got, sizeof(got), -0.0L, true);
    CHECK_EQ_STR(got, "0");
    ld2string(got, sizeof(got), 1e-5L, true);
    CHECK_EQ_STR(got, "0.00001");
    ld2string(got, sizeof(got), 3.0L, true);
    CHECK_EQ_STR(got, "3");
    ld2string(got, sizeof(got), 100.0L, true);
    CHECK_EQ_STR(got, "100");
    ld2string(got, sizeof(got), -HUGE_VALL, false);
    CHECK_EQ_STR(got, "-inf");
}

TEST(memory_amounts) {
    static const struct {
        const char *text;
        unsigned long long want;
    } good[] = {{"5", 5},        {"5b", 5},        {"3k", 3000},       {"1kB", 1024},
                {"1M", 1000000}, {"1mb", 1 << 20}, {"2g", 2000000000}, {"2GB", 2147483648u},
                {"007", 7},      {"", 0},          {"kb", 0},          {"18446744073709551615", ULLONG_MAX}};
    static const char *const bad[] = {
        "-1", "+1", "1.5k", " 1", "1 k", "5t", "12xb", "18446744073709551616", "18446744073709552k", "1kbb"};
    unsigned long long v;
    for (size_t i = 0; i < array_len(good); i++) {
        CHECK(memory2ull(good[i].text, strlen(good[i].text), &v) && v == good[i].want);
    }
    for (size_t i = 0; i < array_len(bad); i++) {
        v = 77;
        CHECK(!memory2ull(bad[i], strlen(bad[i]), &v) && v == 77);
    }
    char out[64];
    bytes2human(out, sizeof(out), 1023);
    CHECK_EQ_STR(out, "1023B");
    bytes2human(out, sizeof(out), 1536);
    CHECK_EQ_STR(out, "1.50K");
    bytes2human(out, sizeof(out), 1048575);
    CHECK_EQ_STR(out, "1024.00K");
    bytes2human(out, sizeof(out), 1125899906842624);
    CHECK_EQ_STR(out, "1.00P");
    bytes2human(out, sizeof(out), 1152921504606846976);
    CHECK_EQ_STR(out, "1152921504606846976B");
}
