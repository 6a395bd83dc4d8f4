/* latency_report.c -- LATENCY GRAPH and LATENCY DOCTOR: spikes as a graph and as text.
 *
 * The graph has one column for each sample, at most 80 side by side, with its age below, to be read downwards:
 *
 *     #     '_' 'o' '#' end a column at a third, two thirds and the whole of a row;
 *    _|     below, the column is filled with '|'.
 *
 *    21
 *    ss
 *
 * Not here    the samples (latency.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/engine/observe/latency_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "latency_internal.h"
#include "panic.h"

#define GRAPH_COLUMNS 80
#define GRAPH_ROWS 4
#define GRAPH_ENDS "_o#"
#define GRAPH_LEVELS (GRAPH_ROWS * ((int)sizeof(GRAPH_ENDS) - 1))

typedef struct seriesSummary {
    long long mean_ms, deviation_ms, low_ms, high_ms;
    double period_s; /* between two spikes */
} seriesSummary;

static seriesSummary summarize(const latencySeries *series, int64_t now_s) {
    long long count = (long long)series->count, sum = 0, deviations = 0;
    seriesSummary is = {.low_ms = latencySampleAt(series, 0)->ms};

    for (size_t i = 0; i < series->count; i++) {
        long long ms = latencySampleAt(series, i)->ms;
        sum += ms;
        if (ms < is.low_ms) is.low_ms = ms;
        if (ms > is.high_ms) is.high_ms = ms;
    }
    is.mean_ms = sum / count;
    for (size_t i = 0; i < series->count; i++) {
        long long off = latencySampleAt(series, i)->ms - is.mean_ms;
        deviations += off < 0 ? -off : off;
    }
    is.deviation_ms = deviations / count;
    int64_t elapsed_s = now_s - latencySampleAt(series, 0)->time_s;
    is.period_s = (double)(elapsed_s > 0 ? elapsed_s : 1) / (double)count;
    return is;
}

/* ---- GRAPH ------------------------------------------------------------------------------------------------------ */

/* Writes the age of a sample in the largest unit of which it is at least one. */
static void ageText(char out[24], int64_t seconds) {
    if (seconds < 60) snprintf(out, 24, "%llds", (long long)seconds);
    else if (seconds < 3600) snprintf(out, 24, "%lldm", (long long)(seconds / 60));
    else if (seconds < 3600 * 24) snprintf(out, 24, "%lldh", (long long)(seconds / 3600));
    else snprintf(out, 24, "%lldd", (long long)(seconds / (3600 * 24)));
}

/* Returns the character of a column of that level (0 ... GRAPH_LEVELS-1) in a row; row 0 is the lowest. */
static char cellAt(int level, int row) {
    int per_row = GRAPH_LEVELS / GRAPH_ROWS;
    int top = level / per_row;
    if (row > top) return ' ';
    return row == top ? GRAPH_ENDS[level % per_row] : '|';
}

/* Appends the columns of the samples from..from+n-1. */
static sds catColumns(sds s, const latencySeries *series, size_t from, size_t n, seriesSummary is, int64_t now_s) {
    int levels[GRAPH_COLUMNS];
    char ages[GRAPH_COLUMNS][24];
    size_t age_rows = 0;
    double span = is.high_ms > is.low_ms ? (double)(is.high_ms - is.low_ms) : 1;

    for (size_t i = 0; i < n; i++) {
        const latencySample *sample = latencySampleAt(series, from + i);
        int level = (int)((float)GRAPH_LEVELS * (float)((double)(sample->ms - is.low_ms) / span));
        levels[i] = level < GRAPH_LEVELS ? level : GRAPH_LEVELS - 1;
        ageText(ages[i], now_s > sample->time_s ? now_s - sample->time_s : 0);
        if (strlen(ages[i]) > age_rows) age_rows = strlen(ages[i]);
    }
    for (int row = GRAPH_ROWS - 1; row >= 0; row--) {
        for (size_t i = 0; i < n; i++) s = sdsCatLen(s, &(char){cellAt(levels[i], row)}, 1);
        s = sdsCat(s, "\n");
    }
    for (size_t i = 0; i < n; i++) s = sdsCat(s, " ");
    s = sdsCat(s, "\n");
    for (size_t row = 0; row < age_rows; row++) {
        for (size_t i = 0; i < n; i++) s = sdsCatLen(s, row < strlen(ages[i]) ? &ages[i][row] : " ", 1);
        s = sdsCat(s, "\n");
    }
    return s;
}

sds latencyGraph(const latencySeries *series, int64_t now_s) {
    assertMainRole();
    seriesSummary is = summarize(series, now_s);
    sds s = sdsCatPrintf(sdsEmpty(), "%s - high %lld ms, low %lld ms (all time high %lld ms)\n", series->event,
                         is.high_ms, is.low_ms, series->worst_ms);

    for (int i = 0; i < GRAPH_COLUMNS; i++) s = sdsCat(s, "-");
    s = sdsCat(s, "\n");
    for (size_t from = 0; from < series->count; from += GRAPH_COLUMNS) {
        size_t left = series->count - from;
        if (from > 0) s = sdsCat(s, "\n");
        s = catColumns(s, series, from, left < GRAPH_COLUMNS ? left : GRAPH_COLUMNS, is, now_s);
    }
    return s;
}

/* ---- DOCTOR ----------------------------------------------------------------------------------------------------- */

enum {
    ADVICE_FASTER_VM = 1 << 0,
    ADVICE_SLOW_LOG = 1 << 1,
    ADVICE_SCHEDULER = 1 << 2,
    ADVICE_LOCAL_DISK = 1 << 3,
    ADVICE_DISK_CONTENTION = 1 << 4,
    ADVICE_HZ = 1 << 5,
    ADVICE_LARGE_OBJECTS = 1 << 6,
    ADVICE_MASS_EVICTION = 1 << 7
};

/* Advice for the spikes of an event. A name is a prefix: it may match several events. */
static const struct {
    const char *event;
    unsigned advice;
} causes[] = {
    {"fork", ADVICE_FASTER_VM},
    {"command", ADVICE_SLOW_LOG | ADVICE_LARGE_OBJECTS},
    {"fast-command", ADVICE_SCHEDULER},
    {"aof-", ADVICE_LOCAL_DISK | ADVICE_DISK_CONTENTION},
    {"cluster-config-", ADVICE_LOCAL_DISK | ADVICE_DISK_CONTENTION},
    {"expire-cycle", ADVICE_HZ | ADVICE_LARGE_OBJECTS},
    {"expire-del", ADVICE_LARGE_OBJECTS},
    {"eviction-del", ADVICE_LARGE_OBJECTS},
    {"eviction-cycle", ADVICE_MASS_EVICTION},
};

typedef struct report {
    sds text;
    int64_t now_s;
    int events;
    unsigned advice;
} report;

static double fork_rate; /* GiB of used memory per second of the last fork; 0: no fork yet */

void latencyNoteFork(size_t used_bytes, uint64_t us) {
    fork_rate = us ? (double)used_bytes * 1000000 / (double)us / (1 << 30) : 0;
}

static void reportSeries(void *arg, const latencySeries *series) {
    report *r = arg;
    seriesSummary is = summarize(series, r->now_s);

    if (r->events++ == 0) r->text = sdsCat(r->text, "Events that took latency-monitor-threshold or longer:\n\n");
    r->text = sdsCatPrintf(r->text,
                           "%d. %s x%zu: %lld ms on average (+- %lld ms), once in %.2f s; the longest so far: "
                           "%lld ms.",
                           r->events, series->event, series->count, is.mean_ms, is.deviation_ms, is.period_s,
                           series->worst_ms);
    if (fork_rate > 0 && !strcmp(series->event, "fork"))
        r->text = sdsCatPrintf(r->text, " Fork rate is %.2f GB/sec.", fork_rate);
    r->text = sdsCatLen(r->text, "\n", 1);
    for (size_t i = 0; i < array_len(causes); i++) {
        if (strncmp(series->event, causes[i].event, strlen(causes[i].event)) == 0) r->advice |= causes[i].advice;
    }
}

static sds catSlowLogAdvice(sds s) {
    unsigned long long threshold_us = (unsigned long long)engine_settings.latency_monitor_threshold_ms * 1000;

    if (engine_settings.slower_than_us < 0 || engine_settings.slow_max_len == 0) {
        s = sdsCatPrintf(s,
                         "- The slow log is off, so it does not have these commands. To log the next ones: CONFIG SET "
                         "slowlog-log-slower-than %llu\n",
                         threshold_us);
    } else if ((unsigned long long)engine_settings.slower_than_us > threshold_us) {
        s = sdsCatPrintf(
            s,
            "- The slow log omits commands of less than %lld microseconds, some of which are counted here. "
            "To log all of them: CONFIG SET slowlog-log-slower-than %llu\n",
            engine_settings.slower_than_us, threshold_us);
    }
    return sdsCat(s, "- SLOWLOG GET lists the slow commands. Typical ones are KEYS, commands that read a whole large "
                     "collection, and set operations on large sets; SCAN, HSCAN, SSCAN and ZSCAN work in small "
                     "steps instead.\n");
}

static const struct {
    unsigned advice;
    const char *text;
} advices[] = {
    {ADVICE_FASTER_VM,
     "- fork() copies the page tables of the whole process: it takes longer the more memory is in use, and longest in "
     "virtual machines whose host does not support nested paging. Several smaller servers fork faster than a large "
     "one.\n"},
    {ADVICE_SLOW_LOG, NULL},
    {ADVICE_SCHEDULER,
     "- Commands of constant time were slow, so the server probably waited for a processor or for swapped memory. "
     "Check other programs on this machine, other guests of the same host (steal time in vmstat), swapping, and how "
     "long the machine itself stalls: valkey-cli --intrinsic-latency 100\n"},
    {ADVICE_LOCAL_DISK, "- The append-only file waits for its disk. A local disk answers faster than a remote one.\n"},
    {ADVICE_DISK_CONTENTION, "- Other work may keep that disk busy, such as backups or the snapshots of other "
                             "servers. Move it to another disk or another time of day.\n"},
    {ADVICE_HZ, "- Many keys expire at the same time. To remove them more often and in smaller portions: "
                "CONFIG SET hz 100\n"},
    {ADVICE_LARGE_OBJECTS,
     "- Freeing a value of millions of elements takes long. UNLINK and the lazyfree-lazy settings leave it to a "
     "background thread; many small values instead of a large one avoid it.\n"},
    {ADVICE_MASS_EVICTION,
     "- Many keys were evicted in a row, because maxmemory was lowered or a command stored a large value (SORT or a "
     "set "
     "operation with STORE, RESTORE). Lower maxmemory in steps, or keep more memory free below it.\n"},
};

static sds catAdvice(sds s, unsigned advice) {
    if (!advice) {
        return sdsCat(
            s, "\nThere is no advice for these events. LATENCY HISTORY shows when each of them occurred: compare "
               "the times with the log and with other activity on the machine.\n");
    }
    s = sdsCat(s, "\nWhat may help:\n\n");
    for (size_t i = 0; i < array_len(advices); i++) {
        if (!(advice & advices[i].advice)) continue;
        s = advices[i].text ? sdsCat(s, advices[i].text) : catSlowLogAdvice(s);
    }
    return s;
}

sds latencyDoctor(int64_t now_s) {
    assertMainRole();
    report r = {.text = sdsEmpty(), .now_s = now_s};

    latencySeriesEach(reportSeries, &r);
    if (r.events > 0) return catAdvice(r.text, r.advice);
    if (engine_settings.latency_monitor_threshold_ms == 0) {
        return sdsCat(r.text, "The latency monitor is off. To record events of 100 milliseconds or more: "
                              "CONFIG SET latency-monitor-threshold 100\n");
    }
    return sdsCatPrintf(r.text, "No event has taken %lld milliseconds or more so far.\n",
                        engine_settings.latency_monitor_threshold_ms);
}
