/* machine_commands_test.c -- commands that change the cluster: replies, errors that change nothing, and what follows.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_fixture.h"

#define UNKNOWN "0000000000000000000000000000000000000000"

/* Returns the reply to a command about a node. */
static const char *node(clusterMachine *m, clusterCommandKind kind, const char *id) {
    return fixtureRun(m, (clusterCommand){.kind = kind, .node = fixtureId(id)});
}

/* Returns the reply to a command about slots `first` to `last`. */
static const char *slots(clusterMachine *m, clusterCommandKind kind, unsigned first, unsigned last) {
    slotSet set = {{0}};
    for (unsigned slot = first; slot <= last; slot++) slotSetAdd(&set, slot);
    return fixtureRun(m, (clusterCommand){.kind = kind, .slots = &set});
}

/* Returns the reply to SETSLOT. */
static const char *setSlot(clusterMachine *m, clusterCommandKind kind, unsigned slot, const char *id) {
    return fixtureRun(m, (clusterCommand){.kind = kind, .slot = slot, .node = fixtureId(id)});
}

static const char *streamedSetSlot(clusterMachine *m, clusterCommandKind kind, unsigned slot, const char *id) {
    return fixtureRun(m, (clusterCommand){.kind = kind, .slot = slot, .node = fixtureId(id), .from_primary = true});
}

static const char *owner(const clusterMachine *m, unsigned slot) {
    static char text[NODE_ID_LEN + 1];
    const clusterNode *n = clusterOwner(m, slot);
    snprintf(text, sizeof(text), "%.40s", n ? n->id.text : "none");
    return text;
}

static bool isOpen(const clusterMachine *m, unsigned slot) {
    return clusterMigratingTo(m, slot) || clusterImportingFrom(m, slot);
}

/* A command that has failed must leave the file as it was, and nothing to announce. */
static void checkRefused(clusterMachine *m, clusterCommand c, const char *error) {
    fixtureSave(m);
    uint64_t version = m->version;
    CHECK_EQ_STR(fixtureRun(m, c), error);
    CHECK_EQ_INT(m->version, version);
    CHECK_EQ_INT(fixture_actions.count, 1);
}

static void checkRefusedOf(clusterMachine *m, clusterCommandKind kind, unsigned slot, const char *id,
                           const char *error) {
    checkRefused(m, (clusterCommand){.kind = kind, .slot = slot, .node = fixtureId(id)}, error);
}

TEST(machine_meet_begins_one_handshake_with_an_address) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    clusterCommand meet = {.kind = CLUSTER_MEET, .ip = "10.0.0.1", .port = 7009, .bus_port = 17009};
    CHECK_EQ_STR(fixtureRun(m, meet), "+OK");
    CHECK_EQ_STR(fixtureRun(m, meet), "+OK");
    CHECK_EQ_INT(clusterSummarize(m).known_nodes, 5);
    CHECK(!fixtureAction(CLUSTER_CONNECT));
    /* Its random id is no member's: no other node has to forget it. */
    nodeId id = clusterNodeBySeat(m, 5)->id;
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_FORGET, .node = id}), "+OK");
    CHECK(clusterSummarize(m).known_nodes == 4 && !m->forgotten_count);
    fixtureFree(m);
}

TEST(machine_forget) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    checkRefusedOf(m, CLUSTER_FORGET, 0, UNKNOWN, "-ERR Unknown node " UNKNOWN);
    checkRefusedOf(m, CLUSTER_FORGET, 0, ID_A, "-ERR I tried hard but I can't forget myself...");
    CHECK_EQ_STR(node(m, CLUSTER_FORGET, ID_B), "+OK");
    CHECK(fixtureAction(CLUSTER_VIEW_CHANGED) && m->announce_version == m->version);
    CHECK_EQ_STR(owner(m, 3), "none");
    CHECK_EQ_INT(clusterSummarize(m).known_nodes, 3);
    CHECK_EQ_STR(node(m, CLUSTER_FORGET, ID_B), "+OK"); /* it is on the list */
    fixture_now.mono_ms += 60001;
    CHECK_EQ_STR(node(m, CLUSTER_FORGET, ID_B), "-ERR Unknown node " ID_B);
    fixtureFree(m);
    m = fixtureMachine(FILE_OF_R, 7004);
    checkRefusedOf(m, CLUSTER_FORGET, 0, ID_A, "-ERR Can't forget my master!");
    fixtureFree(m);
}

TEST(machine_forget_closes_slots_open_with_the_node) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_IMPORTING, 3, ID_B), "+OK");
    CHECK_EQ_STR(node(m, CLUSTER_FORGET, ID_B), "+OK");
    CHECK(!isOpen(m, 1) && !isOpen(m, 3));
    fixtureFree(m);
}

TEST(machine_replicate) {
    clusterMachine *m = fixtureMachine(AT_C "myself,master - 0 0 1 connected\n" LINE_A LINE_B LINE_R LINE_VARS, 7003);
    checkRefusedOf(m, CLUSTER_REPLICATE, 0, UNKNOWN, "-ERR Unknown node " UNKNOWN);
    checkRefusedOf(m, CLUSTER_REPLICATE, 0, ID_C, "-ERR Can't replicate myself");
    checkRefusedOf(m, CLUSTER_REPLICATE, 0, ID_R, "-ERR I can only replicate a master, not a replica.");
    fixture_local.is_empty = false;
    checkRefusedOf(m, CLUSTER_REPLICATE, 0, ID_A,
                   "-ERR To set a master the node must be empty and without assigned slots.");
    fixture_local.is_empty = true;
    CHECK_EQ_STR(node(m, CLUSTER_REPLICATE, ID_A), "+OK");
    const clusterAction *follow = fixtureAction(CLUSTER_FOLLOW);
    if (CHECK(follow)) CHECK(!memcmp(&follow->node, ID_A, NODE_ID_LEN));
    const clusterNode *me = clusterMyself(m);
    CHECK(nodeIsReplica(me) && clusterNodeBySeat(m, me->primary) == clusterOwner(m, 0));
    CHECK(!memcmp(&me->shard, SHARD_A, NODE_ID_LEN) && !me->config_epoch);
    CHECK(m->announce_version == m->version);
    fixtureSave(m);
    fixture_local.is_empty = false;
    uint64_t version = m->version;
    CHECK_EQ_STR(node(m, CLUSTER_REPLICATE, ID_A), "+OK"); /* again: no effect */
    CHECK(!fixtureAction(CLUSTER_FOLLOW) && m->version == version);
    CHECK_EQ_STR(node(m, CLUSTER_REPLICATE, ID_B), "+OK");
    CHECK(fixtureAction(CLUSTER_FOLLOW) && !memcmp(&clusterMyself(m)->shard, SHARD_B, NODE_ID_LEN));
    fixtureFree(m);
}

TEST(machine_replicate_is_refused_with_slots) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    checkRefusedOf(m, CLUSTER_REPLICATE, 0, ID_B,
                   "-ERR To set a master the node must be empty and without assigned slots.");
    fixtureFree(m);
}

TEST(machine_replicate_no_one) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_REPLICATE_NO_ONE}), "+OK");
    CHECK(fixtureAction(CLUSTER_BECOME_PRIMARY) && fixtureAction(CLUSTER_FLUSH));
    CHECK(nodeIsPrimary(clusterMyself(m)) && !clusterMyself(m)->slot_count);
    CHECK(memcmp(&clusterMyself(m)->shard, SHARD_A, NODE_ID_LEN) != 0 && m->announce_version == m->version);
    nodeId shard = clusterMyself(m)->shard;
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_REPLICATE_NO_ONE}), "+OK");
    CHECK(nodeIdEqual(&shard, &clusterMyself(m)->shard) && !fixtureAction(CLUSTER_FLUSH));
    fixtureFree(m);
}

/* A node that has missed the time as a replica ignores frames with an epoch below the one that it knows. */
TEST(machine_replica_that_becomes_a_primary_has_its_own_epoch_again) {
    for (int resets = 0; resets < 2; resets++) {
        clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
        for (unsigned slot = 0; slot < 3; slot++) CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, slot, ID_B), "+OK");
        CHECK(nodeIsReplica(clusterMyself(m)) && clusterSummarize(m).my_epoch == 3);
        CHECK_EQ_STR(node(m, CLUSTER_REPLICATE, ID_C), "+OK");
        fixtureRun(m, (clusterCommand){.kind = resets ? CLUSTER_RESET : CLUSTER_REPLICATE_NO_ONE});
        CHECK_EQ_INT(clusterSummarize(m).my_epoch, 2);
        fixtureFree(m);
    }
}

TEST(machine_add_and_del_slots) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    slotSet half = {{0}};
    slotSetAdd(&half, 100);
    slotSetAdd(&half, 3);
    checkRefused(m, (clusterCommand){.kind = CLUSTER_ADD_SLOTS, .slots = &half}, "-ERR Slot 3 is already busy");
    CHECK_EQ_STR(slots(m, CLUSTER_ADD_SLOTS, 16380, 16383), "+OK");
    CHECK_EQ_STR(owner(m, 16383), ID_A);
    CHECK(!m->announce_version); /* others learn it from pings */
    CHECK_EQ_INT(clusterSummarize(m).slots_assigned, 10);
    checkRefused(m, (clusterCommand){.kind = CLUSTER_DEL_SLOTS, .slots = &half}, "-ERR Slot 100 is already unassigned");
    /* In the order of the client, and before what is wrong after these slots. */
    static const uint16_t busy[] = {100, 4, 3}, unassigned[] = {3, 101, 100}, none[] = {100};
    slotSet five = {{0}}, one = {{0}};
    for (unsigned i = 0; i < 3; i++) slotSetAdd(&five, busy[i]), slotSetAdd(&five, unassigned[i]);
    slotSetAdd(&one, 100);
    clusterCommand ordered = {
        .kind = CLUSTER_ADD_SLOTS, .slots = &five, .order = busy, .order_count = 3, .refusal = "-ERR x"};
    checkRefused(m, ordered, "-ERR Slot 4 is already busy");
    ordered.kind = CLUSTER_DEL_SLOTS;
    ordered.order = unassigned;
    checkRefused(m, ordered, "-ERR Slot 101 is already unassigned");
    checkRefused(m,
                 (clusterCommand){
                     .kind = CLUSTER_ADD_SLOTS, .slots = &one, .order = none, .order_count = 1, .refusal = "-ERR x"},
                 "-ERR x");
    CHECK_EQ_STR(slots(m, CLUSTER_DEL_SLOTS, 1, 4), "+OK"); /* two are of B */
    CHECK_EQ_STR(owner(m, 4), "none");
    CHECK_EQ_INT(clusterSummarize(m).slots_assigned, 6);
    fixtureFree(m);
}

TEST(machine_add_and_del_slots_close_them) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_IMPORTING, 9, ID_B), "+OK");
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    CHECK_EQ_STR(slots(m, CLUSTER_ADD_SLOTS, 9, 9), "+OK");
    CHECK_EQ_STR(slots(m, CLUSTER_DEL_SLOTS, 1, 1), "+OK");
    CHECK(!isOpen(m, 1) && !isOpen(m, 9));
    /* This node may have keys of a slot that it imports. */
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_IMPORTING, 4, ID_B), "+OK");
    CHECK_EQ_STR(slots(m, CLUSTER_DEL_SLOTS, 4, 4), "+OK");
    CHECK(isOpen(m, 4));
    fixtureFree(m);
}

/* Valkey accepts both, and the replica has a view of the slots that nothing corrects. */
TEST(machine_replica_refuses_slots) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    slotSet set = {{0}};
    slotSetAdd(&set, 9000);
    checkRefused(m, (clusterCommand){.kind = CLUSTER_ADD_SLOTS, .slots = &set},
                 "-ERR Please use ADDSLOTS only with masters.");
    checkRefused(m, (clusterCommand){.kind = CLUSTER_DEL_SLOTS, .slots = &set},
                 "-ERR Please use DELSLOTS only with masters.");
    CHECK_EQ_STR(slots(m, CLUSTER_TAKE_SLOTS, 3, 3), "-ERR Slot migration can only be used on primary nodes.");
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_FLUSH_SLOTS}), "+OK");
    CHECK_EQ_INT(clusterSummarize(m).slots_assigned, 6);
    fixtureFree(m);
}

TEST(machine_flush_slots) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixture_local.is_empty = false;
    fixtureTick(m, 0);
    checkRefused(m, (clusterCommand){.kind = CLUSTER_FLUSH_SLOTS},
                 "-ERR DB must be empty to perform CLUSTER FLUSHSLOTS.");
    fixture_local.is_empty = true;
    fixtureTick(m, 0);
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_FLUSH_SLOTS}), "+OK");
    CHECK_EQ_STR(owner(m, 0), "none");
    CHECK_EQ_STR(owner(m, 3), ID_B);
    CHECK(!isOpen(m, 1) && fixtureAction(CLUSTER_VIEW_CHANGED) && clusterMustSave(m));
    fixtureFree(m);
}

TEST(machine_set_slot_migrating_and_importing) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    checkRefusedOf(m, CLUSTER_SET_MIGRATING, 3, ID_B, "-ERR I'm not the owner of hash slot 3");
    checkRefusedOf(m, CLUSTER_SET_MIGRATING, 1, UNKNOWN, "-ERR I don't know about node " UNKNOWN);
    checkRefusedOf(m, CLUSTER_SET_MIGRATING, 1, ID_A, "-ERR Target node is myself");
    checkRefusedOf(m, CLUSTER_SET_MIGRATING, 1, ID_R, "-ERR Target node is not a master");
    checkRefusedOf(m, CLUSTER_SET_IMPORTING, 1, ID_B, "-ERR I'm already the owner of hash slot 1");
    checkRefusedOf(m, CLUSTER_SET_IMPORTING, 3, UNKNOWN, "-ERR I don't know about node " UNKNOWN);
    checkRefusedOf(m, CLUSTER_SET_IMPORTING, 3, ID_A, "-ERR Target node is myself");
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    CHECK(fixtureAction(CLUSTER_VIEW_CHANGED) && clusterMustSave(m));
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_IMPORTING, 3, ID_B), "+OK");
    CHECK(clusterMigratingTo(m, 1) == clusterOwner(m, 3) && clusterImportingFrom(m, 3) == clusterOwner(m, 3));
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_C), "+OK"); /* to another one */
    CHECK(clusterMigratingTo(m, 1) != clusterOwner(m, 3));
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_STABLE, 1, UNKNOWN), "+OK");
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_STABLE, 1, UNKNOWN), "+OK");
    CHECK(!isOpen(m, 1) && isOpen(m, 3));
    fixtureFree(m);
}

TEST(machine_set_slot_node_takes_an_import) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    /* Given to its owner, a slot without keys migrates no more. */
    clusterCommand keep = {.kind = CLUSTER_SET_OWNER, .slot = 2, .slot_has_keys = true};
    memcpy(keep.node.text, ID_A, sizeof(keep.node.text));
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 2, ID_B), "+OK");
    CHECK_EQ_STR(fixtureRun(m, keep), "+OK");
    CHECK(isOpen(m, 2));
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, 2, ID_A), "+OK");
    CHECK(!isOpen(m, 2));
    checkRefusedOf(m, CLUSTER_SET_OWNER, 3, UNKNOWN, "-ERR Unknown node " UNKNOWN);
    checkRefusedOf(m, CLUSTER_SET_OWNER, 3, ID_R, "-ERR Target node is not a master");
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_IMPORTING, 3, ID_B), "+OK");
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, 3, ID_A), "+OK");
    CHECK_EQ_STR(owner(m, 3), ID_A);
    CHECK(!isOpen(m, 3) && m->announce_version == m->version);
    CHECK_EQ_INT(clusterMyself(m)->config_epoch, 8); /* above that of B, and the current one */
    /* Nothing is left to do. */
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, 3, ID_A), "+OK");
    CHECK_EQ_INT(clusterMyself(m)->config_epoch, 8);
    fixtureFree(m);
}

/* Without SETSLOT IMPORTING the claim must win as well. */
TEST(machine_set_slot_node_takes_a_slot_under_the_greatest_epoch) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, 3, ID_A), "+OK");
    CHECK_EQ_STR(owner(m, 3), ID_A);
    CHECK_EQ_INT(clusterMyself(m)->config_epoch, 8);
    fixtureFree(m);
}

TEST(machine_set_slot_node_gives_a_slot_away) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    checkRefused(m,
                 (clusterCommand){.kind = CLUSTER_SET_OWNER, .slot = 1, .node = fixtureId(ID_B), .slot_has_keys = true},
                 "-ERR Can't assign hashslot 1 to a different node while I still hold keys for this hash slot.");
    CHECK(isOpen(m, 1));
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, 1, ID_B), "+OK");
    CHECK_EQ_STR(owner(m, 1), ID_B);
    CHECK(!isOpen(m, 1) && nodeIsPrimary(clusterMyself(m)) && clusterMyself(m)->config_epoch == 2);
    /* A third node learns of it, and keeps an import for whose slot it may have keys. */
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_IMPORTING, 4, ID_B), "+OK");
    fixtureSave(m);
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, 4, ID_C), "+OK");
    CHECK_EQ_STR(owner(m, 4), ID_C);
    CHECK(isOpen(m, 4) && clusterMustSave(m));
    fixtureFree(m);
}

TEST(machine_set_slot_node_of_the_last_slot_makes_a_replica) {
    for (int migrates = 0; migrates < 2; migrates++) {
        clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
        m->config.allow_replica_migration = migrates;
        for (unsigned slot = 0; slot < 3; slot++) {
            CHECK(nodeIsPrimary(clusterMyself(m)));
            CHECK_EQ_STR(setSlot(m, CLUSTER_SET_OWNER, slot, ID_B), "+OK");
        }
        CHECK_EQ_INT(nodeIsReplica(clusterMyself(m)), migrates);
        CHECK_EQ_INT(fixtureAction(CLUSTER_FOLLOW) != NULL, migrates);
        if (migrates) checkRefusedOf(m, CLUSTER_SET_OWNER, 2, ID_B, "-ERR Please use SETSLOT only with masters.");
        fixtureFree(m);
    }
}

/* The primary has checked the command: the replica executes it, also if it does not know yet who owns the slot. */
TEST(machine_replica_executes_set_slot_of_its_primary) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    checkRefusedOf(m, CLUSTER_SET_MIGRATING, 1, ID_B, "-ERR Please use SETSLOT only with masters.");
    checkRefusedOf(m, CLUSTER_SET_STABLE, 1, ID_B, "-ERR Please use SETSLOT only with masters.");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_IMPORTING, 3, ID_B), "+OK");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_MIGRATING, 9, ID_B), "+OK");
    CHECK(isOpen(m, 1) && isOpen(m, 3) && isOpen(m, 9));
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_MIGRATING, 1, ID_A), "-ERR Target node is myself");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_STABLE, 9, ID_B), "+OK");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_OWNER, 3, ID_A), "+OK");
    CHECK_EQ_STR(owner(m, 3), ID_A);
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_SET_OWNER,
                                   .slot = 1,
                                   .node = fixtureId(ID_B),
                                   .from_primary = true,
                                   .slot_has_keys = true});
    CHECK_EQ_STR(owner(m, 1), ID_B);
    CHECK(!isOpen(m, 1) && !isOpen(m, 3) && !isOpen(m, 9));
    CHECK(nodeIsReplica(clusterMyself(m)) && clusterSummarize(m).current_epoch == 7);
    fixtureFree(m);
}

/* A primary checks SETSLOT before its replicas get it. */
TEST(machine_set_slot_that_only_checks_changes_nothing) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    const clusterCommand checks = {.slot = 1, .node = fixtureId(ID_B), .only_checks = true};
    static const clusterCommandKind kinds[] = {CLUSTER_SET_MIGRATING, CLUSTER_SET_STABLE, CLUSTER_SET_OWNER};
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_C), "+OK");
    for (size_t i = 0; i < array_len(kinds); i++) {
        clusterCommand c = checks;
        c.kind = kinds[i];
        checkRefused(m, c, "+OK");
    }
    clusterCommand import = checks;
    import.kind = CLUSTER_SET_IMPORTING;
    checkRefused(m, import, "-ERR I'm already the owner of hash slot 1");
    CHECK_EQ_STR(owner(m, 1), ID_A);
    CHECK(isOpen(m, 1));
    fixtureFree(m);
}

/* A full synchronization brings the open slots of the primary, and no others stay. */
TEST(machine_replica_takes_over_the_open_slots_of_its_primary) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    const openSlot open[] = {{.slot = 1, .other = fixtureId(ID_B)},
                             {.slot = 3, .importing = true, .other = fixtureId(ID_B)},
                             {.slot = 4, .importing = true, .other = fixtureId(UNKNOWN)},
                             {.slot = 5, .importing = true, .other = fixtureId(ID_A)}};
    clusterCommand set = {.kind = CLUSTER_SET_OPEN_SLOTS, .open = open, .open_count = array_len(open)};
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_MIGRATING, 2, ID_B), "+OK");
    CHECK_EQ_STR(fixtureRun(m, set), "+OK");
    CHECK(clusterMigratingTo(m, 1) == clusterNodeById(m, &open[0].other));
    CHECK(clusterImportingFrom(m, 3) == clusterNodeById(m, &open[0].other));
    CHECK(!isOpen(m, 2) && !isOpen(m, 4) && !isOpen(m, 5));
    clusterCheck(m);
    set.open_count = 0;
    CHECK_EQ_STR(fixtureRun(m, set), "+OK");
    CHECK(!isOpen(m, 1) && !isOpen(m, 3));
    fixtureFree(m);
    m = fixtureMachine(FILE_OF_A, 7001); /* its role has changed meanwhile */
    set.open_count = 1;
    CHECK_EQ_STR(fixtureRun(m, set), "+OK");
    CHECK(!isOpen(m, 1));
    fixtureFree(m);
}

/* Its primary has given up slot 1, which the replica has still open, and had taken slot 0 before the import of it. */
TEST(machine_replica_that_takes_over_closes_slots_that_do_not_fit) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_MIGRATING, 2, ID_B), "+OK");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_MIGRATING, 3, ID_B), "+OK");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_IMPORTING, 0, ID_B), "+OK");
    CHECK_EQ_STR(streamedSetSlot(m, CLUSTER_SET_IMPORTING, 4, ID_B), "+OK");
    slotSetAdd(&m->unclaimed, 1);
    machineChanged(m);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_FAILOVER, .takeover = true}), "+OK");
    CHECK(nodeIsPrimary(clusterMyself(m)));
    CHECK(!isOpen(m, 0) && !isOpen(m, 1) && isOpen(m, 2) && !isOpen(m, 3) && isOpen(m, 4));
    fixtureFree(m);
}

/* A takeover that is not on disk is given up, and main stops to replicate. */
TEST(machine_reset_during_a_takeover) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_FAILOVER, .takeover = true}), "+OK");
    CHECK(m->promote_version && !fixtureAction(CLUSTER_BECOME_PRIMARY));
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_RESET}), "+OK");
    CHECK(fixtureAction(CLUSTER_BECOME_PRIMARY) && fixtureAction(CLUSTER_VIEW_CHANGED));
    CHECK_EQ_INT(clusterSummarize(m).slots_assigned, 0);
    fixtureSave(m);
    CHECK(!fixtureAction(CLUSTER_BECOME_PRIMARY));
    fixtureFree(m);
}

TEST(machine_takes_slots_of_an_agreed_import) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    CHECK_EQ_STR(slots(m, CLUSTER_TAKE_SLOTS, 3, 4), "+OK");
    CHECK_EQ_STR(owner(m, 4), ID_A);
    CHECK_EQ_STR(owner(m, 5), ID_B);
    CHECK_EQ_INT(clusterMyself(m)->config_epoch, 8);
    CHECK(m->announce_version == m->version && !slotSetHas(&m->told.slots, 3));
    fixtureSave(m);
    CHECK_EQ_STR(slots(m, CLUSTER_TAKE_SLOTS, 5, 5), "+OK"); /* its epoch is the greatest already */
    CHECK(clusterMyself(m)->config_epoch == 8 && m->announce_version == m->version && clusterMustSave(m));
    fixtureFree(m);
}

TEST(machine_bump_epoch) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_BUMP_EPOCH}), "+BUMPED 8");
    CHECK(m->announce_version == m->version);
    fixtureSave(m);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_BUMP_EPOCH}), "+STILL 8");
    CHECK(!m->announce_version);
    fixtureFree(m);
    m = fixtureMachine(FILE_OF_R, 7004);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_BUMP_EPOCH}), "+STILL 2");
    CHECK_EQ_INT(clusterSummarize(m).current_epoch, 7);
    fixtureFree(m);
}

TEST(machine_set_config_epoch) {
    clusterCommand set = {.kind = CLUSTER_SET_CONFIG_EPOCH, .epoch = 9};
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    checkRefused(m, set, "-ERR The user can assign a config epoch only when the node does not know any other node.");
    fixtureFree(m);
    m = fixtureMachine(AT_A "myself,master - 0 0 0 connected\n", 7001);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_SET_CONFIG_EPOCH}), "+OK");
    CHECK_EQ_STR(fixtureRun(m, set), "+OK");
    CHECK(clusterSummarize(m).current_epoch == 9 && clusterSummarize(m).my_epoch == 9);
    checkRefused(m, set, "-ERR Node config epoch is already non-zero");
    fixtureFree(m);
    m = fixtureMachine(AT_A "myself,master - 0 0 0 connected\n" LINE_VARS, 7001);
    fixtureSave(m);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_SET_CONFIG_EPOCH, .epoch = 3}), "+OK");
    CHECK(clusterSummarize(m).current_epoch == 7 && clusterSummarize(m).my_epoch == 3 && clusterMustSave(m));
    fixtureFree(m);
}

TEST(machine_reset_soft) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixture_local.is_empty = false;
    fixtureTick(m, 0);
    checkRefused(m, (clusterCommand){.kind = CLUSTER_RESET},
                 "-ERR CLUSTER RESET can't be called with master nodes containing keys");
    fixture_local.is_empty = true;
    fixtureTick(m, 0);
    CHECK_EQ_STR(setSlot(m, CLUSTER_SET_MIGRATING, 1, ID_B), "+OK");
    CHECK_EQ_STR(node(m, CLUSTER_FORGET, ID_C), "+OK");
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_RESET}), "+OK");
    clusterSummary s = clusterSummarize(m);
    CHECK(s.known_nodes == 1 && s.slots_assigned == 0 && s.size == 0);
    CHECK(s.current_epoch == 7 && s.my_epoch == 2 && s.last_vote_epoch == 6);
    CHECK(!memcmp(&clusterMyself(m)->id, ID_A, NODE_ID_LEN));
    CHECK(memcmp(&clusterMyself(m)->shard, SHARD_A, NODE_ID_LEN) != 0);
    CHECK_EQ_STR(node(m, CLUSTER_FORGET, ID_C), "-ERR Unknown node " ID_C);
    CHECK(!fixtureAction(CLUSTER_FLUSH) && !fixtureAction(CLUSTER_BECOME_PRIMARY) && !isOpen(m, 1));
    /* Again: its shard is another one, which must be saved. */
    fixtureSave(m);
    nodeId shard = clusterMyself(m)->shard;
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_RESET}), "+OK");
    CHECK(clusterMustSave(m) && !nodeIdEqual(&shard, &clusterMyself(m)->shard));
    fixtureFree(m);
}

TEST(machine_reset_hard) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    m->votes[m->vote_count++] = (waitingVote){.version = m->version, .epoch = 7, .node = fixtureId(ID_R)};
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_RESET, .hard = true}), "+OK");
    CHECK_EQ_INT(m->vote_count, 0); /* it was promised by the node of before */
    clusterSummary s = clusterSummarize(m);
    CHECK(s.known_nodes == 1 && s.slots_assigned == 0);
    CHECK(s.current_epoch == 0 && s.my_epoch == 0 && s.last_vote_epoch == 0);
    CHECK(memcmp(&clusterMyself(m)->id, ID_A, NODE_ID_LEN) != 0);
    fixtureFree(m);
}

/* The id of before must not meet other nodes, and the new one only when the file has it. */
TEST(machine_reset_hard_is_silent_until_it_is_saved) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    uint64_t version;
    fixtureSave(m);
    node(m, CLUSTER_FORGET, ID_C);
    sdsFree(clusterFileText(m, fixture_now, &version));
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_RESET, .hard = true});
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_MEET, .ip = "10.0.0.1", .port = 7009, .bus_port = 17009});
    fixtureTick(m, 100);
    CHECK(!fixtureAction(CLUSTER_CONNECT));
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_SAVED, .version = version}); /* of the node of before */
    fixtureTick(m, 100);
    CHECK(!fixtureAction(CLUSTER_CONNECT));
    fixtureSave(m);
    fixtureTick(m, 100);
    CHECK(fixtureAction(CLUSTER_CONNECT));
    CHECK(nodeIdEqual(&m->told.id, &clusterMyself(m)->id) && !clusterMustSave(m));
    fixtureFree(m);
}

TEST(machine_reset_of_a_replica) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    fixture_local.is_empty = false;
    fixtureTick(m, 0);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_RESET}), "+OK");
    CHECK(fixtureAction(CLUSTER_BECOME_PRIMARY) && fixtureAction(CLUSTER_FLUSH));
    CHECK(nodeIsPrimary(clusterMyself(m)) && clusterSummarize(m).known_nodes == 1);
    CHECK(memcmp(&clusterMyself(m)->shard, SHARD_A, NODE_ID_LEN) != 0);
    fixtureFree(m);
}

TEST(machine_failover_is_for_replicas) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    checkRefused(m, (clusterCommand){.kind = CLUSTER_FAILOVER}, "-ERR You should send CLUSTER FAILOVER to a replica");
    fixtureFree(m);
    m = fixtureMachine(FILE_OF_R, 7004);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_FAILOVER, .force = true}), "+OK");
    fixtureFree(m);
}

TEST(machine_messages_have_a_reply) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    CHECK_EQ_STR(
        fixtureRun(
            m, (clusterCommand){.kind = CLUSTER_PUBLISH, .channel = sliceStr("chan"), .message = sliceStr("hello")}),
        "+OK");
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_SEND_MODULE, .message = sliceStr("x")}), "+OK");
    CHECK_EQ_STR(node(m, CLUSTER_SEND_MODULE, ID_B), "+OK");
    CHECK_EQ_STR(node(m, CLUSTER_SEND_MODULE, UNKNOWN), "-ERR Unknown node " UNKNOWN);
    fixtureFree(m);
}
