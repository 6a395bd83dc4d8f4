/* push.c -- push messages, which are not part of a reply.
 *
 * A message for a client whose command is running goes into a second chain of blocks, beside that of its replies. When
 * the command has ended, the second chain is appended to the first. Nothing is copied, and both count as output from
 * the beginning.
 *
 * Not here    which clients get a message (engine/pubsub/pubsub.c).
 * Owns        the chain of held messages: held_head .. held_tail of each client.
 * Threads     main.
 * Invariants  1. Messages are held only while a command of the client runs; CLIENT_PUSHES_HELD is set then.
 *             2. From pushBegin() to pushEnd() the two chains of such a client are exchanged.
 * Tests       tests/unit/client/push_test.c, tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply.h"

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
