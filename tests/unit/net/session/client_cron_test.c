/* client_cron_test.c -- periodic work on a hundred thousand clients: how many are checked at once, and how often each.
 *
 * The clients have no connections: their I/O half is never accessed, and no loop iteration runs while they exist.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_cron.h"
#include "client_eviction.h"
#include "client_describe.h"
#include "net_fixture.h"
#include "net_settings.h"
#include "output_limits.h"

#include "panic.h"
#include "unit.h"
#include "zmalloc.h"

#define MANY 100000
#define TICK_MS 100

static clientIo nobody;
static client **clients;
static uint8_t *asked; /* how often the cost of each client was computed */
static monotime now;

static void countAsked(const client *c, clientInfoExtra *extra) {
    unused(extra);
    if (asked && c->fd >= 1000000) asked[c->fd - 1000000]++;
}

static monotime ticksOfMs(uint64_t ms) {
    monotime t = clockTicks();
    uint64_t per_ms = 1;
    while (clockTicksToNs(t + per_ms) - clockTicksToNs(t) < 1000000) per_ms *= 2;
    /* Finds the smallest value that makes a millisecond, by bisection. */
    for (uint64_t step = per_ms / 2; step; step /= 2)
        if (clockTicksToNs(t + per_ms - step) - clockTicksToNs(t) >= 1000000) per_ms -= step;
    return ms * per_ms;
}

/* Runs a tick and the steps that it leaves. Returns the number of checks. */
static uint64_t tick(void) {
    uint64_t before = clientCronGetStats().checks;
    now += ticksOfMs(TICK_MS);
    clientCronTick(now);
    for (int i = 0; clientCronStep(); i++)
        if (!CHECK(i < MANY)) break;
    return clientCronGetStats().checks - before;
}

static void makeClients(size_t count) {
    static bool registered;
    netFixtureInit();
    if (!registered) clientOnInfo(countAsked);
    registered = true;
    CHECK_EQ_INT(listLength(client_state.clients), 0);
    clients = zcalloc(count, sizeof(*clients));
    asked = zcalloc(count, 1);
    for (size_t i = 0; i < count; i++) clients[i] = clientCreate(&nobody, 1000000 + (int)i, NULL, NULL, false);
    now = clockTicks();
    net_settings.timeout_s = 0;
    net_settings.maxmemory_clients = 0;
    clientCronResetStats();
}

/* Frees all clients, also those that are to be closed. */
static void freeClients(size_t count) {
    net_settings.timeout_s = 0;
    net_settings.maxmemory_clients = 0;
    for (size_t i = 0; i < count; i++) {
        if (!clients[i]) continue;
        clientEvictionForget(clients[i]);
        clients[i]->output_memory = 0;
        clients[i]->flags &= ~CLIENT_BLOCKED; /* set only by a test: engine does not know of it */
    }
    while (clientPopClosing()) {
    }
    for (size_t i = 0; i < count; i++)
        if (clients[i]) clientFree(clients[i]);
    zfree(clients);
    zfree(asked);
    asked = NULL;
    tick();
}

/* No client is idle and all together cost little: no step checks more than its share, and each client is checked within
 * any second. */
TEST(client_cron_looks_at_a_hundred_thousand_a_few_at_a_time) {
    makeClients(MANY);
    net_settings.timeout_s = 1000000;
    net_settings.maxmemory_clients = 1ll << 40;
    tick(); /* the first tick has no preceding interval */
    memset(asked, 0, MANY);
    clientCronResetStats();
    uint64_t steps = clientCronGetStats().steps;
    for (int second = 0; second < 2; second++) {
        for (int i = 0; i < 1000 / TICK_MS; i++) {
            uint64_t looks = tick();
            CHECK(looks <= MANY / 8);
        }
        size_t unseen = 0, often = 0;
        for (size_t i = 0; i < MANY; i++) {
            unseen += asked[i] == 0;
            often += asked[i] > 2;
        }
        CHECK_EQ_INT(unseen, 0);
        CHECK_EQ_INT(often, 0);
        memset(asked, 0, MANY);
    }
    CHECK_EQ_INT(clientCronGetStats().checks_max, CLIENT_CRON_CHECKS);
    CHECK(clientCronGetStats().steps - steps >= 2 * MANY / CLIENT_CRON_CHECKS);
    CHECK_EQ_INT(listLength(client_state.clients), MANY);
    CHECK(!client_state.closing);
    freeClients(MANY);
}

TEST(client_cron_looks_at_few_in_each_tick) {
    makeClients(CLIENT_CRON_CHECKS);
    net_settings.timeout_s = 1000000;
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(tick(), CLIENT_CRON_CHECKS);
    net_settings.timeout_s = 0;
    CHECK_EQ_INT(tick(), 0);
    freeClients(CLIENT_CRON_CHECKS);
}

/* All have been idle for too long, except blocked ones. No step closes more than a few, and all are closed in the
 * end. */
TEST(client_cron_closes_a_few_at_a_time) {
    enum { SILENT = 5000 };
    makeClients(SILENT);
    for (int i = 0; i < SILENT; i++) {
        clients[i]->last_interaction = 0;
        if (i % 10 == 0) clients[i]->flags |= CLIENT_BLOCKED;
    }
    net_settings.timeout_s = 1;
    size_t closed = 0, most = 0;
    for (int i = 0; i < 12; i++) {
        now += ticksOfMs(TICK_MS);
        clientCronTick(now);
        for (bool more = true; more;) {
            size_t come = 0;
            more = clientCronStep();
            for (client *c; (c = clientPopClosing()) != NULL; come++) {
                clients[c->fd - 1000000] = NULL;
                clientFree(c);
            }
            closed += come;
            if (come > most) most = come;
        }
    }
    CHECK_EQ_INT(closed, SILENT - SILENT / 10);
    CHECK(most <= 2 * CLIENT_CRON_CHECKS / 16); /* a tick's own step, and one more */
    CHECK(clientCronGetStats().checks_max < CLIENT_CRON_CHECKS + 16);
    freeClients(SILENT);
}

/* Clients with unread output are found without checking any others. */
TEST(client_cron_looks_at_those_who_owe_output) {
    enum { OWE = 1000 };
    makeClients(MANY);
    CHECK_EQ_INT(tick(), 0);
    for (int i = 0; i < OWE; i++) {
        client *c = clients[i * 7];
        c->output_memory = OUTPUT_FULL_BYTES; /* as the client is known to have */
        c->output_blocks = 1;
        CHECK(!outputLimitCheck(c));
        CHECK(c->flags & CLIENT_OUTPUT_FULL);
    }
    clientCronResetStats();
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(tick(), OWE);
    CHECK_EQ_INT(clientCronGetStats().checks_max, CLIENT_CRON_CHECKS);
    for (int i = 1; i < OWE; i++) clients[i * 7]->output_memory = 0; /* sent since */
    CHECK_EQ_INT(tick(), OWE);
    CHECK(!(clients[7]->flags & CLIENT_OUTPUT_FULL));
    CHECK(clients[0]->flags & CLIENT_OUTPUT_FULL);
    CHECK_EQ_INT(tick(), OWE); /* they have no output any more, and are not checked again */
    CHECK_EQ_INT(tick(), 1);
    clients[0]->output_blocks = 0;
    freeClients(MANY);
}
