/* broken_elsewhere_test.c -- faults that clusters of other servers have had, where no other file has a test of them.
 *
 * The list, with the test of each: tests/cluster/README.md.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "frame_fixture.h"
#include "small_cluster.h"

#include <stdio.h>
#include <stdlib.h>

#define ID_D "dddddddddddddddddddddddddddddddddddddddd"

TEST(elsewhere_many_primaries_that_fail_together_are_all_replaced) {
    smallCluster c;
    smallInit(&c, 10);
    smallJoin(&c, 7);
    for (int i = 0; i < 3; i++) {
        c.nodes[i].local.offset = 1000;
        smallReplicate(&c, 7 + i, i, 1000);
    }
    smallRun(&c, 4000);
    for (int i = 0; i < 3; i++) smallCut(&c, i, true);
    smallRun(&c, 3 * c.nodes[6].config.node_timeout_ms + 3000);
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(c.nodes[7 + i].became_primary, 1);
    clusterSummary sum = clusterSummarize(c.nodes[6].m);
    CHECK(sum.ok);
    CHECK_EQ_INT(sum.slots_ok, CLUSTER_SLOTS);
    smallFree(&c);
}

static int sentOn(uint64_t link, busType type) {
    int count = 0;
    for (size_t i = 0; i < fixture_actions.count; i++) {
        busFrame f;
        char why[200];
        const clusterAction *a = &fixture_actions.list[i];
        if (a->kind != CLUSTER_SEND || a->link != link) continue;
        count += busFrameRead(sdsSlice(a->frame->bytes), &f, why, sizeof(why)) == BUS_READ && f.type == type;
    }
    return count;
}

TEST(elsewhere_a_second_meet_on_a_link_is_answered_and_changes_nothing) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    uint64_t link = CLUSTER_LINK_ACCEPTED + 1000;
    unsigned before = m->node_count;
    fixtureSave(m);
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_ACCEPTED, .link = link, .ip = "127.0.0.1", .peer_ip = "127.0.0.1"});
    for (int i = 0; i < 3; i++) {
        fixtureHeader(ID_D, 0, 1, 0);
        fixture_frame.type = BUS_MEET;
        fixture_frame.header.port = 7009;
        fixture_frame.header.bus_port = 17009;
        fixtureStep(m, (clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = &fixture_frame});
        CHECK_EQ_INT(sentOn(link, BUS_PONG), 1);
        CHECK(!fixtureAction(CLUSTER_CLOSE));
        CHECK_EQ_INT(m->node_count, before + 1);
    }
    fixtureFree(m);
}

static const busFrame *publish(clusterMachine *m) {
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_PUBLISH, .channel = sliceStr("c"), .message = sliceStr("m")});
    return fixtureSent(m, ID_B, BUS_PUBLISH);
}

/* B connects, and says that it takes light messages. */
static void hearB(clusterMachine *m) {
    fixtureHeader(ID_B, 3, 3, 5)->flags |= NODE_LIGHT_PUBLISH;
    fixtureHear(m);
}

TEST(elsewhere_light_messages_wait_for_an_answer_on_the_present_link) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    clusterNode *b = fixtureNode(m, ID_B);
    fixtureSave(m);
    fixtureConnect(m);
    hearB(m);
    const busFrame *f = publish(m);
    CHECK(f && !f->light);
    fixtureAnswer(m, ID_B);
    hearB(m);
    f = publish(m);
    CHECK(f && f->light);
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = b->link_out});
    fixtureTick(m, 1100);
    fixtureLinksUp(m);
    CHECK(b->link_out_ms != 0);
    f = publish(m);
    CHECK(f && !f->light);
    fixtureFree(m);
}

/* A node that does not connect to this one is met again, but for one that a second MEET would end. */
TEST(elsewhere_automatic_meets_are_few_and_for_nodes_that_take_them) {
    clusterMachine *m = fixtureMachine(FILE_OF_A, 7001);
    int meets_b = 0, meets_c = 0;
    fixtureSave(m);
    fixtureConnect(m);
    for (int i = 0; i < 600; i++) {
        fixtureTick(m, 100);
        meets_b += fixtureSent(m, ID_B, BUS_MEET) != NULL;
        meets_c += fixtureSent(m, ID_C, BUS_MEET) != NULL;
        fixtureLinksUp(m);
        const char *const ids[] = {ID_B, ID_C, ID_R};
        for (int n = 0; n < 3; n++)
            if (fixtureNode(m, ids[n])->link_out_ms) fixtureAnswer(m, ids[n]);
        fixtureNode(m, ID_C)->flags |= NODE_LIGHT_MODULE;
    }
    CHECK_EQ_INT(meets_b, 0);
    CHECK_EQ_INT(meets_c, 5);
    fixtureFree(m);
}

enum { MANY = 400, DEAD = 300 };

static sds manyNodes(void) {
    sds text = sdsNew(AT_A "myself,master - 0 0 2 connected 0-2\n" LINE_B);
    for (int i = 0; i < MANY; i++)
        text = sdsCatPrintf(text, "%040x 10.0.%d.%d:7000@17000,,tls-port=0 master%s - 0 0 %d connected\n", i + 1,
                            i / 200, 1 + i % 200, i < DEAD ? ",fail?" : "", i + 10);
    return sdsCat(text, LINE_VARS);
}

TEST(elsewhere_pings_have_a_bound_that_failed_nodes_do_not_raise) {
    sds text = manyNodes();
    clusterMachine *m = fixtureMachine(text, 7001);
    bool seen[MANY + 1] = {false};
    int found = 0, frames = 0;
    fixtureSave(m);
    for (int t = 0; t < 200 && frames < 300; t++) {
        fixtureTick(m, 100);
        for (unsigned seat = 1; seat < m->seats && frames < 300; seat++) {
            const clusterNode *n = nodeAt(m, seat);
            if (!n || !n->link_out || n->link_out_ms) continue;
            fixtureStep(m, (clusterEvent){
                               .kind = CLUSTER_LINK_UP, .link = n->link_out, .ip = "10.0.9.1", .peer_ip = "10.0.0.1"});
            for (size_t i = 0; i < fixture_actions.count; i++) {
                busFrame f;
                char why[200];
                const clusterAction *a = &fixture_actions.list[i];
                if (a->kind != CLUSTER_SEND) continue;
                CHECK(busFrameRead(sdsSlice(a->frame->bytes), &f, why, sizeof(why)) == BUS_READ);
                CHECK(f.gossip_count <= MANY / 10 + 64);
                frames++;
                for (size_t e = 0; e < f.gossip_count; e++) {
                    busGossip g = busGossipAt(&f, e);
                    char id[NODE_ID_LEN + 1] = {0};
                    memcpy(id, g.id.text, NODE_ID_LEN);
                    unsigned long k = strtoul(id + 30, NULL, 16);
                    if (!(g.flags & NODE_SUSPECTED) || k > MANY || seen[k]) continue;
                    seen[k] = true;
                    found++;
                }
            }
        }
    }
    CHECK(frames > 100);
    CHECK_EQ_INT(found, DEAD); /* each has its turn */
    fixtureFree(m);
    sdsFree(text);
}
