/* push.c -- messages that a client has not asked for at this moment.
 *
 * A message for a client whose command runs goes into a chain of blocks beside that of its replies; when the command
 * has ended the one is hung behind the other. Nothing is copied, and both count as output from the beginning.
 *
 * Not here    who gets which message (engine/pubsub/pubsub.c).
 * Owns        the chain of messages that wait: held_head .. held_tail of each client.
 * Threads     main.
 * Invariants  1. Messages wait only while a command of the client runs; CLIENT_PUSHES_HELD is set then.
 *             2. From pushBegin() to pushEnd() the two chains of such a client have changed places.
 * Tests       tests/unit/client/push_test.c, tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "push.h"

#include "panic.h"
#include "reply_block.h"

static void exchangeChains(client *c) {
    replyBlock *head = c->reply_head, *tail = c->reply_tail;
    c->reply_head = c->held_head;
    c->reply_tail = c->held_tail;
    c->held_head = head;
    c->held_tail = tail;
}

void pushBegin(client *c) {
    assertMainRole();
    debugAssert(!(c->flags & CLIENT_PUSHING));
    c->flags |= CLIENT_PUSHING;
    if (unlikely(c->req != NULL)) exchangeChains(c);
}

void pushEnd(client *c) {
    assertMainRole();
    c->flags &= ~CLIENT_PUSHING;
    if (likely(c->req == NULL)) return;
    exchangeChains(c);
    if (c->held_head) c->flags |= CLIENT_PUSHES_HELD;
}

void pushesRelease(client *c) {
    assertMainRole();
    c->flags &= ~CLIENT_PUSHES_HELD;
    if (!c->held_head) return;
    if (c->reply_tail) c->reply_tail->next = c->held_head;
    else c->reply_head = c->held_head;
    c->reply_tail = c->held_tail;
    c->held_head = c->held_tail = NULL;
    clientPendWrite(c);
}
