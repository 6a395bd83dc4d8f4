/* push_test.c -- messages come between replies, never within one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply.h"

#include "client_check.h"
#include "client_fixture.h"
#include "unit.h"
#include "zmalloc.h"

static const parsedCommand request;

static void push(client *c, const char *text) {
    pushBegin(c);
    addReplyProto(c, text, strlen(text));
    pushEnd(c);
}

TEST(push_goes_out_at_once_between_commands) {
    client *c = fixtureClient(3);
    push(c, "a");
    addReplyOk(c);
    push(c, "b");
    CHECK(!(c->flags & CLIENT_PUSHES_HELD));
    CHECK_REPLY(c, "a+OK\r\nb");
    clientFree(c);
}

TEST(push_waits_for_the_end_of_the_command) {
    client *c = fixtureClient(3);
    c->req = &request;
    push(c, "a");
    void *place = addReplyDeferredLen(c);
    addReplyOne(c);
    push(c, "b");
    addReplyZero(c);
    setDeferredArrayLen(c, place, 2);
    CHECK(c->flags & CLIENT_PUSHES_HELD);
    clientCheck(c);
    c->req = NULL;
    pushesRelease(c);
    clientCheck(c);
    CHECK(!(c->flags & CLIENT_PUSHES_HELD));
    CHECK_REPLY(c, "*2\r\n:1\r\n:0\r\nab");
    CHECK_EQ_INT(c->output_bytes, 0);
    clientFree(c);
}

TEST(push_of_a_command_without_reply) {
    client *c = fixtureClient(3);
    c->req = &request;
    push(c, "a");
    c->req = NULL;
    pushesRelease(c);
    CHECK_REPLY(c, "a");
    clientFree(c);
}

TEST(push_that_is_made_too_late_to_be_held) {
    client *c = fixtureClient(3);
    c->req = &request;
    addReplyOne(c);
    c->flags |= CLIENT_PUSHES_HELD;
    pushesRelease(c);
    c->req = NULL;
    clientCheck(c);
    CHECK_REPLY(c, ":1\r\n");
    clientFree(c);
}

TEST(push_comes_although_replies_are_off) {
    const uint32_t silent[] = {CLIENT_REPLY_OFF, CLIENT_REPLY_SKIP};
    for (size_t i = 0; i < array_len(silent); i++) {
        client *c = fixtureClient(3);
        c->flags |= silent[i];
        addReplyOk(c);
        push(c, "a");
        addReplyOk(c);
        CHECK_REPLY(c, "a");
        clientFree(c);
    }
}

TEST(push_to_a_client_that_goes_is_given_back) {
    client *c = fixtureClient(3);
    c->req = &request;
    push(c, "a");
    c->req = NULL;
    clientFree(c); /* a leak checker detects a leaked block */
    c = fixtureClient(3);
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    c->req = &request;
    push(c, "a");
    CHECK(!(c->flags & CLIENT_PUSHES_HELD));
    clientFree(c);
}
