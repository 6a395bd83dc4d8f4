/* main_policy.c -- when it pays to wake whom, to wait for whom, and to keep main on a thread of its own.
 *
 * A wake-up costs the sleeper some 7 us of processor time and the waker one or two more: as much as ten to twenty
 * commands. So nothing wakes main's own thread for a handful of commands: the thread that has them takes main's role
 * and executes them itself (main_role.c). That is all there is to do as long as the threads can execute what they read.
 *
 * Under saturation it may pay to give execution a thread of its own (`dedicated`: threads wake main's own thread
 * instead of executing): the data stays hot in one processor's cache, and the threads only read, parse and write. It
 * pays only where there is a processor for it; the other one may belong to the clients. So it is tried, when all
 * threads have been full, or main busy for BUSY_PERCENT, in ASKING_WINDOWS, and processors have been idle meanwhile for
 * IDLE_PERCENT of one. Then the commands per second are compared with those before (throughput_trial.c), and what is
 * not better by GAIN_PERCENT is undone. The way back is tried in the same manner when no processor is idle any more,
 * and taken without a trial when main falls below QUIET_PERCENT.
 *
 * Why not without asking for idle processors: on two that the clients shared, the trials (80 ms each, at twice the
 * price) made a GET of 50 clients dearer by 8 % in a run of two seconds.
 *
 * While another thread executes, a thread that has handed over commands goes on looking at its sockets for SPIN_NS,
 * unless that thread last ran on this processor: the answer comes sooner than sleeping and being woken takes, and
 * whoever answers need not ring. What it has written it reports with the client's next request, in every
 * REPORT_ITERATIONS-th turn, or before it sleeps.
 *
 * SPIN_NS was measured on two processors that the load generator shares; the bounds of the trial are chosen, not
 * measured: they are to do no harm there, and to be tuned where there are more processors. docs/design/main_role.md
 * says why the role moves.
 *
 * Owns        the state of the load and of the trial.
 * Threads     as the header says; `dedicated` is atomic, relaxed.
 * Tests       tests/unit/net/thread/main_role_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "main_policy.h"

#include "main_role.h"
#include "net_settings.h"
#include "throughput_trial.h"
#include "panic.h"

#include <sched.h>

#define BATCH_COMMANDS 16   /* executed while their bytes are in the cache, by the thread that has read them */
#define PUBLISH_COMMANDS 64 /* another thread executes: let it work at the same time */
#define PUBLISH_READS 16
#define WAKE_COMMANDS 32
#define REPORT_ITERATIONS 4
#define SPIN_NS 20000

#define WINDOW_MS 20
#define BUSY_PERCENT 75
#define QUIET_PERCENT 40
#define ASKING_WINDOWS 5 /* long beside the system's hundredths of a second of idle time */
#define QUIET_WINDOWS 5
#define GAIN_PERCENT 5
#define LOSS_PERCENT 2  /* that the way back may cost: it takes less of the machine */
#define IDLE_PERCENT 75 /* of one processor: there is one for main */
#define FULL_PERCENT 10 /* less: there is none */

static_assert(BATCH_COMMANDS < PUBLISH_COMMANDS, "a thread executes itself before it hands on");
static_assert(QUIET_PERCENT < BUSY_PERCENT, "a load between the two changes nothing");

static _Atomic bool dedicated;

/* --- an I/O thread, about itself ------------------------------------------------------------------------ */

bool mainWatchIsDue(mainWatch *w, const ioOwner *h) {
    unsigned reads = h->reads - w->reads_seen, commands = h->commands - w->commands_seen;
    if (reads < PUBLISH_READS && commands < PUBLISH_COMMANDS) {
        if (commands < BATCH_COMMANDS || mainRolePeek() != ROLE_FREE) return false;
    }
    w->reads_seen = h->reads;
    w->commands_seen = h->commands;
    return true;
}

static bool mainIsElsewhere(void) {
    return mainRoleCpu() != sched_getcpu();
}

void mainWatchAdd(mainWatch *w, const ioOwner *h) {
    if (h->commands > 0) w->told_at = clockTicks();
}

bool mainWatchLooksAgain(mainWatch *w, const ioOwner *h, bool took) {
    if (h->reads == 0 && !took) return false;
    if (took) w->told_at = 0;
    w->iterations++;
    return true;
}

bool mainWatchReports(const mainWatch *w) {
    return w->iterations % REPORT_ITERATIONS == 0;
}

bool mainWatchSpins(mainWatch *w) {
    if (!w->told_at) return false;
    if (mainIsElsewhere() && clockTicksToNs(clockTicks() - w->told_at) < SPIN_NS) return true;
    w->told_at = 0;
    return false;
}

void mainWatchTurned(mainWatch *w, ioOwner *h) {
    w->reads_seen = w->commands_seen = 0;
    h->reads = h->commands = 0;
}

/* --- who executes ------------------------------------------------------------------------------------------ */

static struct {
    monotime window_start;
    uint64_t busy_seen;
    long long commands_seen;
    int asking_windows;    /* in a row in which the other way looked better */
    monotime asking_since; /* and how long all processors had been idle then */
    long long idle_seen_ms;
    throughput asking; /* what was done in them */
    int quiet_windows;
    throughputTrial trial;
} policy;

bool mainPolicyWakes(const ioOwner *h) {
    return unlikely(atomic_load_explicit(&dedicated, memory_order_relaxed)) && h->commands >= WAKE_COMMANDS;
}

bool mainPolicyIsDedicated(void) {
    return atomic_load_explicit(&dedicated, memory_order_relaxed);
}

bool mainPolicyOffersRole(void) {
    assertMainRole();
    return net_settings.main_role != MAIN_ROLE_KEEP;
}

bool mainPolicyIsRestless(void) {
    assertMainRole();
    return unlikely(net_settings.main_role == MAIN_ROLE_MOVE);
}

static void setDedicated(bool on) {
    atomic_store_explicit(&dedicated, on, memory_order_relaxed);
    policy.asking_windows = policy.quiet_windows = 0;
    throughputTrialForget(&policy.trial);
}

/* Since the first of the asking windows, in percent of one processor; -1: not known. */
static long long idlePercent(monotime now, long long idle_ms) {
    long long ms = (long long)clockTicksToNs(now - policy.asking_since) / 1000000;
    return idle_ms < 0 || policy.idle_seen_ms < 0 || ms <= 0 ? -1 : (idle_ms - policy.idle_seen_ms) * 100 / ms;
}

static bool processorsAllowTrial(long long idle_percent) {
    if (mainPolicyIsDedicated()) return idle_percent >= 0 && idle_percent < FULL_PERCENT;
    return idle_percent < 0 || idle_percent >= IDLE_PERCENT;
}

/* `asks`: seen from main, the other way may be the better one. */
static void considerTrial(monotime now, const mainLoad *load, bool asks, throughput window) {
    if (!asks || !throughputTrialMayBegin(&policy.trial)) {
        policy.asking_windows = 0;
        return;
    }
    if (policy.asking_windows == 0) {
        policy.asking_windows = 1;
        policy.asking_since = now;
        policy.idle_seen_ms = load->idle_ms();
        policy.asking = (throughput){0};
        return;
    }
    throughputAdd(&policy.asking, window);
    if (++policy.asking_windows <= ASKING_WINDOWS) return;
    policy.asking_windows = 0;
    if (!processorsAllowTrial(idlePercent(now, load->idle_ms()))) return;
    setDedicated(!mainPolicyIsDedicated());
    throughputTrialBegin(&policy.trial, policy.asking,
                         mainPolicyIsDedicated() ? 100 + GAIN_PERCENT : 100 - LOSS_PERCENT);
}

static bool quietEnds(unsigned busy) {
    policy.quiet_windows = busy < QUIET_PERCENT ? policy.quiet_windows + 1 : 0;
    if (policy.quiet_windows >= QUIET_WINDOWS) setDedicated(false);
    return policy.quiet_windows > 0;
}

void mainPolicyCheck(monotime now, const mainLoad *load) {
    assertMainRole();
    uint64_t window_ns = clockTicksToNs(now - policy.window_start);
    if (window_ns < WINDOW_MS * 1000000ull) return;
    unsigned busy = (unsigned)((load->busy_ns - policy.busy_seen) * 100 / window_ns);
    const throughput window = {.commands = load->commands - policy.commands_seen, .ns = window_ns};
    policy.window_start = now;
    policy.busy_seen = load->busy_ns;
    policy.commands_seen = load->commands;
    trialState trial = throughputTrialWindow(&policy.trial, window);
    if (net_settings.main_role != MAIN_ROLE_AUTO) {
        if (mainPolicyIsDedicated()) setDedicated(false);
    } else if (trial == TRIAL_FAILED) {
        setDedicated(!mainPolicyIsDedicated());
    } else if (trial != TRIAL_NONE) {
        return; /* it goes on, or what was changed stays */
    } else if (mainPolicyIsDedicated()) {
        considerTrial(now, load, !quietEnds(busy), window);
    } else {
        considerTrial(now, load, load->threads_full || busy >= BUSY_PERCENT, window);
    }
}
