/* machine_test.c -- the cluster's machine: joining, names, addresses, forgetting, and what waits for the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "small_cluster.h"
#include "unit.h"

static bool allKnow(smallCluster *c, int known) {
    for (int i = 0; i < c->count; i++) {
        unsigned count = 0;
        for (const clusterNode *n = NULL; (n = clusterNodeNext(c->nodes[i].m, n)) != NULL;) {
            if (n->flags & (NODE_HANDSHAKE | NODE_SUSPECTED | NODE_FAILED)) return false;
            count++;
        }
        if ((int)count != known) return false;
    }
    return true;
}

TEST(machine_nodes_that_meet_one_know_all) {
    smallCluster c;
    smallInit(&c, 5);
    smallJoin(&c, 3);
    CHECK(allKnow(&c, 5));
    for (int i = 0; i < 5; i++) {
        CHECK(clusterSummarize(c.nodes[i].m).ok);
        CHECK_EQ_INT(clusterSummarize(c.nodes[i].m).slots_assigned, CLUSTER_SLOTS);
        CHECK_EQ_INT(clusterSummarize(c.nodes[i].m).size, 3);
        CHECK_EQ_STR(smallRecord(&c, 0, i)->ip, clusterMyself(c.nodes[i].m)->ip);
        CHECK_EQ_INT(smallRecord(&c, 4 - i, i)->port, 7000 + i);
    }
    smallFree(&c);
}

TEST(machine_nothing_leaves_before_the_first_file_is_saved) {
    smallCluster c;
    smallInit(&c, 2);
    smallNode *n = &c.nodes[1];
    clusterFree(n->m);
    n->disk_waits = true;
    n->m = clusterCreate(77, c.now, &n->config, NULL);
    smallCommand(&c, 1, (clusterCommand){.kind = CLUSTER_MEET, .ip = "10.0.0.1", .port = 7000, .bus_port = 17000});
    smallRun(&c, 1000);
    CHECK_EQ_INT(n->sent[BUS_MEET], 0);
    CHECK_EQ_INT(c.link_count, 0);
    n->disk_waits = false;
    smallCommand(&c, 1, (clusterCommand){.kind = CLUSTER_MEET, .ip = "10.0.0.1", .port = 7000, .bus_port = 17000});
    smallRun(&c, 3000);
    CHECK(allKnow(&c, 2));
    smallFree(&c);
}

TEST(machine_slots_are_told_when_they_are_on_disk) {
    smallCluster c;
    slotSet slots = {{0}};
    smallInit(&c, 2);
    smallJoin(&c, 0);
    slotSetAdd(&slots, 5);
    c.nodes[0].disk_waits = true;
    CHECK_EQ_STR(smallCommand(&c, 0, (clusterCommand){.kind = CLUSTER_ADD_SLOTS, .slots = &slots}), "+OK");
    smallRun(&c, 3000);
    CHECK(clusterOwner(c.nodes[0].m, 5) == clusterMyself(c.nodes[0].m));
    CHECK(clusterOwner(c.nodes[1].m, 5) == NULL);
    c.nodes[0].disk_waits = false;
    smallRun(&c, 3000);
    CHECK(clusterOwner(c.nodes[1].m, 5) == smallRecord(&c, 1, 0));
    smallFree(&c);
}

TEST(machine_a_restarted_node_has_what_it_knew) {
    smallCluster c;
    smallInit(&c, 4);
    smallJoin(&c, 3);
    nodeId id = clusterMyself(c.nodes[2].m)->id;
    uint64_t epoch = clusterSummarize(c.nodes[2].m).my_epoch;
    smallRestart(&c, 2);
    CHECK(nodeIdEqual(&clusterMyself(c.nodes[2].m)->id, &id));
    CHECK_EQ_INT(clusterSummarize(c.nodes[2].m).my_epoch, epoch);
    CHECK_EQ_INT(clusterSummarize(c.nodes[2].m).slots_assigned, CLUSTER_SLOTS);
    smallRun(&c, 5000);
    CHECK(allKnow(&c, 4));
    CHECK(clusterSummarize(c.nodes[2].m).ok);
    smallFree(&c);
}

TEST(machine_a_node_that_moves_is_found_by_its_id) {
    smallCluster c;
    smallInit(&c, 5);
    smallJoin(&c, 3);
    /* Nodes 3 and 4 exchange their addresses, as pods do. */
    smallNode n = c.nodes[3];
    smallCut(&c, 3, true);
    smallCut(&c, 4, true);
    n = c.nodes[3];
    c.nodes[3] = c.nodes[4];
    c.nodes[4] = n;
    smallCut(&c, 3, false);
    smallCut(&c, 4, false);
    smallRun(&c, 10000);
    CHECK(allKnow(&c, 5));
    CHECK_EQ_STR(smallRecord(&c, 0, 3)->ip, "10.0.0.4");
    CHECK_EQ_STR(smallRecord(&c, 1, 4)->ip, "10.0.0.5");
    CHECK_EQ_STR(clusterMyself(c.nodes[3].m)->ip, "10.0.0.4");
    smallFree(&c);
}

TEST(machine_a_node_that_one_forgets_is_forgotten_by_all_and_stays_so) {
    smallCluster c;
    smallInit(&c, 5);
    smallJoin(&c, 3);
    nodeId id = clusterMyself(c.nodes[4].m)->id;
    CHECK_EQ_STR(smallCommand(&c, 0, (clusterCommand){.kind = CLUSTER_FORGET, .node = id}), "+OK");
    smallRun(&c, 3000);
    for (int t = 0; t < 20; t++) {
        for (int i = 0; i < 4; i++) CHECK(clusterNodeById(c.nodes[i].m, &id) == NULL);
        smallRun(&c, 2000);
    }
    smallFree(&c);
}

TEST(machine_opens_no_link_while_connections_are_off) {
    smallCluster c;
    smallInit(&c, 3);
    smallJoin(&c, 3);
    c.nodes[0].config.no_connects = true;
    smallConfigure(&c, 0);
    smallCut(&c, 0, true);
    smallCut(&c, 0, false);
    smallRun(&c, 5000);
    for (int i = 1; i < 3; i++) CHECK(!smallRecord(&c, 0, i)->link_out && smallRecord(&c, 0, i)->link_in);
    c.nodes[0].config.no_connects = false;
    smallConfigure(&c, 0);
    smallRun(&c, 5000);
    CHECK(allKnow(&c, 3));
    for (int i = 1; i < 3; i++) CHECK(smallRecord(&c, 0, i)->link_out_ms);
    smallFree(&c);
}

TEST(machine_pings_nobody_at_random_while_that_is_off) {
    smallCluster c;
    smallInit(&c, 3);
    smallJoin(&c, 3);
    for (int off = 0; off < 2; off++) {
        c.nodes[0].config.no_random_pings = off;
        c.nodes[0].config.node_timeout_ms = 600000; /* no other reason for a ping comes soon */
        smallConfigure(&c, 0);
        c.nodes[0].sent[BUS_PING] = 0;
        smallRun(&c, 20000);
        CHECK_EQ_INT(c.nodes[0].sent[BUS_PING] > 0, !off);
    }
    smallFree(&c);
}

TEST(machine_messages_reach_all_in_the_light_form) {
    smallCluster c;
    smallInit(&c, 4);
    smallJoin(&c, 3);
    smallCommand(&c, 1, (clusterCommand){.kind = CLUSTER_PUBLISH, .channel = sliceStr("c"), .message = sliceStr("m")});
    for (int i = 0; i < 4; i++) CHECK_EQ_INT(c.nodes[i].delivered, i != 1);
    smallCommand(&c, 1, (clusterCommand){.kind = CLUSTER_PUBLISH, .shard = true, .channel = sliceStr("c")});
    for (int i = 0; i < 4; i++) CHECK_EQ_INT(c.nodes[i].delivered, i != 1);
    smallFree(&c);
}

/* Has node 0 learn of a node by the gossip of node 1. */
static void gossipAbout(smallCluster *c, const busGossip *about) {
    busHeader header = {.sender = clusterMyself(c->nodes[1].m)->id, .flags = NODE_PRIMARY, .config_epoch = 2};
    sds bytes = busAddGossip(busBegin(sdsEmpty(), BUS_PONG, &header), about);
    busFrame f = {.type = BUS_PONG,
                  .header = header,
                  .gossip = sliceOf(bytes + BUS_HEADER_BYTES, BUS_GOSSIP_BYTES),
                  .gossip_count = 1};
    uint64_t link = smallRecord(c, 0, 1)->link_in;
    smallStep(c, 0, &(clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = &f});
    sdsFree(bytes);
}

/* It answers pings before it knows their sender, which may send messages from then on. */
TEST(machine_a_message_of_a_node_that_became_known_later_is_delivered) {
    smallCluster c;
    smallInit(&c, 2);
    smallJoin(&c, 2);
    busGossip about = {.port = 7009, .bus_port = 17009, .flags = NODE_PRIMARY, .ip = "10.0.0.9"};
    memset(&about.id, 'a', sizeof(about.id));
    uint64_t link = CLUSTER_LINK_ACCEPTED + 1000;
    busFrame ping = {.type = BUS_PING, .header = {.sender = about.id, .flags = NODE_PRIMARY, .bus_port = 17009}};
    busFrame message = {.type = BUS_PUBLISH, .light = true, .channel = sliceStr("c"), .message = sliceStr("m")};
    smallStep(&c, 0, &(clusterEvent){.kind = CLUSTER_ACCEPTED, .link = link, .ip = "10.0.0.1", .peer_ip = "10.0.0.9"});
    smallStep(&c, 0, &(clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = &ping});
    CHECK(!clusterKnowsPeer(c.nodes[0].m, link));
    gossipAbout(&c, &about);
    smallStep(&c, 0, &(clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = &message});
    CHECK_EQ_INT(c.nodes[0].delivered, 1);
    CHECK(clusterKnowsPeer(c.nodes[0].m, link));
    smallFree(&c);
}

TEST(machine_strangers_that_want_to_meet_are_bounded) {
    smallCluster c;
    smallInit(&c, 1);
    uint64_t link = CLUSTER_LINK_ACCEPTED + 1000;
    busFrame meet = {.type = BUS_MEET, .header = {.flags = NODE_PRIMARY}};
    memset(&meet.header.sender, 'a', sizeof(meet.header.sender));
    smallStep(&c, 0, &(clusterEvent){.kind = CLUSTER_ACCEPTED, .link = link, .ip = "10.0.0.1", .peer_ip = "10.0.0.9"});
    for (int i = 0; i < 3000; i++) {
        meet.header.bus_port = (uint16_t)(20000 + i);
        smallStep(&c, 0, &(clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = &meet});
    }
    CHECK_EQ_INT(clusterSummarize(c.nodes[0].m).known_nodes, 1 + 1024);
    clusterCommand by_operator = {.kind = CLUSTER_MEET, .ip = "10.0.0.7", .port = 1, .bus_port = 2};
    CHECK_EQ_STR(smallCommand(&c, 0, by_operator), "+OK");
    CHECK_EQ_INT(clusterSummarize(c.nodes[0].m).known_nodes, 1 + 1025);
    smallFree(&c);
}

TEST(machine_a_name_that_is_taken_away_is_gone_everywhere) {
    smallCluster c;
    smallInit(&c, 3);
    smallJoin(&c, 3);
    c.nodes[1].config.hostname = sliceStr("h1.example");
    smallConfigure(&c, 1);
    smallRun(&c, 3000);
    CHECK_EQ_STR(smallRecord(&c, 2, 1)->hostname, "h1.example");
    c.nodes[1].config.hostname = sliceStr("");
    smallConfigure(&c, 1);
    smallRun(&c, 3000);
    CHECK(smallRecord(&c, 2, 1)->hostname == NULL);
    smallFree(&c);
}

TEST(machine_equal_seeds_and_events_give_equal_files) {
    sds files[2];
    for (int run = 0; run < 2; run++) {
        smallCluster c;
        smallInit(&c, 5);
        smallJoin(&c, 3);
        uint64_t version;
        files[run] = clusterFileText(c.nodes[2].m, c.now, &version);
        smallFree(&c);
    }
    CHECK_EQ_STR(files[0], files[1]);
    sdsFree(files[0]);
    sdsFree(files[1]);
}
