/* cluster_text.h -- the text of CLUSTER NODES and CLUSTER INFO, and the address by which a client reaches a node.
 *
 * Runs on: the thread that holds the machine's lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_TEXT_H
#define CLUSTER_TEXT_H

#include "machine.h"

typedef enum clusterEndpoint {
    CLUSTER_ENDPOINT_IP,
    CLUSTER_ENDPOINT_HOSTNAME,
    CLUSTER_ENDPOINT_UNKNOWN
} clusterEndpoint;

/* The client's connection, and cluster-preferred-endpoint-type. */
typedef struct clusterClient {
    bool uses_tls, uses_ipv6;
    clusterEndpoint endpoint;
} clusterClient;

/* Counters of the bus. */
typedef struct clusterBusStats {
    uint64_t sent[BUS_TYPES], received[BUS_TYPES]; /* messages */
    uint64_t bytes_sent, bytes_received;
    uint64_t pubsub_bytes_sent, pubsub_bytes_received;
    uint64_t module_bytes_sent, module_bytes_received;
    uint64_t links_over_limit; /* closed because of cluster-link-sendbuf-limit */
} clusterBusStats;

/* Return the address and the port of a node for that client: those that the node announces for clients, otherwise its
 * own. Empty and 0: not known. The bytes are the node's. */
slice clusterClientIp(const clusterNode *n, const clusterClient *client);
uint16_t clusterClientPort(const clusterNode *n, const clusterClient *client);
/* Returns the host of a redirection to a node, by the preferred type: "?" is a host name that is not known. */
slice clusterClientHost(const clusterNode *n, const clusterClient *client);

/* Appends the line of a node in CLUSTER NODES, without its end. */
sds clusterNodeText(sds out, const clusterMachine *m, const clusterNode *n, const clusterClient *client,
                    clusterTime now);
/* Returns CLUSTER NODES, CLUSTER INFO. The caller frees it. */
sds clusterNodesText(const clusterMachine *m, const clusterClient *client, clusterTime now);
sds clusterInfoText(const clusterSummary *summary, const clusterBusStats *stats);

#endif
