/* connection_test.c -- handlers, states, half-close, reset and hand-over, over both socket types.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "clock.h"
#include "connection.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ITERATE_NOW (AE_ALL_EVENTS | AE_DONT_WAIT)

/* Opens a loopback TCP connection with both its ends; fds[0] is non-blocking. */
static bool openTcp(int fds[2]) {
    int port, server = anetTcpServer(NULL, 0, "127.0.0.1", 4, false);

    if (!CHECK(server != C_ERR)) return false;
    CHECK(anetFdToString(server, NULL, 0, &port, false) == C_OK);
    fds[1] = anetTcpConnect(NULL, "127.0.0.1", port, NULL, false);
    fds[0] = anetTcpAccept(NULL, server, NULL, 0, NULL);
    close(server);
    return CHECK(fds[0] != C_ERR && fds[1] != C_ERR);
}

static bool openUnix(int fds[2]) {
    return CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0) && CHECK(anetNonBlock(NULL, fds[0]) == C_OK);
}

typedef struct counters {
    int accepted, reads, hangups, writes;
} counters;

static void onAccept(connection *c) { ((counters *)c->owner)->accepted++; }
static void onRead(connection *c) { ((counters *)c->owner)->reads++; }
static void onWrite(connection *c) { ((counters *)c->owner)->writes++; }
static void onHangup(connection *c) { ((counters *)c->owner)->hangups++; }
static void closeInRead(connection *c) {
    onRead(c);
    connClose(c);
}

static connection *makeConnection(bool tcp, int fds[2], counters *count) {
    if (!(tcp ? openTcp(fds) : openUnix(fds))) exit(1);
    return tcp ? connCreateAcceptedSocket(fds[0], count) : connCreateAcceptedUnix(fds[0], count);
}

TEST(connection_handlers_and_states) {
    clockInit();
    for (int tcp = 0; tcp < 2; tcp++) {
        int fds[2];
        char buf[16];
        counters n = {0};
        aeEventLoop *loop = aeCreateEventLoop(1024), *second = aeCreateEventLoop(1024);
        connection *c = makeConnection(tcp, fds, &n);

        CHECK_EQ_STR(c->type->name, tcp ? "tcp" : "unix");
        CHECK_EQ_INT(c->state, CONN_ACCEPTING);
        CHECK(connAccept(c, onAccept) == C_OK);
        CHECK(connAccept(c, onAccept) == C_ERR);
        CHECK_EQ_INT(n.accepted, 1);
        CHECK_EQ_INT(c->state, CONN_CONNECTED);
        CHECK(!connHasPending(c));

        /* Handlers set while the connection is detached are registered by connAttach(). */
        CHECK(connSetReadHandler(c, onRead) == C_OK);
        CHECK(connAttach(c, loop) == C_OK);
        CHECK_EQ_INT(aeGetFileEvents(loop, c->fd), AE_READABLE);
        CHECK(connSetWriteHandler(c, onWrite) == C_OK);
        CHECK(write(fds[1], "hello", 5) == 5);
        aeProcessEvents(loop, AE_ALL_EVENTS);
        aeProcessEvents(loop, ITERATE_NOW);
        CHECK(n.reads >= 1 && n.writes == 2);
        CHECK(connSetWriteHandler(c, NULL) == C_OK);
        CHECK_EQ_INT(aeGetFileEvents(loop, c->fd), AE_READABLE);
        CHECK_EQ_INT(connRead(c, buf, sizeof(buf)), 5);
        CHECK_MEM(buf, "hello", 5);
        CHECK(connRead(c, buf, sizeof(buf)) == -1 && errno == EAGAIN);
        CHECK_EQ_INT(c->state, CONN_CONNECTED);

        /* Moves on to another loop. */
        connDetach(c);
        CHECK_EQ_INT(aeGetFileEvents(loop, c->fd), AE_NONE);
        CHECK(connAttach(c, second) == C_OK);
        n.reads = 0;
        CHECK(write(fds[1], "x", 1) == 1);
        aeProcessEvents(second, AE_ALL_EVENTS);
        CHECK_EQ_INT(n.reads, 1);

        struct iovec iov[2] = {{(char[]){"ab"}, 2}, {(char[]){"cde"}, 3}};
        CHECK_EQ_INT(connWritev(c, iov, 2), 5);
        CHECK_EQ_INT(read(fds[1], buf, sizeof(buf)), 5);
        CHECK_MEM(buf, "abcde", 5);

        /* A handler may close its own connection while both directions are ready. */
        CHECK(connSetReadHandler(c, closeInRead) == C_OK);
        CHECK(connSetWriteHandler(c, onWrite) == C_OK);
        n = (counters){0};
        aeProcessEvents(second, AE_ALL_EVENTS);
        CHECK_EQ_INT(n.reads, 1);
        CHECK_EQ_INT(n.writes, 0);
        CHECK_EQ_INT(read(fds[1], buf, 1) == 0 || errno == ECONNRESET, 1);
        close(fds[1]);
        aeDeleteEventLoop(loop);
        aeDeleteEventLoop(second);
    }
}

TEST(connection_peer_closes_half) {
    for (int tcp = 0; tcp < 2; tcp++) {
        int fds[2];
        char buf[4];
        counters n = {0};
        connection *c = makeConnection(tcp, fds, &n);

        CHECK(connAccept(c, NULL) == C_OK);
        CHECK(write(fds[1], "q", 1) == 1);
        shutdown(fds[1], SHUT_WR);
        CHECK(aeWait(c->fd, AE_READABLE, 1000) == AE_READABLE);
        CHECK_EQ_INT(connRead(c, buf, sizeof(buf)), 1);
        CHECK_EQ_INT(c->state, CONN_CONNECTED);
        CHECK(aeWait(c->fd, AE_READABLE, 1000) == AE_READABLE);
        CHECK_EQ_INT(connRead(c, buf, sizeof(buf)), 0);
        CHECK_EQ_INT(c->state, CONN_CLOSED);

        struct iovec reply = {(char[]){"r"}, 1};
        CHECK_EQ_INT(connWritev(c, &reply, 1), 1);
        CHECK_EQ_INT(read(fds[1], buf, sizeof(buf)), 1);
        connFinish(c);
        CHECK_EQ_INT(read(fds[1], buf, sizeof(buf)), 0);
        connClose(c);
        close(fds[1]);
    }
}

/* The two ways of watching a connection replace each other, also while it is detached. */
TEST(connection_hears_of_the_end_without_reading) {
    for (int tcp = 0; tcp < 2; tcp++) {
        int fds[2];
        counters n = {0};
        aeEventLoop *loop = aeCreateEventLoop(1024), *second = aeCreateEventLoop(1024);
        connection *c = makeConnection(tcp, fds, &n);

        CHECK(connAccept(c, NULL) == C_OK);
        CHECK(connAttach(c, loop) == C_OK);
        CHECK(connSetReadHandler(c, onRead) == C_OK);
        CHECK(write(fds[1], "q", 1) == 1);
        CHECK(aeWait(c->fd, AE_READABLE, 1000) == AE_READABLE);
        CHECK(connSetHangupHandler(c, onHangup) == C_OK);
        CHECK(c->on_readable == NULL);
        CHECK_EQ_INT(aeGetFileEvents(loop, c->fd), AE_HANGUP);
        CHECK_EQ_INT(aeProcessEvents(loop, ITERATE_NOW), 0);
        connDetach(c);
        CHECK_EQ_INT(aeGetFileEvents(loop, c->fd), AE_NONE);
        CHECK(connAttach(c, second) == C_OK);
        close(fds[1]);
        CHECK_EQ_INT(aeProcessEvents(second, AE_FILE_EVENTS), 1);
        CHECK_EQ_INT(n.hangups, 1);
        CHECK_EQ_INT(n.reads, 0);
        CHECK(connSetHangupHandler(c, NULL) == C_OK);
        CHECK_EQ_INT(aeProcessEvents(second, ITERATE_NOW), 0);
        CHECK(connSetHangupHandler(c, onHangup) == C_OK);
        CHECK(connSetReadHandler(c, onRead) == C_OK);
        CHECK(c->on_hangup == NULL);
        CHECK_EQ_INT(aeProcessEvents(second, ITERATE_NOW), 1);
        CHECK_EQ_INT(n.hangups, 1);
        CHECK_EQ_INT(n.reads, 1);
        connClose(c);
        aeDeleteEventLoop(loop);
        aeDeleteEventLoop(second);
    }
}

TEST(connection_reset) {
    int fds[2];
    char buf[4];
    counters n = {0};
    connection *c = makeConnection(true, fds, &n);
    struct linger at_once = {1, 0};

    CHECK(connAccept(c, NULL) == C_OK);
    CHECK(setsockopt(fds[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
    close(fds[1]);
    CHECK(aeWait(c->fd, AE_READABLE, 1000) == AE_READABLE);
    CHECK(connRead(c, buf, sizeof(buf)) == -1 && errno == ECONNRESET);
    CHECK_EQ_INT(c->state, CONN_ERROR);
    CHECK_EQ_INT(c->last_errno, ECONNRESET);

    /* Writing to a closed connection raises no signal. */
    struct iovec reply = {(char[]){"r"}, 1};
    CHECK(connWritev(c, &reply, 1) == -1 && errno == EPIPE);
    CHECK_EQ_INT(c->state, CONN_ERROR);
    connClose(c);
}

TEST(connection_long_vectors_and_full_sockets) {
    enum { PIECES = 5000 };
    for (int tcp = 0; tcp < 2; tcp++) {
        int fds[2];
        char piece[512] = {0};
        counters n = {0};
        connection *c = makeConnection(tcp, fds, &n);
        struct iovec *iov = malloc(PIECES * sizeof(*iov));
        size_t sent = 0, received = 0;
        ssize_t got;

        CHECK(connAccept(c, NULL) == C_OK);
        for (int i = 0; i < PIECES; i++) iov[i] = (struct iovec){piece, 1};
        got = connWritev(c, iov, PIECES); /* more pieces than one call accepts */
        CHECK(got > 0 && got <= PIECES);
        sent += (size_t)got;
        for (int i = 0; i < 1000; i++) iov[i].iov_len = sizeof(piece);
        while ((got = connWritev(c, iov, 1000)) > 0) sent += (size_t)got;
        CHECK(got == -1 && errno == EAGAIN);
        CHECK_EQ_INT(c->state, CONN_CONNECTED);
        connClose(c);
        while ((got = read(fds[1], piece, sizeof(piece))) > 0) received += (size_t)got;
        CHECK_EQ_INT(received, sent);
        close(fds[1]);
        free(iov);
    }
}
