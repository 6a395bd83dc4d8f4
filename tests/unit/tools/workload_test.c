/* workload_test.c -- pipelines of requests and the numbers put into them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "standard_tests.h"
#include "unit.h"
#include "workload.h"
#include <stdlib.h>

static workload *make(const char *line, int depth, bool patched) {
    int count;
    const char *err = "";
    slice words[64];
    sds *parts = sdsSplitArgs(line, &count);
    for (int i = 0; i < count; i++) words[i] = sdsSlice(parts[i]);
    workload *w = workloadFromWords(words, count, sliceStr("DATA!"), depth, patched, &err);
    sdsFreeSplitRes(parts, count);
    return w;
}

TEST(workload_builds_a_command) {
    numberSource none = {.range = 0};
    workload *w = make("SET key __data__", 1, false);
    slice s = workloadNext(w, 1, &none, NULL);
    CHECK(sliceEq(s, sliceStr("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nDATA!\r\n")));
    workloadFree(w);
}

TEST(workload_repeats_and_cuts_the_pipeline) {
    numberSource none = {.range = 0};
    workload *w = make("PING", 5, false);
    CHECK_EQ_INT(workloadNext(w, 5, &none, NULL).len, 5 * 14);
    CHECK(sliceEq(workloadNext(w, 2, &none, NULL), sliceStr("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n")));
    CHECK_EQ_INT(workloadDepth(w), 5);
    workloadFree(w);
}

TEST(workload_takes_sequences_and_counts) {
    workload *w = make("MULTI ; 3 INCR a ; EXEC", 2, false);
    if (!CHECK(w != NULL)) return;
    CHECK_EQ_INT(workloadCommands(w), 5);
    workloadFree(w);
}

TEST(workload_refuses_what_is_no_command) {
    CHECK(make("", 1, false) == NULL);
    CHECK(make("; PING", 1, false) == NULL);
    CHECK(make("0 PING", 1, false) == NULL);
    CHECK(make("99999999999 PING", 1, false) == NULL);
}

/* Returns the number after the n-th `prefix` in `text`. */
static long long numberAfter(slice text, const char *prefix, int n) {
    const char *p = text.ptr, *end = text.ptr + text.len;
    for (; n >= 0 && p; n--) p = memmem(p + (n >= 0), (size_t)(end - p - 1), prefix, strlen(prefix));
    char digits[13] = {0};
    if (!p) return -1;
    memcpy(digits, p + strlen(prefix), 12);
    return atoll(digits);
}

TEST(workload_counts_in_sequential_mode) {
    numberSource numbers = {.range = 3, .sequential = true};
    rng r;
    rngSeed(&r, 1);
    workload *w = make("SET k:__rand_int__ v", 4, true);
    slice s = workloadNext(w, 4, &numbers, &r);
    for (int i = 0; i < 4; i++) CHECK_EQ_INT(numberAfter(s, "k:", i), i % 3);
    s = workloadNext(w, 1, &numbers, &r);
    CHECK_EQ_INT(numberAfter(s, "k:", 0), 4 % 3);
    workloadFree(w);
}

TEST(workload_shares_named_numbers_in_a_sequence) {
    numberSource numbers = {.range = 1000000000000};
    rng r;
    rngSeed(&r, unitRandomSeed());
    workload *w = make("SET a:__rand_1st__ b:__rand_1st__ ; SET c:__rand_1st__ d:__rand_2nd__", 2, true);
    bool varied = false;
    for (int turn = 0; turn < 100; turn++) {
        slice s = workloadNext(w, 2, &numbers, &r);
        for (int i = 0; i < 2; i++) {
            CHECK_EQ_INT(numberAfter(s, "a:", i), numberAfter(s, "b:", i));
            CHECK_EQ_INT(numberAfter(s, "a:", i), numberAfter(s, "c:", i));
            varied = varied || numberAfter(s, "a:", i) != numberAfter(s, "d:", i);
        }
    }
    CHECK(varied);
    workloadFree(w);
}

TEST(workload_numbers_stay_in_range) {
    numberSource numbers = {.range = 7};
    rng r;
    rngSeed(&r, unitRandomSeed());
    workload *w = make("GET k:__rand_int__", 1, true), *copy = workloadDup(w);
    int seen = 0;
    for (int i = 0; i < 1000; i++) {
        long long n = numberAfter(workloadNext(i & 1 ? w : copy, 1, &numbers, &r), "k:", 0);
        if (!CHECK(n >= 0 && n < 7)) break;
        seen |= 1 << n;
    }
    CHECK_EQ_INT(seen, 127);
    workloadFree(w);
    workloadFree(copy);
}

TEST(standard_tests_are_selected_by_name) {
    int all = 0, ping = 0, lrange = 0, none = 0;
    for (int i = 0; i < STANDARD_TESTS; i++) {
        all += standardTestSelected(&standard_tests[i], NULL);
        ping += standardTestSelected(&standard_tests[i], "PING,nosuch");
        lrange += standardTestSelected(&standard_tests[i], "lrange_300");
        none += standardTestSelected(&standard_tests[i], "pin");
    }
    CHECK_EQ_INT(all, STANDARD_TESTS);
    CHECK_EQ_INT(ping, 2);
    CHECK_EQ_INT(lrange, 2);
    CHECK_EQ_INT(none, 0);
}

TEST(standard_tests_that_are_not_there) {
    suggestion s = {.word = "zpopmn"};
    CHECK(!standardTestIsKnown(s.word, &s));
    CHECK_EQ_STR(s.best, "zpopmin");
    s = (suggestion){.word = "LRANGE_600"};
    CHECK(standardTestIsKnown(s.word, &s));
    s = (suggestion){.word = "nosuch"};
    CHECK(!standardTestIsKnown(s.word, &s));
    CHECK(s.best == NULL);
}

static void checkLibrary(sds *words, int count) {
    CHECK(strstr(words[count - 1], "redis.register_function('foo1', foo1)") != NULL);
    CHECK(strstr(words[count - 1], "server.") == NULL);
    sdsFreeSplitRes(words, count);
}

/* Redis has no table `server`. */
TEST(standard_tests_load_functions_everywhere) {
    int count;
    for (int i = 0; i < STANDARD_TESTS; i++) {
        if (standard_tests[i].kind != TEST_FUNCTION_LOAD) continue;
        sds *words = standardTestWords(&standard_tests[i], false, 3, 1, &count);
        checkLibrary(words, count);
    }
    sds *words = standardTestFcallLibrary(&count);
    checkLibrary(words, count);
}
