/* pace.h -- when the next pipeline of a thread is to be sent, and the clock that wakes the thread for it.
 *
 * With a rate, sending follows a timetable that nobody changes: pipeline k is due k intervals after the first. A server
 * that stands still does not stop the timetable. What became due meanwhile is sent when a connection is free, and its
 * latency counts from the time it was due: that is how long a user who came at that time has waited.
 *
 * Runs on: the thread of the loop.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_PACE_H
#define BENCH_PACE_H

#include "ae.h"
#include "clock.h"

typedef struct pace {
    double interval_ns; /* between two pipelines; 0: no rate */
    monotime begun;     /* what times are counted from */
    double shift;       /* of the first, in intervals */
    uint64_t first_ns;  /* when the first is due; 0: the timetable has not begun */
    uint64_t taken;     /* pipelines handed out */
    aeEventLoop *loop;  /* borrowed; NULL: no clock is running */
    int clock_fd;       /* owns; -1: the loop's timers have to do */
    uint64_t alarm_ns;  /* what the clock is set to; 0: it is not */
    long long timer_id; /* of the loop, where there is no clock */
} pace;

/* A timetable of `per_second` pipelines. No clock is needed to ask it. */
void paceInit(pace *p, double per_second, monotime begun, double shift);
/* The first is due `shift` intervals from now. Nothing is asked before. */
void paceBegin(pace *p, uint64_t now_ns);
/* Let a clock end the loop's waits. C_ERR with errno. */
int paceStart(pace *p, aeEventLoop *loop) must_check;
void paceStop(pace *p); /* before the loop goes */

static inline bool paceIsOn(const pace *p) {
    return p->interval_ns > 0;
}
/* Nanoseconds since `begun`. */
static inline uint64_t paceNow(const pace *p) {
    return clockTicksToNs(clockTicks() - p->begun);
}
/* When the next one is due. */
static inline uint64_t paceDue(const pace *p) {
    return p->first_ns + (uint64_t)((double)p->taken * p->interval_ns);
}
/* Take the next one, with the time it was due, if that has come. */
static inline bool paceTake(pace *p, uint64_t now_ns, uint64_t *due_ns) {
    *due_ns = paceDue(p);
    if (*due_ns > now_ns) return false;
    p->taken++;
    return true;
}
/* How many are due at `now_ns` and not taken. */
uint64_t paceBehind(const pace *p, uint64_t now_ns);
/* The loop's wait ends when the next is due (`wanted`), or not for its sake. */
void paceAlarm(pace *p, bool wanted);

#endif
