/* mode_latency.c -- how long the server takes to answer, and how long the system lets a program wait.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "modes.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SAMPLE_PAUSE_S 0.01
#define HISTORY_INTERVAL_S 15
#define DIST_INTERVAL_S 1

static uint64_t pingUs(cliSession *s) {
    uint64_t started = clockMonotonicUs();
    replyValueFree(sessionAsk(s, "PING", NULL));
    return clockMonotonicUs() - started;
}

typedef struct samples {
    long long min, max, sum, count;
} samples;

static double average(const samples *t) {
    return t->count ? (double)t->sum / (double)t->count : 0;
}

static void printSamples(const cliSession *s, const samples *t) {
    switch (s->options->style) {
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

int modeLatency(cliSession *s, bool history) {
    const cliOptions *o = s->options;
    bool live = o->style == STYLE_PRETTY;
    double interval_s = o->interval_s > 0 ? o->interval_s : history ? HISTORY_INTERVAL_S : 1;
    uint64_t started = clockMonotonicUs();
    samples t = {0};
    for (;;) {
        long long ms = (long long)(pingUs(s) / 1000);
        if (t.count == 0 || ms < t.min) t.min = ms;
        if (ms > t.max) t.max = ms;
        t.sum += ms;
        t.count++;
        if (live) {
            printf("\x1b[0G\x1b[2K");
            printSamples(s, &t);
        }
        double passed_s = (double)(clockMonotonicUs() - started) / 1e6;
        if ((history || !live) && passed_s > interval_s) {
            if (live) printf(" -- %.2f seconds range\n", passed_s);
            else printSamples(s, &t);
            if (!history) return 0;
            started = clockMonotonicUs();
            t = (samples){0};
        }
        sessionPause(SAMPLE_PAUSE_S);
    }
}

/* ---- Spectrum --------------------------------------------------------------------------------------------------- */

typedef struct distBand {
    uint64_t max_us;
    char symbol;
} distBand;

static const distBand dist_bands[] = {
    {10, '.'},         {125, '-'},     {250, '*'},     {500, '#'},      {1000, '1'},     {2000, '2'},
    {3000, '3'},       {4000, '4'},    {5000, '5'},    {6000, '6'},     {7000, '7'},     {8000, '8'},
    {9000, '9'},       {10000, 'A'},   {20000, 'B'},   {30000, 'C'},    {40000, 'D'},    {50000, 'E'},
    {100000, 'F'},     {200000, 'G'},  {300000, 'H'},  {400000, 'I'},   {500000, 'J'},   {1000000, 'K'},
    {2000000, 'L'},    {4000000, 'M'}, {8000000, 'N'}, {16000000, 'O'}, {30000000, 'P'}, {60000000, 'Q'},
    {UINT64_MAX, '?'},
};

/* From black over grey to red, in the 256 colours of xterm. */
static const int dist_palette[] = {0,   233, 234, 235, 237, 239, 241, 243, 245, 247,
                                   144, 143, 142, 184, 226, 214, 208, 202, 196};

static void printLegend(void) {
    printf("---------------------------------------------\n"
           ". - * #          .01 .125 .25 .5 milliseconds\n"
           "1,2,3,...,9      from 1 to 9     milliseconds\n"
           "A,B,C,D,E        10,20,30,40,50  milliseconds\n"
           "F,G,H,I,J        .1,.2,.3,.4,.5       seconds\n"
           "K,L,M,N,O,P,Q,?  1,2,4,8,16,30,60,>60 seconds\n"
           "From 0 to 100%%: ");
    for (size_t i = 0; i < array_len(dist_palette); i++) printf("\x1b[48;5;%dm ", dist_palette[i]);
    printf("\x1b[0m\n---------------------------------------------\n");
}

int modeLatencyDist(cliSession *s) {
    double interval_s = s->options->interval_s > 0 ? s->options->interval_s : DIST_INTERVAL_S;
    for (long long row = 0;; row++) {
        long long counts[array_len(dist_bands)] = {0}, total = 0;
        uint64_t started = clockMonotonicUs();
        while ((double)(clockMonotonicUs() - started) / 1e6 < interval_s) {
            uint64_t us = pingUs(s);
            size_t band = 0;
            while (us > dist_bands[band].max_us) band++;
            counts[band]++;
            total++;
            sessionPause(SAMPLE_PAUSE_S);
        }
        if (row % 20 == 0) printLegend();
        printf("\x1b[38;5;0m");
        for (size_t i = 0; i < array_len(dist_bands); i++) {
            double share = total ? (double)counts[i] / (double)total : 0;
            int color = dist_palette[(int)(share * (array_len(dist_palette) - 1) + 0.5)];
            printf("\x1b[48;5;%dm%c", color, dist_bands[i].symbol);
        }
        printf("\x1b[0m\n");
        fflush(stdout);
    }
}

/* ---- Without a server ------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop_spinning;

static void onSignal(int sig) {
    unused(sig);
    stop_spinning = 1;
}

/* Work that the compiler cannot leave out and that takes some fifty nanoseconds. */
static uint64_t spin(uint64_t x) {
    for (int i = 0; i < 24; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

int modeIntrinsicLatency(long long seconds) {
    uint64_t begun = clockMonotonicUs(), end = begun + (uint64_t)seconds * 1000000, now = begun, runs = 0, worst = 0;
    volatile uint64_t sink = 1;
    signal(SIGINT, onSignal);
    while (now < end && !stop_spinning) {
        uint64_t started = clockMonotonicUs();
        sink = spin(sink);
        now = clockMonotonicUs();
        runs++;
        if (now - started <= worst) continue;
        worst = now - started;
        printf("Max latency so far: %llu microseconds.\n", (unsigned long long)worst);
        fflush(stdout);
    }
    double avg_us = (double)(now - begun) / (double)(runs ? runs : 1);
    printf("\n%llu total runs (avg latency: %.4f microseconds / %.2f nanoseconds per run).\n", (unsigned long long)runs,
           avg_us, avg_us * 1000);
    printf("Worst run took %.0fx longer than the average latency.\n", (double)worst / avg_us);
    return 0;
}
