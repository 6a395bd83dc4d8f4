/* client_cron.c -- periodic work for clients, a few at a time.
 *
 * Closes clients that are idle for too long, and those that have had too much unread output for too long; notes the
 * memory of each for maxmemory-clients. Checking all clients in one tick would stop main for 20 ms if there are a
 * hundred thousand: each is one to ten cache misses. So a tick makes a share of them due, and steps of
 * CLIENT_CRON_CHECKS checks do the work, with other work in between. Closing a client is expensive (a log line, system
 * calls), so it counts as several checks.
 *
 *   tick, 100 ms:  due += clients * 100 / ROUND_MS   step, 1 ms:  256 checks   step   step ... until none is due
 *
 * Without a timeout and a memory limit only clients with unread output, which have a list, are checked.
 *
 * Not here    output limits (client/output_limits.c), which client takes most memory (client_eviction.c).
 * Owns        how many clients are due.
 * Threads     main; steps on main's own thread.
 * Invariants  1. No step costs more than CLIENT_CRON_CHECKS checks and closing one client.
 *             2. While clients are due a step is scheduled.
 *             3. Each client is checked at least once a second, up to a quarter of a million clients.
 * Cost        a check takes 0.1 us for the timeout, 1 us with maxmemory-clients.
 * Tests       tests/unit/net/session/client_cron_test.c, tests/engine/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_cron.h"

#include "ae.h"
#include "client.h"
#include "client_eviction.h"
#include "client_describe.h"
#include "command_batch.h"
#include "io_threads.h"
#include "log.h"
#include "net_settings.h"
#include "output_limits.h"
#include "output_share.h"
#include "panic.h"

#include <time.h>

#define ROUND_MS 900 /* a second minus a tick */
#define STEP_MS 1
#define CLOSE_CHECKS 16 /* what closing a client costs, in checks */

static struct {
    size_t clients, outputs; /* due for a check */
    monotime last_tick;
    bool scheduled;
    clientCronStats stats;
} cron;

/* --- the check of one client, which returns its cost -------------------------------------------------------- */

/* Returns whether the client has been idle for longer than `timeout`. */
static bool isIdle(const client *c, monotime now) {
    uint64_t limit_ns = (uint64_t)net_settings.timeout_s * 1000000000ull;
    if (c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_REPLICA | CLIENT_PRIMARY | CLIENT_PUBSUB)) return false;
    /* The first test often saves reading the I/O half, a cache line that the owner thread writes. */
    return clockTicksToNs(now - c->last_interaction) >= limit_ns && clientIdleNs(c) >= limit_ns;
}

static size_t checkClient(client *c, monotime now) {
    if (c->flags & CLIENT_CLOSE_ASAP) return 1;
    if (net_settings.timeout_s && isIdle(c, now)) {
        serverLog(LL_VERBOSE, "Closing idle client");
        clientCloseAsap(c);
        return CLOSE_CHECKS;
    }
    if (client_eviction_on) clientEvictionUpdate(c);
    return 1;
}

/* Applies the soft limit of a client that neither reads nor sends, and ends CLIENT_OUTPUT_FULL if limits have changed.
 * outputLimitCheck() puts the client into the list again if it must still be watched. */
static size_t checkOutput(client *c) {
    if (c->flags & CLIENT_CLOSE_ASAP || !(c->soft_limit_since || c->flags & CLIENT_OUTPUT_FULL)) return 1;
    if (outputLimitCheck(c)) return CLOSE_CHECKS;
    if (outputFullEnds(c)) batchClientReady(c);
    return 1;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* Processor time of this thread, not wall-clock time: other threads may use the processor meanwhile. */
static uint64_t processorNs(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static size_t checkSome(void) {
    size_t spent = 0;
    monotime now = clockTicks();
    client *c;
    for (; cron.outputs && spent < CLIENT_CRON_CHECKS; cron.outputs--)
        if ((c = clientPopWatched()) != NULL) spent += checkOutput(c);
    for (; cron.clients && spent < CLIENT_CRON_CHECKS; cron.clients--)
        if ((c = clientNextInRound()) != NULL) spent += checkClient(c, now);
    while (spent < CLIENT_CRON_CHECKS && clientEvictionWanted()) spent += clientEvictionStep() ? CLOSE_CHECKS : 1;
    return spent;
}

bool clientCronStep(void) {
    assertMainThread();
    uint64_t begin = processorNs();
    size_t spent = checkSome();
    uint64_t ns = processorNs() - begin;
    cron.stats.steps++;
    cron.stats.checks += spent;
    if (spent > cron.stats.checks_max) cron.stats.checks_max = spent;
    if (ns > cron.stats.ns_max) cron.stats.ns_max = ns;
    return cron.clients || cron.outputs || clientEvictionWanted();
}

static long long onStep(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    cron.scheduled = clientCronStep();
    return cron.scheduled ? STEP_MS : AE_NOMORE;
}

static void makeStep(void) {
    if (!clientCronStep() || cron.scheduled) return;
    aeEventLoop *loop = ioThreadOwner(ioThreadMain())->loop;
    cron.scheduled = aeCreateTimeEvent(loop, STEP_MS, onStep, NULL) >= 0;
}

/* --- ticks ------------------------------------------------------------------------------------------ */

static void makeDue(size_t count) {
    size_t all = listLength(client_state.clients);
    cron.clients += all <= CLIENT_CRON_CHECKS ? all : count;
    if (cron.clients > all) cron.clients = all;
    if (!net_settings.timeout_s && !client_eviction_on) cron.clients = 0;
    cron.outputs = client_state.watched;
}

void clientCronTick(monotime now) {
    assertMainThread();
    uint64_t us = clockTicksToUs(now - cron.last_tick);
    if (us > ROUND_MS * 1000) us = ROUND_MS * 1000;
    cron.last_tick = now;
    clientPeaksTick(now);
    outputShareMeasure();
    outputAlarmUpdate();
    clientEvictionSwitch();
    makeDue(listLength(client_state.clients) * us / (ROUND_MS * 1000) + 1);
    if (cron.clients || cron.outputs || clientEvictionWanted()) makeStep();
}

void clientCronNow(void) {
    assertMainThread();
    if (!client_state.clients || !ioThreadMain()) return;
    clientEvictionSwitch();
    makeDue(CLIENT_CRON_CHECKS);
    makeStep();
}

clientCronStats clientCronGetStats(void) {
    assertMainRole();
    return cron.stats;
}

void clientCronResetStats(void) {
    assertMainRole();
    cron.stats.checks_max = cron.stats.ns_max = 0;
}
