/* ownership_test.c -- claims, collisions, roles and shards, as frames bring them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "frame_fixture.h"

static bool follows(const char *id, bool same_shard) {
    const clusterAction *a = fixtureAction(CLUSTER_FOLLOW);
    nodeId value = fixtureId(id);
    return a && nodeIdEqual(&a->node, &value) && a->same_shard == same_shard;
}

static void hearUpdate(clusterMachine *m, const char *subject, uint64_t epoch, unsigned first, unsigned last) {
    fixtureHeader(ID_C, 1, 1, 0);
    fixture_frame.type = BUS_UPDATE;
    fixture_frame.subject = fixtureId(subject);
    fixture_frame.subject_epoch = epoch;
    fixtureSlots(&fixture_frame.subject_slots, first, last);
    fixtureHear(m);
}

/* --- claims ---------- */

TEST(ownership_goes_to_the_greater_epoch) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    uint64_t version = m->version;
    fixtureHeader(ID_C, 2, 3, 4); /* B has 3 */
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 6), "aaabbb-");
    fixtureHeader(ID_C, 3, 3, 4); /* the same is not greater */
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 6), "aaabbb-");
    fixtureHeader(ID_C, 4, 3, 4);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 6), "aaaccb-");
    CHECK(fixtureLogged("Slot range [3, 4] is migrated from node " ID_B " () in shard " SHARD_B " to node " ID_C
                        " () in shard " SHARD_C "."));
    CHECK(fixtureAction(CLUSTER_VIEW_CHANGED) && m->version > version && m->size == 3);
    fixtureHeader(ID_C, 9, 3, 6);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 6), "aaacccc");
    CHECK(m->size == 2 && m->current_epoch == 9);
    fixtureFree(m);
}

TEST(ownership_of_a_claim_that_is_old_is_corrected) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureConnect(m);
    fixtureHeader(ID_C, 1, 3, 3);
    fixtureHear(m);
    const busFrame *f = fixtureSent(m, ID_C, BUS_UPDATE);
    CHECK(f && f->subject_epoch == 3 && f->subject.text[0] == 'b' && slotSetCount(&f->subject_slots) == 3);
    /* A replica claims the slots of its primary. */
    fixtureReplicaHeader(ID_R, ID_A, 1);
    fixtureSlots(&fixture_frame.header.slots, 0, 2);
    fixtureHear(m);
    f = fixtureSent(m, ID_R, BUS_UPDATE);
    CHECK(f == NULL && m->saved_version < m->version); /* this node's own state is not on disk */
    fixtureSave(m);
    fixtureHear(m);
    f = fixtureSent(m, ID_R, BUS_UPDATE);
    CHECK(f && f->subject_epoch == 2 && f->subject.text[0] == 'a');
    fixtureReplicaHeader(ID_R, ID_A, 2);
    fixtureSlots(&fixture_frame.header.slots, 0, 2);
    fixtureHear(m);
    CHECK(!fixtureSent(m, ID_R, BUS_UPDATE));
    fixtureFree(m);
}

TEST(ownership_of_a_slot_that_its_owner_does_not_claim) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_B, 3, 3, 4);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 3, 5), "bbb");
    CHECK(slotSetHas(&m->unclaimed, 5) && !slotSetHas(&m->unclaimed, 4));
    CHECK(fixtureLogged("Mismatch in topology information for sender node " ID_B));
    fixtureHear(m);
    CHECK(!fixtureLogged("Mismatch"));
    fixtureHeader(ID_C, 1, 5, 5); /* an old epoch will do */
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 3, 5), "bbc");
    CHECK(!slotSetHas(&m->unclaimed, 5));
    /* A slot that is claimed again is not free. */
    fixtureHeader(ID_B, 3, 3, 3);
    fixtureHear(m);
    fixtureHeader(ID_B, 3, 3, 4);
    fixtureHear(m);
    fixtureHeader(ID_C, 1, 4, 5);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 3, 5), "bbc");
    fixtureFree(m);
}

TEST(ownership_of_a_slot_that_no_node_claims_ends) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_B, 3, 3, 4);
    fixtureHear(m);
    for (int i = 0; i < 100; i++) fixtureTick(m, 100);
    CHECK_EQ_STR(fixtureOwners(m, 3, 5), "bbb");
    uint64_t version = m->version;
    fixtureTick(m, 100);
    CHECK_EQ_STR(fixtureOwners(m, 3, 5), "bb-");
    CHECK(fixtureLogged("1 slot(s) have no owner any more") && fixtureAction(CLUSTER_VIEW_CHANGED) &&
          m->version > version);
    fixtureFree(m);
}

TEST(ownership_is_not_changed_by_frames_of_the_past) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_C, 9, 5, 6);
    fixtureHear(m);
    fixtureHeader(ID_C, 8, 3, 3)->current_epoch = 9; /* below its config epoch */
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 3, 6), "bbcc");
    CHECK(fixtureLogged("Ignore stale message from " ID_C));
    CHECK(!slotSetHas(&m->unclaimed, 5));
    fixtureReplicaHeader(ID_C, ID_B, 3)->current_epoch = 8; /* it has had current epoch 9 */
    fixtureHear(m);
    CHECK(nodeIsPrimary(fixtureNode(m, ID_C)));
    CHECK_EQ_STR(fixtureOwners(m, 3, 6), "bbcc");
    fixtureReplicaHeader(ID_C, ID_B, 3)->current_epoch = 9;
    fixtureHear(m);
    CHECK(nodeIsReplica(fixtureNode(m, ID_C)));
    CHECK_EQ_STR(fixtureOwners(m, 3, 6), "bb--");
    /* As a replica it has epoch 0, but the frame is older. */
    fixtureHeader(ID_C, 7, 5, 6)->current_epoch = 8;
    fixtureHear(m);
    CHECK(nodeIsReplica(fixtureNode(m, ID_C)));
    fixtureFree(m);
}

/* A node was a replica for a while, or its nodes file was set back: what it says is old, but it says nothing else. */
TEST(ownership_of_a_node_that_has_fallen_back) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_C, 9, 5, 6);
    fixtureHear(m);
    fixtureHeader(ID_C, 0, 1, 0)->current_epoch = 10; /* a newer frame */
    fixtureHear(m);
    CHECK_EQ_INT(fixtureNode(m, ID_C)->config_epoch, 0);
    CHECK(slotSetHas(&m->unclaimed, 6));
    fixtureHeader(ID_B, 9, 3, 5)->current_epoch = 10;
    fixtureHear(m);
    for (int i = 0; i < 41; i++) {
        CHECK_EQ_INT(fixtureNode(m, ID_B)->config_epoch, 9);
        fixtureHeader(ID_B, 2, 3, 4)->current_epoch = 9;
        fixtureHear(m);
        fixtureTick(m, 100);
    }
    fixtureHear(m);
    CHECK_EQ_INT(fixtureNode(m, ID_B)->config_epoch, 2);
    CHECK(slotSetHas(&m->unclaimed, 5));
    fixtureFree(m);
}

/* --- this node loses slots ---------- */

TEST(ownership_of_the_last_slot_makes_a_replica_of_the_winner) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_R, 8, 0, 1); /* of its shard, but slot 2 is left */
    fixtureHear(m);
    CHECK(nodeIsPrimary(m->myself) && m->myself->slot_count == 1 && fixtureLogged("This node has lost 2 slot(s)"));
    fixtureHeader(ID_R, 8, 0, 2);
    fixtureHear(m); /* slot 2 is this node's under epoch 2 */
    CHECK(nodeIsReplica(m->myself) && m->myself->primary == fixtureNode(m, ID_R)->seat && follows(ID_R, true));
    CHECK(fixtureLogged("Configuration change detected. Reconfiguring myself as a replica of node " ID_R
                        " () in shard " SHARD_A));
    CHECK_EQ_INT(m->myself->config_epoch, 0);
    CHECK(m->announce_version == m->version);
    fixtureFree(m);

    m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_C, 8, 0, 2);
    fixtureHear(m);
    nodeId shard = fixtureId(SHARD_C);
    CHECK(nodeIsReplica(m->myself) && follows(ID_C, false) && nodeIdEqual(&m->myself->shard, &shard));
    fixtureFree(m);
}

TEST(ownership_of_the_last_slot_without_replica_migration) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    m->config.allow_replica_migration = false;
    fixtureHeader(ID_C, 8, 0, 2);
    fixtureHear(m);
    CHECK(nodeIsPrimary(m->myself) && !m->myself->slot_count && !fixtureAction(CLUSTER_FOLLOW));
    fixtureFree(m);

    m = fixtureMachine(FILE_OF_A, 7001);
    m->config.allow_replica_migration = false;
    fixtureHeader(ID_R, 8, 0, 2);
    fixtureHear(m);
    CHECK(nodeIsReplica(m->myself) && follows(ID_R, true));
    fixtureFree(m);
}

TEST(ownership_that_the_primary_loses_moves_its_replica) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    fixtureHeader(ID_B, 8, 0, 5);
    fixtureHear(m);
    CHECK(m->myself->primary == fixtureNode(m, ID_B)->seat && follows(ID_B, false));
    fixtureFree(m);
}

TEST(ownership_a_primary_without_slots_finds_that_it_was_replaced) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    m->config.allow_replica_migration = false;
    /* UPDATE tells of R before it is known to be of this shard. */
    fixtureNode(m, ID_R)->shard = fixtureId(SHARD_C);
    hearUpdate(m, ID_R, 8, 0, 2);
    CHECK(nodeIsPrimary(m->myself) && !m->myself->slot_count);
    fixtureHeader(ID_R, 8, 0, 2);
    fixture_frame.extensions.shard = fixtureId(SHARD_A);
    fixtureHear(m);
    CHECK(nodeIsReplica(m->myself) && follows(ID_R, true));
    fixtureFree(m);
}

/* --- collisions ---------- */

TEST(collision_of_epochs_is_resolved_by_the_smaller_id) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_B, 2, 1, 0);
    fixtureNode(m, ID_B)->config_epoch = 2;
    fixtureHear(m);
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    CHECK(fixtureLogged("configEpoch collision with node " ID_B " (). configEpoch set to 8"));
    CHECK(m->announce_version == m->version);
    fixtureFree(m);

    m = fixtureMachine(AT_C "myself,master - 0 0 2 connected\n" LINE_A LINE_B LINE_VARS, 7003);
    fixtureHeader(ID_A, 2, 0, 2);
    fixtureHear(m);
    CHECK_EQ_INT(m->myself->config_epoch, 2);
    fixtureFree(m);
}

/* Two primaries of one shard have epoch 2 and claim the same slots. R has a smaller id than A. */
#define FILE_OF_PROMOTED_R \
    AT_R "myself,master - 0 0 2 connected 0-2\n" AT_A "master - 0 0 0 connected\n" LINE_B LINE_C LINE_VARS

static clusterMachine *collide(bool is_a, uint64_t mine, uint64_t other) {
    clusterMachine *m = is_a ? fixtureMachine(FILE_OF_A, 7001) : fixtureMachine(FILE_OF_PROMOTED_R, 7004);
    fixture_local.offset = mine;
    fixtureTick(m, OPERATION_TIMEOUT_MS);
    fixtureHeader(is_a ? ID_R : ID_A, 2, 0, 2)->offset = other;
    fixtureHear(m);
    return m;
}

TEST(collision_in_a_shard_is_won_by_the_greater_offset) {
    for (int is_a = 0; is_a < 2; is_a++) {
        clusterMachine *m = collide(is_a, 500, 499);
        /* A Valkey with the smaller id takes epoch 8 whatever its offset is. */
        CHECK_EQ_INT(m->myself->config_epoch, is_a ? 9 : 8);
        CHECK(nodeIsPrimary(m->myself) && m->myself->slot_count == 3);
        fixtureHeader(is_a ? ID_R : ID_A, 8, 0, 2)->offset = 499;
        fixtureHear(m);
        CHECK_EQ_INT(m->myself->slot_count, 3);
        fixtureFree(m);

        m = collide(is_a, 499, 500);
        CHECK(nodeIsReplica(m->myself) && follows(is_a ? ID_R : ID_A, true));
        CHECK(fixtureLogged("which has the greater offset (500, here 499)"));
        CHECK_EQ_INT(m->current_epoch, 7);
        fixtureFree(m);
    }
}

TEST(collision_in_a_shard_with_equal_offsets_is_resolved_by_the_smaller_id) {
    clusterMachine *m = collide(true, 500, 500);
    CHECK(m->myself->config_epoch == 2 && nodeIsPrimary(m->myself));
    fixtureFree(m);
    m = collide(false, 500, 500);
    CHECK(m->myself->config_epoch == 8 && nodeIsPrimary(m->myself));
    fixtureFree(m);
}

TEST(collision_in_a_shard_waits_for_the_dataset_to_be_loaded) {
    clusterMachine *m = collide(true, 500, 500);
    fixture_local = (clusterLocal){.is_loading = true};
    fixtureTick(m, 100);
    fixture_frame.header.offset = 499;
    fixtureHear(m);
    CHECK(nodeIsPrimary(m->myself) && m->myself->config_epoch == 2);
    fixture_local = (clusterLocal){.offset = 500};
    fixtureTick(m, 100);
    fixtureHear(m);
    CHECK_EQ_INT(m->myself->config_epoch, 9);
    fixtureFree(m);
    m = fixtureMachine(FILE_OF_PROMOTED_R, 7004); /* its offset is not known yet */
    fixtureHeader(ID_A, 2, 0, 2)->offset = 499;
    fixtureHear(m);
    CHECK(nodeIsPrimary(m->myself) && m->myself->config_epoch == 2);
    fixtureFree(m);
}

TEST(collision_leaves_slots_of_others_alone) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureTick(m, OPERATION_TIMEOUT_MS);
    fixtureNode(m, ID_B)->config_epoch = 2;
    fixtureHeader(ID_R, 2, 0, 5)->offset = 9;
    fixtureHear(m);
    CHECK(nodeIsReplica(m->myself));
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "000bbb");
    fixtureFree(m);
}

TEST(epoch_bump_makes_the_greatest) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    const clusterCommand bump = {.kind = CLUSTER_BUMP_EPOCH};
    CHECK_EQ_STR(fixtureRun(m, bump), "+BUMPED 8");
    CHECK(fixtureLogged("New configEpoch set to 8") && m->current_epoch == 8);
    CHECK_EQ_STR(fixtureRun(m, bump), "+STILL 8");
    fixtureNode(m, ID_B)->config_epoch = 8;
    CHECK_EQ_STR(fixtureRun(m, bump), "+BUMPED 9");
    m->current_epoch = UINT64_MAX;
    CHECK_EQ_STR(fixtureRun(m, bump), "+STILL 9");
    fixtureFree(m);
}

/* --- roles and shards ---------- */

TEST(roles_a_former_primary_names_its_successor) {
    clusterMachine *m = fixtureMachine(LINE_A LINE_B AT_C "myself,master - 0 0 1 connected\n" LINE_R LINE_VARS, 7003);
    fixtureReplicaHeader(ID_A, ID_R, 1);
    fixtureHear(m);
    CHECK(nodeIsPrimary(fixtureNode(m, ID_A)) && fixtureLogged("Ignore stale message from " ID_A));
    CHECK_EQ_STR(fixtureOwners(m, 0, 3), "aaab");
    fixtureReplicaHeader(ID_A, ID_R, 8);
    fixtureHear(m);
    CHECK(nodeIsReplica(fixtureNode(m, ID_A)) && nodeIsPrimary(fixtureNode(m, ID_R)));
    CHECK_EQ_INT(fixtureNode(m, ID_R)->config_epoch, 8);
    CHECK_EQ_STR(fixtureOwners(m, 0, 3), "000b");
    CHECK(fixtureLogged("A failover occurred in shard " SHARD_A "; node " ID_A
                        " () lost 3 slot(s) and failed over to node " ID_R " () with a config epoch of 8"));
    fixtureFree(m);
}

TEST(roles_a_former_primary_of_another_shard_gives_its_slots_up) {
    clusterMachine *m = fixtureMachine(LINE_A LINE_B AT_C "myself,master - 0 0 1 connected\n" LINE_R LINE_VARS, 7003);
    fixtureReplicaHeader(ID_A, ID_B, 9);
    fixtureSlots(&fixture_frame.header.slots, 1, 5);
    fixtureHear(m);
    CHECK(nodeIsReplica(fixtureNode(m, ID_A)));
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "-bbbbb");
    nodeId shard = fixtureId(SHARD_B);
    CHECK(nodeIdEqual(&fixtureNode(m, ID_A)->shard, &shard));
    shard = fixtureId(SHARD_A);
    CHECK(nodeIdEqual(&fixtureNode(m, ID_R)->shard, &shard)); /* its replica has the old dataset still */
    fixtureFree(m);
}

static void openSlotOf(clusterMachine *m, clusterCommandKind kind, unsigned slot, const char *id) {
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = kind, .slot = slot, .node = fixtureId(id)}), "+OK");
}

/* All others give the slots of the former primary to the node that it follows: this one. */
TEST(roles_a_former_primary_leaves_its_slots_to_this_node) {
    clusterMachine *m = fixtureMachine(AT_A "myself,master - 0 0 2 connected 0-2\n" LINE_B LINE_C AT_R
                                            "master - 0 0 1 connected 6-8\n" LINE_VARS,
                                       7001);
    openSlotOf(m, CLUSTER_SET_IMPORTING, 6, ID_R);
    fixtureConnect(m);
    fixtureReplicaHeader(ID_R, ID_A, 1); /* older than this node's epoch */
    fixtureSlots(&fixture_frame.header.slots, 0, 7);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 8), "aaabbb000");
    fixtureReplicaHeader(ID_R, ID_A, 2);
    fixtureSlots(&fixture_frame.header.slots, 0, 7); /* 8 has another owner */
    fixtureHear(m);
    CHECK(nodeIsReplica(fixtureNode(m, ID_R)));
    CHECK_EQ_STR(fixtureOwners(m, 0, 8), "aaabbbaa-");
    CHECK(fixtureAction(CLUSTER_VIEW_CHANGED) && m->open_slots == 0 && m->myself->config_epoch == 2);
    CHECK(fixtureLogged("Node " ID_R " (), which follows this node now, leaves it 2 slot(s)."));
    const busFrame *f = fixtureSent(m, ID_B, BUS_PONG);
    CHECK(!f);
    fixtureSave(m);
    f = fixtureSent(m, ID_B, BUS_PONG);
    CHECK(f && slotSetCount(&f->header.slots) == 5 && slotSetHas(&f->header.slots, 7));
    fixtureFree(m);

    /* A primary of another shard has its own dataset. */
    m = fixtureMachine(FILE_OF_A, 7001);
    fixtureReplicaHeader(ID_B, ID_A, 4);
    fixtureSlots(&fixture_frame.header.slots, 0, 5);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "aaa---");
    fixtureFree(m);
}

TEST(roles_a_former_primary_with_an_unknown_successor_keeps_its_slots) {
    clusterMachine *m = fixtureMachine(LINE_A AT_C "myself,master - 0 0 1 connected\n" LINE_VARS, 7003);
    fixtureReplicaHeader(ID_A, ID_R, 8);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 2), "aaa");
    fixtureReplicaHeader(ID_A, ID_C, 8); /* this node, without its knowledge */
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 2), "---");
    fixtureFree(m);
}

TEST(roles_a_replica_of_a_replica_follows_the_primary_above) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    m->config.allow_replica_migration = false;
    fixtureHeader(ID_B, 8, 0, 5);
    fixtureHear(m);
    CHECK_EQ_INT(m->myself->primary, fixtureNode(m, ID_A)->seat);
    fixtureReplicaHeader(ID_A, ID_B, 8);
    fixtureHear(m);
    CHECK_EQ_INT(m->myself->primary, fixtureNode(m, ID_B)->seat);
    CHECK(follows(ID_B, false)); /* its offset is of another dataset */
    CHECK(fixtureLogged("I'm a sub-replica! Reconfiguring myself as a replica of " ID_B " from " ID_A));
    fixtureFree(m);
}

TEST(roles_replicas_have_the_shard_of_their_primary) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    nodeId shard = fixtureId("9999999999999999999999999999999999999999");
    fixtureHeader(ID_A, 2, 0, 2);
    fixture_frame.extensions.shard = shard;
    fixtureHear(m);
    CHECK(nodeIdEqual(&m->myself->shard, &shard) && nodeIdEqual(&fixtureNode(m, ID_A)->shard, &shard));
    /* A replica's own shard is not believed. */
    fixtureReplicaHeader(ID_C, ID_B, 3);
    fixture_frame.extensions.shard = shard;
    fixtureHear(m);
    shard = fixtureId(SHARD_B);
    CHECK(nodeIdEqual(&fixtureNode(m, ID_C)->shard, &shard));
    fixtureFree(m);
}

TEST(roles_a_replica_learns_its_primarys_epoch_from_its_siblings) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    fixtureReplicaHeader(ID_C, ID_A, 8);
    fixtureSlots(&fixture_frame.header.slots, 0, 1);
    fixtureHear(m);
    CHECK_EQ_INT(fixtureNode(m, ID_A)->config_epoch, 8);
    CHECK(slotSetHas(&m->unclaimed, 2) && !slotSetHas(&m->unclaimed, 1));
    /* It does not claim for its primary what that has lost. */
    fixtureSave(m);
    CHECK(slotSetHas(&m->told.slots, 1) && !slotSetHas(&m->told.slots, 2));
    fixtureFree(m);
}

/* --- UPDATE ---------- */

TEST(update_changes_what_is_older) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    hearUpdate(m, ID_B, 3, 3, 6);
    CHECK_EQ_STR(fixtureOwners(m, 3, 6), "bbb-");
    hearUpdate(m, ID_B, 4, 4, 6);
    CHECK_EQ_STR(fixtureOwners(m, 3, 6), "bbbb");
    CHECK(slotSetHas(&m->unclaimed, 3));
    hearUpdate(m, ID_R, 2, 0, 0); /* the epoch of its primary */
    CHECK(nodeIsReplica(fixtureNode(m, ID_R)));
    hearUpdate(m, ID_R, 9, 0, 2);
    CHECK(nodeIsPrimary(fixtureNode(m, ID_R)) && fixtureNode(m, ID_R)->config_epoch == 9 && follows(ID_R, true));
    hearUpdate(m, "9999999999999999999999999999999999999999", 10, 0, 2);
    CHECK_EQ_STR(fixtureOwners(m, 0, 2), "000");
    fixtureFree(m);
}

TEST(update_about_this_node_after_its_file_was_set_back) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    hearUpdate(m, ID_A, 1, 0, 1);
    CHECK(m->myself->config_epoch == 2 && m->myself->slot_count == 3);
    hearUpdate(m, ID_A, 8, 1, 6);
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    CHECK_EQ_STR(fixtureOwners(m, 0, 6), "-aabbb-");
    fixtureFree(m);
}

/* --- slots that are being moved ---------- */

TEST(open_slots_follow_a_failover) {
    clusterMachine *m =
        fixtureMachine(AT_B "myself,master - 0 0 3 connected 3-5\n" LINE_A LINE_C LINE_R LINE_VARS, 7002);
    openSlotOf(m, CLUSTER_SET_IMPORTING, 1, ID_A);
    openSlotOf(m, CLUSTER_SET_MIGRATING, 3, ID_A);
    fixtureHeader(ID_R, 8, 0, 2);
    fixtureHear(m);
    CHECK_EQ_INT(m->importing[1], fixtureNode(m, ID_R)->seat);
    CHECK_EQ_INT(m->migrating[3], fixtureNode(m, ID_A)->seat);
    fixtureReplicaHeader(ID_A, ID_R, 8);
    fixtureHear(m);
    CHECK_EQ_INT(m->migrating[3], fixtureNode(m, ID_R)->seat);
    CHECK(fixtureLogged("A failover occurred in migration target. Update migrating target of 1 slot(s) to node " ID_R
                        " () in shard " SHARD_A "."));
    fixtureFree(m);
}

TEST(open_slots_are_closed_when_a_third_node_takes_them) {
    clusterMachine *m =
        fixtureMachine(AT_B "myself,master - 0 0 3 connected 3-5\n" LINE_A LINE_C LINE_R LINE_VARS, 7002);
    openSlotOf(m, CLUSTER_SET_IMPORTING, 1, ID_A);
    openSlotOf(m, CLUSTER_SET_MIGRATING, 3, ID_A);
    fixtureHeader(ID_C, 8, 1, 1);
    slotSetAdd(&fixture_frame.header.slots, 3);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "acacbb");
    CHECK_EQ_INT(m->open_slots, 0);
    CHECK(fixtureLogged("Slot 1 is no longer being imported from node " ID_A));
    CHECK(fixtureLogged("Slot 3 is no longer being migrated to node " ID_A));
    fixtureFree(m);
}

/* The target has taken the slot under a new epoch; a collision has raised this node's epoch above it meanwhile. */
TEST(open_slot_goes_to_its_target_in_spite_of_a_collision) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    openSlotOf(m, CLUSTER_SET_MIGRATING, 1, ID_B);
    m->myself->config_epoch = m->current_epoch = 9;
    fixtureSave(m);
    machineTell(m, &m->told);
    fixtureHeader(ID_B, 3, 0, 5)->current_epoch = 9; /* nothing new */
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "aaabbb");
    fixtureHeader(ID_B, 8, 0, 5)->current_epoch = 9;
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "ababbb");
    CHECK_EQ_INT(m->open_slots, 0);
    fixtureFree(m);
}

/* The answer to the claim that takes a slot must not claim it, under an epoch that would win. */
TEST(open_slot_that_is_given_up_is_not_claimed_by_the_answer) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    openSlotOf(m, CLUSTER_SET_MIGRATING, 1, ID_B);
    m->myself->config_epoch = m->current_epoch = 9;
    machineChanged(m);
    fixtureSave(m);
    CHECK(slotSetHas(&m->told.slots, 1));
    fixtureHeader(ID_B, 8, 1, 5)->current_epoch = 9;
    slotSetRemove(&fixture_frame.header.slots, 2);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "ababbb");
    const busFrame *f = fixtureSent(m, ID_B, BUS_PONG);
    CHECK(f && f->header.config_epoch == 9 && slotSetCount(&f->header.slots) == 2);
    CHECK(f && slotSetHas(&f->header.slots, 0) && slotSetHas(&f->header.slots, 2));
    CHECK(slotSetHas(&m->told.slots, 1)); /* on disk it is this node's still */
    fixtureFree(m);
}

/* This node, B, imports slot 1 of A; R, a replica of A, has won an election with an epoch that it did not know. */
static clusterMachine *machineWithImport(void) {
    clusterMachine *m =
        fixtureMachine(AT_B "myself,master - 0 0 3 connected 3-5\n" LINE_A LINE_C LINE_R LINE_VARS, 7002);
    openSlotOf(m, CLUSTER_SET_IMPORTING, 1, ID_A);
    clusterCommand c = {.kind = CLUSTER_SET_OWNER, .slot = 1, .node = m->myself->id};
    CHECK_EQ_STR(fixtureRun(m, c), "+OK");
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    fixtureConnect(m);
    fixtureSave(m);
    return m;
}

TEST(imported_slot_is_kept_when_a_replica_of_its_source_is_elected) {
    clusterMachine *m = machineWithImport();
    fixtureHeader(ID_R, 9, 0, 2);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "0b0bbb");
    CHECK_EQ_INT(m->myself->config_epoch, 10);
    CHECK(fixtureLogged("Node " ID_R " () in shard " SHARD_A " claims 1 slot(s) that this node has just imported"));
    fixtureSave(m);
    const busFrame *f = fixtureSent(m, ID_R, BUS_PONG); /* it is announced */
    CHECK(f && f->header.config_epoch == 10 && slotSetHas(&f->header.slots, 1));
    fixtureHear(m); /* older than this node's claim now */
    CHECK_EQ_INT(m->myself->config_epoch, 10);
    CHECK_EQ_STR(fixtureOwners(m, 0, 5), "0b0bbb");
    fixtureFree(m);

    /* A third node says so, and that epoch of R is known. */
    m = machineWithImport();
    fixtureHeader(ID_R, 9, 2, 2);
    fixtureHear(m);
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    hearUpdate(m, ID_R, 9, 0, 2);
    CHECK_EQ_INT(m->myself->config_epoch, 10);
    CHECK_EQ_STR(fixtureOwners(m, 1, 1), "b");
    fixtureFree(m);
}

TEST(imported_slot_goes_to_others_as_every_slot) {
    clusterMachine *m = machineWithImport();
    fixtureHeader(ID_C, 9, 1, 1); /* another shard */
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 1, 1), "c");
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    fixtureFree(m);

    m = machineWithImport(); /* it moves on */
    openSlotOf(m, CLUSTER_SET_MIGRATING, 1, ID_A);
    fixtureHeader(ID_A, 9, 0, 2);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 1, 1), "a");
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    fixtureFree(m);

    m = machineWithImport(); /* long ago */
    for (int i = 0; i < 99; i++) fixtureTick(m, 100);
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    fixtureTick(m, 100);
    fixtureHeader(ID_R, 9, 0, 2);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 1, 1), "0");
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    fixtureFree(m);

    m = machineWithImport(); /* another slot of this node was not imported */
    fixtureHeader(ID_R, 9, 3, 3);
    fixtureHear(m);
    CHECK_EQ_STR(fixtureOwners(m, 3, 3), "0");
    CHECK_EQ_INT(m->myself->config_epoch, 8);
    fixtureFree(m);
}

TEST(imports_from_many_shards_are_remembered_for_the_last_ones) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    nodeId shards[RECENT_IMPORTS_MAX + 1];
    for (unsigned i = 0; i <= RECENT_IMPORTS_MAX; i++) {
        shards[i] = nodeRandomId(m);
        fixtureTick(m, 100);
        slotImported(m, i, &shards[i]);
        slotImported(m, 100 + i, &shards[i]);
    }
    unsigned found[RECENT_IMPORTS_MAX + 1] = {0};
    for (unsigned i = 0; i < RECENT_IMPORTS_MAX; i++)
        for (unsigned k = 0; k <= RECENT_IMPORTS_MAX; k++)
            if (nodeIdEqual(&m->imports[i].shard, &shards[k]) && slotSetCount(&m->imports[i].slots) == 2) found[k]++;
    CHECK_EQ_INT(found[0], 0);
    for (unsigned k = 1; k <= RECENT_IMPORTS_MAX; k++) CHECK_EQ_INT(found[k], 1);
    fixtureTick(m, 60000); /* what is old does not begin again */
    slotImported(m, 50, &shards[3]);
    for (unsigned i = 0; i < RECENT_IMPORTS_MAX; i++)
        if (nodeIdEqual(&m->imports[i].shard, &shards[3])) CHECK_EQ_INT(slotSetCount(&m->imports[i].slots), 1);
    fixtureFree(m);
}

TEST(open_slots_survive_a_failover_of_this_node) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    openSlotOf(m, CLUSTER_SET_MIGRATING, 1, ID_B);
    fixtureHeader(ID_R, 8, 0, 2);
    fixtureHear(m);
    CHECK(nodeIsReplica(m->myself) && m->migrating[1] == fixtureNode(m, ID_B)->seat);
    fixtureFree(m);

    m = fixtureMachine(FILE_OF_A, 7001);
    openSlotOf(m, CLUSTER_SET_MIGRATING, 1, ID_B);
    openSlotOf(m, CLUSTER_SET_IMPORTING, 4, ID_B);
    fixtureHeader(ID_C, 8, 0, 2);
    fixtureHear(m);
    CHECK(nodeIsReplica(m->myself));
    CHECK_EQ_INT(m->open_slots, 0);
    fixtureFree(m);
}

/* --- slots, against a model ---------- */

TEST(slots_against_an_array) {
    uint64_t rng = unitRandomSeed();
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    static const char *const ids[] = {ID_A, ID_B, ID_C};
    static char model[CLUSTER_SLOTS];
    memset(model, '-', sizeof(model));
    memset(model, 'a', 3);
    memset(model + 3, 'b', 3);
    for (int round = 0; round < 3000; round++) {
        unsigned slot = (unsigned)(unitRandom(&rng) % 40) * 401;
        const char *id = ids[unitRandom(&rng) % 3], *to = ids[unitRandom(&rng) % 3];
        if (round % 500 == 499 && id != to) {
            slotsMove(m, fixtureNode(m, id), fixtureNode(m, to));
            for (unsigned s = 0; s < CLUSTER_SLOTS; s++)
                if (model[s] == id[0]) model[s] = to[0];
        } else if (round % 500 == 250) {
            slotsRelease(m, fixtureNode(m, id));
            for (unsigned s = 0; s < CLUSTER_SLOTS; s++)
                if (model[s] == id[0]) model[s] = '-';
        } else {
            bool none = unitRandom(&rng) % 4 == 0;
            slotSetOwner(m, slot, none ? 0 : fixtureNode(m, id)->seat);
            model[slot] = none ? '-' : id[0];
        }
        if (round % 50) continue;
        stateUpdate(m);
        clusterCheck(m);
        for (unsigned s = 0; s < CLUSTER_SLOTS; s++)
            CHECK((m->owner[s] ? nodeAt(m, m->owner[s])->id.text[0] : '-') == model[s]);
    }
    fixtureFree(m);
}

TEST(slots_that_a_node_does_not_claim_do_not_go_to_its_successor) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureHeader(ID_B, 3, 4, 5);
    fixtureHear(m);
    slotsMove(m, fixtureNode(m, ID_B), fixtureNode(m, ID_C));
    CHECK_EQ_STR(fixtureOwners(m, 3, 5), "-cc");
    fixtureFree(m);
}
