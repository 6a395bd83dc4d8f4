/* cluster_text_test.c -- CLUSTER NODES and CLUSTER INFO as different clients see them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_text.h"
#include "machine_fixture.h"

#define B_WITH_NAMES                                                                                             \
    ID_B " 10.0.0.2:7002@17002,h2.example,client-tls-port=9102,client-tcp-port=9002,client-ipv6=2001::2,client-" \
         "ipv4=192.168.0.2,tls-port=8002,shard-id=" SHARD_B " master,fail - 0 0 3 connected 3-5 9\n"

static const clusterClient plain = {0}, tls = {.uses_tls = true, .uses_ipv6 = true};

/* Returns CLUSTER NODES, valid until the next call. */
static const char *nodes(const clusterMachine *m, const clusterClient *client) {
    static char text[4096];
    sds out = clusterNodesText(m, client, fixture_now);
    snprintf(text, sizeof(text), "%s", out);
    sdsFree(out);
    return text;
}

TEST(cluster_text_nodes) {
    clusterMachine *m = fixtureMachine(AT_A "myself,master - 0 0 2 connected 0-2 [1->-" ID_B "] [4-<-" ID_B
                                            "]\n" B_WITH_NAMES LINE_C LINE_R LINE_VARS,
                                       7001);
    nodeId c = fixtureId(ID_C);
    clusterNode *n = nodeById(m, &c);
    n->ping_sent_ms = fixture_now.mono_ms - 5;
    n->pong_ms = fixture_now.mono_ms - 1000;
    CHECK_EQ_STR(nodes(m, &plain),
                 ID_A " 127.0.0.1:7001@17001 myself,master - 0 0 2 connected 0-2 [1->-" ID_B "] [4-<-" ID_B "]\n" ID_B
                      " 192.168.0.2:9002@17002,h2.example master,fail - 0 0 3 disconnected 3-5 9\n" ID_C
                      " 127.0.0.1:7003@17003 master - 1699999999995 1699999999000 1 disconnected\n" ID_R
                      " 127.0.0.1:7004@17004 slave " ID_A " 0 0 2 disconnected\n");
    CHECK_EQ_STR(nodes(m, &tls),
                 ID_A " 127.0.0.1:0@17001 myself,master - 0 0 2 connected 0-2 [1->-" ID_B "] [4-<-" ID_B "]\n" ID_B
                      " 2001::2:9102@17002,h2.example master,fail - 0 0 3 disconnected 3-5 9\n" ID_C
                      " 127.0.0.1:0@17003 master - 1699999999995 1699999999000 1 disconnected\n" ID_R
                      " 127.0.0.1:0@17004 slave " ID_A " 0 0 2 disconnected\n");
    fixtureFree(m);
}

/* As a node of Valkey shows itself when it is alone, and a node that it meets. */
TEST(cluster_text_nodes_of_a_node_that_is_alone) {
    clusterMachine *m = fixtureMachine(ID_A " :0@0,,tls-port=0 myself,master - 0 0 0 connected\n", 20011);
    CHECK_EQ_STR(nodes(m, &plain), ID_A " :20011@30011 myself,master - 0 0 0 connected\n");
    fixtureRun(m, (clusterCommand){.kind = CLUSTER_MEET, .ip = "127.0.0.1", .port = 29499, .bus_port = 39499});
    const clusterNode *n = clusterNodeNext(m, clusterMyself(m));
    sds line = clusterNodeText(sdsEmpty(), m, n, &plain, fixture_now);
    CHECK_EQ_STR(line + NODE_ID_LEN, " 127.0.0.1:29499@39499 handshake - 0 0 0 disconnected");
    sdsFree(line);
    fixtureFree(m);
}

static const char *host(const clusterNode *n, clusterEndpoint endpoint) {
    static char text[64];
    slice s = clusterClientHost(n, &(clusterClient){.endpoint = endpoint});
    snprintf(text, sizeof(text), "%.*s", (int)s.len, s.ptr);
    return text;
}

TEST(cluster_text_hosts_by_preferred_type) {
    clusterMachine *m = fixtureMachine(AT_A "myself,master - 0 0 2 connected\n" B_WITH_NAMES LINE_C LINE_VARS, 7001);
    const clusterNode *b = clusterOwner(m, 9), *c = clusterNodeNext(m, b);
    CHECK_EQ_STR(host(b, CLUSTER_ENDPOINT_IP), "192.168.0.2");
    CHECK_EQ_STR(host(b, CLUSTER_ENDPOINT_HOSTNAME), "h2.example");
    CHECK_EQ_STR(host(c, CLUSTER_ENDPOINT_HOSTNAME), "?");
    CHECK_EQ_STR(host(b, CLUSTER_ENDPOINT_UNKNOWN), "");
    CHECK(sliceIs(clusterClientIp(b, &tls), "2001::2") && sliceIs(clusterClientIp(c, &tls), "127.0.0.1"));
    CHECK_EQ_INT(clusterClientPort(b, &tls), 9102);
    CHECK_EQ_INT(clusterClientPort(c, &plain), 7003);
    fixtureFree(m);
}

TEST(cluster_text_info) {
    clusterSummary s = {.slots_assigned = 1,
                        .slots_ok = 2,
                        .slots_suspected = 3,
                        .slots_failed = 4,
                        .nodes_suspected = 5,
                        .nodes_failed = 6,
                        .voting_suspected = 7,
                        .voting_failed = 8,
                        .known_nodes = 9,
                        .size = 10,
                        .current_epoch = 11,
                        .my_epoch = 12};
    clusterBusStats stats = {.sent = {[BUS_PING] = 20, [BUS_PUBLISH_SHARD] = 1},
                             .received = {[BUS_VOTE] = 3},
                             .bytes_sent = 30,
                             .bytes_received = 31,
                             .pubsub_bytes_sent = 32,
                             .pubsub_bytes_received = 33,
                             .module_bytes_sent = 34,
                             .module_bytes_received = 35,
                             .links_over_limit = 36};
    sds out = clusterInfoText(&s, &stats);
    CHECK_EQ_STR(out, "cluster_state:fail\r\ncluster_slots_assigned:1\r\ncluster_slots_ok:2\r\n"
                      "cluster_slots_pfail:3\r\ncluster_slots_fail:4\r\ncluster_nodes_pfail:5\r\n"
                      "cluster_nodes_fail:6\r\ncluster_voting_nodes_pfail:7\r\ncluster_voting_nodes_fail:8\r\n"
                      "cluster_known_nodes:9\r\ncluster_size:10\r\ncluster_current_epoch:11\r\ncluster_my_epoch:12\r\n"
                      "cluster_stats_messages_ping_sent:20\r\ncluster_stats_messages_publishshard_sent:1\r\n"
                      "cluster_stats_messages_sent:21\r\ncluster_stats_messages_auth-ack_received:3\r\n"
                      "cluster_stats_messages_received:3\r\ncluster_stats_bytes_sent:30\r\n"
                      "cluster_stats_bytes_received:31\r\ncluster_stats_pubsub_bytes_sent:32\r\n"
                      "cluster_stats_pubsub_bytes_received:33\r\ncluster_stats_module_bytes_sent:34\r\n"
                      "cluster_stats_module_bytes_received:35\r\ntotal_cluster_links_buffer_limit_exceeded:36\r\n");
    sdsFree(out);
    s.ok = true;
    out = clusterInfoText(&s, &stats);
    CHECK(!strncmp(out, "cluster_state:ok\r\n", 18));
    sdsFree(out);
}
