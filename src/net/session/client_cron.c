/* client_cron.c -- what is done for clients by the clock, a few at a time.
 *
 * Who is silent for too long is closed, and who owes output for too long; what each costs is noted for
 * maxmemory-clients. To look at all of them in one tick would stop main for 20 ms when there are a hundred thousand: it
 * is a cache miss or ten for each. So a tick makes a share of them due, and steps of CLIENT_CRON_LOOKS looks with other
 * work in between see to that. Closing a client is dear (a line in the log, system calls), so it counts as many looks.
 *
 *   tick, 100 ms:  due += clients * 100 / ROUND_MS    step, 1 ms:  256 looks    step    step ... until none is due
 *
 * Without a limit for the silent and for memory nobody is looked at but those who owe output, who have a list.
 *
 * Not here    the limits of output (client/output_limits.c), who costs most (client_eviction.c).
 * Owns        how many are due.
 * Threads     main; steps on main's own thread.
 * Invariants  1. No step costs more than CLIENT_CRON_LOOKS looks and one closing.
 *             2. While something is due a step is scheduled.
 *             3. Each client is looked at at least once a second, up to a quarter of a million of them.
 * Cost        a look is 0.1 us for the silent, 1 us with maxmemory-clients.
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
#include "panic.h"

#include <time.h>

#define ROUND_MS 900 /* a second, less a tick */
#define STEP_MS 1
#define CLOSE_LOOKS 16 /* what closing a client costs, in looks */

static struct {
    size_t clients, outputs; /* due */
    monotime last_tick;
    bool scheduled;
    clientCronStats stats;
} cron;

/* --- a look at a client, which returns what it cost ----------------------------------------------------------- */

/* Silent for longer than `timeout`? */
static bool isSilent(const client *c, monotime now) {
    uint64_t limit_ns = (uint64_t)net_settings.timeout_s * 1000000000ull;
    if (c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_REPLICA | CLIENT_PRIMARY | CLIENT_PUBSUB)) return false;
    /* The first spares the look at the stream, a line that its holder writes. */
    return clockTicksToNs(now - c->last_interaction) >= limit_ns && clientIdleNs(c) >= limit_ns;
}

static size_t lookAt(client *c, monotime now) {
    if (c->flags & CLIENT_CLOSE_ASAP) return 1;
    if (net_settings.timeout_s && isSilent(c, now)) {
        serverLog(LL_VERBOSE, "Closing idle client");
        clientCloseAsap(c);
        return CLOSE_LOOKS;
    }
    if (client_eviction_on) clientEvictionUpdate(c);
    return 1;
}

/* The soft limit of a client that neither reads nor sends is noticed here, and changed limits by one whose commands
 * wait for its output. It comes back to the list by itself. */
static size_t lookAtOutput(client *c) {
    if (c->flags & CLIENT_CLOSE_ASAP || !(c->soft_limit_since || c->flags & CLIENT_OUTPUT_FULL)) return 1;
    if (outputLimitCheck(c)) return CLOSE_LOOKS;
    if (outputFullEnds(c)) batchClientReady(c);
    return 1;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* Of this thread. Not the time of day: the processor may have been somebody else's meanwhile. */
static uint64_t processorNs(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static size_t lookAtSome(void) {
    size_t spent = 0;
    monotime now = clockTicks();
    client *c;
    for (; cron.outputs && spent < CLIENT_CRON_LOOKS; cron.outputs--)
        if ((c = clientPopWatched()) != NULL) spent += lookAtOutput(c);
    for (; cron.clients && spent < CLIENT_CRON_LOOKS; cron.clients--)
        if ((c = clientNextInRound()) != NULL) spent += lookAt(c, now);
    while (spent < CLIENT_CRON_LOOKS && clientEvictionWanted()) spent += clientEvictionStep() ? CLOSE_LOOKS : 1;
    return spent;
}

bool clientCronStep(void) {
    assertMainThread();
    uint64_t begin = processorNs();
    size_t spent = lookAtSome();
    uint64_t ns = processorNs() - begin;
    cron.stats.steps++;
    cron.stats.looks += spent;
    if (spent > cron.stats.looks_max) cron.stats.looks_max = spent;
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
    cron.clients += all <= CLIENT_CRON_LOOKS ? all : count;
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
    clientEvictionSwitch();
    makeDue(listLength(client_state.clients) * us / (ROUND_MS * 1000) + 1);
    if (cron.clients || cron.outputs || clientEvictionWanted()) makeStep();
}

void clientCronNow(void) {
    assertMainThread();
    if (!client_state.clients || !ioThreadMain()) return;
    clientEvictionSwitch();
    makeDue(CLIENT_CRON_LOOKS);
    makeStep();
}

clientCronStats clientCronGetStats(void) {
    assertMainRole();
    return cron.stats;
}

void clientCronResetStats(void) {
    assertMainRole();
    cron.stats.looks_max = cron.stats.ns_max = 0;
}
