/* mode_latency.c -- measures how long the server takes to reply, and how long the system lets a program wait.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "modes.h"
#include "progress_line.h"
#include "terminal.h"
#include <stdio.h>

#define SAMPLE_PAUSE_S 0.01
#define HISTORY_INTERVAL_S 15
#define DIST_INTERVAL_S 1

static uint64_t pingUs(cliConnection *c) {
    uint64_t started = clockMonotonicUs();
    replyValueFree(cliAsk(c, "PING", NULL));
    return clockMonotonicUs() - started;
}

typedef struct samples {
    long long min, max, sum, count;
} samples;

static double average(const samples *t) { return t->count ? (double)t->sum / (double)t->count : 0; }

static void printSamples(const cliConnection *c, const samples *t) {
    switch (c->options->style) {
    case STYLE_RAW: printf("%lld %lld %.2f %lld\n", t->min, t->max, average(t), t->count); break;
    case STYLE_CSV: printf("%lld,%lld,%.2f,%lld\n", t->min, t->max, average(t), t->count); break;
    case STYLE_JSON:
    case STYLE_QUOTED_JSON:
        printf("{\"min\": %lld, \"max\": %lld, \"avg\": %.2f, \"count\": %lld}\n", t->min, t->max, average(t),
               t->count);
        break;
    case STYLE_PRETTY:
    case STYLE_AUTO: printf("min: %lld, max: %lld, avg: %.2f (%lld samples)", t->min, t->max, average(t), t->count);
    }
    fflush(stdout);
}

int modeLatency(cliConnection *c, bool history) {
    const cliOptions *o = c->options;
    bool live = o->style == STYLE_PRETTY;
    double interval_s = o->interval_s > 0 ? o->interval_s : history ? HISTORY_INTERVAL_S : 1;
    uint64_t started = clockMonotonicUs();
    samples t = {0};
    interruptCatch();
    for (;;) {
        long long ms = (long long)(pingUs(c) / 1000);
        if (t.count == 0 || ms < t.min) t.min = ms;
        if (ms > t.max) t.max = ms;
        t.sum += ms;
        t.count++;
        if (live) {
            printf("\x1b[0G\x1b[2K");
            printSamples(c, &t);
        }
        double passed_s = (double)(clockMonotonicUs() - started) / 1e6;
        if ((history || !live) && passed_s > interval_s) {
            if (live) printf(" -- %.2f seconds range\n", passed_s);
            else printSamples(c, &t);
            if (!history) return 0;
            started = clockMonotonicUs();
            t = (samples){0};
        }
        cliPause(SAMPLE_PAUSE_S);
        if (!interruptCaught()) continue;
        if (live) printf("\n");
        else if (t.count) printSamples(c, &t);
        return 0;
    }
}

/* ---- Distribution ----------------------------------------------------------------------------------------------- */

/* Upper limits of the columns: narrow where the replies of most servers are. Twelve columns and the count fit into 80
 * characters. */
static const struct {
    uint64_t below_us;
    const char *title;
} bands[] = {
    {20, "20us"},  {50, "50us"},  {100, "100us"},  {200, "200us"},    {500, "500us"},  {1000, "1ms"},
    {2000, "2ms"}, {5000, "5ms"}, {20000, "20ms"}, {100000, "100ms"}, {1000000, "1s"}, {UINT64_MAX, "more"},
};

#define ROWS_PER_TITLE 20

static void printTitle(void) {
    printf("%s PINGs", terminalStyle("1"));
    for (size_t i = 0; i < array_len(bands); i++) printf(" %5s", bands[i].title);
    printf("%s\n", terminalStyle("0"));
}

/* Prints a share in percent, "." for none. The larger, the warmer the background: blue, green, yellow, red. */
static void printShare(long long count, long long total) {
    static const struct {
        double from;
        const char *style;
    } shades[] = {{0.5, "30;41"}, {0.2, "30;43"}, {0.05, "30;42"}, {0, "37;44"}};
    double share = (double)count / (double)total;
    if (count == 0) {
        printf("     .");
        return;
    }
    size_t shade = 0;
    while (share < shades[shade].from) shade++;
    printf(share < 0.01 ? " %s%5.2f%s" : " %s%5.1f%s", terminalStyle(shades[shade].style), 100 * share,
           terminalStyle("0"));
}

int modeLatencyDist(cliConnection *c) {
    const cliOptions *o = c->options;
    double interval_s = o->interval_s > 0 ? o->interval_s : DIST_INTERVAL_S;
    if (o->style == STYLE_PRETTY) printf("Percent of each row's PINGs that took less than the time above them.\n");
    interruptCatch();
    for (long long row = 0; !interruptCaught() && (!o->repeat_given || o->repeat < 0 || row < o->repeat); row++) {
        long long counts[array_len(bands)] = {0}, total = 0;
        uint64_t started = clockMonotonicUs();
        while ((double)(clockMonotonicUs() - started) / 1e6 < interval_s && !interruptCaught()) {
            uint64_t us = pingUs(c);
            size_t band = 0;
            while (us >= bands[band].below_us && band + 1 < array_len(bands)) band++;
            counts[band]++;
            total++;
            cliPause(SAMPLE_PAUSE_S);
        }
        if (row % ROWS_PER_TITLE == 0) printTitle();
        printf("%6lld", total);
        for (size_t i = 0; i < array_len(bands); i++) printShare(counts[i], total);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}

/* ---- Without a server ------------------------------------------------------------------------------------------- */

/* Does work that takes about fifty nanoseconds and that the compiler cannot remove. */
static uint64_t spin(uint64_t x) {
    for (int i = 0; i < 24; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

int modeIntrinsicLatency(long long seconds) {
    uint64_t begun = clockMonotonicUs(), end = begun + (uint64_t)seconds * 1000000, now = begun, runs = 0, worst = 0;
    uint64_t shown_s = 0;
    volatile uint64_t sink = 1;
    progressLine progress;
    progressBegin(&progress, "s");
    interruptCatch();
    while (now < end && !interruptCaught()) {
        uint64_t started = clockMonotonicUs();
        sink = spin(sink);
        now = clockMonotonicUs();
        runs++;
        uint64_t passed_s = (now - begun) / 1000000;
        if (passed_s != shown_s) progressStep(&progress, shown_s = passed_s, (uint64_t)seconds);
        if (now - started <= worst) continue;
        worst = now - started;
        progressClear(&progress);
        printf("Max latency so far: %llu microseconds.\n", (unsigned long long)worst);
        fflush(stdout);
    }
    progressClear(&progress);
    double avg_us = (double)(now - begun) / (double)(runs ? runs : 1);
    printf("\n%llu total runs (avg latency: %.4f microseconds / %.2f nanoseconds per run).\n", (unsigned long long)runs,
           avg_us, 1000 * avg_us);
    printf("Worst run took %.0fx longer than the average latency.\n", (double)worst / avg_us);
    return 0;
}
