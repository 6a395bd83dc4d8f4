/* machine_read_test.c -- what is read of the machine, and that the check of its invariants finds each fault.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_fixture.h"

#include <sys/wait.h>

TEST(machine_nodes_one_by_one) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    unsigned count = 0;
    for (const clusterNode *n = NULL; (n = clusterNodeNext(m, n));) {
        CHECK(clusterNodeById(m, &n->id) == n && clusterNodeBySeat(m, n->seat) == n);
        count++;
    }
    CHECK_EQ_INT(count, 4);
    CHECK(!clusterNodeBySeat(m, 0) && !clusterNodeBySeat(m, 5) && !clusterNodeBySeat(m, 65535));
    nodeId b = fixtureId(ID_B), none = fixtureId(SHARD_B);
    CHECK(clusterOwner(m, 4) == clusterNodeById(m, &b) && !clusterOwner(m, 6) && !clusterNodeById(m, &none));
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_FORGET, .node = b});
    count = 0;
    for (const clusterNode *n = NULL; (n = clusterNodeNext(m, n));) count += !nodeIdEqual(&n->id, &b);
    CHECK_EQ_INT(count, 3);
    fixtureFree(m);
}

TEST(machine_summary) {
    clusterMachine *m = fixtureMachine(FILE_OF_R, 7004);
    nodeId b = fixtureId(ID_B), c = fixtureId(ID_C);
    nodeById(m, &b)->flags |= NODE_SUSPECTED;
    nodeById(m, &c)->flags |= NODE_FAILED;
    clusterSummary s = clusterSummarize(m);
    CHECK(!s.ok && s.known_nodes == 4 && s.size == 2);
    CHECK(s.slots_assigned == 6 && s.slots_ok == 3 && s.slots_suspected == 3 && s.slots_failed == 0);
    CHECK(s.nodes_suspected == 1 && s.nodes_failed == 1 && s.voting_suspected == 1 && s.voting_failed == 0);
    CHECK(s.current_epoch == 7 && s.my_epoch == 2 && s.last_vote_epoch == 6);
    nodeById(m, &b)->flags |= NODE_FAILED; /* failed counts before suspected */
    s = clusterSummarize(m);
    CHECK(s.slots_suspected == 0 && s.slots_failed == 3 && s.nodes_suspected == 0 && s.voting_failed == 1);
    fixtureFree(m);
}

static void addReport(clusterNode *n, unsigned seat) {
    n->reports = zrealloc(n->reports, (n->report_count + 1) * sizeof(*n->reports));
    n->reports[n->report_count++] = (failureReport){.seat = (uint16_t)seat, .until_ms = UINT64_MAX};
    n->report_capacity = n->report_count;
}

TEST(machine_knows_the_peer_of_a_link_that_has_a_node) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    nodeId b = fixtureId(ID_B);
    linkAdd(m, CLUSTER_LINK_ACCEPTED + 1, NULL, true);
    linkAdd(m, CLUSTER_LINK_ACCEPTED + 2, nodeById(m, &b), true);
    CHECK(!clusterKnowsPeer(m, CLUSTER_LINK_ACCEPTED + 1) && clusterKnowsPeer(m, CLUSTER_LINK_ACCEPTED + 2));
    CHECK(!clusterKnowsPeer(m, CLUSTER_LINK_ACCEPTED + 3));
    fixtureFree(m);
}

TEST(machine_failure_reports_count_until_their_end) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    nodeId b = fixtureId(ID_B), c = fixtureId(ID_C);
    clusterNode *n = nodeById(m, &b);
    addReport(n, m->myself->seat);
    addReport(n, nodeById(m, &c)->seat);
    n->reports[0].until_ms = fixture_now.mono_ms + 1;
    n->reports[1].until_ms = fixture_now.mono_ms;
    CHECK_EQ_INT(clusterFailureReports(m, n, fixture_now), 1);
    CHECK_EQ_INT(clusterFailureReports(m, m->myself, fixture_now), 0);
    fixtureFree(m);
}

static void addLink(clusterMachine *m, uint64_t number, unsigned seat, bool is_inbound) {
    linkAdd(m, number, NULL, is_inbound)->seat = (uint16_t)seat;
}

/* Breaks one thing in a machine that is valid otherwise. Returns false if there is no such fault. */
static bool breakOne(clusterMachine *m, int fault) {
    clusterNode *me = m->myself, *b = nodeAt(m, 2), *c = nodeAt(m, 3), *r = nodeAt(m, 4);
    switch (fault) {
    case 0: m->owner[1] = 0; break;
    case 1: m->owner[1] = b->seat; break;
    case 2: m->slots_assigned++; break;
    case 3: me->slot_count--; break;
    case 4: slotSetAdd(&m->unclaimed, 1); break;
    case 5: slotSetAdd(&m->unclaimed, 100); break;
    case 6: m->migrating[4] = b->seat, m->open_slots++; break;
    case 7: m->importing[1] = b->seat, m->open_slots++; break;
    case 8: m->migrating[1] = b->seat; break;
    case 9: m->migrating[1] = me->seat, m->open_slots++; break;
    case 10: m->importing[4] = 77, m->open_slots++; break;
    case 11: b->flags |= NODE_REPLICA; break;
    case 12: r->config_epoch = 1; break;
    case 13: r->primary = 77; break;
    case 14: r->primary = r->seat, me->replicas--, r->replicas++; break;
    case 15: c->primary = b->seat, b->replicas++; break;
    case 16: me->replicas = 0; break;
    case 17: b->flags &= (uint16_t)~NODE_PRIMARY, m->size--; break;
    case 18: b->flags |= NODE_HANDSHAKE; break;
    case 19: b->flags |= NODE_MYSELF; break;
    case 20: me->flags &= (uint16_t)~NODE_PRIMARY; break;
    case 21: me->flags |= NODE_SUSPECTED; break;
    case 22: me->pong_ms = 1; break;
    case 23: b->config_epoch = 8; break;
    case 24: m->last_vote_epoch = 8; break;
    case 25: b->link_out = 5; break;
    case 26: b->link_in = CLUSTER_LINK_ACCEPTED + 5; break;
    case 27: linkAdd(m, CLUSTER_LINK_ACCEPTED + 1, b, false); break;
    case 28: b->link_out_ms = 1; break;
    case 29: b->ponged = true; break;
    case 30: addLink(m, 1, 0, false); break;
    case 31: addLink(m, CLUSTER_LINK_ACCEPTED + 1, b->seat, true); break;
    case 32: addLink(m, CLUSTER_LINK_ACCEPTED + 1, 77, true); break;
    case 33: m->last_link = 4, linkAdd(m, 5, b, false); break;
    case 34: m->told.current_epoch = 9; break;
    case 35: m->current_epoch = 9; break;
    case 36: m->saved_version = m->version + 1; break;
    case 37: m->announce_version = m->version; break;
    case 38: m->size = 3; break;
    case 39: b->id.text[0] = 'a'; break;
    case 40: b->seat = c->seat; break;
    case 41: b->shard = (nodeId){{0}}; break;
    case 42: m->node_count++; break;
    case 43: m->election.stage = ELECTION_RUNS; break;
    case 44: m->promote_version = m->version; break;
    case 45: m->manual = (manualFailover){.end_ms = 1, .by_me = true}; break;
    case 46: m->manual = (manualFailover){.end_ms = 1, .replica = 77}; break;
    case 47: m->vote_count = 1, m->votes[0] = (waitingVote){.version = m->version, .epoch = 1}; break;
    case 48:
        machineChanged(m), m->vote_count = 1, m->votes[0] = (waitingVote){.version = m->version, .epoch = 8};
        break;
    case 49: b->report_count = 1; break;
    case 50: addReport(b, b->seat); break;
    case 51: addReport(b, c->seat), addReport(b, c->seat); break;
    case 52: addReport(b, 77); break;
    case 53: m->forgotten_count = 1; break;
    default: return false;
    }
    return true;
}

static void checkInChild(void *fault) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    fixtureSave(m);
    if (fault) breakOne(m, *(int *)fault);
    clusterCheck(m);
    fixtureFree(m);
}

TEST(machine_check_finds_each_fault) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    char output[4096];
    CHECK_EQ_INT(unitInChild(checkInChild, NULL, output, sizeof(output)), 0);
    int fault = 0;
    for (; fault < 54; fault++) {
        int status = unitInChild(checkInChild, &fault, output, sizeof(output));
        if (!CHECK(status != 0 && strstr(output, "machine_read.c"))) printf("fault %d: %s\n", fault, output);
    }
    CHECK(!breakOne(m, fault));
    fixtureFree(m);
}
