/* cluster_node.h -- a node as the cluster's machine knows it.
 *
 * Outside the machine the fields are read only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include "cluster_types.h"
#include "sds.h"

/* A primary with slots has said that it suspects a node. */
typedef struct failureReport {
    uint16_t seat; /* of the reporter */
    uint64_t until_ms;
} failureReport;

typedef struct clusterNode {
    nodeId id;
    nodeId shard;
    uint16_t seat;    /* its place in the table, from 1 on; used again after the node is forgotten */
    uint16_t primary; /* seat of the primary that it replicates; 0: none, or not known yet */
    uint16_t flags;   /* NODE_... of bus_frame.h */
    uint16_t port, tls_port, bus_port, client_port, client_tls_port;
    char ip[NODE_IP_LEN];                                     /* empty: not known */
    sds hostname, human_name, client_ipv4, client_ipv6, zone; /* own; NULL: none */
    uint64_t config_epoch;                                    /* a replica: 0. Its frames have its primary's */
    uint64_t current_epoch;                                   /* in its last frame that counted: it never falls */
    uint64_t offset;                                          /* replication offset in its last frame */
    slotSet *slots;                                           /* owns: the slots that it owns; NULL: none */
    uint32_t slot_count;
    uint32_t replicas; /* number of nodes whose primary it is */

    /* Monotonic times; 0: never, or none. */
    uint64_t created_ms;
    uint64_t ping_sent_ms;       /* of the ping that has not been answered */
    uint64_t asked_ms;           /* when that was, or when its link was made, whatever stops came between */
    uint64_t heard_until_ms;     /* asked_ms of the last ping that it has answered: it has heard this node since */
    uint64_t awaited_ms;         /* a command waits for the answer to a ping that is not older; 0: none does */
    uint64_t pong_ms;            /* last pong, own or learned by gossip */
    uint64_t old_since_ms;       /* since when all its frames say less than is known of it */
    uint64_t answered_ms;        /* last pong of its own; 0: none since this node was cut off */
    uint64_t data_ms;            /* last frame on a link of this node */
    uint64_t failed_ms;          /* since when it is NODE_FAILED */
    uint64_t orphaned_ms;        /* a primary: since when it has no working replica */
    uint64_t connect_ms;         /* last attempt to connect */
    uint64_t inbound_missing_ms; /* since when there is no link from it */
    uint64_t meet_ms;            /* last MEET sent to it by itself */
    uint8_t meets;               /* number of such MEETs without a link from it */
    uint8_t connects;            /* attempts since the last link to it was up */

    uint64_t link_out, link_in; /* numbers of its links; 0: none */
    uint64_t link_out_ms;       /* since when link_out is up; 0: it is not */
    bool ponged;                /* it has answered on link_out: it may get light frames there */

    uint64_t gossip_round;  /* the last frame that has an entry of it */
    failureReport *reports; /* owns */
    uint32_t report_count, report_capacity;
} clusterNode;

#endif
