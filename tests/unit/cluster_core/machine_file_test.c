/* machine_file_test.c -- a nodes file becomes a machine, and the machine writes it again.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_fixture.h"

/* Returns what a machine at `port` writes that has read this file. */
static const char *again(const char *text, uint16_t port) {
    clusterMachine *m = fixtureMachine(text, port);
    const char *out = fixtureFile(m);
    fixtureFree(m);
    return out;
}

TEST(machine_file_is_written_as_it_was_read) {
    CHECK_EQ_STR(again(AT_A "myself,master - 0 0 2 connected 0-2\n" AT_B "master,fail - 1700000000000 1700000000000 3 "
                            "disconnected 3-5\n" AT_R "slave,nofailover " ID_A " 0 0 2 disconnected\n" LINE_VARS,
                       7001),
                 AT_A "myself,master - 0 0 2 connected 0-2\n" AT_B "master,fail - 1700000000000 1700000000000 3 "
                      "disconnected 3-5\n" AT_R "slave,nofailover " ID_A " 0 0 2 disconnected\n" LINE_VARS);
}

TEST(machine_file_keeps_names_and_addresses) {
#define NAMES \
    ",h1.example,availability-zone=az-a,client-tls-port=5,client-tcp-port=4,client-ipv6=::1,client-ipv4=10.1.1.1"
    static const char text[] = AT_A "myself,master - 0 0 2 connected\n" ID_B " 10.0.0.9:7002@17002" NAMES
                                    ",tls-port=9,nodename=beta,shard-id=" SHARD_B
                                    " master - 0 0 3 disconnected\n" LINE_VARS;
    CHECK_EQ_STR(again(text, 7001), text);
}

TEST(machine_file_begins_with_times_of_now) {
    clusterMachine *m = fixtureMachine(
        AT_A "myself,master - 5 6 2 connected\n" AT_B "master,fail - 5 6 3 connected\n" LINE_C LINE_VARS, 7001);
    nodeId b = fixtureId(ID_B), c = fixtureId(ID_C);
    const clusterNode *n = clusterNodeById(m, &b);
    CHECK(n->ping_sent_ms == fixture_now.mono_ms && n->pong_ms == fixture_now.mono_ms);
    CHECK(n->failed_ms == fixture_now.mono_ms);
    CHECK(!clusterNodeById(m, &c)->pong_ms && !clusterNodeById(m, &c)->failed_ms && !clusterMyself(m)->pong_ms);
    fixtureFree(m);
}

TEST(machine_file_leaves_handshakes_out) {
    CHECK_EQ_STR(again(AT_A "myself,master - 0 0 2 connected\n" AT_B "handshake - 0 0 0 connected\n" LINE_VARS, 7001),
                 AT_A "myself,master - 0 0 2 connected\n" LINE_VARS);
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    sds before = sdsNew(fixtureFile(m));
    CHECK_EQ_STR(
        fixtureRun(m, (clusterCommand){.kind = CLUSTER_MEET, .ip = "10.0.0.1", .port = 7009, .bus_port = 17009}),
        "+OK");
    CHECK_EQ_INT(clusterSummarize(m).known_nodes, 5);
    CHECK_EQ_STR(fixtureFile(m), before);
    sdsFree(before);
    fixtureFree(m);
}

/* Files in which the shards of a replica and its primary differ made Valkey refuse to start. */
TEST(machine_file_gives_replicas_the_shard_and_epoch_of_their_primary) {
    CHECK_EQ_STR(again(AT_A "myself,master - 0 0 2 connected\n" ID_R
                            " 127.0.0.1:7004@17004,,tls-port=0,shard-id=" SHARD_C " slave " ID_A
                            " 0 0 9 disconnected\n" LINE_VARS,
                       7001),
                 AT_A "myself,master - 0 0 2 connected\n" AT_R "slave " ID_A " 0 0 2 disconnected\n" LINE_VARS);
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    CHECK_EQ_INT(clusterMyself(m)->config_epoch, 0);
    CHECK_EQ_INT(clusterSummarize(m).my_epoch, 2);
    fixtureFree(m);
    m = fixtureMachine(ID_R " 127.0.0.1:7004@17004,,tls-port=0,shard-id=" SHARD_C " myself,slave " ID_A
                            " 0 0 2 connected\n" LINE_A LINE_VARS,
                       7004);
    CHECK(nodeIdEqual(&clusterMyself(m)->shard, &clusterOwner(m, 0)->shard));
    CHECK(nodeIdEqual(&m->told.shard, &clusterOwner(m, 0)->shard));
    fixtureFree(m);
    m = fixtureMachine(FILE_OF_R, 7004);
    CHECK(m->told.is_replica && m->told.config_epoch == 2 && slotSetCount(&m->told.slots) == 3);
    fixtureFree(m);
}

TEST(machine_file_of_a_replica_of_a_replica_names_the_primary_above) {
    CHECK_EQ_STR(again(AT_A "myself,master - 0 0 2 connected\n" AT_C "slave " ID_R " 0 0 0 connected\n" AT_R
                            "slave " ID_A " 0 0 0 connected\n" LINE_VARS,
                       7001),
                 AT_A "myself,master - 0 0 2 connected\n" ID_C " 127.0.0.1:7003@17003,,tls-port=0,shard-id=" SHARD_A
                      " slave " ID_A " 0 0 2 disconnected\n" AT_R "slave " ID_A " 0 0 2 disconnected\n" LINE_VARS);
    /* Two replicas of each other, and one of itself: there is no primary. */
    clusterMachine *m = fixtureMachine(AT_A "myself,slave " ID_B " 0 0 2 connected\n" AT_B "slave " ID_A
                                            " 0 0 3 connected\n" AT_C "slave " ID_C " 0 0 3 connected\n" LINE_VARS,
                                       7001);
    CHECK(nodeIsReplica(clusterMyself(m)));
    fixtureFree(m);
}

TEST(machine_file_without_the_primary_keeps_its_id) {
    CHECK_EQ_STR(again(AT_R "myself,slave " ID_A " 0 0 2 connected\n" LINE_VARS, 7004),
                 AT_R "myself,slave " ID_A " 0 0 0 connected\n" ID_A " :0@0,,tls-port=0,shard-id=" SHARD_A
                      " master,noaddr - 0 0 0 disconnected\n" LINE_VARS);
}

/* Old files have no shards, and Valkey writes nodes that it knows by name only. */
TEST(machine_file_without_shards_and_roles) {
    clusterMachine *m = fixtureMachine(ID_R " 127.0.0.1:7004@17004 myself,slave " ID_A " 0 0 2 connected\n" ID_B
                                            " :0@0 noflags - 0 0 3 connected 7\n",
                                       7004);
    nodeId a = fixtureId(ID_A), b = fixtureId(ID_B);
    CHECK(nodeIdEqual(&clusterMyself(m)->shard, &clusterNodeById(m, &a)->shard));
    CHECK(!(clusterNodeById(m, &b)->flags & (NODE_PRIMARY | NODE_REPLICA)) && !clusterOwner(m, 7));
    fixtureFree(m);
}

/* As ADDSLOTS leaves a replica of Valkey. */
TEST(machine_file_takes_slots_from_replicas) {
    CHECK_EQ_STR(again(AT_R "myself,slave " ID_A " 0 0 2 connected 9000\n" LINE_A LINE_VARS, 7004),
                 AT_R "myself,slave " ID_A " 0 0 2 connected\n" AT_A "master - 0 0 2 disconnected 0-2\n" LINE_VARS);
}

TEST(machine_file_keeps_open_slots_that_can_be) {
#define OPEN(items) \
    AT_A "myself,master - 0 0 2 connected 0-2" items "\n" AT_B "master - 0 0 3 disconnected 3-5\n" LINE_VARS
    CHECK_EQ_STR(again(OPEN(" [1->-" ID_B "] [3-<-" ID_B "]"), 7001), OPEN(" [1->-" ID_B "] [3-<-" ID_B "]"));
    /* To an unknown node, to itself, twice, a slot of another node, an import of a slot that it has. */
    CHECK_EQ_STR(again(OPEN(" [1->-" ID_C "] [2->-" ID_A "] [3->-" ID_B "] [0-<-" ID_B "]"), 7001), OPEN(""));
    CHECK_EQ_STR(again(OPEN(" [1->-" ID_B "] [1->-" ID_B "]"), 7001), OPEN(" [1->-" ID_B "]"));
    clusterMachine *m = fixtureMachine(
        AT_R "myself,slave " ID_A " 0 0 2 connected [1->-" ID_B "] [3-<-" ID_B "]\n" LINE_A LINE_B LINE_VARS, 7004);
    CHECK(clusterMigratingTo(m, 1) == clusterOwner(m, 3) && clusterImportingFrom(m, 3) == clusterOwner(m, 3));
    fixtureFree(m);
}

TEST(machine_file_epochs_are_never_below_those_of_nodes) {
    CHECK_EQ_STR(again(AT_A "myself,master - 0 0 9 connected\nvars currentEpoch 3 lastVoteEpoch 2\n", 7001),
                 AT_A "myself,master - 0 0 9 connected\nvars currentEpoch 9 lastVoteEpoch 2\n");
    CHECK_EQ_STR(again(AT_A "myself,master - 0 0 1 connected\nvars currentEpoch 3 lastVoteEpoch 5\n", 7001),
                 AT_A "myself,master - 0 0 1 connected\nvars currentEpoch 5 lastVoteEpoch 5\n");
}

/* Headers change when the file is on disk, and to the state that the file has. */
TEST(machine_file_is_told_when_it_is_saved) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    slotSet slots = {{0}};
    slotSetAdd(&slots, 100);
    fixtureSave(m);
    CHECK(!clusterMustSave(m));
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_ADD_SLOTS, .slots = &slots});
    CHECK(clusterMustSave(m));
    uint64_t version;
    sdsFree(clusterFileText(m, fixture_now, &version));
    slots = (slotSet){{0}};
    slotSetAdd(&slots, 101);
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_ADD_SLOTS, .slots = &slots});
    CHECK(!slotSetHas(&m->told.slots, 100));
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_SAVED, .version = version});
    CHECK(slotSetHas(&m->told.slots, 100) && !slotSetHas(&m->told.slots, 101));
    CHECK(clusterMustSave(m));
    fixtureSave(m);
    CHECK(slotSetHas(&m->told.slots, 101) && !clusterMustSave(m));
    fixtureFree(m);
}

/* Each file that can be parsed becomes a machine whose invariants hold, and that reads its own text alike. */
TEST(machine_file_damaged_anywhere) {
    uint64_t rng = unitRandomSeed();
    static const char whole[] = AT_A "myself,master - 0 0 2 connected 0-2 [1->-" ID_B
                                     "]\n" LINE_B LINE_C LINE_R LINE_VARS;
    for (int round = 0; round < 500; round++) {
        sds text = sdsNew(whole), error;
        nodesFile file;
        static const char bytes[] = "abc019 -,:@\n";
        for (int i = 0; i < 1 + round % 3; i++)
            text[unitRandom(&rng) % sdsLen(text)] = bytes[unitRandom(&rng) % (sizeof(bytes) - 1)];
        bool parsed = nodesFileParse(sdsSlice(text), &file, &error) && file.count;
        nodesFileFree(&file);
        sdsFree(error);
        if (parsed) {
            clusterMachine *m = fixtureMachine(text, 7001);
            sds first = sdsNew(fixtureFile(m));
            fixtureFree(m);
            m = fixtureMachine(first, 7001);
            CHECK_EQ_STR(fixtureFile(m), first);
            fixtureFree(m);
            sdsFree(first);
        }
        sdsFree(text);
    }
}
