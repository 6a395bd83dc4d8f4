/* client_eviction.c -- maxmemory-clients: close the clients that cost most when all together cost too much.
 *
 *   at[0]  the dearest     a heap of {bytes, client}; client.eviction_place is its index + 1, 0: not in it
 *   at[1] at[2]  ...
 *
 * What each client costs is noted when the clock comes round to it (client_cron.c), within a second, and at once when
 * its requests or output have changed by much. So the sum and the order are there when they are asked for, and neither
 * takes a look at everybody. Who is about to be evicted is looked at once more: nobody goes for what he has cost a
 * second ago.
 *
 * Owns        the heap, the sum, the count of evicted clients.
 * Threads     main.
 * Invariants  (debug builds assert them while there are few)
 *             1. No client in the heap costs more, as noted, than the one above it. The sum is theirs.
 *             2. Who may not be evicted is not in the heap, as of the last look.
 * Cost        a look is what clientMemUsage() takes, about 1 us when nothing is cached; a change of place the logarithm
 *             of how many there are.
 * Tests       tests/unit/net/session/client_eviction_test.c, tests/engine/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_eviction.h"

#include "db.h"
#include "log_limit.h"
#include "net_settings.h"
#include "panic.h"
#include "zmalloc.h"

#define LIMIT_LEAST_BYTES (128 * 1024)
#define DEBUG_CHECK_MAX 64

typedef struct clientCost {
    size_t bytes;
    client *c; /* borrowed */
} clientCost;

bool client_eviction_on;

static struct {
    clientCost *at; /* owns */
    size_t count, room;
    size_t sum;
    size_t limit;
    size_t unseen; /* clients to be looked at before the first is evicted */
    long long evicted;
} costs;

/* --- the heap ------------------------------------------------------------------------------------------------- */

static void put(size_t i, clientCost cost) {
    costs.at[i] = cost;
    cost.c->eviction_place = (uint32_t)i + 1;
}

static void siftUp(size_t i, clientCost cost) {
    for (; i > 0 && costs.at[(i - 1) / 2].bytes < cost.bytes; i = (i - 1) / 2) put(i, costs.at[(i - 1) / 2]);
    put(i, cost);
}

static void siftDown(size_t i, clientCost cost) {
    for (size_t child; (child = 2 * i + 1) < costs.count; i = child) {
        if (child + 1 < costs.count && costs.at[child + 1].bytes > costs.at[child].bytes) child++;
        if (costs.at[child].bytes <= cost.bytes) break;
        put(i, costs.at[child]);
    }
    put(i, cost);
}

/* At a place whose own content is not needed any more. */
static void place(size_t i, clientCost cost) {
    if (i > 0 && costs.at[(i - 1) / 2].bytes < cost.bytes) siftUp(i, cost);
    else siftDown(i, cost);
}

static void add(clientCost cost) {
    if (costs.count == costs.room) {
        costs.room = costs.room ? costs.room * 2 : 64;
        costs.at = zrealloc(costs.at, costs.room * sizeof(*costs.at));
    }
    costs.sum += cost.bytes;
    siftUp(costs.count++, cost);
}

static void change(clientCost cost) {
    size_t i = cost.c->eviction_place - 1, before = costs.at[i].bytes;
    if (cost.bytes == before) return;
    costs.sum += cost.bytes - before;
    place(i, cost);
}

static void drop(client *c) {
    size_t i = c->eviction_place - 1;
    debugAssert(costs.at[i].c == c);
    c->eviction_place = 0;
    costs.sum -= costs.at[i].bytes;
    clientCost last = costs.at[--costs.count];
    if (i < costs.count) place(i, last);
}

static void debugCheck(void) {
#ifdef DEBUG_ASSERTIONS
    size_t sum = 0;
    if (costs.count > DEBUG_CHECK_MAX) return;
    for (size_t i = 0; i < costs.count; i++) {
        serverAssert(costs.at[i].c->eviction_place == i + 1);
        serverAssert(i == 0 || costs.at[(i - 1) / 2].bytes >= costs.at[i].bytes);
        sum += costs.at[i].bytes;
    }
    serverAssert(sum == costs.sum);
#endif
}

/* --- what clients cost ------------------------------------------------------------------------------------------ */

/* 0: no limit. A limit that the bare connections would break closes nobody. */
static size_t limitBytes(void) {
    long long v = net_settings.maxmemory_clients;
    size_t bytes = v >= 0 ? (size_t)v : (size_t)((double)store_settings.maxmemory * (double)-v / 100.0);
    return bytes > 0 && bytes < LIMIT_LEAST_BYTES ? LIMIT_LEAST_BYTES : bytes;
}

static bool mayEvict(const client *c) {
    clientType t = clientTypeOf(c);
    return (t == CLIENT_TYPE_NORMAL || t == CLIENT_TYPE_PUBSUB) && !(c->flags & (CLIENT_NO_EVICT | CLIENT_CLOSE_ASAP));
}

void clientEvictionSwitch(void) {
    assertMainRole();
    costs.limit = limitBytes();
    bool on = costs.limit != 0;
    /* What was noted under an earlier limit is as old as that. */
    if (on && !client_eviction_on) costs.unseen = listLength(client_state.clients);
    client_eviction_on = on;
}

void clientEvictionNote(client *c) {
    assertMainRole();
    c->flow_noted = c->input_bytes + c->output_memory;
    if (mayEvict(c)) {
        clientCost cost = {clientMemUsage(c), c};
        if (c->eviction_place) change(cost);
        else add(cost);
    } else if (c->eviction_place) {
        drop(c);
    }
    debugCheck();
}

void clientEvictionUpdate(client *c) {
    clientEvictionNote(c);
    if (costs.unseen) costs.unseen--;
}

void clientEvictionForget(client *c) {
    assertMainRole();
    if (c->eviction_place) drop(c);
}

/* --- eviction ------------------------------------------------------------ */

static void evict(client *c) {
    sds info = clientCatInfo(sdsEmpty(), c);
    LOG_LIMITED(LL_NOTICE, LOG_LIMIT_FEW, "clients that were evicted", "Evicting client: %s", info);
    sdsFree(info);
    clientCloseAsap(c);
    costs.evicted++;
}

bool clientEvictionWanted(void) {
    assertMainRole();
    return client_eviction_on && !costs.unseen && costs.count && costs.sum > costs.limit;
}

bool clientEvictionStep(void) {
    assertMainRole();
    client *c = costs.at[0].c;
    clientEvictionNote(c);
    /* It costs less by now, and others or nobody too much. */
    if (!clientEvictionWanted() || costs.at[0].c != c) return false;
    drop(c);
    evict(c);
    return true;
}

long long clientEvictionCount(void) {
    assertMainRole();
    return costs.evicted;
}

void clientEvictionResetStats(void) {
    assertMainRole();
    costs.evicted = 0;
}
