/* slot_endpoint.c -- what clients are shown of a node: its address, name and port, as they can use them.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/engine/slots/slot_table_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_table.h"

#include "engine_settings.h"

const char *slotNodeAddress(const slotNode *n, slotAsker asker) {
    const char *announced = asker.ipv6 ? n->client_ipv6 : n->client_ipv4;
    return *announced ? announced : n->ip;
}

const char *slotNodeEndpoint(const slotNode *n, slotAsker asker) {
    switch ((endpointType)engine_settings.cluster_preferred_endpoint_type) {
    case ENDPOINT_HOSTNAME: return n->hostname && *n->hostname ? n->hostname : "?";
    case ENDPOINT_UNKNOWN: return "";
    case ENDPOINT_IP: break;
    }
    return slotNodeAddress(n, asker);
}

uint16_t slotNodePort(const slotNode *n, slotAsker asker) {
    if (asker.tls) return n->client_tls_port ? n->client_tls_port : n->tls_port;
    return n->client_port ? n->client_port : n->port;
}
