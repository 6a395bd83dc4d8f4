/* schedule.h -- the schedule of a thread's pipelines at a given rate, and the timer that wakes the thread for them.
 *
 * With a rate, sending follows a fixed schedule: pipeline k is due k intervals after the first. A server that stops
 * responding does not stop the schedule. Pipelines that become due meanwhile are sent when a connection is free, and
 * their latency counts from the time when they were due: so long has a user waited whose request came at that time.
 *
 * Runs on: the thread of the loop.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_SCHEDULE_H
#define BENCH_SCHEDULE_H

#include "ae.h"
#include "clock.h"

typedef struct schedule {
    double interval_ns; /* between two pipelines; 0 without a rate */
    monotime begun;     /* the origin of all times */
    double shift;       /* delay of the first pipeline, in intervals */
    uint64_t first_ns;  /* when the first is due; 0: the schedule has not begun */
    uint64_t taken;     /* pipelines that scheduleTake() has returned */
    aeEventLoop *loop;  /* borrowed; NULL while no timer is running */
    int clock_fd;       /* owns; timerfd; -1 if the timers of the loop are used */
    uint64_t alarm_ns;  /* when the timer expires; 0: it is not set */
    long long timer_id; /* timer of the loop, if there is no timerfd */
} schedule;

/* Initializes a schedule of `per_second` pipelines (0: no rate). Needs no timer. */
void scheduleInit(schedule *p, double per_second, monotime begun, double shift);
/* Begins the schedule: the first pipeline is due `shift` intervals from now. Call before
 * scheduleDue() and scheduleTake(). */
void scheduleBegin(schedule *p, uint64_t now_ns);
/* Creates the timer that ends waits of the loop. Returns C_ERR with errno. */
int scheduleStart(schedule *p, aeEventLoop *loop) must_check;
void scheduleStop(schedule *p); /* call before the loop is freed */

static inline bool scheduleIsOn(const schedule *p) { return p->interval_ns > 0; }
/* Returns the nanoseconds since `begun`. */
static inline uint64_t scheduleNow(const schedule *p) { return clockTicksToNs(clockTicks() - p->begun); }
/* Returns the time at which the next pipeline is due. */
static inline uint64_t scheduleDue(const schedule *p) {
    return p->first_ns + (uint64_t)((double)p->taken * p->interval_ns);
}
/* Takes the next pipeline and stores when it was due. Returns false if it is not yet due. */
static inline bool scheduleTake(schedule *p, uint64_t now_ns, uint64_t *due_ns) {
    *due_ns = scheduleDue(p);
    if (*due_ns > now_ns) return false;
    p->taken++;
    return true;
}
/* Returns the number of pipelines that are due at `now_ns` and not taken. */
uint64_t scheduleMissed(const schedule *p, uint64_t now_ns);
/* Sets the timer to end the loop's wait when the next pipeline is due, or, if not `wanted`, turns it off. */
void scheduleSetAlarm(schedule *p, bool wanted);

#endif
