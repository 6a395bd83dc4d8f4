/* quiet_moment.c -- lets an automatic fork begin when few clients have to wait for it (save-when-quiet).
 *
 * All clients wait for a fork. Where requests come in bursts, a moment between two of them costs nearly nothing. While
 * a fork is due, the commands that were executed are counted every ten milliseconds:
 *
 *   IDLE --a fork is due--> WAITING --two quiet samples in a row, or the bound--> the fork
 *    ^                         |
 *    '--nothing is due any more, or another child was forked
 *
 * A sample is quiet if few commands were executed (two per millisecond are a hundredth of what main can do), or few
 * compared with the load of the last seconds. One that comes late is not: main was busy, and commands wait for it.
 *
 * Not here    what is due (snapshot.c, aof_rewrite.c).
 * Owns        the wait, one for all forks, since only one child runs at a time.
 * Threads     main's own.
 * Cost        one counter and one clock reading per tick; a hundred times a second while a fork waits.
 * Tests       tests/unit/persist/file/quiet_moment_test.c, tests/persist/quiet.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "quiet_moment.h"

#include "call.h"
#include "clock.h"
#include "panic.h"
#include "persist_settings.h"

#define SAMPLE_MS 10
#define SAMPLE_US_MIN 8000 /* sooner a call takes no sample */
#define SAMPLE_US_LATE 25000
#define PEAK_SHARE 16   /* of the highest rate, which also counts as few */
#define PEAK_DECAY 0.97 /* per tick: half of it is forgotten in 2 to 3 seconds */
#define QUIET_SAMPLES 2

/* Returns the commands per millisecond since the last sample, and makes this one the last. */
static double takeSample(quietWatch *w, uint64_t now_us, uint64_t commands) {
    uint64_t elapsed_us = now_us - w->at_us, executed = commands > w->commands ? commands - w->commands : 0;
    bool first = w->at_us == 0 || elapsed_us == 0;
    w->at_us = now_us;
    w->commands = commands;
    return first ? 0 : (double)executed * 1000 / (double)elapsed_us;
}

void quietObserve(quietWatch *w, uint64_t now_us, uint64_t commands) {
    double rate = takeSample(w, now_us, commands);
    w->peak_per_ms *= PEAK_DECAY;
    if (rate > w->peak_per_ms) w->peak_per_ms = rate;
}

static bool sampleIsQuiet(quietWatch *w, uint64_t now_us, uint64_t commands, long long few_per_ms) {
    bool late = now_us - w->at_us > SAMPLE_US_LATE;
    double rate = takeSample(w, now_us, commands);
    if (rate > w->peak_per_ms) w->peak_per_ms = rate;
    return !late && few_per_ms >= 0 && (rate <= (double)few_per_ms || rate <= w->peak_per_ms / PEAK_SHARE);
}

quietVerdict quietStep(quietWatch *w, uint64_t now_us, uint64_t commands, uint64_t bound_us, long long few_per_ms) {
    if (!w->waits) {
        w->waits = true;
        w->since_us = now_us;
        w->quiet = 0;
        quietObserve(w, now_us, commands);
    } else if (now_us - w->at_us >= SAMPLE_US_MIN) {
        w->quiet = sampleIsQuiet(w, now_us, commands, few_per_ms) ? w->quiet + 1 : 0;
    }
    bool found = w->quiet >= QUIET_SAMPLES;
    if (!found && now_us - w->since_us < bound_us) return QUIET_WAIT;
    w->waits = false;
    return found ? QUIET_FOUND : QUIET_MISSED;
}

static struct {
    aeEventLoop *loop;   /* borrowed */
    void (*again)(void); /* const after startup */
    quietWatch watch;
    bool has_timer;
    bool asked; /* since the last sample */
    long long found, missed;
} quiet;

static uint64_t commandsSoFar(void) { return (uint64_t)engine_stats.commands_processed; }

void quietInit(aeEventLoop *loop, void (*again)(void)) {
    quiet.loop = loop;
    quiet.again = again;
}

void quietTick(void) {
    assertMainThread();
    if (!quiet.watch.waits) quietObserve(&quiet.watch, clockMonotonicUs(), commandsSoFar());
}

static long long onSample(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    quiet.asked = false;
    quiet.again();
    if (!quiet.asked) quiet.watch.waits = false;
    quiet.has_timer = quiet.watch.waits;
    return quiet.has_timer ? SAMPLE_MS : AE_NOMORE;
}

bool quietMayFork(long long bound_ms) {
    assertMainThread();
    if (bound_ms <= 0) return true;
    quiet.asked = true;
    quietVerdict verdict = quietStep(&quiet.watch, clockMonotonicUs(), commandsSoFar(), (uint64_t)bound_ms * 1000,
                                     persist_settings.quiet_commands_per_ms);
    if (verdict != QUIET_WAIT) {
        ++*(verdict == QUIET_FOUND ? &quiet.found : &quiet.missed);
        return true;
    }
    if (!quiet.has_timer) quiet.has_timer = aeCreateTimeEvent(quiet.loop, SAMPLE_MS, onSample, NULL) >= 0;
    return false;
}

void quietEnd(void) { quiet.watch.waits = false; }

quietFigures quietFiguresNow(void) {
    return (quietFigures){.waiting = quiet.watch.waits, .found = quiet.found, .missed = quiet.missed};
}

void quietResetStats(void) { quiet.found = quiet.missed = 0; }
