/* log_limit.c -- limits log lines that strangers can cause, to some per minute and a count of the others.
 *
 * A minute begins with the first line after the previous minute has ended. The thread that changes `until_ms` begins it
 * and takes the count of the previous one; all others only count. A line that another thread counts between these two
 * steps may be attributed to the wrong minute, so the figures are exact on one thread and off by a few on several.
 *
 * Owns        the list of limits in use.
 * Threads     any, without a lock.
 * Invariants  1. A count of left-out lines is logged once.
 *             2. The line that logs a count takes the place of one of the minute's lines.
 * Tests       tests/unit/base/log_limit_test.c, tests/server/log_flood.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "log_limit.h"

#include "clock.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX 1024 /* serverLog() cuts at the same length */
#define TEXT_WITH_COUNT (TEXT_MAX - 80)

static _Atomic(logLimit *) used;

static void addToList(logLimit *limit) {
    limit->next = atomic_load_explicit(&used, memory_order_relaxed);
    while (
        !atomic_compare_exchange_weak_explicit(&used, &limit->next, limit, memory_order_release, memory_order_relaxed))
        continue;
}

static uint64_t excess(const logLimit *limit, uint64_t asked) {
    return asked > limit->lines ? asked - limit->lines : 0;
}

/* Begins a minute with one line in it. Returns false if another thread has begun it. */
static bool beginMinute(logLimit *limit, uint64_t until_ms, uint64_t now_ms, uint64_t *left_out) {
    if (!atomic_compare_exchange_strong_explicit(&limit->until_ms, &until_ms, now_ms + LOG_LIMIT_MS,
                                                 memory_order_relaxed, memory_order_relaxed))
        return false;
    if (until_ms == 0) addToList(limit);
    *left_out = excess(limit, atomic_exchange_explicit(&limit->asked, 1, memory_order_relaxed));
    return true;
}

bool logLimitPass(logLimit *limit, uint64_t now_ms, uint64_t *left_out) {
    uint64_t until_ms = atomic_load_explicit(&limit->until_ms, memory_order_relaxed);
    *left_out = 0;
    if (now_ms >= until_ms && beginMinute(limit, until_ms, now_ms, left_out)) return true;
    return atomic_fetch_add_explicit(&limit->asked, 1, memory_order_relaxed) < limit->lines;
}

void serverLogLimited(logLimit *limit, const char *fmt, ...) {
    uint64_t left_out;
    if (!logLevelIsOn(limit->level) || !logLimitPass(limit, clockMonotonicMs(), &left_out)) return;
    char text[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (left_out == 0) serverLog(limit->level, "%s", text);
    else
        serverLog(limit->level, "%.*s (%llu more such log lines were left out)", TEXT_WITH_COUNT, text,
                  (unsigned long long)left_out);
}

static void reportOne(logLimit *limit, uint64_t now_ms) {
    uint64_t until_ms = atomic_load_explicit(&limit->until_ms, memory_order_relaxed), left_out;
    if (now_ms < until_ms || !excess(limit, atomic_load_explicit(&limit->asked, memory_order_relaxed))) return;
    if (beginMinute(limit, until_ms, now_ms, &left_out) && left_out > 0)
        serverLog(limit->level, "%llu more log lines were left out: %s", (unsigned long long)left_out, limit->kind);
}

void logLimitsReport(uint64_t now_ms) {
    for (logLimit *l = atomic_load_explicit(&used, memory_order_acquire); l; l = l->next) reportOne(l, now_ms);
}
