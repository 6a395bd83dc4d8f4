/* cluster_layout_test.c -- the layout of a large cluster beside what each node and slot says, and what it costs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_layout.h"
#include "sds.h"
#include "unit.h"
#include "zmalloc.h"

#define NODES 300
#define SHARDS 100

/* Returns the text of a nodes file: shard s has the replicas s and s + 100 and the primary s + 200. Every slot belongs
 * to another shard than the one before it, but for slots without an owner. */
static sds fileText(void) {
    sds text = sdsEmpty();
    for (int i = 0; i < NODES; i++) {
        int shard = i % SHARDS;
        text = sdsCatPrintf(text, "%040x 10.0.0.1:%d@%d,,tls-port=0,shard-id=%040x %s", i + 1, 7000 + i, 17000 + i,
                            0xfff - shard, i == 0 ? "myself," : "");
        if (i >= 2 * SHARDS) text = sdsCatPrintf(text, "master - 0 0 %d connected", i + 1);
        else text = sdsCatPrintf(text, "slave %040x 0 0 %d connected", shard + 2 * SHARDS + 1, shard + 1);
        for (int slot = shard; i >= 2 * SHARDS && slot < CLUSTER_SLOTS - 84; slot += SHARDS)
            text = sdsCatPrintf(text, " %d", slot);
        text = sdsCat(text, "\n");
    }
    return sdsCat(text, "vars currentEpoch 500 lastVoteEpoch 0\n");
}

static clusterMachine *largeMachine(void) {
    clusterConfig config = {.node_timeout_ms = 2000, .port = 7000, .bus_port = 17000};
    clusterTime now = {.mono_ms = 1000, .wall_ms = 1700000000000};
    nodesFile file;
    sds text = fileText(), error = NULL;
    CHECK(nodesFileParse(sdsSlice(text), &file, &error));
    if (error) CHECK_EQ_STR(error, "");
    clusterMachine *m = clusterCreate(1, now, &config, &file);
    nodesFileFree(&file);
    sdsFree(text);
    return m;
}

static void checkShard(const clusterLayout *l, size_t index) {
    const shardLayout *s = &l->shards[index];
    unsigned slots = 0;
    int last = -1;
    CHECK_EQ_INT(s->node_count, NODES / SHARDS);
    CHECK(l->nodes[s->first_node]->flags & NODE_PRIMARY);
    for (uint32_t i = 0; i < s->node_count; i++) {
        const clusterNode *n = l->nodes[s->first_node + i];
        CHECK(nodeIdEqual(&n->shard, &l->nodes[s->first_node]->shard));
        CHECK(i < 2 || n->seat > l->nodes[s->first_node + i - 1]->seat);
        CHECK(n->seat >= s->lowest_seat);
    }
    CHECK(index == 0 || s->lowest_seat > l->shards[index - 1].lowest_seat);
    for (uint32_t run = s->first_run; run; run = l->runs[run - 1].next) {
        const slotRun *r = &l->runs[run - 1];
        CHECK(r->owner == l->nodes[s->first_node] && (int)r->first > last);
        last = r->last;
        slots += r->last - r->first + 1U;
    }
    CHECK_EQ_INT(slots, l->nodes[s->first_node]->slot_count);
}

TEST(cluster_layout_has_each_node_and_slot_once) {
    clusterMachine *m = largeMachine();
    clusterLayout l = clusterLayoutMake(m);
    CHECK_EQ_INT(l.node_count, NODES);
    CHECK_EQ_INT(l.shard_count, SHARDS);
    CHECK_EQ_INT(l.run_count, CLUSTER_SLOTS - 84);
    for (size_t i = 0; i < l.shard_count; i++) checkShard(&l, i);
    size_t run = 0;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (!clusterOwner(m, slot)) continue;
        CHECK(l.runs[run].first == slot && l.runs[run].owner == clusterOwner(m, slot));
        run++;
    }
    for (const clusterNode *n = NULL; (n = clusterNodeNext(m, n)) != NULL;) {
        unsigned replicas = 0;
        for (unsigned seat = l.first_replica[n->seat], before = 0; seat; before = seat, seat = l.next_replica[seat]) {
            CHECK(clusterNodeBySeat(m, seat)->primary == n->seat && seat > before);
            replicas++;
        }
        CHECK_EQ_INT(replicas, n->replicas);
    }
    clusterLayoutFree(&l);
    clusterFree(m);
}

TEST(cluster_layout_does_not_compare_each_node_with_each_other) {
    clusterMachine *m = largeMachine();
    clusterLayout l = clusterLayoutMake(m);
    CHECK(l.comparisons > NODES && l.comparisons < NODES * 12); /* of all pairs there are 45,000 */
    clusterLayoutFree(&l);
    clusterFree(m);
}

TEST(cluster_layout_of_a_node_alone) {
    clusterConfig config = {.node_timeout_ms = 2000, .port = 7000, .bus_port = 17000};
    clusterMachine *m = clusterCreate(1, (clusterTime){.mono_ms = 1, .wall_ms = 1}, &config, &(nodesFile){0});
    clusterLayout l = clusterLayoutMake(m);
    CHECK(l.node_count == 1 && l.shard_count == 1 && l.run_count == 0 && l.shards[0].first_run == 0);
    clusterLayoutFree(&l);
    clusterFree(m);
}
