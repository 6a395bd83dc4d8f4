/* session_output_test.c -- output and end of a session while its connection moves between two owner threads.
 *
 * A connection is moving from main's message to its last owner until its next owner has it. Meanwhile the tests act as
 * sessions do: replies are added and flushed, a session is drained or closed. With threads the message to release the
 * connection is posted and not yet published, so that any message wrongly sent to the last owner would come right after
 * it; with one thread the connection is released and not yet passed on.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl.h"
#include "net_fixture.h"
#include "rebalance.h"
#include "unit.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void useThreads(int n) {
    const char *err = NULL;
    netFixtureInit();
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = n > 1;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
}

/* --- a client on its way ------------------------------------------------------------------------------------------ */

static struct {
    int threads, peer;
    client *c;
    sds want;
} way;

static void leave(void) {
    clientIo *s = way.c->io;
    if (way.threads > 1) rebalanceHandshaken(s); /* to the thread with the fewest connections: the other one */
    else rebalanceDetach(s);
    CHECK(s->moving_to != NULL);
    CHECK_EQ_INT(s->detached_here, way.threads == 1);
}

static void arrive(void) {
    if (way.threads == 1) rebalanceAttach(way.c->io);
}

static void setOut(int threads) {
    way.threads = threads;
    useThreads(threads);
    way.c = fixtureConnect(&way.peer, threads > 1);
    way.want = sdsEmpty();
    for (int i = 0; i < 20; i++) fixtureTurn();
    leave();
}

/* Adds a reply, which main sends when it flushes. */
static void say(int number, size_t len) {
    char head[64];
    int n = snprintf(head, sizeof(head), "$%zu\r\n", len);
    sds body = sdsGrowZero(sdsEmpty(), len);
    memset(body, 'a' + number % 26, len);
    addReplyBulk(way.c, sdsSlice(body));
    way.want = sdsCatLen(way.want, head, (size_t)n);
    way.want = sdsCatLen(sdsCat(way.want, body), "\r\n", 2);
    sdsFree(body);
}

static void sayMuch(void) {
    for (int i = 0; i < 12; i++) {
        say(i, i % 3 ? (size_t)(10 + i) : 20000 + (size_t)i);
        if (i % 4 == 3) continue; /* two replies are sent together */
        sessionsFlush();
        CHECK(way.c->io->held_replies != NULL);
    }
}

/* Checks that all replies since the last call arrive, and the end if that is due. */
static void hears(bool end) {
    sds got = fixtureReceiveBytes(way.peer, sdsLen(way.want) + end);
    CHECK_EQ_INT(sdsLen(got), sdsLen(way.want));
    CHECK(sdsLen(got) == sdsLen(way.want) && !memcmp(got, way.want, sdsLen(got)));
    sdsFree(got);
    sdsFree(way.want);
    way.want = sdsEmpty();
}

static void settle(void) {
    close(way.peer);
    CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
    sdsFree(way.want);
    useThreads(1);
    CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
}

/* --- output ------------------------------------------------------------------------------------------------------ */

TEST(output_of_a_client_on_its_way_keeps_its_order) {
    for (int threads = 1; threads <= 3; threads += 2) {
        setOut(threads);
        sayMuch();
        arrive();
        hears(false);
        say(1, 30); /* and later replies come later */
        hears(false);
        settle();
    }
}

/* Request blocks executed meanwhile are returned to the next owner, and count there as before. */
TEST(output_of_blocks_waits_for_the_next_owner) {
    for (int threads = 1; threads <= 3; threads += 2) {
        setOut(threads);
        arrive();
        fixtureSuspend(true);
        fixtureSend(way.peer, "ECHO one\r\nECHO two\r\n", 20);
        unitLimit limit = unitLimitStart(20000);
        while (!way.c->blocks_head && !unitLimitOver(&limit)) {
            fixtureTurn();
            ioThreadsFlush();
            if (ioThreadsPoll(100) == 0) poll(NULL, 0, 1);
        }
        if (CHECK(way.c->blocks_head != NULL)) {
            leave();
            CHECK_EQ_INT(batchExecute(10), 2);
            sessionsFlush();
            CHECK(way.c->io->held_replies && way.c->io->returning);
            arrive();
        }
        fixtureSuspend(false);
        way.want = sdsCat(way.want, "$3\r\none\r\n$3\r\ntwo\r\n");
        hears(false);
        fixtureSend(way.peer, "PING\r\n", 6);
        way.want = sdsCat(way.want, "+PONG\r\n");
        hears(false);
        settle();
    }
}

/* A client that may log in by its certificate is read once main has checked that: at once, or by its next owner. */
TEST(output_admits_who_waits_for_its_user) {
    for (int moves = 0; moves < 2; moves++) {
        setOut(1);
        if (!aclDefaultUser()) aclInit();
        clientIo *s = way.c->io;
        if (!moves) arrive();
        s->awaits_user = true;
        fixtureSend(way.peer, "PING\r\n", 6);
        for (int i = 0; i < 20; i++) fixtureTurn();
        CHECK(!way.c->blocks_head);
        const ioMessage named = {.type = IO_MSG_NAMED, .io = s, .names = sdsEmpty()};
        sessionDeliver(&named);
        if (moves) arrive();
        way.want = sdsCat(way.want, "+PONG\r\n");
        hears(false);
        settle();
    }
}

/* --- ends -------------------------------------------------------------------------------------------------------- */

/* The message to drain waits for the next owner, after all output. */
TEST(output_drains_when_the_client_has_arrived) {
    for (int threads = 1; threads <= 3; threads += 2)
        for (int much = 0; much < 2; much++) {
            setOut(threads);
            if (much) sayMuch();
            else say(0, 10);
            way.c->flags |= CLIENT_CLOSE_AFTER_REPLY;
            sessionDrain(way.c);
            sessionsFlush();
            CHECK(way.c->io->on_draining);
            arrive();
            hears(true);
            CHECK(fixtureUntil(fixtureAllIdle, NULL, 10000));
            settle();
        }
}

/* So does the message to close; unsent output is dropped. */
TEST(output_is_dropped_when_the_client_has_arrived) {
    enum { SILENT, REPLIES, DRAINS, WAYS };
    for (int threads = 1; threads <= 3; threads += 2)
        for (int how = 0; how < WAYS; how++) {
            setOut(threads);
            clientIo *s = way.c->io;
            if (how != SILENT) sayMuch();
            if (how == DRAINS) {
                way.c->flags |= CLIENT_CLOSE_AFTER_REPLY;
                sessionDrain(way.c);
                sessionsFlush();
            }
            clientCloseAsap(way.c);
            sessionsFreeClosing();
            CHECK(s->closing && s->moving_to && !s->session);
            sdsFree(way.want);
            way.want = sdsEmpty();
            if (threads == 1) rebalanceAttach(s);
            hears(true);
            settle();
        }
}
