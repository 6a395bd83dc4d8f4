/* fork_outlook.c -- says what the next fork will cost, before it happens: in INFO, and in the log at a start.
 *
 * An operator learns of a fork's stall, and of the memory that it takes, when clients time out or the kernel ends the
 * process. Both can be known before: the last fork, the last child and the rate of changes are noted here.
 *
 * Not here    the arithmetic (fork_forecast.c).
 * Owns        the facts.
 * Threads     main.
 * Cost        one reading of /proc/self/statm per forecast; some files of the system once a minute.
 * Tests       tests/unit/persist/file/fork_outlook_test.c, tests/persist/quiet.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fork_outlook.h"

#include "clock.h"
#include "free_memory.h"
#include "log.h"
#include "persist_settings.h"
#include "store_state.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GB 1073741824.0
#define LARGE_BYTES ((size_t)1 << 30)  /* from here on a start logs the forecast in any case */
#define SMALL_BYTES ((size_t)64 << 20) /* below, no warning: other programs take more */
#define SAMPLE_US 1000000
#define AVERAGE_S 60.0 /* the rate of changes is that of about the last minute */
#define CHECK_EVERY_S 60

static struct {
    forkFacts facts; /* without rss */
    uint64_t sampled_us;
    long long dirty;   /* at the last sample */
    long long changes; /* since the start, as far as they were sampled */
    double average_s;  /* the time that the rate covers */
    long long changes_at_fork;
    uint64_t forked_us;
    size_t forked_rss; /* of the running child, or of the last one */
    uint64_t checked_s;
    bool warned; /* memory was scarce at the last check */
} outlook;

/* ---- Facts ---- */

/* Adds the changes since the last sample. The number of unsaved changes falls when they are saved. */
static void countChanges(uint64_t now_us) {
    long long dirty = store_stats.dirty, more = dirty > outlook.dirty ? dirty - outlook.dirty : 0;
    double elapsed_s = (double)(now_us - outlook.sampled_us) / 1e6;
    outlook.dirty = dirty;
    outlook.changes += more;
    if (outlook.sampled_us && elapsed_s > 0) {
        double covered_s = outlook.average_s + elapsed_s;
        outlook.facts.changes_per_s += ((double)more / elapsed_s - outlook.facts.changes_per_s) * elapsed_s / covered_s;
        outlook.average_s = covered_s < AVERAGE_S ? covered_s : AVERAGE_S;
    }
    outlook.sampled_us = now_us;
}

void forkOutlookForked(size_t rss, uint64_t fork_us) {
    uint64_t now_us = clockMonotonicUs();
    countChanges(now_us);
    outlook.forked_us = now_us;
    outlook.changes_at_fork = outlook.changes;
    outlook.forked_rss = outlook.facts.forked_rss = rss;
    outlook.facts.fork_us = fork_us;
}

void forkOutlookCompleted(size_t copied) {
    uint64_t now_us = clockMonotonicUs();
    countChanges(now_us);
    outlook.facts.saved_rss = outlook.forked_rss;
    outlook.facts.saved_us = now_us - outlook.forked_us;
    outlook.facts.copied = copied;
    outlook.facts.changes = outlook.changes - outlook.changes_at_fork;
}

static forkForecast forecastFor(size_t rss) {
    forkFacts facts = outlook.facts;
    facts.rss = rss;
    return forkForecastOf(&facts);
}

forkForecast forkOutlookNow(void) { return forecastFor(zmallocRss()); }

/* Returns the bytes in huge pages. The kernel walks all pages for it: call at a start only. */
static size_t hugeBytes(void) {
    char text[4096];
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    if (!f) return 0;
    size_t len = fread(text, 1, sizeof(text), f);
    fclose(f);
    return freeMemoryField(sliceOf(text, len), "AnonHugePages");
}

/* ---- The log ---- */

static bool forksAreDue(void) { return persist_settings.save_point_count > 0 || persist_settings.appendonly; }

static void logScarce(size_t rss, size_t needed, size_t left) {
    serverLog(LL_WARNING,
              "A snapshot or a rewrite of the append-only file may run out of memory: beside the %.1f GB in use it is "
              "expected to take up to %.1f GB, and %.1f GB are free. The kernel then ends the child or this process. "
              "Lower maxmemory, give the machine or its control group more memory, or save on a replica.",
              (double)rss / GB, (double)needed / GB, (double)left / GB);
}

bool forkOutlookLog(size_t rss, size_t left) {
    forkForecast f = forecastFor(rss);
    bool scarce = f.memory_limit > left; /* the rate of changes is not known yet */
    if (rss < SMALL_BYTES || (rss < LARGE_BYTES && !scarce)) return false;
    serverLog(LL_NOTICE,
              "Each snapshot or rewrite of the append-only file begins with a fork, for which all clients wait: with "
              "%.1f GB resident for about %lld ms. While its child lives, pages that are written to are copied, at "
              "most %.1f GB.",
              (double)rss / GB, (long long)(f.stall_us / 1000), (double)f.memory_limit / GB);
    if (scarce) logScarce(rss, f.memory_limit, left);
    return scarce;
}

void forkOutlookAtStart(void) {
    if (!forksAreDue()) return;
    outlook.facts.huge = hugeBytes();
    outlook.warned = forkOutlookLog(zmallocRss(), freeMemoryBytes());
}

static void checkMemory(void) {
    size_t rss = zmallocRss();
    if (rss < SMALL_BYTES || !forksAreDue()) return;
    forkForecast f = forecastFor(rss);
    size_t left = freeMemoryBytes();
    bool scarce = f.memory > left;
    if (scarce && !outlook.warned) logScarce(rss, f.memory, left);
    if (scarce || f.memory_limit <= left) outlook.warned = scarce;
}

void forkOutlookTick(void) {
    uint64_t now_us = clockMonotonicUs();
    if (now_us - outlook.sampled_us < SAMPLE_US) return;
    countChanges(now_us);
    if (now_us / 1000000 - outlook.checked_s < CHECK_EVERY_S) return;
    if (outlook.checked_s) checkMemory();
    outlook.checked_s = now_us / 1000000;
}
