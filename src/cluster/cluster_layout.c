/* cluster_layout.c -- which nodes and slots belong together, for replies about all of them.
 *
 * Owns        the arrays of a layout.
 * Threads     main.
 * Cost        a pass over the slots, a few over the nodes, two sorts of at most all nodes.
 * Tests       tests/unit/cluster/cluster_layout_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_layout.h"

#include "zmalloc.h"

#include <stdlib.h>

static uint64_t comparisons; /* of the layout that is being made */

static bool isReplica(const clusterNode *n) { return n->flags & NODE_REPLICA; }

/* By shard; then the primaries first, then by seat. */
static int byShard(const void *a, const void *b) {
    const clusterNode *x = *(const clusterNode *const *)a, *y = *(const clusterNode *const *)b;
    int order = memcmp(x->shard.text, y->shard.text, sizeof(x->shard.text));
    comparisons++;
    if (order) return order;
    if (isReplica(x) != isReplica(y)) return isReplica(x) - isReplica(y);
    return (int)x->seat - (int)y->seat;
}

static int byLowestSeat(const void *a, const void *b) {
    const shardLayout *x = a, *y = b;
    comparisons++;
    return (int)x->lowest_seat - (int)y->lowest_seat;
}

/* Fills in `nodes` by seat, and the lists of replicas. Returns the number of seats. */
static size_t collectNodes(clusterLayout *l, const clusterMachine *m) {
    size_t capacity = 0, count = 0, seats = 1;
    for (const clusterNode *n = NULL; (n = clusterNodeNext(m, n)) != NULL;) {
        seats = n->seat + 1U;
        if (n->flags & NODE_HANDSHAKE) continue;
        l->nodes = zgrowArray(l->nodes, count, &capacity, sizeof(const clusterNode *));
        l->nodes[count++] = n;
    }
    l->node_count = count;
    l->first_replica = zcalloc(seats, sizeof(uint16_t));
    l->next_replica = zcalloc(seats, sizeof(uint16_t));
    while (count--) {
        const clusterNode *n = l->nodes[count];
        if (!n->primary) continue;
        l->next_replica[n->seat] = l->first_replica[n->primary];
        l->first_replica[n->primary] = n->seat;
    }
    return seats;
}

/* Sorts the nodes by shard, and makes the shards. */
static void collectShards(clusterLayout *l) {
    qsort(l->nodes, l->node_count, sizeof(const clusterNode *), byShard);
    l->shards = zcalloc(l->node_count + 1, sizeof(shardLayout));
    for (size_t i = 0; i < l->node_count; i++) {
        bool is_first = i == 0 || !nodeIdEqual(&l->nodes[i]->shard, &l->nodes[i - 1]->shard);
        shardLayout *s = &l->shards[is_first ? l->shard_count++ : l->shard_count - 1];
        if (is_first) *s = (shardLayout){.first_node = (uint32_t)i, .lowest_seat = UINT16_MAX};
        s->node_count++;
        if (l->nodes[i]->seat < s->lowest_seat) s->lowest_seat = l->nodes[i]->seat;
    }
    qsort(l->shards, l->shard_count, sizeof(shardLayout), byLowestSeat);
}

static void addRun(shardLayout *s, slotRun *runs, uint32_t number) {
    if (s->last_run) runs[s->last_run - 1].next = number;
    else s->first_run = number;
    s->last_run = number;
    s->run_count++;
}

/* Makes the runs of slots, and the list of each shard's runs. */
static void collectRuns(clusterLayout *l, const clusterMachine *m, size_t seats) {
    size_t capacity = 0, *shard_of = zcalloc(seats, sizeof(size_t));
    for (size_t s = 0; s < l->shard_count; s++)
        for (size_t i = 0; i < l->shards[s].node_count; i++) shard_of[l->nodes[l->shards[s].first_node + i]->seat] = s;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        const clusterNode *owner = clusterOwner(m, slot);
        slotRun *last = l->run_count ? &l->runs[l->run_count - 1] : NULL;
        if (!owner) continue;
        if (last && last->owner == owner && last->last + 1U == slot) {
            last->last = (uint16_t)slot;
            continue;
        }
        l->runs = zgrowArray(l->runs, l->run_count, &capacity, sizeof(slotRun));
        l->runs[l->run_count++] = (slotRun){.first = (uint16_t)slot, .last = (uint16_t)slot, .owner = owner};
        addRun(&l->shards[shard_of[owner->seat]], l->runs, (uint32_t)l->run_count);
    }
    zfree(shard_of);
}

clusterLayout clusterLayoutMake(const clusterMachine *m) {
    clusterLayout l = {0};
    comparisons = 0;
    size_t seats = collectNodes(&l, m);
    collectShards(&l);
    collectRuns(&l, m, seats);
    l.comparisons = comparisons;
    return l;
}

void clusterLayoutFree(clusterLayout *l) {
    zfree(l->nodes);
    zfree(l->shards);
    zfree(l->runs);
    zfree(l->first_replica);
    zfree(l->next_replica);
}
