/* micro.h -- shared by the micro-benchmarks: rounds, medians, and one line of CSV per figure.
 *
 * A figure is the median of several rounds, or the best one if two threads must both have a processor to themselves.
 * All programs print `name,parameter,value,unit` to stdout; `run` beside this file makes a table of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_MICRO_H
#define BENCH_MICRO_H

#include "clock.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICRO_ROUNDS_MAX 31

/* The values measured for one figure. */
typedef struct microSamples {
    double value[MICRO_ROUNDS_MAX];
    size_t count;
} microSamples;

static inline void microAdd(microSamples *s, double value) {
    if (s->count < MICRO_ROUNDS_MAX) s->value[s->count++] = value;
}

static inline int microCompare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double microMedian(microSamples *s) {
    if (s->count == 0) return 0;
    qsort(s->value, s->count, sizeof(s->value[0]), microCompare);
    return s->value[s->count / 2];
}

static inline double microBest(microSamples *s) {
    if (s->count == 0) return 0;
    qsort(s->value, s->count, sizeof(s->value[0]), microCompare);
    return s->value[0];
}

static inline void microReport(const char *name, const char *parameter, double value, const char *unit) {
    printf("%s,%s,%.2f,%s\n", name, parameter, value, unit);
    fflush(stdout);
}

static inline double microNs(monotime from) { return (double)clockTicksToNs(clockTicks() - from); }

/* Pins the calling thread to one processor. */
static inline void microPin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* Makes the compiler compute this value, and hides it from the optimizer. */
static inline void microUse(uint64_t *value) { __asm__ volatile("" : "+r"(*value)); }

#endif
