/* saved_replies_test.c -- a reply waits for its version of the nodes file, and its client alone.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "saved_replies.h"
#include "blocking.h"
#include "command_record.h"
#include "command_table.h"

#include "client/client_fixture.h"
#include "unit.h"

static size_t unblocked_count;

static void unblocked(client *c) {
    unused(c);
    unblocked_count++;
}

static commandStats stats;
static serverCommand command = {.name = "cluster", .stats = &stats};

/* Makes clients that run a command. */
static void begin(client *c[], size_t count) {
    static alignas(16) char piece[1024];
    recordArena arena;
    recordCache cache = {.name_len = 0};
    fixtureInit();
    static bool is_ready;
    if (!is_ready) blockingInit(unblocked);
    is_ready = true;
    unblocked_count = 0;
    recordArenaInit(&arena, piece, sizeof(piece));
    parsedCommand *req = recordCreate(&arena, 1);
    req->argv[0] = sliceStr("cluster");
    recordComplete(&arena, &cache, req, 0);
    for (size_t i = 0; i < count; i++) {
        c[i] = fixtureClient(2);
        c[i]->last_cmd = &command;
        c[i]->req = req;
    }
}

static void wait(client *c, uint64_t version, const char *reply) {
    savedRepliesWait(c, version, sdsNew(reply));
    c->req = NULL;
}

static void end(client *c[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        c[i]->req = NULL;
        clientFree(c[i]);
    }
}

TEST(a_reply_waits_for_its_version) {
    client *c[3];
    begin(c, 3);
    wait(c[0], 7, "+OK");
    wait(c[1], 9, "+BUMPED 4");
    wait(c[2], 8, "+OK");
    CHECK(c[0]->flags & c[1]->flags & c[2]->flags & CLIENT_BLOCKED);
    CHECK_EQ_INT(savedRepliesSend(6), 0);
    CHECK_REPLY(c[0], "");
    CHECK_EQ_INT(savedRepliesSend(8), 2);
    CHECK_REPLY(c[0], "+OK\r\n");
    CHECK_REPLY(c[1], "");
    CHECK_REPLY(c[2], "+OK\r\n");
    CHECK_EQ_INT(savedRepliesSend(100), 1);
    CHECK_REPLY(c[1], "+BUMPED 4\r\n");
    CHECK_EQ_INT(unblocked_count, 3);
    CHECK_EQ_INT(savedRepliesSend(UINT64_MAX), 0);
    end(c, 3);
}

/* A client that is unblocked or closed meanwhile leaves the list. */
TEST(a_client_that_ends_its_wait_is_not_answered_again) {
    client *c[3];
    begin(c, 3);
    for (int i = 0; i < 3; i++) wait(c[i], 1, "+OK");
    CHECK(blockingEnd(c[1], "-UNBLOCKED client unblocked via CLIENT UNBLOCK"));
    CHECK_REPLY(c[1], "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
    CHECK_EQ_INT(savedRepliesSend(1), 2);
    CHECK_REPLY(c[1], "");
    end(c, 3);
}

TEST(a_command_of_a_transaction_does_not_wait) {
    client *c[1];
    begin(c, 1);
    CHECK(savedRepliesMayWait(c[0]));
    c[0]->flags |= CLIENT_DENY_BLOCKING;
    CHECK(!savedRepliesMayWait(c[0]));
    end(c, 1);
}
