/* conn_detach_test.c -- a connection is detached once its owner thread has released it and has nothing left to send on
 * it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_fixture.h"
#include "net_settings.h"
#include "conn_detach.h"
#include "unit.h"

#include <sys/uio.h>
#include <unistd.h>

static struct {
    int peer;
    client *c;
    clientIo *s;
    connection *conn;
    detachState state;
} loan;

static void useThreads(int n) {
    const char *err = NULL;
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = n > 1;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
}

/* Opens a client and serves a command, so that its connection is on its thread. */
static void begin(int threads) {
    netFixtureInit();
    useThreads(threads);
    loan.c = fixtureConnect(&loan.peer, false);
    loan.s = loan.c->io;
    loan.conn = NULL;
    fixtureSend(loan.peer, "PING\r\n", 6);
    sds got = fixtureReceiveBytes(loan.peer, 7);
    CHECK_EQ_STR(got, "+PONG\r\n");
    sdsFree(got);
}

static bool isDecided(void *arg) {
    unused(arg);
    loan.state = connDetachPoll(loan.s, &loan.conn);
    return loan.state != DETACH_PENDING;
}

static void end(void) {
    fixtureSend(loan.peer, "PING\r\n", 6);
    sds got = fixtureReceiveBytes(loan.peer, 7);
    CHECK_EQ_STR(got, "+PONG\r\n");
    sdsFree(got);
    close(loan.peer);
    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
    useThreads(1);
    CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
}

TEST(detached_connection_is_attached_again) {
    for (int threads = 1; threads <= 3; threads += 2) {
        begin(threads);
        CHECK(connDetachBegin(loan.c) == loan.s);
        CHECK(connDetachBegin(loan.c) == NULL); /* already detached */
        CHECK(fixtureUntil(isDecided, NULL, 10000));
        CHECK_EQ_INT(loan.state, DETACH_DONE);
        char here[] = "here";
        struct iovec iov = {here, 4};
        if (CHECK(loan.conn == loan.s->conn)) CHECK_EQ_INT(connWritev(loan.conn, &iov, 1), 4);
        sds got = fixtureReceiveBytes(loan.peer, 4);
        CHECK_EQ_STR(got, "here");
        sdsFree(got);
        connDetachEnd(loan.s);
        end();
    }
}

/* A connection with unsent output cannot be detached. The peer is sent all of it. */
TEST(detaching_is_refused_while_output_is_left) {
    enum { BYTES = 8 << 20 };
    for (int threads = 1; threads <= 3; threads += 2) {
        begin(threads);
        sds text = sdsNewLen(NULL, BYTES);
        memset(text, 'x', BYTES);
        addReplyBulk(loan.c, sdsSlice(text));
        for (int i = 0; i < 10; i++) fixtureTurn();
        CHECK(connDetachBegin(loan.c) == loan.s);
        CHECK(fixtureUntil(isDecided, NULL, 10000));
        CHECK_EQ_INT(loan.state, DETACH_REFUSED);
        CHECK(loan.conn == NULL);
        sds got = fixtureReceiveBytes(loan.peer, BYTES + 12); /* with "$8388608" and two CRLF */
        CHECK_EQ_INT(sdsLen(got), BYTES + 12);
        sdsFree(got);
        sdsFree(text);
        end();
    }
}
