/* client_eviction.c -- maxmemory-clients: closes the clients that take most memory if all together take too much.
 *
 * The clients are in a heap of {bytes, client}, the most expensive first; evictionSlot.heap_slot is the index + 1, or 0
 * if the client is not in the heap.
 *
 * The memory of a client is noted in the periodic check (client_cron.c), within a second, and at once if its requests
 * or output have changed much. So sum and order are always known and no check of all clients is needed. A client that
 * is to be evicted is noted once more before, so that it is not closed for memory that it took a second ago.
 *
 * Owns        the heap, the sum, the count of evicted clients.
 * Threads     main.
 * Invariants  (debug builds assert them while there are few clients)
 *             1. No client in the heap costs more, as noted, than its parent. The sum is that of the heap.
 *             2. A client that must not be evicted is not in the heap, as of its last check.
 * Cost        a check is clientMemUsage(), about 1 us if nothing is cached; moving in the heap takes the logarithm of
 *             the number of clients.
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
    evictionSlotOf(((const clientCost *)element)->c)->heap_slot = index + 1;
}

static const heapType cost_type = {.size = sizeof(clientCost), .before = costsMore, .moved = noteIndex};

static struct {
    heap clients; /* owns: clientCost */
    size_t sum;
    size_t limit;
    size_t unchecked; /* clients to be checked before the first is evicted */
    long long evicted;
} costs = {.clients.type = &cost_type};

static const clientCost *costAt(size_t index) { return (const clientCost *)costs.clients.at + index; }

/* Adds the cost, or replaces the client's earlier one. */
static void setCost(clientCost cost) {
    size_t index = evictionSlotOf(cost.c)->heap_slot, before = index ? costAt(index - 1)->bytes : 0;
    costs.sum += cost.bytes - before;
    if (!index) heapAdd(&costs.clients, &cost);
    else if (cost.bytes != before) heapReplace(&costs.clients, index - 1, &cost);
}

static void drop(client *c) {
    size_t i = evictionSlotOf(c)->heap_slot - 1;
    debugAssert(costAt(i)->c == c);
    evictionSlotOf(c)->heap_slot = 0;
    costs.sum -= costAt(i)->bytes;
    heapRemove(&costs.clients, i);
}

static void debugCheck(void) {
#ifdef DEBUG_ASSERTIONS
    size_t sum = 0;
    if (costs.clients.count > DEBUG_CHECK_MAX) return;
    for (size_t i = 0; i < costs.clients.count; i++) {
        serverAssert(evictionSlotOf(costAt(i)->c)->heap_slot == i + 1);
        serverAssert(i == 0 || costAt((i - 1) / 2)->bytes >= costAt(i)->bytes);
        sum += costAt(i)->bytes;
    }
    serverAssert(sum == costs.sum);
#endif
}

/* --- what clients cost ------------------------------------------------------------------------------------------ */

/* Returns 0 if there is no limit. A limit that bare connections would exceed is raised to one that evicts none of
 * them. */
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
    /* Costs noted under an earlier limit may be outdated. */
    if (on && !client_eviction_on) costs.unchecked = listLength(client_state.clients);
    client_eviction_on = on;
}

void clientEvictionNote(client *c) {
    assertMainRole();
    evictionSlotOf(c)->flow_noted = c->input_bytes + c->output_memory;
    if (mayEvict(c)) setCost((clientCost){clientMemUsage(c), c});
    else clientEvictionForget(c);
    debugCheck();
}

void clientEvictionUpdate(client *c) {
    clientEvictionNote(c);
    if (costs.unchecked) costs.unchecked--;
}

void clientEvictionForget(client *c) {
    assertMainRole();
    if (evictionSlotOf(c)->heap_slot) drop(c);
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
    return client_eviction_on && !costs.unchecked && costs.clients.count && costs.sum > costs.limit;
}

bool clientEvictionStep(void) {
    assertMainRole();
    client *c = costAt(0)->c;
    clientEvictionNote(c);
    /* It takes less now: another client takes more, or all together are within the limit. */
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
