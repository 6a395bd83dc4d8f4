/* client_eviction.c -- maxmemory-clients: close the clients that cost most when all together cost too much.
 *
 * They are in a heap of {bytes, client}, the most expensive first; evictionSlot.place is the index + 1, or 0 if the
 * client is not in the heap.
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

#include "client_describe.h"
#include "db.h"
#include "heap.h"
#include "log_limit.h"
#include "net_settings.h"
#include "panic.h"

#define LIMIT_LEAST_BYTES (128 * 1024)
#define DEBUG_CHECK_MAX 64

typedef struct clientCost {
    size_t bytes;
    client *c; /* borrowed */
} clientCost;

bool client_eviction_on;
size_t client_eviction_slot;

/* --- the heap ------------------------------------------------------------------------------------------------- */

static bool costsMore(const void *a, const void *b) {
    return ((const clientCost *)a)->bytes > ((const clientCost *)b)->bytes;
}

static void noteIndex(const void *element, size_t index) {
    evictionSlotOf(((const clientCost *)element)->c)->place = index + 1;
}

static const heapType cost_type = {.size = sizeof(clientCost), .before = costsMore, .moved = noteIndex};

static struct {
    heap clients; /* owns: clientCost */
    size_t sum;
    size_t limit;
    size_t unseen; /* clients to be looked at before the first is evicted */
    long long evicted;
} costs = {.clients.type = &cost_type};

static const clientCost *costAt(size_t index) {
    return (const clientCost *)costs.clients.at + index;
}

static void add(clientCost cost) {
    costs.sum += cost.bytes;
    heapAdd(&costs.clients, &cost);
}

static void change(clientCost cost) {
    size_t i = evictionSlotOf(cost.c)->place - 1, before = costAt(i)->bytes;
    if (cost.bytes == before) return;
    costs.sum += cost.bytes - before;
    heapReplace(&costs.clients, i, &cost);
}

static void drop(client *c) {
    size_t i = evictionSlotOf(c)->place - 1;
    debugAssert(costAt(i)->c == c);
    evictionSlotOf(c)->place = 0;
    costs.sum -= costAt(i)->bytes;
    heapRemove(&costs.clients, i);
}

static void debugCheck(void) {
#ifdef DEBUG_ASSERTIONS
    size_t sum = 0;
    if (costs.clients.count > DEBUG_CHECK_MAX) return;
    for (size_t i = 0; i < costs.clients.count; i++) {
        serverAssert(evictionSlotOf(costAt(i)->c)->place == i + 1);
        serverAssert(i == 0 || costAt((i - 1) / 2)->bytes >= costAt(i)->bytes);
        sum += costAt(i)->bytes;
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

void clientEvictionInit(void) {
    assertMainRole();
    client_eviction_slot = clientSlotRegister(sizeof(evictionSlot));
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
    evictionSlotOf(c)->flow_noted = c->input_bytes + c->output_memory;
    if (mayEvict(c)) {
        clientCost cost = {clientMemUsage(c), c};
        if (evictionSlotOf(c)->place) change(cost);
        else add(cost);
    } else if (evictionSlotOf(c)->place) {
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
    if (evictionSlotOf(c)->place) drop(c);
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
    return client_eviction_on && !costs.unseen && costs.clients.count && costs.sum > costs.limit;
}

bool clientEvictionStep(void) {
    assertMainRole();
    client *c = costAt(0)->c;
    clientEvictionNote(c);
    /* It costs less by now, and others or nobody too much. */
    if (!clientEvictionWanted() || costAt(0)->c != c) return false;
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
