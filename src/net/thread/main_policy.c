/* main_policy.c -- when to wake or wait for another thread, and when main gets a thread of its own.
 *
 * A wakeup costs the sleeping thread some 7 us of processor time and the waking one another 1 or 2 us: as much as ten
 * to twenty commands. So main's own thread is not woken for a few commands: the thread that has them acquires the main
 * role and executes them itself (main_role.c). That suffices as long as the threads can execute what they read.
 *
 * Under saturation it may pay to give execution a thread of its own (`dedicated`: threads wake main's own thread
 * instead of executing): the data stays in one processor's cache, and the other threads only read, parse and write.
 * That pays only if there is a processor for it, which the clients do not need. So it is tried if, in BEFORE_WINDOWS
 * windows in a row, all threads have been full or main busy for BUSY_PERCENT, and processors were idle meanwhile for
 * IDLE_PERCENT of one. The throughput is compared with that before (throughput_trial.c), and the change is undone
 * unless it gains GAIN_PERCENT. The way back is tried in the same manner when no processor is idle any more, and is
 * taken without a trial when main falls below QUIET_PERCENT.
 *
 * Why idle processors are required: on two processors that the clients shared, trials (80 ms each, at twice the price)
 * made a GET of 50 clients 8 % more expensive in a run of two seconds.
 *
 * While another thread executes, a thread that has handed over commands continues to poll its sockets for SPIN_NS,
 * unless the other thread last ran on this processor: the reply comes sooner than sleeping and waking would take, and
 * the other thread need not send a wakeup. It reports what it has written with the client's next request, in every
 * REPORT_ITERATIONS-th loop iteration, or before it sleeps.
 *
 * SPIN_NS was measured on two processors that the load generator shares; the limits of the trial are chosen, not
 * measured: they are to do no harm there, and to be tuned on machines with more processors. docs/design/main_role.md
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

#define BATCH_COMMANDS 16   /* execute so many while their bytes are in the cache, if the role is free */
#define PUBLISH_COMMANDS 64 /* hand over so many to another thread, so that both work at the same time */
#define PUBLISH_READS 16
#define WAKE_COMMANDS 32
#define REPORT_ITERATIONS 4
#define SPIN_NS 20000

#define WINDOW_MS 20
#define BUSY_PERCENT 75
#define QUIET_PERCENT 40
#define BEFORE_WINDOWS 5 /* long, as the system counts idle time in hundredths of a second */
#define QUIET_WINDOWS 5
#define GAIN_PERCENT 5
#define LOSS_PERCENT 2  /* the way back may cost so much: it leaves more of the machine free */
#define IDLE_PERCENT 75 /* of one processor: at least this much idle, and main may get one */
#define FULL_PERCENT 10 /* less than this idle: main has no processor of its own */

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

void mainWatchAdd(mainWatch *w, const ioOwner *h) {
    if (h->commands > 0) w->notified_at = clockTicks();
}

bool mainWatchPollsAgain(mainWatch *w, const ioOwner *h, bool got_messages) {
    if (h->reads == 0 && !got_messages) return false;
    if (got_messages) w->notified_at = 0;
    w->iterations++;
    return true;
}

bool mainWatchReports(const mainWatch *w) { return w->iterations % REPORT_ITERATIONS == 0; }

bool mainWatchSpins(mainWatch *w) {
    if (!w->notified_at) return false;
    if (mainRoleCpu() != sched_getcpu() && clockTicksToNs(clockTicks() - w->notified_at) < SPIN_NS) return true;
    w->notified_at = 0;
    return false;
}

void mainWatchReset(mainWatch *w, ioOwner *h) {
    w->reads_seen = w->commands_seen = 0;
    h->reads = h->commands = 0;
}

/* --- who executes ------------------------------------------------------------------------------------------ */

static struct {
    monotime window_start;
    uint64_t busy_seen;
    long long commands_seen;
    int before_windows;    /* before a trial: windows in a row in which the other mode looked better */
    monotime before_since; /* start of the first of them; idle time of all processors then */
    long long before_idle_ms;
    throughput before; /* throughput in them */
    int quiet_windows;
    throughputTrial trial;
} policy;

bool mainPolicyWakes(const ioOwner *h) {
    return unlikely(atomic_load_explicit(&dedicated, memory_order_relaxed)) && h->commands >= WAKE_COMMANDS;
}

bool mainPolicyIsDedicated(void) { return atomic_load_explicit(&dedicated, memory_order_relaxed); }

bool mainPolicyOffersRole(void) {
    assertMainRole();
    return net_settings.main_role != MAIN_ROLE_KEEP;
}

bool mainPolicyMovesRole(void) {
    assertMainRole();
    return unlikely(net_settings.main_role == MAIN_ROLE_MOVE);
}

static void setDedicated(bool on) {
    atomic_store_explicit(&dedicated, on, memory_order_relaxed);
    policy.before_windows = policy.quiet_windows = 0;
    throughputTrialCancel(&policy.trial);
}

/* Returns the idle time since `before_since`, in percent of one processor; -1 if unknown. */
static long long idlePercent(monotime now, long long idle_ms) {
    long long ms = (long long)clockTicksToNs(now - policy.before_since) / 1000000;
    return idle_ms < 0 || policy.before_idle_ms < 0 || ms <= 0 ? -1 : (idle_ms - policy.before_idle_ms) * 100 / ms;
}

static bool processorsAllowTrial(long long idle_percent) {
    if (mainPolicyIsDedicated()) return idle_percent >= 0 && idle_percent < FULL_PERCENT;
    return idle_percent < 0 || idle_percent >= IDLE_PERCENT;
}

/* Begins a trial if the other mode (dedicated, or not) has looked better for long enough, as `worth_trial` says of this
 * window. */
static void considerTrial(monotime now, const mainLoad *load, bool worth_trial, throughput window) {
    if (!worth_trial || !throughputTrialMayBegin(&policy.trial)) {
        policy.before_windows = 0;
        return;
    }
    if (policy.before_windows == 0) {
        policy.before_windows = 1;
        policy.before_since = now;
        policy.before_idle_ms = load->idle_ms();
        policy.before = (throughput){0};
        return;
    }
    throughputAdd(&policy.before, window);
    if (++policy.before_windows <= BEFORE_WINDOWS) return;
    policy.before_windows = 0;
    if (!processorsAllowTrial(idlePercent(now, load->idle_ms()))) return;
    setDedicated(!mainPolicyIsDedicated());
    throughputTrialBegin(&policy.trial, policy.before,
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
        return; /* the trial continues, or the change stays */
    } else if (mainPolicyIsDedicated()) {
        considerTrial(now, load, !quietEnds(busy), window);
    } else {
        considerTrial(now, load, load->threads_full || busy >= BUSY_PERCENT, window);
    }
}
