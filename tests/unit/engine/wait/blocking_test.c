/* blocking_test.c -- timeouts of blocked clients: in order, and a few at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "blocking.h"
#include "command_record.h"

#include "client/client_fixture.h"
#include "command_table.h"
#include "unit.h"

#define WAITING 1000

static commandStats stats;
static serverCommand command = {.name = "wait", .stats = &stats};
static size_t ended, forgotten;
static int64_t last_ended_ms;
static size_t out_of_order;

static void unblocked(client *c) {
    int64_t at_ms = (int64_t)c->fd;
    out_of_order += at_ms < last_ended_ms;
    last_ended_ms = at_ms;
    ended++;
}

static void reply(client *c, void *wait) {
    unused(wait);
    addReplyLongLong(c, 7);
}

static void forget(client *c, void *wait) {
    unused(c), unused(wait);
    forgotten++;
}

/* All of a thousand timeouts have expired: each call ends some, the earliest first, and reports that there are more. */
TEST(waits_end_a_few_at_a_time) {
    static const blockOwner owner = {.reply = reply, .forget = forget};
    client *c[WAITING];
    uint64_t seed = unitRandomSeed();
    fixtureInit();
    blockingInit(unblocked);
    static char piece[1024];
    recordArena arena;
    recordCache cache = {.name_len = 0};
    recordArenaInit(&arena, piece, sizeof(piece));
    parsedCommand *req = recordCreate(&arena, 1);
    req->argv[0] = sliceStr("wait-of-the-test");
    recordComplete(&arena, &cache, req, 0);
    for (int i = 0; i < WAITING; i++) {
        c[i] = fixtureClient(2);
        c[i]->last_cmd = &command;
        c[i]->fd = 1 + (int)(unitRandom(&seed) % 500);
        c[i]->req = req;
        blockOnOwner(c[i], &owner, NULL, c[i]->fd);
        c[i]->req = NULL;
    }
    CHECK_EQ_INT(blocking_totals.timeouts, WAITING);
    size_t over = 0;
    for (int i = 0; i < WAITING; i++) over += c[i]->fd <= 400;
    int calls = 0;
    int64_t next;
    for (;;) {
        size_t before = ended;
        next = blockingExpire(400);
        calls++;
        CHECK(ended - before <= BLOCKING_EXPIRE_MAX);
        if (next == 0 || next > 400) break;
        if (!CHECK_EQ_INT(ended - before, BLOCKING_EXPIRE_MAX)) break;
    }
    CHECK_EQ_INT(ended, over);
    CHECK_EQ_INT(forgotten, over);
    CHECK_EQ_INT(out_of_order, 0);
    CHECK(calls >= (int)(over / BLOCKING_EXPIRE_MAX));
    CHECK_EQ_INT(blocking_totals.timeouts, WAITING - over);
    CHECK_EQ_INT(stats.calls, over);
    for (int i = 0; i < WAITING; i++) {
        CHECK(((c[i]->flags & CLIENT_BLOCKED) != 0) == (c[i]->fd > 400));
        CHECK_REPLY(c[i], c[i]->fd > 400 ? "" : ":7\r\n");
        clientFree(c[i]);
    }
    CHECK_EQ_INT(forgotten, WAITING);
    CHECK_EQ_INT(blockingExpire(400), 0);
}

/* Its deadline ends the wait; before that the command runs again at the time that it asked for, each time. */
TEST(a_command_that_waits_runs_again_at_a_time) {
    const slice words[] = {sliceStr("wait-of-the-test"), sliceStr("key")};
    alignas(16) char piece[1024];
    recordArena arena;
    recordCache cache = {.name_len = 0};
    fixtureInit();
    recordArenaInit(&arena, piece, sizeof(piece));
    parsedCommand *req = recordCreate(&arena, array_len(words));
    memcpy(req->argv, words, sizeof(words));
    recordComplete(&arena, &cache, req, 0);
    client *c = fixtureClient(2);
    c->last_cmd = &command;
    c->req = req;
    c->argv = req->argv;
    c->argc = req->argc;
    blockFor what = {.type = OBJ_STREAM, .first_key = 1, .keys = 1, .deadline_ms = 100, .until_deleted = true};
    what.again_ms = 30;
    blockForKeys(c, &what);
    CHECK_EQ_INT(blocking_totals.timeouts, 1);
    CHECK_EQ_INT(blockingExpire(29), 30);
    CHECK(!blocking_ready);
    CHECK_EQ_INT(blockingExpire(30), 100);
    CHECK(blocking_ready && blockingNext() == c);
    blockingRun(c);
    what.again_ms = 60;
    blockForKeys(c, &what);
    blockingHasRun(c);
    CHECK(blockingNext() == NULL);
    CHECK_EQ_INT(blockingExpire(59), 60);
    blockingHold(c);
    CHECK_EQ_INT(blockingExpire(60), 0);
    blockingRun(c);
    what.again_ms = 200;
    blockForKeys(c, &what);
    blockingHasRun(c);
    CHECK_EQ_INT(blockingExpire(99), 100);
    size_t before = ended;
    CHECK_EQ_INT(blockingExpire(100), 0);
    CHECK_EQ_INT(ended - before, 1);
    CHECK_REPLY(c, "*-1\r\n");
    CHECK(!(c->flags & CLIENT_BLOCKED) && blocking_totals.timeouts == 0);
    c->req = NULL;
    clientFree(c);
}
