/* throughput_trial.c -- an A/B trial: a change is made, and kept if throughput is high enough with it.
 *
 * The first SETTLE_NS after the change do not count; then TRIAL_NS do. The next trial may follow PAUSE_NS after a
 * failed one, and twice that after each further failure, up to PAUSE_NS_MAX: a change that never pays costs a tenth of
 * a second in a minute.
 *
 * Not here    when a change is worth a trial, and the change itself.
 * Owns        nothing.
 * Tests       tests/unit/net/thread/throughput_trial_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "throughput_trial.h"

#include "panic.h"

#define SETTLE_NS 20000000ull
#define TRIAL_NS 60000000ull
#define PAUSE_NS 1000000000ull
#define PAUSE_NS_MAX 60000000000ull

void throughputAdd(throughput *sum, throughput window) {
    sum->commands += window.commands;
    sum->ns += window.ns;
}

bool throughputTrialMayBegin(const throughputTrial *t) { return !t->under_way && t->paused_ns >= t->pause_ns; }

void throughputTrialBegin(throughputTrial *t, throughput before, int percent) {
    serverAssert(!t->under_way && before.ns > 0 && percent > 0);
    t->under_way = true;
    t->percent = percent;
    t->before = before;
    t->during = (throughput){0};
    t->elapsed_ns = 0;
}

static double perSecond(throughput p) { return (double)p.commands * 1e9 / (double)p.ns; }

static void throughputTrialPause(throughputTrial *t) {
    t->pause_ns = t->pause_ns ? t->pause_ns * 2 : PAUSE_NS;
    if (t->pause_ns > PAUSE_NS_MAX) t->pause_ns = PAUSE_NS_MAX;
    t->paused_ns = 0;
}

trialState throughputTrialWindow(throughputTrial *t, throughput window) {
    if (!t->under_way) {
        t->paused_ns += window.ns;
        return TRIAL_NONE;
    }
    if (t->elapsed_ns >= SETTLE_NS) throughputAdd(&t->during, window);
    t->elapsed_ns += window.ns;
    if (t->during.ns < TRIAL_NS) return TRIAL_RUNS;
    t->under_way = false;
    if (perSecond(t->during) * 100 < perSecond(t->before) * t->percent) {
        throughputTrialPause(t);
        return TRIAL_FAILED;
    }
    t->pause_ns = 0;
    return TRIAL_PASSED;
}

void throughputTrialCancel(throughputTrial *t) { t->under_way = false; }
