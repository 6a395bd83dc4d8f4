/* cluster_layout.h -- which nodes and slots belong together, for replies about all of them.
 *
 * Made by a pass over the slots and a sort of the nodes, so that replies of SLOTS and SHARDS cost no more than their
 * length.
 *
 * Runs on: main, while it holds the machine's lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_CLUSTER_LAYOUT_H
#define CLUSTER_CLUSTER_LAYOUT_H

#include "machine.h"

/* A run of slots with one owner. */
typedef struct slotRun {
    uint16_t first, last;
    const clusterNode *owner;
    uint32_t next; /* of the same shard, as an index plus 1; 0: none */
} slotRun;

typedef struct shardLayout {
    uint32_t first_node, node_count; /* in `nodes` */
    uint32_t first_run, last_run;    /* an index plus 1; 0: it has no slots */
    uint32_t run_count;
    uint16_t lowest_seat;
} shardLayout;

typedef struct clusterLayout {
    const clusterNode **nodes; /* owns: all but those in handshake; those of a shard together, its primaries first */
    shardLayout *shards;       /* owns: in the order of their lowest seats */
    slotRun *runs;             /* owns: by slot */
    size_t node_count, shard_count, run_count;
    uint16_t *first_replica, *next_replica; /* own: by the seat of a primary, of a replica; 0: no more */
    uint64_t comparisons;                   /* made for the sorts */
} clusterLayout;

/* Makes the layout of a machine. Its pointers are valid until the next step. The caller frees it. */
clusterLayout clusterLayoutMake(const clusterMachine *m);
void clusterLayoutFree(clusterLayout *l);

#endif
