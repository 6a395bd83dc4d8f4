/* client_eviction_test.c -- maxmemory-clients: which clients are evicted, and the cost of finding them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_eviction.h"
#include "client_describe.h"
#include "net_fixture.h"
#include "net_settings.h"

#include "store_settings.h"
#include "unit.h"

#include <unistd.h>

#define CLIENTS 100
#define NAME_BYTES 4000

static size_t asked;

static void countAsked(const client *c, clientInfoExtra *extra) {
    unused(c), unused(extra);
    asked++;
}

/* Client i costs about (1 + i % 3) * NAME_BYTES. */
static void openAll(client **c, int *peers) {
    netFixtureInit();
    for (int i = 0; i < CLIENTS; i++) {
        c[i] = fixtureConnect(&peers[i], false);
        const char *err;
        sds name = sdsEmpty();
        for (int k = 0; k < (1 + i % 3) * NAME_BYTES; k++) name = sdsCatLen(name, "n", 1);
        CHECK(clientSetName(c[i], sdsSlice(name), &err));
        sdsFree(name);
    }
}

static void closeAll(const int *peers) {
    net_settings.maxmemory_clients = 0;
    for (int i = 0; i < CLIENTS; i++) close(peers[i]);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
}

static bool isEnough(void *arg) {
    unused(arg);
    return !clientEvictionWanted();
}

/* The clients with the most memory are evicted, and no more than necessary; protected clients stay. The memory of each
 * is computed only a few times, however many are evicted. */
TEST(client_eviction_lets_the_dearest_go) {
    static bool registered;
    client *c[CLIENTS];
    int peers[CLIENTS];
    uint64_t ids[CLIENTS];
    size_t bytes[CLIENTS];
    openAll(c, peers);
    if (!registered) clientOnInfo(countAsked);
    registered = true;
    c[2]->flags |= CLIENT_NO_EVICT;
    size_t sum = 0, gone = 0;
    for (int i = 0; i < CLIENTS; i++) {
        ids[i] = c[i]->id;
        bytes[i] = clientMemUsage(c[i]);
        sum += i == 2 ? 0 : bytes[i];
    }
    net_settings.maxmemory_clients = (long long)sum;
    long long before = clientEvictionCount();
    asked = 0;
    netCron();
    CHECK_EQ_INT(clientEvictionCount() - before, 0);
    CHECK_EQ_INT(asked, CLIENTS - 1);
    net_settings.maxmemory_clients = 200 * 1024;
    asked = 0;
    netCron();
    CHECK(clientEvictionCount() - before > 0);
    CHECK(fixtureUntil(isEnough, NULL, 10000));
    CHECK(asked <= 3 * CLIENTS);
    size_t left = 0, dearest_left = 0, cheapest_gone = SIZE_MAX;
    for (int i = 0; i < CLIENTS; i++) {
        bool closed = clientById(ids[i]) == NULL;
        gone += closed;
        if (i == 2) CHECK(!closed);
        else if (closed) cheapest_gone = bytes[i] < cheapest_gone ? bytes[i] : cheapest_gone;
        else left += bytes[i], dearest_left = bytes[i] > dearest_left ? bytes[i] : dearest_left;
    }
    CHECK_EQ_INT(clientEvictionCount() - before, gone);
    CHECK(left <= 200 * 1024);
    CHECK(left + cheapest_gone > 200 * 1024);
    CHECK(dearest_left <= cheapest_gone);
    closeAll(peers);
}

/* --- the order, without connections ---------------------------------------------------------------------------- */

#define MODEL_CLIENTS 60
#define MODEL_STEPS 20000

static clientIo nobody;

/* Memory changes at random, clients come and go, and some are protected for a while. In the end the limit is set so
 * that half must be evicted: those with the most memory are. */
TEST(client_eviction_keeps_the_order) {
    uint64_t seed = unitRandomSeed();
    client *c[MODEL_CLIENTS] = {NULL};
    netFixtureInit();
    CHECK_EQ_INT(listLength(client_state.clients), 0);
    net_settings.maxmemory_clients = 1ll << 40;
    clientEvictionSwitch();
    for (int step = 0; step < MODEL_STEPS; step++) {
        client **one = &c[unitRandom(&seed) % MODEL_CLIENTS];
        switch (*one ? unitRandom(&seed) % 8 : 0) {
        case 0:
            if (!*one) *one = clientCreate(&nobody, 1, NULL, NULL, false);
            else clientEvictionForget(*one), clientFree(*one), *one = NULL;
            break;
        case 1: (*one)->flags ^= CLIENT_NO_EVICT; /* fall through */
        case 2: clientEvictionUpdate(*one); break;
        default: (*one)->input_bytes = unitRandom(&seed) % 1000000; clientEvictionFlow(*one);
        }
    }
    size_t sum = 0, left = 0, dearest_left = 0, cheapest_gone = SIZE_MAX;
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        if (!c[i]) continue;
        c[i]->flags &= ~CLIENT_NO_EVICT;
        clientEvictionUpdate(c[i]);
        sum += clientMemUsage(c[i]);
    }
    net_settings.maxmemory_clients = (long long)sum / 2;
    clientEvictionSwitch();
    CHECK(clientEvictionWanted());
    while (clientEvictionWanted()) clientEvictionStep();
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        if (!c[i]) continue;
        size_t bytes = clientMemUsage(c[i]);
        if (c[i]->flags & CLIENT_CLOSE_ASAP) cheapest_gone = bytes < cheapest_gone ? bytes : cheapest_gone;
        else left += bytes, dearest_left = bytes > dearest_left ? bytes : dearest_left;
    }
    CHECK(left <= sum / 2);
    CHECK(left + cheapest_gone > sum / 2);
    CHECK(dearest_left <= cheapest_gone);
    net_settings.maxmemory_clients = 0;
    clientEvictionSwitch();
    while (clientPopClosing()) {
    }
    for (int i = 0; i < MODEL_CLIENTS; i++)
        if (c[i]) clientEvictionForget(c[i]), clientFree(c[i]);
}

/* No client is evicted for memory that it used earlier, and none at all before each was checked under the new limit. */
TEST(client_eviction_goes_by_what_clients_cost_now) {
    client *c[3];
    netFixtureInit();
    net_settings.maxmemory_clients = 0;
    clientEvictionSwitch();
    for (int i = 0; i < 3; i++) {
        c[i] = clientCreate(&nobody, 1, NULL, NULL, false);
        c[i]->input_bytes = 1000000;
        clientEvictionNote(c[i]); /* under an earlier limit */
        c[i]->input_bytes = i == 1 ? 600000 : 0;
    }
    net_settings.maxmemory_clients = 500000;
    clientEvictionSwitch();
    long long before = clientEvictionCount();
    for (int i = 0; i < 3; i++) {
        CHECK(!clientEvictionWanted());
        clientEvictionUpdate(c[i]);
    }
    CHECK(clientEvictionWanted());
    c[1]->input_bytes = 0; /* it has run, and was not checked since */
    CHECK(!clientEvictionStep());
    CHECK(!clientEvictionWanted());
    c[2]->input_bytes = 600000; /* a request arrives */
    clientEvictionFlow(c[2]);
    CHECK(clientEvictionWanted());
    c[2]->flags |= CLIENT_NO_EVICT;
    CHECK(!clientEvictionStep());
    CHECK_EQ_INT(clientEvictionCount() - before, 0);
    c[2]->flags &= ~CLIENT_NO_EVICT;
    clientEvictionNote(c[2]);
    CHECK(clientEvictionStep());
    CHECK(c[2]->flags & CLIENT_CLOSE_ASAP);
    CHECK(!clientEvictionWanted());
    net_settings.maxmemory_clients = 0;
    clientEvictionSwitch();
    while (clientPopClosing()) {
    }
    for (int i = 0; i < 3; i++) clientEvictionForget(c[i]), clientFree(c[i]);
}

/* Returns whether a client of exactly so many bytes exceeds the limit. */
static bool isTooMuch(client *c, size_t bytes) {
    c->input_bytes = 0;
    c->input_bytes = bytes - clientMemUsage(c);
    clientEvictionUpdate(c);
    return clientEvictionWanted();
}

/* A negative limit is a percentage of maxmemory, and no limit without maxmemory. The minimum is 128 KiB. */
TEST(client_eviction_limit_may_be_a_share_of_maxmemory) {
    static const struct {
        long long limit;
        long long maxmemory;
        size_t bytes; /* 0 if there is no limit */
    } cases[] = {{-5, 0, 0},         {-5, 100000000, 5000000}, {-100, 3000000, 3000000}, {-1, 100, 128 * 1024},
                 {1, 0, 128 * 1024}, {131073, 0, 131073},      {200000, 100, 200000},    {0, 100000000, 0}};
    netFixtureInit();
    client *c = clientCreate(&nobody, 1, NULL, NULL, false);
    for (size_t i = 0; i < array_len(cases); i++) {
        net_settings.maxmemory_clients = cases[i].limit;
        store_settings.maxmemory = cases[i].maxmemory;
        clientEvictionSwitch();
        CHECK(!isTooMuch(c, cases[i].bytes ? cases[i].bytes : 1000000000));
        if (cases[i].bytes) CHECK(isTooMuch(c, cases[i].bytes + 1));
    }
    store_settings.maxmemory = 0;
    net_settings.maxmemory_clients = 0;
    clientEvictionSwitch();
    clientEvictionForget(c), clientFree(c);
}
