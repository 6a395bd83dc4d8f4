/* cluster_text.c -- CLUSTER NODES and CLUSTER INFO.
 *
 *     ID IP:PORT@BUSPORT[,HOSTNAME] FLAGS PRIMARY|- PING PONG EPOCH connected|disconnected
 *         SLOT... FIRST-LAST... [SLOT->-ID]... [SLOT-<-ID]...
 *
 * Not here    replies that are arrays and maps (SLOTS, SHARDS, LINKS), which need the protocol.
 * Threads     the caller's lock.
 * Cost        NODES: nodes and ranges of slots.
 * Tests       tests/unit/cluster_core/cluster_text_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_text.h"

slice clusterClientIp(const clusterNode *n, const clusterClient *client) {
    const sds announced = client->uses_ipv6 ? n->client_ipv6 : n->client_ipv4;
    return announced ? sdsSlice(announced) : sliceStr(n->ip);
}

uint16_t clusterClientPort(const clusterNode *n, const clusterClient *client) {
    if (client->uses_tls) return n->client_tls_port ? n->client_tls_port : n->tls_port;
    return n->client_port ? n->client_port : n->port;
}

slice clusterClientHost(const clusterNode *n, const clusterClient *client) {
    switch (client->endpoint) {
    case CLUSTER_ENDPOINT_HOSTNAME: return n->hostname ? sdsSlice(n->hostname) : sliceStr("?");
    case CLUSTER_ENDPOINT_UNKNOWN: return sliceOf("", 0);
    case CLUSTER_ENDPOINT_IP: break;
    }
    return clusterClientIp(n, client);
}

static sds addOpenSlots(sds out, const clusterMachine *m) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        const clusterNode *to = clusterMigratingTo(m, slot), *from = clusterImportingFrom(m, slot);
        if (to) out = sdsCatPrintf(out, " [%u->-%.40s]", slot, to->id.text);
        if (from) out = sdsCatPrintf(out, " [%u-<-%.40s]", slot, from->id.text);
    }
    return out;
}

sds clusterNodeText(sds out, const clusterMachine *m, const clusterNode *n, const clusterClient *client,
                    clusterTime now) {
    const clusterNode *primary = n->primary ? clusterNodeBySeat(m, n->primary) : NULL;
    bool is_myself = n == clusterMyself(m);
    out = sdsCatPrintf(out, "%.40s ", n->id.text);
    out = sdsCatSlice(out, clusterClientIp(n, client));
    out = sdsCatPrintf(out, ":%u@%u", clusterClientPort(n, client), n->bus_port);
    if (n->hostname) out = sdsCatPrintf(out, ",%s", n->hostname);
    out = nodeFlagsText(sdsCat(out, " "), n->flags);
    out = primary ? sdsCatPrintf(out, " %.40s", primary->id.text) : sdsCat(out, " -");
    out = sdsCatPrintf(out, " %lld %lld %llu %s", (long long)clusterWallTime(now, n->ping_sent_ms),
                       (long long)clusterWallTime(now, n->pong_ms),
                       (unsigned long long)(primary ? primary : n)->config_epoch,
                       is_myself || n->link_out_ms ? "connected" : "disconnected");
    if (n->slots) out = nodeSlotsText(out, n->slots);
    return is_myself ? addOpenSlots(out, m) : out;
}

sds clusterNodesText(const clusterMachine *m, const clusterClient *client, clusterTime now) {
    sds out = sdsEmpty();
    for (const clusterNode *n = clusterNodeNext(m, NULL); n; n = clusterNodeNext(m, n))
        out = sdsCat(clusterNodeText(out, m, n, client, now), "\n");
    return out;
}

/* ---- CLUSTER INFO ---- */

static sds addField(sds out, const char *name, uint64_t value) {
    return sdsCatPrintf(out, "%s:%llu\r\n", name, (unsigned long long)value);
}

/* One line per type that has been counted, then their sum. */
static sds addMessages(sds out, const uint64_t *counts, const char *direction) {
    uint64_t sum = 0;
    for (unsigned type = 0; type < BUS_TYPES; type++) {
        sum += counts[type];
        if (!counts[type]) continue;
        out = sdsCatPrintf(out, "cluster_stats_messages_%s_%s:%llu\r\n", busTypeName(type), direction,
                           (unsigned long long)counts[type]);
    }
    return sdsCatPrintf(out, "cluster_stats_messages_%s:%llu\r\n", direction, (unsigned long long)sum);
}

sds clusterInfoText(const clusterSummary *s, const clusterBusStats *stats) {
    sds out = sdsCatPrintf(sdsEmpty(), "cluster_state:%s\r\n", s->ok ? "ok" : "fail");
    out = addField(out, "cluster_slots_assigned", s->slots_assigned);
    out = addField(out, "cluster_slots_ok", s->slots_ok);
    out = addField(out, "cluster_slots_pfail", s->slots_suspected);
    out = addField(out, "cluster_slots_fail", s->slots_failed);
    out = addField(out, "cluster_nodes_pfail", s->nodes_suspected);
    out = addField(out, "cluster_nodes_fail", s->nodes_failed);
    out = addField(out, "cluster_voting_nodes_pfail", s->voting_suspected);
    out = addField(out, "cluster_voting_nodes_fail", s->voting_failed);
    out = addField(out, "cluster_known_nodes", s->known_nodes);
    out = addField(out, "cluster_size", s->size);
    out = addField(out, "cluster_current_epoch", s->current_epoch);
    out = addField(out, "cluster_my_epoch", s->my_epoch);
    out = addMessages(out, stats->sent, "sent");
    out = addMessages(out, stats->received, "received");
    out = addField(out, "cluster_stats_bytes_sent", stats->bytes_sent);
    out = addField(out, "cluster_stats_bytes_received", stats->bytes_received);
    out = addField(out, "cluster_stats_pubsub_bytes_sent", stats->pubsub_bytes_sent);
    out = addField(out, "cluster_stats_pubsub_bytes_received", stats->pubsub_bytes_received);
    out = addField(out, "cluster_stats_module_bytes_sent", stats->module_bytes_sent);
    out = addField(out, "cluster_stats_module_bytes_received", stats->module_bytes_received);
    return addField(out, "total_cluster_links_buffer_limit_exceeded", stats->links_over_limit);
}
