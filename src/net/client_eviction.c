/* client_eviction.c -- maxmemory-clients: close the clients that cost most when all together cost too much.
 *
 * The sum is taken ten times a second rather than kept up to date by each command: what a client costs is
 * known from its own fields, and a limit on memory need not be exact to the millisecond.
 *
 * Owns        the count of evicted clients.
 * Threads     main.
 * Cost        a look at each client; above the limit they are sorted once, however many go.
 * Tests       tests/unit/net/client_eviction_test.c, tests/engine/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_eviction.h"

#include "client.h"
#include "db.h"
#include "log.h"
#include "net_settings.h"
#include "panic.h"
#include "zmalloc.h"

#include <stdlib.h>

#define LIMIT_LEAST_BYTES (128 * 1024)

static long long evicted_count;

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

typedef struct clientCost {
    client *c;
    size_t bytes;
} clientCost;

/* Memory of all that may be evicted; each of them goes to `costs` as well unless that is NULL (*count of them). */
static size_t survey(clientCost *costs, size_t *count) {
    size_t sum = 0;
    *count = 0;
    listIter it = listBegin(client_state.clients, false);
    listNode *n;
    while ((n = listNext(&it)) != NULL) {
        client *c = listNodeValue(n);
        if (!mayEvict(c)) continue;
        size_t bytes = clientMemUsage(c);
        sum += bytes;
        if (costs) costs[(*count)++] = (clientCost){c, bytes};
    }
    return sum;
}

static int costsMore(const void *a, const void *b) {
    size_t x = ((const clientCost *)a)->bytes, y = ((const clientCost *)b)->bytes;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void evict(client *c) {
    sds info = clientCatInfo(sdsEmpty(), c);
    serverLog(LL_NOTICE, "Evicting client: %s", info);
    sdsFree(info);
    clientCloseAsap(c);
    evicted_count++;
}

/* The dearest first. Each is asked once what it costs: thousands may have to go. */
static void evictDownTo(size_t limit) {
    size_t count;
    clientCost *costs = zmalloc(listLength(client_state.clients) * sizeof(*costs));
    size_t sum = survey(costs, &count);
    qsort(costs, count, sizeof(*costs), costsMore);
    for (size_t i = 0; i < count && sum > limit; i++) {
        sum -= costs[i].bytes;
        evict(costs[i].c);
    }
    zfree(costs);
}

void clientEvictionCheck(void) {
    assertMainRole();
    size_t limit = limitBytes(), count;
    if (limit == 0 || !client_state.clients) return;
    if (survey(NULL, &count) > limit) evictDownTo(limit);
}

long long clientEvictionCount(void) {
    assertMainRole();
    return evicted_count;
}

void clientEvictionResetStats(void) {
    assertMainRole();
    evicted_count = 0;
}
