/* saved_replies.c -- replies of CLUSTER commands that wait until the nodes file on disk has what the command changed.
 *
 * Owns        the list of waits, and the replies in them.
 * Threads     main.
 * Invariants  1. A wait is in the list as long as its client is blocked.
 * Tests       tests/unit/cluster/saved_replies_test.c, tests/cluster/basics.tcl, nodes_file.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "saved_replies.h"

#include "blocking.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

typedef struct savedReply {
    struct savedReply *prev, *next; /* the list of waits, in no order */
    client *c;                      /* borrowed: blocked */
    uint64_t version;
    sds reply; /* owns */
} savedReply;

static savedReply *waiting; /* owns all */

bool savedRepliesMayWait(const client *c) {
    return !(c->flags & (CLIENT_DENY_BLOCKING | CLIENT_FAKE | CLIENT_PRIMARY | CLIENT_REPLAYS));
}

static void replySaved(client *c, void *wait) { addReplyStatus(c, ((const savedReply *)wait)->reply + 1); }

static void forgetWait(client *c, void *wait) {
    savedReply *w = wait;
    debugAssert(w->c == c);
    unused(c);
    if (w->prev) w->prev->next = w->next;
    else waiting = w->next;
    if (w->next) w->next->prev = w->prev;
    sdsFree(w->reply);
    zfree(w);
}

void savedRepliesWait(client *c, uint64_t version, sds reply) {
    static const blockOwner owner = {.reply = replySaved, .forget = forgetWait, .any_role = true};
    debugAssert(savedRepliesMayWait(c) && reply[0] == '+');
    savedReply *w = zmalloc(sizeof(*w));
    *w = (savedReply){.next = waiting, .c = c, .version = version, .reply = reply};
    if (waiting) waiting->prev = w;
    waiting = w;
    blockOnOwner(c, &owner, w, 0);
}

size_t savedRepliesSend(uint64_t version) {
    size_t sent = 0;
    for (savedReply *w = waiting, *next; w; w = next) {
        next = w->next;
        if (w->version > version) continue;
        blockingEnd(w->c, NULL);
        sent++;
    }
    return sent;
}
