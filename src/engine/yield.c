/* yield.c -- lets a long job serve other clients meanwhile.
 *
 * Not here    how clients are served (net/net.c), what the job does.
 * Owns        nothing: jobs are borrowed until yieldNow() returns.
 * Threads     main.
 * Invariants  1. GATE_BUSY is enabled exactly while clients are served.
 *             2. `around` is set only while `waiting` is.
 * Tests       tests/unit/net/session/command_batch_test.c, tests/repl/sync.tcl, tests/script/yield.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "yield.h"

#include "command_table.h"
#include "engine_settings.h"
#include "key_check.h"
#include "reply.h"
#include "transaction_queue.h"

#define INTERVAL_NS 2000000

static const yieldJob *waiting; /* borrowed: the job during which clients are served; NULL if none */
static const yieldJob *around;  /* borrowed: the outer job, one of whose commands is that job; NULL if none */
static monotime served_at;
static void (*serve_others)(void);

void yieldSetServe(void (*serve)(void)) { serve_others = serve; }

void yieldLater(void) { served_at = clockTicks(); }

bool yieldIsDue(void) {
    assertMainRole();
    if (waiting && (around || !waiting->refused)) return false;
    if (!serve_others) return false;
    return unlikely(engine_settings.yield == YIELD_ALWAYS) || clockTicksToNs(clockTicks() - served_at) >= INTERVAL_NS;
}

void yieldNow(const yieldJob *job) {
    if (!yieldIsDue()) return;
    debugAssert(!around); /* two jobs are the most */
    debugAssert(job != waiting && (job->allowed != 0) + (job->refused != 0) + (job->permits != NULL) == 1);
    around = waiting;
    waiting = job;
    gateEnable(GATE_BUSY, true);
    keyMark mark;
    keyCheckPause(&mark);
    serve_others();
    debugAssert(waiting == job);
    keyCheckEnd(&mark);
    waiting = around;
    around = NULL;
    gateEnable(GATE_BUSY, waiting != NULL);
    served_at = clockTicks();
}

bool yieldIsServing(void) { return waiting != NULL; }

static bool yieldMayRun(const yieldJob *job, const client *c) {
    if (job->permits) return job->permits(c);
    return job->refused ? !(c->cmd->flags & job->refused) : c->cmd->flags & job->allowed;
}

gateResult yieldGate(client *c) {
    const yieldJob *job = waiting;
    if (job && yieldMayRun(job, c)) job = around;
    if (!job || yieldMayRun(job, c)) return GATE_PASSED;
    if (!job->error) return GATE_POSTPONED;
    transactionRefuse(c, job->error);
    return GATE_REFUSED;
}
