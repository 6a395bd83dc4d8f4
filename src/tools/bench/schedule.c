/* schedule.c -- the schedule of a thread's pipelines at a given rate, and the timer that wakes the thread for them.
 *
 * The timers of the loop have a resolution of a millisecond, and a pipeline that is sent up to a millisecond late would
 * have that in its latency. So the timer is a timerfd where the system has one: it has a resolution of nanoseconds, and
 * setting it again also clears its readiness, so that each wait costs only one system call.
 *
 * Invariants  1. Pipeline k is due at first + k * interval, computed from k, so that rounding errors do not add up.
 * Tests       tests/unit/tools/schedule_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/timerfd.h>
#endif

#define COARSE_MS 1
#define ALARM_OVER UINT64_MAX
#define NS_PER_S 1000000000u

void scheduleInit(schedule *p, double per_second, monotime begun, double shift) {
    *p = (schedule){.begun = begun, .shift = shift, .clock_fd = -1, .timer_id = -1};
    if (per_second > 0) p->interval_ns = (double)NS_PER_S / per_second;
}

void scheduleBegin(schedule *p, uint64_t now_ns) {
    p->first_ns = now_ns + (uint64_t)(p->shift * p->interval_ns);
    if (p->first_ns == 0) p->first_ns = 1;
}

uint64_t scheduleMissed(const schedule *p, uint64_t now_ns) {
    if (!scheduleIsOn(p) || p->first_ns == 0 || now_ns < p->first_ns) return 0;
    uint64_t due = (uint64_t)((double)(now_ns - p->first_ns) / p->interval_ns) + 1;
    return due > p->taken ? due - p->taken : 0;
}

#ifdef __linux__
/* Sets the timer to `in_ns` from now; 0 turns it off. */
static void setClock(const schedule *p, uint64_t in_ns) {
    struct itimerspec when;
    memset(&when, 0, sizeof(when));
    when.it_value.tv_sec = (time_t)(in_ns / NS_PER_S);
    when.it_value.tv_nsec = (long)(in_ns % NS_PER_S);
    timerfd_settime(p->clock_fd, 0, &when, NULL);
}

/* Only notes that the timer has expired, which has ended the wait. scheduleSetAlarm() clears its readiness. */
static void onAlarm(aeEventLoop *loop, int fd, void *arg, int mask) {
    schedule *p = arg;
    unused(loop);
    unused(fd);
    unused(mask);
    p->alarm_ns = ALARM_OVER;
}

int scheduleStart(schedule *p, aeEventLoop *loop) {
    p->loop = loop;
    p->clock_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return p->clock_fd < 0 ? C_ERR : aeCreateFileEvent(loop, p->clock_fd, AE_READABLE, onAlarm, p);
}

void scheduleStop(schedule *p) {
    if (p->clock_fd < 0) return;
    aeDeleteFileEvent(p->loop, p->clock_fd, AE_READABLE);
    close(p->clock_fd);
    p->clock_fd = -1;
}

void scheduleSetAlarm(schedule *p, bool wanted) {
    uint64_t due = wanted ? scheduleDue(p) : 0;
    if (due == p->alarm_ns) return;
    uint64_t now = wanted ? scheduleNow(p) : 0;
    setClock(p, !wanted ? 0 : due > now ? due - now : 1);
    p->alarm_ns = due;
}
#else
static long long onCoarse(aeEventLoop *loop, long long id, void *arg) {
    unused(loop);
    unused(id);
    unused(arg);
    return COARSE_MS;
}

int scheduleStart(schedule *p, aeEventLoop *loop) {
    p->loop = loop;
    p->timer_id = aeCreateTimeEvent(loop, COARSE_MS, onCoarse, p);
    return C_OK;
}

void scheduleStop(schedule *p) {
    if (p->timer_id >= 0) aeDeleteTimeEvent(p->loop, p->timer_id);
    p->timer_id = -1;
}

void scheduleSetAlarm(schedule *p, bool wanted) {
    unused(p);
    unused(wanted);
}
#endif
