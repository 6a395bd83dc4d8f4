/* client_eviction.c -- maxmemory-clients: close the clients that cost most when all together cost too much.
 *
 * The sum is taken ten times a second rather than kept up to date by each command: what a client costs is
 * known from its own fields, and a limit on memory need not be exact to the millisecond.
 *
 * Owns        the count of evicted clients.
 * Threads     main.
 * Tests       tests/engine/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_eviction.h"

#include "client.h"
#include "db.h"
#include "log.h"
#include "net_settings.h"
#include "panic.h"

#define LIMIT_LEAST_BYTES (128 * 1024)

static long long evicted;

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

/* Memory of all that may be evicted, and the one that costs most. */
static size_t survey(client **largest) {
    size_t sum = 0, most = 0;
    *largest = NULL;
    listIter it = listBegin(client_state.clients, false);
    listNode *n;
    while ((n = listNext(&it)) != NULL) {
        client *c = listNodeValue(n);
        if (!mayEvict(c)) continue;
        size_t bytes = clientMemUsage(c);
        sum += bytes;
        if (bytes <= most) continue;
        most = bytes;
        *largest = c;
    }
    return sum;
}

void clientEvictionCheck(void) {
    assertMainRole();
    size_t limit = limitBytes();
    if (limit == 0 || !client_state.clients) return;
    client *c;
    while (survey(&c) > limit && c) {
        sds info = clientCatInfo(sdsEmpty(), c);
        serverLog(LL_NOTICE, "Evicting client: %s", info);
        sdsFree(info);
        clientCloseAsap(c);
        evicted++;
    }
}

long long clientEvictionCount(void) {
    assertMainRole();
    return evicted;
}

void clientEvictionResetStats(void) {
    assertMainRole();
    evicted = 0;
}
