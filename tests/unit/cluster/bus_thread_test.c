/* bus_thread_test.c -- the bus over real sockets: links in each state, frames in pieces, what strangers and slow peers
 * may do, the two lists of actions, and a main that hangs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "bus_fixture.h"
#include "bus_output.h"
#include "clock.h"
#include "thread.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t listLinks(fakeNode *n, busLinkFigures *first) {
    busLinkFigures *list;
    size_t count = busListLinks(n->bus, &list);
    *first = count ? list[0] : (busLinkFigures){0};
    zfree(list);
    return count;
}

/* Waits until a node has that many links. */
static bool waitLinks(fakeNode *n, size_t count) {
    unitLimit limit = unitLimitStart(10000);
    busLinkFigures first;
    while (listLinks(n, &first) != count) {
        busMainRuns(n->bus);
        if (!CHECK(!unitLimitOver(&limit))) return CHECK_EQ_INT(listLinks(n, &first), count);
        usleep(500);
    }
    return true;
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

TEST(bus_two_nodes_connect_and_exchange_frames) {
    int before = openDescriptors();
    fakeNode a, b;
    busSettings settings = fakeSettings();
    fakeStart(&a, &settings, false);
    fakeStart(&b, &settings, false);
    fakeConnect(&a, 1, "127.0.0.1", b.port);
    fakeEvent up = fakeWait(&a, CLUSTER_LINK_UP, 1), accepted = fakeWait(&b, CLUSTER_ACCEPTED, 1);
    CHECK_EQ_INT(up.link, 1);
    CHECK_EQ_STR(up.ip, "127.0.0.1");
    CHECK_EQ_STR(up.peer_ip, "127.0.0.1");
    CHECK(accepted.link == CLUSTER_LINK_ACCEPTED + 1);
    CHECK_EQ_STR(accepted.ip, "127.0.0.1");
    CHECK_EQ_STR(accepted.peer_ip, "127.0.0.1");
    fakeSend(&a, 1, pingFrame(BUS_PING));
    CHECK_EQ_INT(fakeWait(&b, CLUSTER_FRAME, 1).type, BUS_PING);
    CHECK_EQ_INT(fakeWait(&a, CLUSTER_FRAME, 1).type, BUS_PONG);
    const busStats *s = busCounters(a.bus), *t = busCounters(b.bus);
    CHECK(fakeWaitCounter(&s->sent[BUS_PING], 1) && fakeWaitCounter(&t->sent[BUS_PONG], 1));
    CHECK_EQ_INT(atomic_load(&s->received[BUS_PONG]), 1);
    CHECK_EQ_INT(atomic_load(&t->received[BUS_PING]), 1);
    CHECK_EQ_INT(atomic_load(&s->bytes_sent), BUS_HEADER_BYTES);
    CHECK_EQ_INT(atomic_load(&s->bytes_received), BUS_HEADER_BYTES);
    busLinkFigures f;
    CHECK_EQ_INT(listLinks(&b, &f), 1);
    CHECK(f.link == accepted.link && f.is_inbound && f.is_up && !f.waits_to_write && f.output_bytes == 0);
    CHECK(f.created_ms > 0 && f.memory > 0 && f.memory < 4096);
    fakeClose(&a, 1);
    CHECK(fakeWait(&b, CLUSTER_LINK_DOWN, 1).link == accepted.link);
    CHECK_EQ_INT(listLinks(&b, &f), 0);
    CHECK_EQ_INT(fakeCount(&a, CLUSTER_LINK_DOWN), 0);
    fakeStop(&a);
    fakeStop(&b);
    CHECK_EQ_INT(openDescriptors(), before);
}

TEST(bus_connects_over_ipv6) {
    int probe = anetTcp6Server(NULL, 0, "::1", 1, false);
    if (probe < 0) return; /* this machine has none */
    close(probe);
    fakeNode a, b;
    busSettings settings = fakeSettings();
    fakeStart(&a, &settings, true);
    fakeStart(&b, &settings, true);
    fakeConnect(&a, 1, "::1", b.port);
    CHECK_EQ_STR(fakeWait(&a, CLUSTER_LINK_UP, 1).ip, "::1");
    CHECK_EQ_STR(fakeWait(&b, CLUSTER_ACCEPTED, 1).peer_ip, "::1");
    fakeStop(&a);
    fakeStop(&b);
}

TEST(bus_reports_connections_that_cannot_be_made) {
    fakeNode n;
    busSettings settings = fakeSettings();
    int port, listener = peerListen(&port);
    close(listener); /* the port refuses connections from now on */
    fakeStart(&n, &settings, false);
    fakeConnect(&n, 1, "127.0.0.1", port);
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_LINK_DOWN, 1).link, 1);
    fakeConnect(&n, 2, "localhost", n.port); /* a name is not looked up */
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_LINK_DOWN, 2).link, 2);
    fakeSend(&n, 2, pingFrame(BUS_PING));
    fakeClose(&n, 2);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_LINK_UP), 0);
    fakeStop(&n);
}

TEST(bus_connects_from_the_source_address) {
    fakeNode a, b;
    busSettings settings = fakeSettings();
    strcpy(settings.source_ip, "127.0.0.3");
    fakeStart(&a, &settings, false);
    fakeStart(&b, &settings, false);
    fakeConnect(&a, 1, "127.0.0.1", b.port);
    CHECK_EQ_STR(fakeWait(&b, CLUSTER_ACCEPTED, 1).peer_ip, "127.0.0.3");
    CHECK_EQ_STR(fakeWait(&a, CLUSTER_LINK_UP, 1).ip, "127.0.0.3");
    fakeStop(&a);
    fakeStop(&b);
}

TEST(bus_drops_frames_of_a_type) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    const busStats *s = busCounters(n.bus);
    int peer = peerConnect(n.port);
    sds ping = pingFrame(BUS_PING), pong = pingFrame(BUS_PONG);
    busDropFrames(n.bus, BUS_PING, false);
    peerWrite(peer, ping, sdsLen(ping));
    peerWrite(peer, pong, sdsLen(pong));
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_FRAME, 1).type, BUS_PONG); /* the ping came before it */
    CHECK_EQ_INT(atomic_load(&s->received[BUS_PING]), 1);
    busDropFrames(n.bus, BUS_DROP_ALL, false);
    peerWrite(peer, pong, sdsLen(pong));
    CHECK(fakeWaitCounter(&s->received[BUS_PONG], 2));
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_FRAME), 1);
    busDropFrames(n.bus, 99, true); /* no frame has that type */
    peerWrite(peer, ping, sdsLen(ping));
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_FRAME, 2).type, BUS_PING);
    CHECK_EQ_INT(peerRead(peer), BUS_PONG);
    busDropFrames(n.bus, BUS_PING, true);
    peerWrite(peer, ping, sdsLen(ping));
    peerWrite(peer, pong, sdsLen(pong));
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_LINK_DOWN, 1).link, CLUSTER_LINK_ACCEPTED + 1);
    CHECK(peerIsClosed(peer));
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_FRAME), 2); /* nothing is read from a closed link */
    waitLinks(&n, 0);
    sdsFree(ping), sdsFree(pong);
    close(peer);
    fakeStop(&n);
}

TEST(bus_closes_links_as_if_their_peers_had) {
    fakeNode a, b;
    busSettings settings = fakeSettings();
    fakeStart(&a, &settings, false);
    fakeStart(&b, &settings, false);
    fakeConnect(&a, 1, "127.0.0.1", b.port);
    fakeWait(&a, CLUSTER_LINK_UP, 1);
    fakeWait(&b, CLUSTER_ACCEPTED, 1);
    busCloseLink(a.bus, 1);
    CHECK_EQ_INT(fakeCount(&a, CLUSTER_LINK_DOWN), 1); /* at once */
    CHECK_EQ_INT(fakeWait(&b, CLUSTER_LINK_DOWN, 1).link, CLUSTER_LINK_ACCEPTED + 1);
    busCloseLink(a.bus, 77); /* there is none */
    waitLinks(&a, 0);
    fakeStop(&a);
    fakeStop(&b);
}

static bool portRefuses(int port) {
    int fd = anetTcpConnect(NULL, "127.0.0.1", port, NULL, false);
    if (fd >= 0) close(fd);
    return fd < 0;
}

TEST(bus_listens_on_other_sockets) {
    int before = openDescriptors(), port;
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    CHECK(busIsListening(n.bus) && !portRefuses(n.port));
    busListen(n.bus, NULL, 0);
    unitLimit limit = unitLimitStart(10000);
    while (busIsListening(n.bus) && CHECK(!unitLimitOver(&limit))) usleep(500);
    CHECK(portRefuses(n.port));
    int unused_one = peerListen(&port), listener = anetTcpServer(NULL, n.port, "127.0.0.1", 16, false);
    CHECK(listener >= 0); /* the address is free */
    busListen(n.bus, &unused_one, 1);
    busListen(n.bus, &listener, 1);
    int peer = peerConnect(n.port);
    sds ping = pingFrame(BUS_PING);
    peerWrite(peer, ping, sdsLen(ping));
    CHECK_EQ_INT(peerRead(peer), BUS_PONG);
    CHECK(busIsListening(n.bus) && portRefuses(port));
    sdsFree(ping);
    close(peer);
    fakeStop(&n);
    CHECK_EQ_INT(openDescriptors(), before);
}

/* Fills the backlog of a listening socket, so that a further connection stays in progress. */
static int fillBacklog(int *port, int fds[8]) {
    int listener = anetTcpServer(NULL, 0, "127.0.0.1", 0, false);
    anetFdToString(listener, NULL, 0, port, false);
    for (int i = 0; i < 8; i++) fds[i] = anetTcpConnect(NULL, "127.0.0.1", *port, NULL, true);
    usleep(20000);
    return listener;
}

TEST(bus_gives_up_a_connection_after_the_node_timeout) {
    int before = openDescriptors(), fds[8], port;
    fakeNode n;
    busSettings settings = fakeSettings();
    settings.node_timeout_ms = 1000;
    fakeStart(&n, &settings, false);
    int listener = fillBacklog(&port, fds);
    uint64_t start_ms = clockMonotonicMs();
    fakeConnect(&n, 1, "127.0.0.1", port);
    fakeConnect(&n, 2, "127.0.0.1", port);
    waitLinks(&n, 2);
    fakeClose(&n, 2); /* while it connects */
    waitLinks(&n, 1);
    fakeSend(&n, 1, pingFrame(BUS_PING)); /* waits for the connection */
    fakeWait(&n, CLUSTER_TICK, fakeCount(&n, CLUSTER_TICK) + 1);
    busLinkFigures f;
    if (clockMonotonicMs() - start_ms < 900) CHECK(listLinks(&n, &f) == 1 && f.output_bytes == BUS_HEADER_BYTES);
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_LINK_DOWN, 1).link, 1);
    CHECK(clockMonotonicMs() - start_ms >= 1000);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_LINK_DOWN), 1);
    for (int i = 0; i < 8; i++) close(fds[i]);
    close(listener);
    fakeStop(&n);
    CHECK_EQ_INT(openDescriptors(), before);
}

TEST(bus_closes_a_link_that_its_own_frame_has_closed) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    int peer = peerConnect(n.port);
    uint64_t link = fakeWait(&n, CLUSTER_ACCEPTED, 1).link;
    busLockMachine(n.bus);
    n.closes = link;
    busUnlockMachine(n.bus);
    sds ping = pingFrame(BUS_PING), three = sdsCatSlice(sdsDup(ping), sdsSlice(ping));
    three = sdsCatSlice(three, sdsSlice(ping));
    peerWrite(peer, three, sdsLen(three));
    waitLinks(&n, 0);
    CHECK(peerIsClosed(peer));
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_FRAME), 1);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_LINK_DOWN), 0);
    sdsFree(ping), sdsFree(three);
    close(peer);
    fakeStop(&n);
}

/* ---- Bytes of peers ---------------------------------------------------------------------------------------------- */

TEST(bus_reads_frames_split_anywhere) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    const busStats *s = busCounters(n.bus);
    int peer = peerConnect(n.port);
    sds ping = pingFrame(BUS_PING);
    uint64_t bytes = 0, frames = 0;
    for (size_t i = 1; i < sdsLen(ping); i += i < 32 ? 1 : 101) {
        peerWrite(peer, ping, i);
        bytes += i;
        if (!fakeWaitCounter(&s->bytes_received, bytes)) break; /* so that the rest comes in another read */
        peerWrite(peer, ping + i, sdsLen(ping) - i);
        bytes += sdsLen(ping) - i;
        if (!CHECK_EQ_INT(peerRead(peer), BUS_PONG)) break;
        frames++;
        busMainRuns(n.bus);
    }
    CHECK_EQ_INT(atomic_load(&s->received[BUS_PING]), frames);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_FRAME), frames);
    sdsFree(ping);
    close(peer);
    fakeStop(&n);
}

TEST(bus_closes_links_that_send_garbage) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    int good = peerConnect(n.port), bad[3];
    static const char *const bytes[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "RCmb\0\0\0\x0f\0\1\0\0\0\0\0\0",
                                        "RCmb\xff\xff\xff\xff\0\1\0\0\0\0\0\0"};
    for (int i = 0; i < 3; i++) {
        bad[i] = peerConnect(n.port);
        peerWrite(bad[i], bytes[i], BUS_HEAD_BYTES);
    }
    for (int i = 0; i < 3; i++) CHECK(peerIsClosed(bad[i]));
    fakeWait(&n, CLUSTER_LINK_DOWN, 3);
    sds ping = pingFrame(BUS_PING);
    peerWrite(good, ping, sdsLen(ping));
    CHECK_EQ_INT(peerRead(good), BUS_PONG);
    sdsFree(ping);
    for (int i = 0; i < 3; i++) close(bad[i]);
    close(good);
    fakeStop(&n);
}

TEST(bus_counts_frames_that_it_ignores_and_keeps_the_link) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    const busStats *s = busCounters(n.bus);
    int peer = peerConnect(n.port);
    sds version = pingFrame(BUS_PING), type = pingFrame(BUS_PING), id = pingFrame(BUS_PING), ping = pingFrame(BUS_PING);
    storeBe16(version + AT_VERSION, 2);
    storeBe16(type + AT_TYPE, 77);
    id[AT_SENDER] = '\n';
    sds all[] = {version, type, id, ping};
    for (size_t i = 0; i < array_len(all); i++) peerWrite(peer, all[i], sdsLen(all[i]));
    CHECK_EQ_INT(peerRead(peer), BUS_PONG);
    CHECK_EQ_INT(atomic_load(&s->received[BUS_PING]), 3);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_FRAME), 1);
    for (size_t i = 0; i < array_len(all); i++) sdsFree(all[i]);
    close(peer);
    fakeStop(&n);
}

TEST(bus_does_not_allocate_what_a_peer_announces) {
    fakeNode n;
    busSettings settings = fakeSettings();
    settings.frame_max = SIZE_MAX;
    fakeStart(&n, &settings, false);
    const busStats *s = busCounters(n.bus);
    int peer = peerConnect(n.port);
    sds ping = pingFrame(BUS_PING);
    peerWrite(peer, ping, sdsLen(ping));
    CHECK_EQ_INT(peerRead(peer), BUS_PONG); /* it is known now */
    char head[100] = "RCmb\xff\xff\xff\xff\0\1\0\0\0\4";
    peerWrite(peer, head, sizeof(head));
    fakeWaitCounter(&s->bytes_received, sdsLen(ping) + sizeof(head));
    busLinkFigures f;
    fakeWait(&n, CLUSTER_TICK, fakeCount(&n, CLUSTER_TICK) + 1);
    CHECK_EQ_INT(listLinks(&n, &f), 1);
    CHECK(f.memory < 64 * 1024);
    sdsFree(ping);
    close(peer);
    fakeWait(&n, CLUSTER_LINK_DOWN, 1);
    fakeStop(&n);
}

TEST(bus_limits_frames_of_strangers) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    sds ping = pingFrame(BUS_PING), long_one = publishFrame(BUS_STRANGER_FRAME_MAX, 'x');
    int stranger = peerConnect(n.port), known = peerConnect(n.port);
    peerWrite(stranger, long_one, BUS_HEAD_BYTES);
    CHECK(peerIsClosed(stranger));
    peerWrite(known, ping, sdsLen(ping));
    CHECK_EQ_INT(peerRead(known), BUS_PONG);
    peerWrite(known, long_one, sdsLen(long_one));
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_FRAME, 2).type, BUS_PUBLISH);
    sdsFree(ping), sdsFree(long_one);
    close(stranger), close(known);
    fakeStop(&n);
}

TEST(bus_limits_the_time_and_number_of_strangers) {
    fakeNode n;
    busSettings settings = fakeSettings();
    settings.node_timeout_ms = 900;
    fakeStart(&n, &settings, false);
    busLockMachine(n.bus);
    n.knows_all = false;
    busUnlockMachine(n.bus);
    int peers[BUS_STRANGERS_MAX + 20];
    uint64_t start_ms = clockMonotonicMs();
    for (size_t i = 0; i < array_len(peers); i++) peers[i] = peerConnect(n.port);
    sds ping = pingFrame(BUS_PING);
    peerWrite(peers[0], ping, sdsLen(ping));
    CHECK_EQ_INT(peerRead(peers[0]), BUS_PONG); /* answered, but it stays a stranger */
    fakeWait(&n, CLUSTER_ACCEPTED, BUS_STRANGERS_MAX);
    busLinkFigures f;
    if (clockMonotonicMs() - start_ms < 900) CHECK_EQ_INT(listLinks(&n, &f), BUS_STRANGERS_MAX);
    fakeWait(&n, CLUSTER_ACCEPTED, array_len(peers)); /* the oldest ones are dropped after a second */
    CHECK(clockMonotonicMs() - start_ms >= 900);
    CHECK(listLinks(&n, &f) <= BUS_STRANGERS_MAX);
    waitLinks(&n, 0);
    CHECK(clockMonotonicMs() - start_ms >= 2900); /* the last ones were accepted after one second, and stayed for two */
    CHECK(peerIsClosed(peers[0]));
    CHECK_EQ_INT(atomic_load(&busCounters(n.bus)->strangers_dropped), array_len(peers));
    fakeWait(&n, CLUSTER_LINK_DOWN, array_len(peers));
    for (size_t i = 0; i < array_len(peers); i++) close(peers[i]);
    sdsFree(ping);
    fakeStop(&n);
}

/* ---- Peers that do not read -------------------------------------------------------------------------------------- */

/* Makes a link to a peer, which does not read. Returns its end. */
static int slowPeer(fakeNode *n, uint64_t link) {
    int port, listener = peerListen(&port);
    fakeConnect(n, link, "127.0.0.1", port);
    int peer = accept(listener, NULL, NULL);
    anetRecvTimeout(NULL, peer, 5000);
    fakeWait(n, CLUSTER_LINK_UP, 1);
    close(listener);
    return peer;
}

/* Publishes on link 1. If too much waits for the bus thread already, the message is refused: then that thread, which
 * other programs may keep from running, gets some time. */
static void sendMessage(fakeNode *n) {
    uint64_t refused = atomic_load(&busCounters(n->bus)->messages_refused);
    fakeSend(n, 1, publishFrame(20000, 'm'));
    busMainRuns(n->bus);
    if (atomic_load(&busCounters(n->bus)->messages_refused) != refused) usleep(1000);
}

TEST(bus_drops_messages_for_a_peer_that_does_not_read) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    const busStats *s = busCounters(n.bus);
    int peer = slowPeer(&n, 1), sent = 0;
    for (; atomic_load(&s->messages_dropped) == 0 && sent < 10000; sent++) sendMessage(&n);
    CHECK(sent > 50 && sent < 10000);
    fakeSend(&n, 1, pingFrame(BUS_PING));
    fakeWait(&n, CLUSTER_TICK, fakeCount(&n, CLUSTER_TICK) + 2);
    busLinkFigures f;
    CHECK_EQ_INT(listLinks(&n, &f), 1);
    CHECK(f.waits_to_write && f.output_bytes <= settings.message_limit + BUS_BEGUN_BYTES + 3 * 20000);
    CHECK(f.output_memory >= f.output_bytes && f.memory >= f.output_memory);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_LINK_DOWN), 0);
    uint64_t messages = (uint64_t)sent - atomic_load(&s->messages_dropped) - atomic_load(&s->messages_refused);
    int64_t before_ping = -1;
    for (uint64_t i = 0; i <= messages; i++) {
        int type = peerRead(peer);
        if (type == BUS_PING) before_ping = (int64_t)i;
        else if (!CHECK_EQ_INT(type, BUS_PUBLISH)) break;
    }
    CHECK(before_ping >= 0 && (uint64_t)before_ping < messages - 20);
    fakeWaitCounter(&s->sent[BUS_PUBLISH], messages);
    CHECK_EQ_INT(listLinks(&n, &f), 1);
    close(peer);
    fakeWait(&n, CLUSTER_LINK_DOWN, 1);
    fakeStop(&n);
}

TEST(bus_drops_a_link_above_the_buffer_limit) {
    fakeNode n;
    busSettings settings = fakeSettings();
    settings.link_limit = 300000;
    fakeStart(&n, &settings, false);
    const busStats *s = busCounters(n.bus);
    int peer = slowPeer(&n, 1);
    for (int i = 0; i < 2000 && atomic_load(&s->link_limit_exceeded) == 0; i++) sendMessage(&n);
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_LINK_DOWN, 1).link, 1);
    CHECK_EQ_INT(atomic_load(&s->link_limit_exceeded), 1);
    waitLinks(&n, 0);
    close(peer);
    fakeStop(&n);
}

TEST(bus_configures_limits_of_existing_links) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    int peer = slowPeer(&n, 1);
    settings.link_limit = 1000;
    busConfigure(n.bus, &settings);
    busConfigure(n.bus, &settings);
    fakeSend(&n, 1, publishFrame(20000, 'm'));
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_LINK_DOWN, 1).link, 1);
    close(peer);
    fakeStop(&n);
}

/* ---- Actions of main --------------------------------------------------------------------------------------------- */

TEST(bus_gives_main_its_actions_in_the_order_of_the_steps) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    clusterActions actions = {0};
    fakeStep(&n, &(clusterAction){.kind = CLUSTER_BECOME_PRIMARY}, 1, NULL);
    CHECK_EQ_INT(aeWait(n.main_wakeup.read_fd, AE_READABLE, 5000), AE_READABLE);
    fakeStep(&n, &(clusterAction){.kind = CLUSTER_FOLLOW}, 1, NULL);
    clusterAction two[] = {{.kind = CLUSTER_VIEW_CHANGED}, {.kind = CLUSTER_REPLY, .text = sdsNew("+OK")}};
    fakeStep(&n, two, 2, &actions);
    CHECK_EQ_INT(actions.count, 4);
    CHECK_EQ_INT(actions.list[0].kind, CLUSTER_BECOME_PRIMARY);
    CHECK_EQ_INT(actions.list[1].kind, CLUSTER_FOLLOW);
    CHECK_EQ_INT(actions.list[2].kind, CLUSTER_VIEW_CHANGED);
    CHECK_EQ_STR(actions.list[3].text, "+OK");
    clusterActionsClear(&actions);
    busTakeActions(n.bus, &actions);
    CHECK_EQ_INT(actions.count, 0);
    fakeStep(&n, &(clusterAction){.kind = CLUSTER_REPLY, .text = sdsNew("left")}, 1, NULL); /* freed by busStop() */
    clusterActionsFree(&actions);
    fakeStop(&n);
}

TEST(bus_delivers_messages_of_peers_to_main) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    busLockMachine(n.bus);
    n.delivers = true;
    busUnlockMachine(n.bus);
    int peer = peerConnect(n.port);
    sds ping = pingFrame(BUS_PING), all = sdsDup(ping);
    sds small = publishFrame(100, 's'), large = publishFrame(500000, 'l'), huge = publishFrame(3 * 1024 * 1024, 'h');
    all = sdsCatSlice(all, sdsSlice(small));
    all = sdsCatSlice(all, sdsSlice(large));
    peerWrite(peer, all, sdsLen(all));
    CHECK_EQ_INT(aeWait(n.main_wakeup.read_fd, AE_READABLE, 5000), AE_READABLE);
    fakeWait(&n, CLUSTER_FRAME, 3);
    clusterActions actions = {0};
    busTakeActions(n.bus, &actions);
    if (CHECK_EQ_INT(actions.count, 2)) {
        CHECK(sdsCmp(actions.list[0].frame->bytes, small) == 0);
        CHECK(sdsCmp(actions.list[1].frame->bytes, large) == 0);
    }
    clusterActionsClear(&actions);
    peerWrite(peer, huge, sdsLen(huge)); /* more than message_limit, but nothing else waits */
    peerWrite(peer, small, sdsLen(small));
    fakeWait(&n, CLUSTER_FRAME, 5);
    busTakeActions(n.bus, &actions);
    CHECK_EQ_INT(actions.count, 1);
    CHECK_EQ_INT(atomic_load(&busCounters(n.bus)->messages_refused), 1);
    CHECK(actions.count && sdsCmp(actions.list[0].frame->bytes, huge) == 0);
    clusterActionsFree(&actions);
    sdsFree(ping), sdsFree(all), sdsFree(small), sdsFree(large), sdsFree(huge);
    close(peer);
    fakeStop(&n);
}

TEST(bus_ticks_say_what_main_has_published) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    CHECK_EQ_INT(fakeWait(&n, CLUSTER_TICK, 1).local.offset, 0);
    clusterLocal local = {.offset = 77, .is_empty = true};
    uint64_t start_ms = clockMonotonicMs();
    for (int i = 0; i < 100; i++) busPublishLocal(n.bus, &local);
    fakeEvent tick = fakeWait(&n, CLUSTER_TICK, 4);
    CHECK_EQ_INT(tick.local.offset, 77);
    CHECK(tick.local.is_empty);
    CHECK(clockMonotonicMs() - start_ms >= 200);
    fakeStop(&n);
}

TEST(bus_steps_for_events_of_another_source) {
    fakeNode n;
    busSettings settings = fakeSettings();
    fakeStart(&n, &settings, false);
    fakeWait(&n, CLUSTER_TICK, 1); /* the next tick is 100 ms away */
    uint64_t start_us = clockMonotonicUs(), wait_us = 0;
    for (uint64_t version = 1; version <= 20; version++) {
        atomic_store(&n.saved, version);
        aeWakeupSend(busWakeup(n.bus));
        if (fakeWait(&n, CLUSTER_SAVED, version).version != version) break;
        wait_us = clockMonotonicUs() - start_us;
    }
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_SAVED), 20);
    CHECK(wait_us < 1000000); /* and not a tick for each */
    fakeStop(&n);
}

/* A thread that steps the machine as the one that saves files does. */
static void stepper(void *arg) {
    fakeNode *n = arg;
    for (int i = 0; i < 300; i++) {
        busStep(n->bus, &(clusterEvent){.kind = CLUSTER_SAVED, .version = 1}, NULL);
        usleep(500);
    }
}

TEST(bus_survives_random_actions_of_two_threads) {
    enum { LINKS = 12 };
    int before = openDescriptors();
    uint64_t seed = unitRandomSeed(), next = 1, links[LINKS] = {0};
    fakeNode nodes[2];
    busSettings settings = fakeSettings();
    settings.message_limit = 100000;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) fakeStart(&nodes[i], &settings, false);
    for (int i = 0; i < 2; i++)
        CHECK_EQ_INT(threadStart(&threads[i], &(threadPlan){.name = "stepper"}, stepper, &nodes[i]), 0);
    for (int i = 0; i < 1500; i++) {
        fakeNode *n = &nodes[unitRandom(&seed) % 2];
        uint64_t *link = &links[unitRandom(&seed) % LINKS];
        switch (unitRandom(&seed) % 8) {
        case 0: fakeConnect(n, *link = next++, "127.0.0.1", nodes[unitRandom(&seed) % 2].port); break;
        case 1: fakeClose(n, *link); break;
        case 2: fakeClose(n, CLUSTER_LINK_ACCEPTED + 1 + unitRandom(&seed) % next); break;
        case 3: fakeSend(n, *link, publishFrame(unitRandom(&seed) % 50000, 'r')); break;
        case 4: fakeSend(n, *link, sdsNewLen("RCmb no frame at all", 20)); break;
        default: fakeSend(n, *link, pingFrame(BUS_PING)); break;
        }
        busMainRuns(n->bus);
        if (i % 50 == 0) usleep(2000);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (uint64_t link = 1; link < next; link++) fakeClose(&nodes[0], link), fakeClose(&nodes[1], link);
    for (int i = 0; i < 2; i++) waitLinks(&nodes[i], 0);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(fakeCount(&nodes[i], CLUSTER_SAVED), 300);
    for (int i = 0; i < 2; i++) fakeStop(&nodes[i]);
    CHECK_EQ_INT(openDescriptors(), before);
}

/* ---- Main hangs -------------------------------------------------------------------------------------------------- */

TEST(bus_stops_answering_when_main_hangs) {
    fakeNode n;
    busSettings settings = fakeSettings();
    settings.node_timeout_ms = 800;
    settings.message_limit = 100000;
    fakeStart(&n, &settings, false);
    const busStats *s = busCounters(n.bus);
    int peer = peerConnect(n.port);
    sds ping = pingFrame(BUS_PING);
    anetRecvTimeout(NULL, peer, 300);
    uint64_t start_ms = clockMonotonicMs(), pongs = 0;
    for (;; pongs++) { /* main does not run at all; the bus asks for a sign */
        peerWrite(peer, ping, sdsLen(ping));
        if (peerRead(peer) != BUS_PONG) break;
        usleep(20000);
        if (!CHECK(clockMonotonicMs() - start_ms < 10000)) break;
    }
    CHECK(pongs > 2);
    CHECK(clockMonotonicMs() - start_ms >= 800);
    CHECK_EQ_INT(aeWait(n.main_wakeup.read_fd, AE_READABLE, 0), AE_READABLE);
    size_t ticks = fakeCount(&n, CLUSTER_TICK), frames = fakeCount(&n, CLUSTER_FRAME);
    CHECK(frames - pongs <= 1); /* the last answer may not have been written */
    for (int i = 0; i < 10; i++) fakeSend(&n, CLUSTER_LINK_ACCEPTED + 1, publishFrame(20000, 'm'));
    usleep(300000);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_TICK), ticks);
    CHECK_EQ_INT(fakeCount(&n, CLUSTER_FRAME), frames);
    CHECK_EQ_INT(atomic_load(&s->messages_refused), 6); /* the bus does not take what main sends, so not all may wait */
    anetRecvTimeout(NULL, peer, 5000);
    busMainRuns(n.bus);
    int got = 0;
    for (int i = 0; i < 5; i++) got += peerRead(peer) == BUS_PONG;
    CHECK_EQ_INT(got, 1);
    fakeWait(&n, CLUSTER_TICK, ticks + 2);
    sdsFree(ping);
    close(peer);
    fakeStop(&n);
}

TEST(bus_takes_an_idle_main_for_alive) {
    fakeNode n;
    busSettings settings = fakeSettings();
    settings.node_timeout_ms = 1500;
    fakeStart(&n, &settings, false);
    int peer = peerConnect(n.port), signs = 0;
    sds ping = pingFrame(BUS_PING);
    uint64_t start_ms = clockMonotonicMs(), end_ms = start_ms + 3000;
    while (clockMonotonicMs() < end_ms) { /* main sleeps until it is woken */
        uint64_t value;
        if (aeWait(n.main_wakeup.read_fd, AE_READABLE, 50) == AE_READABLE) {
            CHECK_EQ_INT(read(n.main_wakeup.read_fd, &value, sizeof(value)), sizeof(value));
            busMainRuns(n.bus);
            signs++;
        }
        peerWrite(peer, ping, sdsLen(ping));
        if (!CHECK_EQ_INT(peerRead(peer), BUS_PONG)) break;
    }
    CHECK(signs > 2 && signs < 12);
    sdsFree(ping);
    close(peer);
    fakeStop(&n);
}

TEST(bus_ends_while_main_hangs_and_links_are_busy) {
    int before = openDescriptors();
    fakeNode n;
    busSettings settings = fakeSettings();
    settings.node_timeout_ms = 400;
    fakeStart(&n, &settings, false);
    int peer = peerConnect(n.port), slow = slowPeer(&n, 1);
    sds ping = pingFrame(BUS_PING);
    peerWrite(peer, ping, 1000); /* a part of a frame */
    for (int i = 0; i < 40; i++) fakeSend(&n, 1, publishFrame(20000, 'm'));
    usleep(700000);
    fakeSend(&n, 1, publishFrame(20000, 'm'));
    fakeStop(&n);
    CHECK(peerIsClosed(peer));
    sdsFree(ping);
    close(peer), close(slow);
    CHECK_EQ_INT(openDescriptors(), before);
}
