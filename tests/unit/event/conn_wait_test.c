/* conn_wait_test.c -- waits for a connection: made, refused, silent, slow, closed, and interrupted waits.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "conn_wait.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Waits briefly, several times; before each wait the peer does something. */
typedef struct testWaiter {
    connWaiter base;
    int waits_left, waits;
    int peer;         /* a descriptor, or -1 */
    const char *says; /* the byte that the peer sends before each wait */
    bool drains, hangs_up;
    size_t drained;
} testWaiter;

static void drain(testWaiter *t) {
    char buf[65536];
    for (ssize_t n; (n = recv(t->peer, buf, sizeof(buf), MSG_DONTWAIT)) > 0;) t->drained += (size_t)n;
}

static bool ready(connWaiter *w, int fd, int mask) {
    testWaiter *t = (testWaiter *)w;
    t->waits++;
    if (t->waits_left-- <= 0) {
        errno = ECANCELED;
        return false;
    }
    if (t->says && *t->says) CHECK(write(t->peer, t->says++, 1) == 1);
    if (t->drains) drain(t);
    if (t->hangs_up) close(t->peer);
    t->hangs_up = false;
    if (aeWait(fd, mask, 1000) > 0) return true;
    errno = ETIMEDOUT;
    return false;
}

static testWaiter waiterFor(int waits) { return (testWaiter){.base = {ready}, .waits_left = waits, .peer = -1}; }

static connection *connectTo(int port, testWaiter *w) {
    int fd = anetTcpConnect(NULL, "127.0.0.1", port, NULL, true);
    return CHECK(fd != C_ERR) ? connWaitConnected(fd, NULL, &w->base, NULL, NULL) : NULL;
}

/* Opens a connection, with its other end in w->peer. */
static connection *openBoth(testWaiter *w) {
    int port, server = anetTcpServer(NULL, 0, "127.0.0.1", 4, false);
    if (!CHECK(server != C_ERR)) exit(1);
    CHECK(anetFdToString(server, NULL, 0, &port, false) == C_OK);
    connection *c = connectTo(port, w);
    w->peer = anetTcpAccept(NULL, server, NULL, 0, NULL);
    close(server);
    if (!CHECK(c && w->peer != C_ERR)) exit(1);
    CHECK(c->state == CONN_CONNECTED);
    return c;
}

TEST(conn_wait_refused) {
    int port, server = anetTcpServer(NULL, 0, "127.0.0.1", 4, false);
    CHECK(anetFdToString(server, NULL, 0, &port, false) == C_OK);
    close(server);
    testWaiter w = waiterFor(5);
    CHECK(connectTo(port, &w) == NULL && errno == ECONNREFUSED);
}

TEST(conn_wait_reads_what_there_is) {
    char buf[16];
    testWaiter w = waiterFor(5);
    connection *c = openBoth(&w);
    CHECK(write(w.peer, "abc", 3) == 3);
    CHECK(connWaitRead(c, buf, sizeof(buf), &w.base) == 3 && !memcmp(buf, "abc", 3));
    w.says = "x";
    CHECK(connWaitRead(c, buf, sizeof(buf), &w.base) == 1 && *buf == 'x');
    close(w.peer);
    CHECK(connWaitRead(c, buf, sizeof(buf), &w.base) == 0);
    connClose(c);
}

TEST(conn_wait_ends_when_the_waiter_says_so) {
    char buf[16];
    testWaiter w = waiterFor(5);
    connection *c = openBoth(&w);
    w.waits_left = 0;
    CHECK(connWaitRead(c, buf, sizeof(buf), &w.base) == -1 && errno == ECANCELED);
    CHECK(c->state == CONN_CONNECTED);
    close(w.peer);
    connClose(c);

    testWaiter never = waiterFor(0);
    CHECK(connectTo(1, &never) == NULL && errno == ECANCELED);
}

TEST(conn_wait_writes_all_of_it) {
    size_t len = (size_t)32 << 20;
    char *bytes = calloc(1, len);
    testWaiter w = waiterFor(1 << 20);
    connection *c = openBoth(&w);
    w.drains = true;
    CHECK(connWaitWrite(c, sliceOf(bytes, len), &w.base));
    drain(&w);
    CHECK(w.waits > 1 && w.drained == len);
    connClose(c);
    close(w.peer);
    free(bytes);
}

TEST(conn_wait_writes_to_who_hangs_up) {
    size_t len = (size_t)32 << 20;
    char *bytes = calloc(1, len);
    testWaiter w = waiterFor(1 << 20);
    connection *c = openBoth(&w);
    w.hangs_up = true;
    CHECK(!connWaitWrite(c, sliceOf(bytes, len), &w.base) && (errno == ECONNRESET || errno == EPIPE));
    connClose(c);
    free(bytes);
}
