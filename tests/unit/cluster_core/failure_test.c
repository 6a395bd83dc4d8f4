/* failure_test.c -- suspicion, agreement on failures, and when this node may serve.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "frame_fixture.h"

#include <stdio.h>

#define TIMEOUT 2000 /* of fixtureMachine() */

/* Five primaries with all slots: A has a replica R. */
#define ID_D "dddddddddddddddddddddddddddddddddddddddd"
#define ID_E "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
#define OTHERS                                                                                           \
    AT_B "master - 0 0 3 connected 3000-5999\n" AT_C "master - 0 0 1 connected 6000-8999\n" ID_D         \
         " 127.0.0.1:7005@17005,,tls-port=0,shard-id=4444444444444444444444444444444444444444 master - " \
         "0 0 4 connected 9000-11999\n" ID_E                                                             \
         " 127.0.0.1:7006@17006,,tls-port=0,shard-id=5555555555555555555555555555555555555555 master - " \
         "0 0 5 connected 12000-16383\n" LINE_VARS
#define FIVE_OF_A AT_A "myself,master - 0 0 2 connected 0-2999\n" LINE_R OTHERS
#define FIVE_OF_R AT_R "myself,slave " ID_A " 0 0 2 connected\n" AT_A "master - 0 0 2 connected 0-2999\n" OTHERS

static const char *const all_ids[] = {ID_A, ID_B, ID_C, ID_D, ID_E, ID_R};

static bool isListed(const char *ids, const char *id) { return strchr(ids, id[0] == '0' ? 'r' : id[0]) != NULL; }

static bool minority_is_logged; /* by run() */
static void noteLogs(void) {
    if (fixtureLogged("Cluster is currently down: I am part of a minority partition.")) minority_is_logged = true;
}

/* Lets time pass, in which the nodes whose first letters are in `ids` answer their pings ("r" is R). */
static void run(clusterMachine *m, uint64_t ms, const char *ids) {
    for (; ms >= 100; ms -= 100) {
        fixtureTick(m, 100);
        noteLogs();
        fixtureLinksUp(m);
        for (size_t i = 0; i < sizeof(all_ids) / sizeof(all_ids[0]); i++) {
            const clusterNode *n = fixtureNode(m, all_ids[i]);
            if (n && n->link_out_ms && n->ping_sent_ms && isListed(ids, all_ids[i])) fixtureAnswer(m, all_ids[i]);
            noteLogs();
        }
    }
}

#define ALL "abcder"

/* `reporter` says by gossip whether it suspects `about`. */
static void report(clusterMachine *m, const char *reporter, const char *about, bool suspects) {
    fixtureAnswer(m, reporter);
    busHeader h = fixture_frame.header;
    busGossip g = {.id = fixtureId(about), .flags = NODE_PRIMARY | (suspects ? NODE_SUSPECTED : 0)};
    sds bytes = busAddGossip(busBegin(sdsEmpty(), BUS_PONG, &h), &g);
    char why[200];
    busEnd(bytes);
    CHECK_EQ_INT(busFrameRead(sdsSlice(bytes), &fixture_frame, why, sizeof(why)), BUS_READ);
    fixtureStep(
        m, (clusterEvent){.kind = CLUSTER_FRAME, .link = fixtureNode(m, reporter)->link_out, .frame = &fixture_frame});
    sdsFree(bytes);
}

static unsigned reportsOf(clusterMachine *m, const char *id) {
    return clusterFailureReports(m, fixtureNode(m, id), fixture_now);
}

static bool has(clusterMachine *m, const char *id, unsigned flags) { return nodeHas(fixtureNode(m, id), flags); }

/* --- suspicion and agreement ---------- */

TEST(failure_a_node_that_does_not_answer_is_suspected) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    fixtureNode(m, ID_B)->ping_sent_ms = fixture_now.mono_ms;
    fixtureNode(m, ID_B)->data_ms = fixture_now.mono_ms;
    run(m, TIMEOUT, "acder");
    CHECK(!has(m, ID_B, NODE_SUSPECTED));
    run(m, 100, "acder");
    CHECK(has(m, ID_B, NODE_SUSPECTED) && clusterSummarize(m).ok);
    for (size_t i = 2; i < 6; i++) CHECK(!nodeIsOut(fixtureNode(m, all_ids[i])));
    run(m, 100, ALL);
    CHECK(!has(m, ID_B, NODE_SUSPECTED));
    /* Frames of any kind show that it lives. */
    for (int i = 0; i < 30; i++) {
        run(m, 100, "acder");
        fixtureHeader(ID_B, 3, 3000, 5999);
        fixtureHear(m);
    }
    CHECK(fixtureNode(m, ID_B)->ping_sent_ms && !has(m, ID_B, NODE_SUSPECTED));
    fixtureFree(m);
}

/* The answer to the only ping was lost: no frame but an answer ends the suspicion, so the link is made anew. */
TEST(failure_suspicion_ends_though_an_answer_was_lost) {
    clusterMachine *m = fixtureMachine(FIVE_OF_R, 7004);
    run(m, 3000, ALL);
    run(m, 2 * TIMEOUT, "acder");
    CHECK(has(m, ID_B, NODE_SUSPECTED));
    uint64_t link = fixtureNode(m, ID_B)->link_out;
    for (int i = 0; i < TIMEOUT / 100 + 2 && fixtureNode(m, ID_B)->link_out == link; i++) {
        run(m, 100, "acder");
        fixtureHeader(ID_B, 3, 3000, 5999);
        fixtureHear(m);
    }
    CHECK(has(m, ID_B, NODE_SUSPECTED) && fixtureNode(m, ID_B)->link_out != link);
    run(m, 200, ALL);
    CHECK(!has(m, ID_B, NODE_SUSPECTED));
    fixtureFree(m);
}

TEST(failure_is_agreed_upon_by_a_majority) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    report(m, ID_C, ID_B, true);
    report(m, ID_C, ID_B, true);
    report(m, ID_R, ID_B, true); /* a replica has no say */
    CHECK_EQ_INT(reportsOf(m, ID_B), 1);
    run(m, TIMEOUT + 1500, "acder");
    CHECK(has(m, ID_B, NODE_SUSPECTED));
    report(m, ID_D, ID_B, true);
    CHECK(has(m, ID_B, NODE_FAILED) && !has(m, ID_B, NODE_SUSPECTED));
    CHECK(fixtureLogged("Marking node " ID_B " () as failing (quorum reached)."));
    const busFrame *f = fixtureSent(m, ID_C, BUS_FAIL);
    CHECK(f && f->subject.text[0] == 'b' && fixtureSent(m, ID_R, BUS_FAIL));
    CHECK_EQ_INT(fixtureNode(m, ID_B)->report_capacity, 0);
    report(m, ID_E, ID_B, true);
    CHECK_EQ_INT(reportsOf(m, ID_B), 0);
    CHECK(!fixtureSent(m, ID_C, BUS_FAIL));
    fixtureFree(m);
}

TEST(failure_reports_are_withdrawn_and_end) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    report(m, ID_E, ID_B, true);
    report(m, ID_C, ID_B, true);
    report(m, ID_D, ID_B, true);
    CHECK_EQ_INT(reportsOf(m, ID_B), 3);
    CHECK(!nodeIsOut(fixtureNode(m, ID_B))); /* this node reaches it */
    report(m, ID_D, ID_B, false);
    report(m, ID_D, ID_B, false);
    CHECK_EQ_INT(reportsOf(m, ID_B), 2);
    CHECK(fixtureNode(m, ID_B)->reports[0].seat == fixtureNode(m, ID_C)->seat);
    fixture_now.mono_ms += 2 * TIMEOUT - 1;
    CHECK_EQ_INT(reportsOf(m, ID_B), 2);
    fixture_now.mono_ms++;
    CHECK_EQ_INT(reportsOf(m, ID_B), 0);
    CHECK_EQ_STR(fixtureRun(m, (clusterCommand){.kind = CLUSTER_FORGET, .node = fixtureId(ID_C)}), "+OK");
    CHECK_EQ_INT(fixtureNode(m, ID_B)->report_count, 1);
    fixtureFree(m);
}

TEST(failure_reports_that_are_old_do_not_count) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    report(m, ID_C, ID_B, true);
    run(m, 2 * TIMEOUT + 100, "acder");
    CHECK(has(m, ID_B, NODE_SUSPECTED));
    report(m, ID_D, ID_B, true);
    CHECK(!has(m, ID_B, NODE_FAILED));
    report(m, ID_C, ID_B, true);
    CHECK(has(m, ID_B, NODE_FAILED));
    fixtureFree(m);
}

/* Fewer primaries need fewer reports: a tick finds that. */
TEST(failure_is_found_when_the_quorum_falls) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    report(m, ID_C, ID_B, true);
    run(m, TIMEOUT + 1500, "acder");
    report(m, ID_C, ID_B, true);
    CHECK(has(m, ID_B, NODE_SUSPECTED));
    slotsMove(m, fixtureNode(m, ID_E), fixtureNode(m, ID_D));
    slotsMove(m, fixtureNode(m, ID_D), m->myself);
    run(m, 200, "acder");
    CHECK(has(m, ID_B, NODE_FAILED));
    fixtureFree(m);
}

TEST(failure_reports_against_an_array) {
    uint64_t rng = unitRandomSeed();
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    clusterNode *nodes[100], *about = fixtureNode(m, ID_B);
    bool model[100] = {false};
    for (size_t i = 0; i < 100; i++) {
        nodes[i] = nodeAdd(m, NULL, NODE_PRIMARY);
        slotSetOwner(m, (unsigned)i, nodes[i]->seat);
    }
    for (int round = 0; round < 5000; round++) {
        size_t i = unitRandom(&rng) % 100, count = 0;
        clusterActions actions = {0};
        m->actions = &actions;
        model[i] = unitRandom(&rng) % 3 != 0;
        if (model[i]) failureReportAdd(m, about, nodes[i]);
        else failureReportRemove(m, about, nodes[i]);
        clusterActionsFree(&actions);
        for (size_t k = 0; k < 100; k++) count += model[k];
        CHECK_EQ_INT(about->report_count, count);
        for (size_t k = 1; k < count; k++) CHECK(about->reports[k - 1].seat < about->reports[k].seat);
        for (size_t k = 0; k < count; k++) CHECK(model[about->reports[k].seat - nodes[0]->seat]);
    }
    fixtureFree(m);
}

/* --- a node is back ---------- */

static void fail(clusterMachine *m, const char *id) {
    fixtureHeader(ID_C, 1, 6000, 8999);
    fixture_frame.type = BUS_FAIL;
    fixture_frame.subject = fixtureId(id);
    fixtureHear(m);
    CHECK(has(m, id, NODE_FAILED));
}

TEST(failure_of_a_replica_ends_with_its_answer) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    fail(m, ID_R);
    fixtureAnswer(m, ID_R);
    CHECK(!has(m, ID_R, NODE_FAILED));
    CHECK(fixtureLogged("Clear FAIL state for node " ID_R " (): replica is reachable again."));
    fixtureFree(m);
}

TEST(failure_of_a_primary_ends_at_once_if_no_replica_can_replace_it) {
    clusterMachine *m = fixtureMachine(FIVE_OF_R, 7004);
    run(m, 3000, ALL);
    fail(m, ID_B);
    fixtureAnswer(m, ID_B);
    CHECK(!has(m, ID_B, NODE_FAILED) &&
          fixtureLogged("is reachable again and nobody is serving its slots after some time."));
    /* This replica could replace A. */
    fail(m, ID_A);
    uint64_t since = fixture_now.mono_ms;
    fixtureAnswer(m, ID_A);
    CHECK(has(m, ID_A, NODE_FAILED));
    run(m, 2 * TIMEOUT, "bcde");
    fixture_now.mono_ms = since + 2 * TIMEOUT + 1;
    fixtureAnswer(m, ID_A);
    CHECK(!has(m, ID_A, NODE_FAILED));
    fixtureFree(m);
}

/* --- whether this node serves ---------- */

TEST(state_is_ok_when_a_majority_has_answered_and_the_start_is_over) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, "ab");
    CHECK(!clusterSummarize(m).ok && clusterSummarize(m).minority);
    run(m, 100, "abc");
    CHECK(!clusterSummarize(m).minority);
    run(m, 300, "abc");
    CHECK(!clusterSummarize(m).ok); /* what was decided meanwhile has to arrive */
    run(m, 200, "abc");
    CHECK(clusterSummarize(m).ok);
    fixtureFree(m);

    m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 1900, ALL);
    CHECK(!clusterSummarize(m).ok);
    run(m, 200, ALL);
    CHECK(clusterSummarize(m).ok);
    fixtureFree(m);

    m = fixtureMachine(FIVE_OF_R, 7004); /* a replica does not wait */
    run(m, 200, ALL);
    CHECK(clusterSummarize(m).ok);
    fixtureFree(m);
}

TEST(state_fails_with_the_first_uncovered_slot) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    fail(m, ID_B);
    CHECK(!clusterSummarize(m).ok && !clusterSummarize(m).minority && fixtureAction(CLUSTER_VIEW_CHANGED));
    CHECK(fixtureLogged("Cluster state changed: fail"));
    CHECK(fixtureLogged(
        "Cluster is currently down: At least one hash slot is not served by any available node. Please check "
        "the 'cluster-require-full-coverage' configuration."));
    fixtureAnswer(m, ID_B);
    CHECK(clusterSummarize(m).ok && fixtureLogged("Cluster state changed: ok"));
    m->config.require_full_coverage = false;
    fail(m, ID_B);
    CHECK(clusterSummarize(m).ok);
    m->config.require_full_coverage = true;
    slotSetOwner(m, 7, 0);
    run(m, 100, ALL);
    CHECK(!clusterSummarize(m).ok);
    fixtureFree(m);
}

/* The others cannot have replaced this node before a ping of theirs has waited for the timeout. */
TEST(state_of_a_primary_without_a_majority_fails_within_the_timeout) {
    for (int start = 0; start < 10; start++) {
        clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
        run(m, 3000 + 100 * (uint64_t)start, ALL);
        uint64_t cut = fixture_now.mono_ms;
        for (int i = 0; i < 50 && clusterSummarize(m).ok; i++) run(m, 100, "bcr");
        CHECK(clusterSummarize(m).ok); /* three of five */
        cut = fixture_now.mono_ms;
        for (int i = 0; i < 50 && clusterSummarize(m).ok; i++) run(m, 100, "br");
        CHECK(!clusterSummarize(m).ok && clusterSummarize(m).minority && fixture_now.mono_ms - cut <= TIMEOUT + 200);
        CHECK(minority_is_logged);
        minority_is_logged = false;
        fixtureFree(m);
    }
}

/* Frames of C, D and E come, but no answers: they may suspect this node, and a simulated node of Valkey serves on. */
TEST(state_of_a_plain_valkey_does_not_depend_on_answers) {
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        static const char *const silent[] = {ID_C, ID_D, ID_E};
        clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
        m->config.plain_valkey = is_plain;
        run(m, 3000, ALL);
        for (int i = 0; i < TIMEOUT / 100 + 2; i++) {
            run(m, 100, "br");
            for (unsigned k = 0; k < 3; k++) {
                fixtureHeader(silent[k], fixtureNode(m, silent[k])->config_epoch, 6000 + 3000 * k,
                              k < 2 ? 8999 + 3000 * k : CLUSTER_SLOTS - 1);
                fixtureHear(m);
            }
        }
        CHECK_EQ_INT(clusterSummarize(m).ok, is_plain);
        fixtureFree(m);
    }
}

TEST(state_of_a_primary_that_was_cut_off_waits) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    run(m, 5000, "");
    CHECK(clusterSummarize(m).minority);
    run(m, TIMEOUT, ALL);
    CHECK(!clusterSummarize(m).ok && !clusterSummarize(m).minority);
    run(m, 200, ALL);
    CHECK(clusterSummarize(m).ok);
    /* A short gap costs less. */
    for (int i = 0; i < 50 && clusterSummarize(m).ok; i++) run(m, 100, "");
    run(m, 300, "");
    run(m, 800, ALL);
    CHECK(clusterSummarize(m).ok);
    fixtureFree(m);
}

/* --- a process that was stopped ---------- */

static bool closed(uint64_t link) {
    for (size_t i = 0; i < fixture_actions.count; i++)
        if (fixture_actions.list[i].kind == CLUSTER_CLOSE && fixture_actions.list[i].link == link) return true;
    return false;
}

TEST(stopped_process_does_not_serve_until_it_has_heard_a_majority) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    uint64_t link = fixtureNode(m, ID_B)->link_out;
    fixtureNode(m, ID_B)->ping_sent_ms = fixture_now.mono_ms;
    fixture_now.mono_ms += TIMEOUT + 1;
    /* The first event is an answer that was in a socket. */
    fixtureHeader(ID_B, 3, 3000, 5999);
    fixture_frame.type = BUS_PONG;
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = &fixture_frame});
    CHECK(!clusterSummarize(m).ok && closed(link) && fixtureLogged("did not run for 2001 milliseconds"));
    EACH_NODE (m, n) CHECK(!nodeIsOut(n));
    run(m, 1000, "");
    CHECK(!clusterSummarize(m).ok);
    EACH_NODE (m, n) CHECK(!nodeIsOut(n)); /* they get their time to answer */
    run(m, TIMEOUT - 100, ALL);
    CHECK(!clusterSummarize(m).ok);
    run(m, 400, ALL);
    CHECK(clusterSummarize(m).ok);
    fixtureFree(m);
}

TEST(stopped_process_does_not_blame_others) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    EACH_NODE (m, n)
        if (n != m->myself) n->ping_sent_ms = n->asked_ms = n->data_ms = n->heard_until_ms = fixture_now.mono_ms;
    fixtureTick(m, TIMEOUT - 200);
    run(m, 100, ALL);
    CHECK(clusterSummarize(m).ok);
    EACH_NODE (m, n)
        if (n != m->myself) n->ping_sent_ms = n->asked_ms = n->data_ms = fixture_now.mono_ms;
    fixtureTick(m, TIMEOUT - 1);
    fixtureTick(m, 100);
    EACH_NODE (m, n) CHECK(!nodeIsOut(n));
    CHECK(!clusterSummarize(m).ok); /* they may have lost patience, though */
    fixtureFree(m);
}

/* --- orphans ---------- */

TEST(orphans_are_primaries_whose_replicas_have_failed) {
    clusterMachine *m = fixtureMachine(FIVE_OF_A, 7001);
    run(m, 3000, ALL);
    CHECK_EQ_INT(m->myself->orphaned_ms, 0);
    CHECK_EQ_INT(fixtureNode(m, ID_B)->orphaned_ms, 0); /* it never had one */
    fail(m, ID_R);
    run(m, 100, "bcde");
    uint64_t since = fixture_now.mono_ms;
    CHECK_EQ_INT(m->myself->orphaned_ms, since);
    run(m, 500, "bcde");
    CHECK_EQ_INT(m->myself->orphaned_ms, since);
    run(m, 1500, ALL);
    CHECK_EQ_INT(m->myself->orphaned_ms, 0);
    fixtureFree(m);
}
