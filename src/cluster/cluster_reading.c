/* cluster_reading.c -- the subcommands of CLUSTER that only read: nodes, slots, shards, links, figures.
 *
 * A reply is made while the machine's lock is held, so that it shows one moment.
 *
 * Not here    texts of NODES and INFO (cluster_core/cluster_text.c); keys of slots (store).
 * Threads     main.
 * Cost        SLOTS, SHARDS: a layout (cluster_layout.c), then the length of the reply.
 * Tests       tests/cluster, tests/differential
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_commands.h"

#include "cluster.h"
#include "cluster_layout.h"
#include "cluster_text.h"
#include "db_slots.h"
#include "engine_settings.h"
#include "reply.h"
#include "slot_check.h"
#include "zmalloc.h"

#include <stdlib.h>

/* ---- The client that asks ---- */

static clusterClient clientOf(const client *c) {
    const char *colon = strchr(c->peer, ':');
    return (clusterClient){.uses_tls = c->flags & CLIENT_TLS,
                           .uses_ipv6 = colon && colon != strrchr(c->peer, ':'),
                           .endpoint = (clusterEndpoint)engine_settings.cluster_preferred_endpoint_type};
}

/* ---- Figures ---- */

static void copyCounts(uint64_t *to, const _Atomic uint64_t *from) {
    for (unsigned i = 0; i < BUS_TYPES; i++) to[i] = atomic_load_explicit(&from[i], memory_order_relaxed);
}

static clusterBusStats countsOf(const busStats *b) {
    clusterBusStats s = {.bytes_sent = b->bytes_sent,
                         .bytes_received = b->bytes_received,
                         .pubsub_bytes_sent = b->pubsub_bytes_sent,
                         .pubsub_bytes_received = b->pubsub_bytes_received,
                         .module_bytes_sent = b->module_bytes_sent,
                         .module_bytes_received = b->module_bytes_received,
                         .links_over_limit = b->link_limit_exceeded};
    copyCounts(s.sent, b->sent);
    copyCounts(s.received, b->received);
    return s;
}

sds clusterInfoNow(void) {
    clusterSummary summary = clusterSummarize(clusterLock());
    clusterUnlock();
    clusterBusStats stats = countsOf(clusterBusCounters());
    return clusterInfoText(&summary, &stats);
}

void clusterInfoCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    sds text = clusterInfoNow();
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}

/* ---- Nodes ---- */

void clusterNodesCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    clusterClient asker = clientOf(c);
    sds text = clusterNodesText(clusterLock(), &asker, clusterNow());
    clusterUnlock();
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}

static void replyId(client *c, bool of_shard) {
    if (!slotsAreEnabled(c)) return;
    const clusterNode *me = clusterMyself(clusterLock());
    nodeId id = of_shard ? me->shard : me->id;
    clusterUnlock();
    addReplyBulk(c, sliceOf(id.text, sizeof(id.text)));
}

void clusterMyidCommand(client *c) { replyId(c, false); }
void clusterMyshardidCommand(client *c) { replyId(c, true); }

/* Finds the node of argument 2. On success the machine is locked; NULL after an error reply. */
static const clusterNode *lockNode(client *c, const clusterMachine **m) {
    nodeId id;
    if (!slotsAreEnabled(c) || !clusterNodeArg(c, 2, "Unknown node %.*s", &id)) return NULL;
    *m = clusterLock();
    const clusterNode *n = clusterNodeById(*m, &id);
    if (n) return n;
    clusterUnlock();
    addReplyErrorFormat(c, "Unknown node %.40s", id.text);
    return NULL;
}

void clusterReplicasCommand(client *c) {
    const clusterMachine *m;
    const clusterNode *primary = lockNode(c, &m);
    if (!primary) return;
    if (!(primary->flags & NODE_PRIMARY)) {
        clusterUnlock();
        addReplyError(c, "The specified node is not a master");
        return;
    }
    clusterClient asker = clientOf(c);
    clusterTime now = clusterNow();
    addReplyArrayLen(c, primary->replicas);
    for (const clusterNode *n = NULL; (n = clusterNodeNext(m, n)) != NULL;)
        if (n->primary == primary->seat) addReplyBulkSds(c, clusterNodeText(sdsEmpty(), m, n, &asker, now));
    clusterUnlock();
}

void clusterCountFailureReportsCommand(client *c) {
    const clusterMachine *m;
    const clusterNode *n = lockNode(c, &m);
    if (!n) return;
    unsigned count = clusterFailureReports(m, n, clusterNow());
    clusterUnlock();
    addReplyLongLong(c, count);
}

/* ---- SLOTS ---- */

static void replyPair(client *c, const char *name, slice value) {
    addReplyBulkCString(c, name);
    addReplyBulk(c, value);
}

static slice textOf(sds s) { return s ? sdsSlice(s) : sliceOf("", 0); }

/* Replies with what the endpoint does not say of a node. */
static void replyMetadata(client *c, const clusterNode *n, const clusterClient *asker) {
    bool by_ip = asker->endpoint == CLUSTER_ENDPOINT_IP, by_name = asker->endpoint == CLUSTER_ENDPOINT_HOSTNAME;
    bool shows_name = n->hostname && !by_name;
    addReplyMapLen(c, !by_ip + shows_name + (n->zone != NULL));
    if (!by_ip) replyPair(c, "ip", clusterClientIp(n, asker));
    if (shows_name) replyPair(c, "hostname", textOf(n->hostname));
    if (n->zone) replyPair(c, "availability-zone", textOf(n->zone));
}

static void replySlotNode(client *c, const clusterNode *n, const clusterClient *asker) {
    addReplyArrayLen(c, 4);
    if (asker->endpoint == CLUSTER_ENDPOINT_UNKNOWN) addReplyNull(c);
    else addReplyBulk(c, clusterClientHost(n, asker));
    addReplyLongLong(c, clusterClientPort(n, asker));
    addReplyBulk(c, sliceOf(n->id.text, sizeof(n->id.text)));
    replyMetadata(c, n, asker);
}

static bool servesReads(const clusterNode *replica) { return !(replica->flags & NODE_FAILED) && replica->offset; }

static void replySlotRange(client *c, const clusterMachine *m, const clusterLayout *l, const slotRun *run,
                           const clusterClient *asker) {
    unsigned replicas = 0;
    for (unsigned seat = l->first_replica[run->owner->seat]; seat; seat = l->next_replica[seat])
        replicas += servesReads(clusterNodeBySeat(m, seat));
    addReplyArrayLen(c, 3 + replicas);
    addReplyLongLong(c, run->first);
    addReplyLongLong(c, run->last);
    replySlotNode(c, run->owner, asker);
    for (unsigned seat = l->first_replica[run->owner->seat]; seat; seat = l->next_replica[seat])
        if (servesReads(clusterNodeBySeat(m, seat))) replySlotNode(c, clusterNodeBySeat(m, seat), asker);
}

void clusterSlotsCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    clusterClient asker = clientOf(c);
    const clusterMachine *m = clusterLock();
    clusterLayout l = clusterLayoutMake(m);
    addReplyArrayLen(c, (long long)l.run_count);
    for (size_t i = 0; i < l.run_count; i++) replySlotRange(c, m, &l, &l.runs[i], &asker);
    clusterUnlock();
    clusterLayoutFree(&l);
}

/* ---- SHARDS ---- */

static const char *healthOf(const clusterNode *n) {
    if (n->flags & (NODE_SUSPECTED | NODE_FAILED)) return "fail";
    return n->flags & NODE_REPLICA && !n->offset ? "loading" : "online";
}

static void replyShardNode(client *c, const clusterNode *n, const clusterClient *asker) {
    uint16_t port = n->client_port ? n->client_port : n->port;
    uint16_t tls_port = n->client_tls_port ? n->client_tls_port : n->tls_port;
    bool unknown = asker->endpoint == CLUSTER_ENDPOINT_UNKNOWN;
    addReplyMapLen(c, 6 + (port != 0) + (tls_port != 0) + (n->hostname != NULL) + (n->zone != NULL));
    replyPair(c, "id", sliceOf(n->id.text, sizeof(n->id.text)));
    if (port) addReplyBulkCString(c, "port"), addReplyLongLong(c, port);
    if (tls_port) addReplyBulkCString(c, "tls-port"), addReplyLongLong(c, tls_port);
    replyPair(c, "ip", clusterClientIp(n, asker));
    replyPair(c, "endpoint", unknown ? sliceOf("", 0) : clusterClientHost(n, asker));
    if (n->hostname) replyPair(c, "hostname", textOf(n->hostname));
    replyPair(c, "role", sliceStr(n->flags & NODE_REPLICA ? "replica" : "master"));
    addReplyBulkCString(c, "replication-offset");
    addReplyLongLong(c, (long long)n->offset);
    replyPair(c, "health", sliceStr(healthOf(n)));
    if (n->zone) replyPair(c, "availability-zone", textOf(n->zone));
}

static void replyShard(client *c, const clusterLayout *l, const shardLayout *shard, const clusterClient *asker) {
    const clusterNode *const *nodes = &l->nodes[shard->first_node];
    addReplyMapLen(c, 3);
    addReplyBulkCString(c, "slots");
    addReplyArrayLen(c, 2 * (long long)shard->run_count);
    for (uint32_t run = shard->first_run; run; run = l->runs[run - 1].next) {
        addReplyLongLong(c, l->runs[run - 1].first);
        addReplyLongLong(c, l->runs[run - 1].last);
    }
    addReplyBulkCString(c, "nodes");
    addReplyArrayLen(c, shard->node_count);
    for (uint32_t i = 0; i < shard->node_count; i++) replyShardNode(c, nodes[i], asker);
    replyPair(c, "id", sliceOf(nodes[0]->shard.text, sizeof(nodes[0]->shard.text)));
}

void clusterShardsCommand(client *c) {
    if (!slotsAreEnabled(c)) return;
    clusterClient asker = clientOf(c);
    clusterLayout l = clusterLayoutMake(clusterLock());
    addReplyArrayLen(c, (long long)l.shard_count);
    for (size_t i = 0; i < l.shard_count; i++) replyShard(c, &l, &l.shards[i], &asker);
    clusterUnlock();
    clusterLayoutFree(&l);
}

/* ---- LINKS ---- */

static int byNumber(const void *a, const void *b) {
    uint64_t x = ((const busLinkFigures *)a)->link, y = ((const busLinkFigures *)b)->link;
    return x < y ? -1 : x > y;
}

/* Returns the figures of a link, or NULL. The list is sorted by number. */
static const busLinkFigures *findLink(const busLinkFigures *list, size_t count, uint64_t link) {
    return count ? bsearch(&(busLinkFigures){.link = link}, list, count, sizeof(*list), byNumber) : NULL;
}

static long long replyLink(client *c, const clusterNode *n, const busLinkFigures *l) {
    if (!l || !l->is_up) return 0;
    addReplyMapLen(c, 6);
    replyPair(c, "direction", sliceStr(l->is_inbound ? "from" : "to"));
    replyPair(c, "node", sliceOf(n->id.text, sizeof(n->id.text)));
    addReplyBulkCString(c, "create-time");
    addReplyLongLong(c, l->created_ms);
    replyPair(c, "events", sliceStr(l->waits_to_write ? "rw" : "r"));
    addReplyBulkCString(c, "send-buffer-allocated");
    addReplyLongLong(c, (long long)l->output_memory);
    addReplyBulkCString(c, "send-buffer-used");
    addReplyLongLong(c, (long long)l->output_bytes);
    return 1;
}

void clusterLinksCommand(client *c) {
    busLinkFigures *list;
    if (!slotsAreEnabled(c)) return;
    size_t count = clusterLinks(&list);
    if (count) qsort(list, count, sizeof(*list), byNumber);
    void *length = addReplyDeferredLen(c);
    long long links = 0;
    const clusterMachine *m = clusterLock();
    for (const clusterNode *n = NULL; (n = clusterNodeNext(m, n)) != NULL;) {
        links += replyLink(c, n, findLink(list, count, n->link_out));
        links += replyLink(c, n, findLink(list, count, n->link_in));
    }
    clusterUnlock();
    zfree(list);
    setDeferredArrayLen(c, length, links);
}

/* ---- Keys of slots ---- */

void clusterCountkeysinslotCommand(client *c) {
    long long slot;
    if (!slotsAreEnabled(c) || !getLongLongFromArg(c, 2, &slot, NULL)) return;
    if (slot < 0 || slot >= CLUSTER_SLOTS) addReplyError(c, "Invalid slot");
    else addReplyLongLong(c, (long long)dbSlotSize(c->db, (int)slot));
}

static void replyKeys(client *c, int slot, size_t count) {
    size_t present = dbSlotSize(c->db, slot), n = count < present ? count : present;
    const robj **entries = zmalloc((n ? n : 1) * sizeof(*entries));
    n = dbSlotEntries(c->db, slot, entries, n);
    addReplyArrayLen(c, (long long)n);
    for (size_t i = 0; i < n; i++) addReplyBulk(c, objectKey(entries[i]));
    zfree(entries);
}

void clusterGetkeysinslotCommand(client *c) {
    long long slot, count;
    if (!slotsAreEnabled(c) || !getLongLongFromArg(c, 2, &slot, NULL) || !getLongLongFromArg(c, 3, &count, NULL))
        return;
    if (slot < 0 || slot >= CLUSTER_SLOTS || count < 0) addReplyError(c, "Invalid slot or number of keys");
    else replyKeys(c, (int)slot, (size_t)count);
}
