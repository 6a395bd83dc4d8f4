/* log_limit_test.c -- which log lines of a flood are written, and how the others are reported.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "log_limit.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(log_limit_first_line_passes_at_once_and_then_one_a_minute) {
    static logLimit limit = {.level = LL_WARNING, .lines = 1, .kind = "tries"};
    uint64_t left_out = 99;
    CHECK(logLimitPass(&limit, 5, &left_out));
    CHECK_EQ_INT(left_out, 0);
    for (int i = 0; i < 200; i++) CHECK(!logLimitPass(&limit, 5 + (uint64_t)i, &left_out));
    CHECK(!logLimitPass(&limit, 4 + LOG_LIMIT_MS, &left_out));
    CHECK(logLimitPass(&limit, 5 + LOG_LIMIT_MS, &left_out));
    CHECK_EQ_INT(left_out, 201);
    /* After a minute without suppressed lines there is nothing to report. */
    CHECK(logLimitPass(&limit, 5 + 2 * LOG_LIMIT_MS, &left_out));
    CHECK_EQ_INT(left_out, 0);
}

TEST(log_limit_lets_several_lines_pass_if_it_is_told_to) {
    static logLimit limit = {.level = LL_WARNING, .lines = 3, .kind = "tries"};
    uint64_t left_out;
    for (uint64_t begin = 1000; begin < 1000 + 3 * LOG_LIMIT_MS; begin += LOG_LIMIT_MS) {
        for (int i = 0; i < 3; i++) {
            CHECK(logLimitPass(&limit, begin, &left_out));
            CHECK_EQ_INT(left_out, begin == 1000 || i ? 0 : 2);
        }
        CHECK(!logLimitPass(&limit, begin, &left_out));
        CHECK(!logLimitPass(&limit, begin, &left_out));
    }
}

/* ---- Lines in a file ---- */

static char file[64], content[8192];

static void start(void) {
    snprintf(file, sizeof(file), "/tmp/unit-log-limit-%d.log", (int)getpid());
    logSetFile(file);
    logSetLevel(LL_NOTICE);
    logLimitsReport(clockMonotonicMs() + 10 * LOG_LIMIT_MS); /* lines that other tests have suppressed */
    unlink(file);
}

static int lines(const char *pattern) {
    int n = 0;
    size_t len = 0;
    FILE *f = fopen(file, "r");
    if (f) {
        len = fread(content, 1, sizeof(content) - 1, f);
        fclose(f);
    }
    content[len] = '\0';
    for (const char *at = content; (at = strstr(at, pattern)) != NULL; at++) n++;
    return n;
}

static void finish(void) {
    unlink(file);
    logSetFile("");
}

TEST(log_limit_counts_of_a_flood_that_has_ended_are_logged) {
    start();
    for (int i = 0; i < 50; i++) LOG_LIMITED(LL_WARNING, 1, "knocks at a door", "Knock %d", i);
    CHECK_EQ_INT(lines("Knock"), 1);
    logLimitsReport(clockMonotonicMs());
    CHECK_EQ_INT(lines("\n"), 1);
    logLimitsReport(clockMonotonicMs() + LOG_LIMIT_MS);
    CHECK_EQ_INT(lines("# 49 more log lines were left out: knocks at a door\n"), 1);
    logLimitsReport(clockMonotonicMs() + 3 * LOG_LIMIT_MS);
    CHECK_EQ_INT(lines("\n"), 2);
    finish();
}

TEST(log_limit_next_line_has_the_count_even_if_it_is_long) {
    static logLimit limit = {.level = LL_WARNING, .lines = 1, .kind = "long lines"};
    static char text[2000];
    start();
    memset(text, 'x', sizeof(text) - 1);
    serverLogLimited(&limit, "%s", "short");
    serverLogLimited(&limit, "%s", "left out");
    atomic_store(&limit.until_ms, 1); /* the minute has ended */
    serverLogLimited(&limit, "%s", text);
    CHECK_EQ_INT(lines("xxxx (1 more such log lines were left out)\n"), 1);
    CHECK_EQ_INT(lines("\n"), 2);
    finish();
}

TEST(log_limit_lines_below_the_level_are_not_counted) {
    static logLimit limit = {.level = LL_VERBOSE, .lines = 1, .kind = "quiet lines"};
    start();
    serverLogLimited(&limit, "quiet");
    CHECK_EQ_INT(limit.asked, 0);
    CHECK_EQ_INT(lines("\n"), 0);
    finish();
}

/* ---- Several threads ---- */

#define THREADS 4
#define TRIES 20000

static logLimit common = {.level = LL_WARNING, .lines = 1, .kind = "tries of threads"};

static void *try(void *arg) {
    uint64_t left_out, *sums = arg; /* lines that passed, lines that were suppressed before */
    for (int i = 0; i < TRIES; i++) {
        if (!logLimitPass(&common, 1 + (uint64_t)(i / 1000) * LOG_LIMIT_MS, &left_out)) continue;
        sums[0]++;
        sums[1] += left_out;
    }
    return NULL;
}

TEST(log_limit_no_line_is_lost_between_threads) {
    pthread_t id[THREADS];
    uint64_t sums[THREADS][2] = {{0}}, passed = 0, left_out = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&id[i], NULL, try, sums[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(id[i], NULL);
        passed += sums[i][0];
        left_out += sums[i][1];
    }
    /* One thread begins each of the 20 minutes. A line that passes by chance while a minute begins is not an error. */
    CHECK(passed >= 20 && passed <= 20 * THREADS);
    uint64_t rest = atomic_load(&common.asked) - 1, all = (uint64_t)THREADS * TRIES;
    CHECK(passed + left_out + rest >= all - 20 * THREADS && passed + left_out + rest <= all + 20 * THREADS);
}
