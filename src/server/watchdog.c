/* watchdog.c -- logs the stacks of all threads on SIGALRM, or if main makes no progress for watchdog-period.
 *
 * One thread waits for SIGALRM, which all others block, with a timeout if there is a period. So main only has to record
 * its own stack: it needs no SIGALRM handler and no timer, and function names are looked up elsewhere.
 *
 * Not here    requesting stacks from threads, and the log lines (base/stacks.c).
 * Owns        the thread.
 * Threads     `run` is called on the watching thread; everything else on main's own thread.
 * Invariants  1. Each time that main makes no progress is reported once.
 * Cost        one atomic store per tick. The thread sleeps until a signal comes, or wakes once per period.
 * Tests       tests/server/signals.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "watchdog.h"

#include "clock.h"
#include "log.h"
#include "panic.h"
#include "thread_suspend.h"
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICKS_MIN 2

static struct {
    pthread_t id;
    bool runs;                /* main */
    _Atomic long long period; /* relaxed: in ms; 0: SIGALRM only */
    _Atomic int64_t tick_ms;  /* relaxed: time of the last tick, by clockMonotonicMs() */
    int64_t reported_tick_ms; /* of the watching thread: the tick after which it logged the last report */
} watch;

/* Returns the ms until the period has passed without a tick; after a report a whole period, until there is a tick. */
static int64_t waitMs(long long period) {
    int64_t tick = atomic_load_explicit(&watch.tick_ms, memory_order_relaxed);
    int64_t left = tick + period - (int64_t)clockMonotonicMs();
    if (tick == watch.reported_tick_ms || left > period) return period;
    return left > 0 ? left : 0;
}

/* Waits for SIGALRM. Returns it, or -1 with errno. */
static int awaitSignal(siginfo_t *info) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    long long period = atomic_load_explicit(&watch.period, memory_order_relaxed);
    if (!period) return sigwaitinfo(&set, info);
    int64_t ms = waitMs(period) + 1;
    struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return sigtimedwait(&set, info, &timeout);
}

static void checkMain(void) {
    long long period = atomic_load_explicit(&watch.period, memory_order_relaxed);
    int64_t tick = atomic_load_explicit(&watch.tick_ms, memory_order_relaxed);
    int64_t stands_ms = (int64_t)clockMonotonicMs() - tick;
    if (!period || tick == watch.reported_tick_ms || stands_ms <= period) return;
    watch.reported_tick_ms = tick;
    stacksLog("--- WATCHDOG TIMER EXPIRED ---");
}

/* Returns false for the SIGALRM of watchdogSetPeriod(), which only ends the wait, so that the new period is used. That
 * one alone is sent by this process; its si_code is SI_TKILL or, as glibc changes it, SI_USER. */
static bool asksForStacks(const siginfo_t *info) { return info->si_pid != getpid(); }

static void watchdogRun(void *arg) {
    unused(arg);
    siginfo_t info;
    for (;;) {
        if (awaitSignal(&info) != SIGALRM) {
            if (errno == EAGAIN) checkMain();
        } else if (asksForStacks(&info)) {
            stacksLog("Received SIGALRM");
        }
    }
}

void watchdogTick(void) { atomic_store_explicit(&watch.tick_ms, (int64_t)clockMonotonicMs(), memory_order_relaxed); }

long long watchdogSetPeriod(long long period_ms, long long hz) {
    long long least = TICKS_MIN * 1000 / hz;
    if (period_ms && period_ms < least) period_ms = least;
    watchdogTick();
    atomic_store_explicit(&watch.period, period_ms, memory_order_relaxed);
    /* If a signal is already pending, that one is sufficient. */
    if (watch.runs) (void)pthread_kill(watch.id, SIGALRM);
    return period_ms;
}

void watchdogStart(void) {
    stacksInit();
    watch.reported_tick_ms = -1;
    watchdogTick();
    int error = threadStart(&watch.id, &(threadPlan){.name = "watchdog"}, watchdogRun, NULL);
    if (error) serverPanic("Cannot start the watchdog thread: %s", strerror(error));
    watch.runs = true;
}
