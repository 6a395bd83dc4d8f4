/* fan_out_test.c -- which clients share a run and which get a copy, and when messages are joined.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "fan_out.h"
#include "reply.h"
#include "unit.h"
#include "zmalloc.h"

#define CLIENTS 6

static client *clients[CLIENTS];
static fanAudience audience;

static void begin(void) {
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = fixtureClient(i % 2 ? 3 : 2);
        clients[i]->flags |= CLIENT_PUBSUB;
    }
    audience = (fanAudience){clients, CLIENTS, audience.version + 1};
}

static void end(void) {
    for (int i = 0; i < CLIENTS; i++) {
        while (clientPopPendingWrite()) continue;
        clientFree(clients[i]);
    }
}

static void say(const char *body) {
    fanText t = {sliceStr("1\r\n+"), sliceStr(body), sliceStr("\r\n")};
    fanOut(&audience, &t);
}

/* Checks that the next run has these bytes for RESP2 and RESP3, and these numbers of clients. Frees it. */
static fanRun *checkRun(fanRun *run, const char *resp2, const char *resp3, size_t n2, size_t n3) {
    CHECK(run != NULL);
    if (!run) return NULL;
    const char *want[2] = {resp2, resp3};
    size_t count[2] = {n2, n3};
    for (int p = 0; p < 2; p++) {
        CHECK_EQ_INT(run->count[p], count[p]);
        CHECK((run->bytes[p] == NULL) == (want[p] == NULL));
        if (run->bytes[p] && want[p]) CHECK(sliceEq(objectRawString(run->bytes[p]), sliceStr(want[p])));
        for (size_t i = 0; i < run->count[p]; i++) CHECK_EQ_INT(fanRunClient(run, p, i)->resp, p + 2);
    }
    fanRun *next = run->next;
    fanRunFree(run);
    return next;
}

TEST(fan_messages_to_the_same_audience_go_together) {
    begin();
    say("a");
    say("b");
    CHECK(checkRun(fanTakeRuns(), "*1\r\n+a\r\n*1\r\n+b\r\n", ">1\r\n+a\r\n>1\r\n+b\r\n", 3, 3) == NULL);
    CHECK(!fanHasRuns());
    for (int i = 0; i < CLIENTS; i++) CHECK_REPLY(clients[i], "");
    end();
}

TEST(fan_another_audience_another_run) {
    begin();
    say("a");
    audience.version++;
    say("b");
    audience.version--;
    say("c");
    fanRun *run = checkRun(fanTakeRuns(), "*1\r\n+a\r\n", ">1\r\n+a\r\n", 3, 3);
    run = checkRun(run, "*1\r\n+b\r\n", ">1\r\n+b\r\n", 3, 3);
    CHECK(checkRun(run, "*1\r\n+c\r\n", ">1\r\n+c\r\n", 3, 3) == NULL);
    end();
}

/* The order of a client's messages and replies is kept. */
TEST(fan_order_with_replies) {
    begin();
    addReplyStatus(clients[0], "before");
    say("a");
    say("b");
    addReplyStatus(clients[1], "between");
    say("c");
    CHECK_REPLY(clients[0], "+before\r\n*1\r\n+a\r\n*1\r\n+b\r\n*1\r\n+c\r\n");
    CHECK_REPLY(clients[1], "+between\r\n>1\r\n+c\r\n");
    fanRun *run = checkRun(fanTakeRuns(), "*1\r\n+a\r\n", ">1\r\n+a\r\n", 2, 3);
    run = checkRun(run, "*1\r\n+b\r\n", ">1\r\n+b\r\n", 2, 3);
    CHECK(checkRun(run, "*1\r\n+c\r\n", ">1\r\n+c\r\n", 2, 2) == NULL);
    end();
}

TEST(fan_who_is_to_be_closed_gets_nothing) {
    begin();
    clients[0]->flags |= CLIENT_CLOSE_AFTER_REPLY;
    clients[1]->flags |= CLIENT_REPLY_OFF;
    say("a");
    CHECK(checkRun(fanTakeRuns(), "*1\r\n+a\r\n", ">1\r\n+a\r\n", 2, 3) == NULL);
    for (int i = 0; i < CLIENTS; i++) CHECK_REPLY(clients[i], "");
    end();
}

/* A client whose command is running gets its message after the reply. */
TEST(fan_not_into_a_reply) {
    const parsedCommand record = {.argc = 0};
    begin();
    for (int i = 0; i < CLIENTS; i++) clients[i]->resp = 3;
    clients[2]->req = &record;
    addReplyArrayLen(clients[2], 2);
    say("a");
    addReplyOne(clients[2]);
    say("b");
    addReplyOne(clients[2]);
    CHECK(clients[2]->flags & CLIENT_PUSHES_HELD);
    pushesRelease(clients[2]);
    clients[2]->req = NULL;
    CHECK_REPLY(clients[2], "*2\r\n:1\r\n:1\r\n>1\r\n+a\r\n>1\r\n+b\r\n");
    fanRun *run = checkRun(fanTakeRuns(), NULL, ">1\r\n+a\r\n", 0, 5);
    CHECK(checkRun(run, NULL, ">1\r\n+b\r\n", 0, 5) == NULL);
    /* Also if the reply has not begun. */
    while (clientPopPendingWrite()) continue;
    clients[4]->req = &record;
    say("c");
    addReplyOne(clients[4]);
    pushesRelease(clients[4]);
    clients[4]->req = NULL;
    CHECK_REPLY(clients[4], ":1\r\n>1\r\n+c\r\n");
    CHECK(checkRun(fanTakeRuns(), NULL, ">1\r\n+c\r\n", 0, 5) == NULL);
    end();
}

TEST(fan_a_run_has_an_end) {
    begin();
    char *body = zmalloc(30001);
    memset(body, 'x', 30000);
    body[30000] = '\0';
    for (int i = 0; i < 5; i++) say(body);
    size_t runs = 0, bytes = 0;
    for (fanRun *run = fanTakeRuns(), *next; run; run = next) {
        next = run->next;
        bytes += objectStringLen(run->bytes[0]);
        runs++;
        fanRunFree(run);
    }
    CHECK_EQ_INT(runs, 3);
    CHECK_EQ_INT(bytes, 5 * (30000 + 7));
    zfree(body);
    end();
}

/* Any number of runs takes a bounded amount of memory: beyond it clients get copies, ordered after the contents of the
 * runs. */
TEST(fan_memory_of_runs_has_a_bound) {
    begin();
    char *body = zmalloc(60001);
    memset(body, 'x', 60000);
    body[60000] = '\0';
    size_t before = zmallocUsed(), messages = 4 * FAN_BYTES_MAX / 60000, copied = 0;
    for (size_t i = 0; i < messages; i++) {
        audience.version++;
        say(body);
        copied += client_state.pending_write != NULL;
        if (copied) break;
    }
    CHECK_EQ_INT(copied, 1);
    CHECK(zmallocUsed() - before < FAN_BYTES_MAX + FAN_BYTES_MAX / 8);
    for (int i = 0; i < CLIENTS; i++) {
        sds got = fixtureReplies(clients[i]);
        CHECK_EQ_INT(sdsLen(got), 60000 + 7);
        sdsFree(got);
    }
    while (clientPopPendingWrite()) continue;
    for (fanRun *run = fanTakeRuns(), *next; run; run = next) {
        next = run->next;
        fanRunFree(run);
    }
    say("a");
    CHECK(checkRun(fanTakeRuns(), "*1\r\n+a\r\n", ">1\r\n+a\r\n", 3, 3) == NULL);
    zfree(body);
    end();
}

/* Without memory no client misses a message: it gets a copy, or is closed if that fails as well. */
TEST(fan_without_memory_nobody_misses_a_message) {
    begin();
    for (int fail = 1; fail < 12; fail++) {
        zmallocFailAfter(fail);
        say("a");
        zmallocFailAfter(0);
        fanRun *run = fanTakeRuns();
        size_t told = run ? run->count[0] + run->count[1] : 0;
        if (run) fanRunFree(run);
        for (int i = 0; i < CLIENTS; i++) {
            sds got = fixtureReplies(clients[i]);
            told += sdsLen(got) > 0 || clients[i]->flags & CLIENT_CLOSE_ASAP;
            sdsFree(got);
        }
        CHECK_EQ_INT(told, CLIENTS);
        while (clientPopPendingWrite()) continue;
        while (clientPopClosing()) continue;
        for (int i = 0; i < CLIENTS; i++) clients[i]->flags &= ~(CLIENT_CLOSE_ASAP | CLIENT_IN_CLOSING);
    }
    end();
}
