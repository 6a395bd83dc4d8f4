/* client_eviction_test.c -- maxmemory-clients: who goes, who stays, and what it costs to find out.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_eviction.h"
#include "net_fixture.h"
#include "net_settings.h"

#include "unit.h"

#include <unistd.h>

#define CLIENTS 100
#define NAME_BYTES 4000

static size_t asked;

static void countAsked(const client *c, clientInfoExtra *extra) {
    unused(c), unused(extra);
    asked++;
}

static bool noClients(void *arg) {
    unused(arg);
    return listLength(client_state.clients) == 0;
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
    CHECK(fixtureUntil(noClients, NULL, 10000));
}

/* The dearest go, and no more than must; who may not be evicted stays. Nobody is asked what he costs more than a few
 * times, however many go. */
TEST(client_eviction_lets_the_dearest_go) {
    static bool registered;
    client *c[CLIENTS];
    int peers[CLIENTS];
    openAll(c, peers);
    if (!registered) clientOnInfo(countAsked);
    registered = true;
    c[2]->flags |= CLIENT_NO_EVICT;
    size_t sum = 0, gone = 0;
    for (int i = 0; i < CLIENTS; i++) sum += i == 2 ? 0 : clientMemUsage(c[i]);
    net_settings.maxmemory_clients = (long long)sum;
    long long before = clientEvictionCount();
    asked = 0;
    clientEvictionCheck();
    CHECK_EQ_INT(clientEvictionCount() - before, 0);
    CHECK_EQ_INT(asked, CLIENTS - 1);
    net_settings.maxmemory_clients = 200 * 1024;
    asked = 0;
    clientEvictionCheck();
    CHECK(asked <= 3 * CLIENTS);
    size_t left = 0, dearest_left = 0, cheapest_gone = SIZE_MAX;
    for (int i = 0; i < CLIENTS; i++) {
        size_t bytes = clientMemUsage(c[i]);
        bool closing = c[i]->flags & CLIENT_CLOSE_ASAP;
        gone += closing;
        if (i == 2) CHECK(!closing);
        else if (closing) cheapest_gone = bytes < cheapest_gone ? bytes : cheapest_gone;
        else left += bytes, dearest_left = bytes > dearest_left ? bytes : dearest_left;
    }
    CHECK_EQ_INT(clientEvictionCount() - before, gone);
    CHECK(left <= 200 * 1024);
    CHECK(left + cheapest_gone > 200 * 1024);
    CHECK(dearest_left <= cheapest_gone);
    closeAll(peers);
}
