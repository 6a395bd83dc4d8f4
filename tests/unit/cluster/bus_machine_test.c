/* bus_machine_test.c -- nodes of this process that are a cluster: the machine behind the bus, over real sockets.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "bus_thread.h"
#include "clock.h"
#include "log.h"
#include "unit.h"
#include "zmalloc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NODES 3

typedef struct realNode {
    clusterBus *bus;
    clusterMachine *machine; /* under the bus's lock */
    int bus_port;
} realNode;

/* A step whose nodes file is on disk at once. */
static void stepAndSave(void *arg, clusterTime now, const clusterEvent *event, clusterActions *actions) {
    realNode *n = arg;
    uint64_t version;
    clusterStep(n->machine, now, event, actions);
    while (clusterMustSave(n->machine)) {
        sdsFree(clusterFileText(n->machine, now, &version));
        clusterStep(n->machine, now, &(clusterEvent){.kind = CLUSTER_SAVED, .version = version}, actions);
    }
    clusterCheck(n->machine);
}

static bool knowsPeer(void *arg, uint64_t link) { return clusterKnowsPeer(((realNode *)arg)->machine, link); }

static void startNode(realNode *n, int i) {
    clockInit();
    logSetLevel(LL_NOTHING);
    signal(SIGPIPE, SIG_IGN);
    int fd = anetTcpServer(NULL, 0, "127.0.0.1", 511, false);
    anetFdToString(fd, NULL, 0, &n->bus_port, false);
    clusterConfig config = {.node_timeout_ms = 2000,
                            .manual_failover_timeout_ms = 5000,
                            .blacklist_ttl_s = 60,
                            .gossip_percent = 10,
                            .allow_replica_migration = true,
                            .port = (uint16_t)(7000 + i),
                            .bus_port = (uint16_t)n->bus_port};
    clusterTime now = {.mono_ms = clockMonotonicMs(), .wall_ms = clockWallMs()};
    n->machine = clusterCreate((uint64_t)i + 1, now, &config, NULL);
    busPlan plan = {.handler = {.arg = n, .step = stepAndSave, .knows_peer = knowsPeer},
                    .settings = {.node_timeout_ms = 2000, .message_limit = 1024 * 1024, .frame_max = 64 * 1024 * 1024},
                    .listeners = &fd,
                    .listener_count = 1};
    n->bus = busStart(&plan);
    CHECK(n->bus != NULL);
    clusterLocal local = {.is_empty = true};
    busPublishLocal(n->bus, &local);
}

static void stopNode(realNode *n) {
    busStop(n->bus);
    logSetLevel(LL_NOTICE);
    clusterFree(n->machine);
}

/* Runs a command. Returns its reply, which the caller frees. */
static sds run(realNode *n, const clusterCommand *command) {
    clusterActions actions = {0};
    clusterLocal local = {.is_empty = true};
    sds reply = NULL;
    busStep(n->bus, &(clusterEvent){.kind = CLUSTER_COMMAND, .command = command, .local = &local}, &actions);
    for (size_t i = 0; i < actions.count; i++) {
        if (actions.list[i].kind != CLUSTER_REPLY) continue;
        reply = actions.list[i].text;
        actions.list[i].text = NULL;
    }
    clusterActionsFree(&actions);
    return reply;
}

static void runOk(realNode *n, const clusterCommand *command) {
    sds reply = run(n, command);
    CHECK_EQ_STR(reply ? reply : "none", "+OK");
    sdsFree(reply);
}

static clusterSummary summaryOf(realNode *n) {
    busLockMachine(n->bus);
    clusterSummary s = clusterSummarize(n->machine);
    busUnlockMachine(n->bus);
    return s;
}

/* Returns how many nodes have both links. */
static unsigned linkedNodes(realNode *n) {
    unsigned count = 0;
    busLockMachine(n->bus);
    for (const clusterNode *o = clusterNodeNext(n->machine, NULL); o; o = clusterNodeNext(n->machine, o))
        count += o->ponged && o->link_in && !(o->flags & NODE_HANDSHAKE);
    busUnlockMachine(n->bus);
    return count;
}

/* Waits until each of the nodes is linked with all others both ways, and sees the cluster as ok. */
static bool waitAllOk(realNode *nodes) {
    unitLimit limit = unitLimitStart(20000);
    for (unsigned i = 0; i < NODES;) {
        bool done = summaryOf(&nodes[i]).ok && linkedNodes(&nodes[i]) == NODES - 1;
        for (unsigned j = 0; j < NODES; j++) busMainRuns(nodes[j].bus);
        i = done ? i + 1 : 0;
        if (!done) usleep(5000);
        if (!CHECK(!unitLimitOver(&limit))) return false;
    }
    return true;
}

/* Starts nodes that share all slots and have met. */
static bool startCluster(realNode nodes[NODES]) {
    slotSet slots[NODES] = {0};
    for (int i = 0; i < NODES; i++) startNode(&nodes[i], i);
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) slotSetAdd(&slots[slot % NODES], slot);
    for (int i = 0; i < NODES; i++) runOk(&nodes[i], &(clusterCommand){.kind = CLUSTER_ADD_SLOTS, .slots = &slots[i]});
    for (int i = 1; i < NODES; i++)
        runOk(&nodes[0], &(clusterCommand){.kind = CLUSTER_MEET,
                                           .ip = "127.0.0.1",
                                           .port = (uint16_t)(7000 + i),
                                           .bus_port = (uint16_t)nodes[i].bus_port});
    return waitAllOk(nodes);
}

/* Waits for a message that main is to deliver, and checks it. */
static void checkDelivered(realNode *n) {
    clusterActions actions = {0};
    unitLimit limit = unitLimitStart(5000);
    const frameBlock *got = NULL;
    busFrame frame;
    char why[200];
    while (!got && CHECK(!unitLimitOver(&limit))) {
        clusterActionsClear(&actions);
        busTakeActions(n->bus, &actions);
        for (size_t i = 0; i < actions.count; i++)
            if (actions.list[i].kind == CLUSTER_DELIVER) got = actions.list[i].frame;
        usleep(1000);
    }
    if (got && CHECK_EQ_INT(busFrameRead(sdsSlice(got->bytes), &frame, why, sizeof(why)), BUS_READ)) {
        CHECK(frame.light);
        CHECK(sliceEq(frame.channel, sliceStr("news")) && sliceEq(frame.message, sliceStr("hello")));
    }
    clusterActionsFree(&actions);
}

TEST(bus_machines_meet_and_share_slots_and_messages) {
    realNode nodes[NODES];
    bool all_ok = startCluster(nodes);
    if (all_ok) {
        for (int i = 0; i < NODES; i++) CHECK_EQ_INT(summaryOf(&nodes[i]).known_nodes, NODES);
        clusterCommand publish = {
            .kind = CLUSTER_PUBLISH, .channel = sliceStr("news"), .message = sliceStr("hello"), .shard = false};
        sdsFree(run(&nodes[0], &publish));
        for (int i = 1; i < NODES; i++) checkDelivered(&nodes[i]);
        busLinkFigures *list;
        CHECK_EQ_INT(busListLinks(nodes[0].bus, &list), 2 * (NODES - 1));
        zfree(list);
    }
    for (int i = 0; i < NODES; i++) stopNode(&nodes[i]);
}

TEST(bus_machines_find_a_stopped_node_and_its_return) {
    realNode nodes[NODES];
    bool all_ok = startCluster(nodes);
    CHECK(all_ok);
    unitLimit limit = unitLimitStart(30000); /* main of the third node hangs: it is failed, for it answers no more */
    while (summaryOf(&nodes[0]).nodes_failed == 0 && CHECK(!unitLimitOver(&limit))) {
        busMainRuns(nodes[0].bus);
        busMainRuns(nodes[1].bus);
        usleep(5000);
    }
    limit = unitLimitStart(30000);
    while (summaryOf(&nodes[0]).nodes_failed && CHECK(!unitLimitOver(&limit))) {
        for (int i = 0; i < NODES; i++) busMainRuns(nodes[i].bus);
        usleep(5000);
    }
    for (int i = 0; i < NODES; i++) stopNode(&nodes[i]);
}
