/* nodes_file.h -- the text of cluster-config-file: the nodes that this one knows, their slots, and the epochs.
 *
 * The format is that of Valkey 9.1; files of 7.2 are read as well. One line per node, then "vars currentEpoch N
 * lastVoteEpoch N".
 *
 *     ID IP:PORT@BUSPORT,HOSTNAME,NAME=VALUE,... FLAGS PRIMARY|- PING PONG EPOCH
 *         connected|disconnected SLOT... FIRST-LAST...
 *
 * Threads     any: there is no state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_NODES_FILE_H
#define CLUSTER_NODES_FILE_H

#include "cluster_types.h"
#include "sds.h"

typedef struct nodeRecord {
    nodeId id;
    nodeId primary; /* of a replica; otherwise none */
    nodeId shard;   /* none: the line has none */
    char ip[NODE_IP_LEN];
    uint16_t port, tls_port, bus_port, client_port, client_tls_port;
    uint16_t flags;                                           /* NODE_... of bus_frame.h */
    sds hostname, human_name, client_ipv4, client_ipv6, zone; /* owns; NULL: none */
    int64_t ping_sent_ms, pong_received_ms;
    uint64_t config_epoch;
    bool connected;
    slotSet slots;
} nodeRecord;

/* A slot that is being moved by commands, as the line of this node has it. */
typedef struct openSlot {
    unsigned slot;
    bool importing; /* false: migrating */
    nodeId other;   /* from which it comes, or to which it goes */
} openSlot;

typedef struct nodesFile {
    nodeRecord *nodes; /* owns */
    size_t count;
    openSlot *open; /* owns */
    size_t open_count;
    uint64_t current_epoch, last_vote_epoch;
} nodesFile;

/* Parses a whole file. Returns false if a line is damaged or a node is missing, with the reason ("line 3: ...") in
 * *error, which the caller frees. An empty text gives no nodes. The caller frees the result by nodesFileFree(), also
 * after an error. */
bool nodesFileParse(slice text, nodesFile *file, sds *error);
/* Returns the text of a file. The caller frees it. */
sds nodesFileText(const nodesFile *file);
/* Append a part of a line: the names of flags, separated by commas, and the ranges of slots, each with a blank before
 * it. */
sds nodeFlagsText(sds out, uint16_t flags);
sds nodeSlotsText(sds out, const slotSet *slots);
void nodesFileFree(nodesFile *file);

#endif
