/* session_hold.h -- sends output to its connection: at once, or when its offset is safe.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_HOLD_H
#define NET_SESSION_HOLD_H

#include "client_io.h"
#include "reply_hold.h"

typedef struct outputMark {
    holdSequence seq;
    uint64_t offset;
} outputMark;

/* Posts output together with executed blocks that are to be returned; takes ownership of both. Output of a moving
 * connection is kept. NULL posts only blocks and flags; the connection must not be moving then. */
void sessionSend(clientIo *s, replyBlock *chain);
/* Returns whether some of the client's output is held: then all later output has to go through sessionHold(), too. */
static inline bool sessionHolds(const clientIo *s) { return s->held_first != NULL; }
/* Sends the chain, output of this client, when `mark` is reached; NULL: together with what is held already. Takes
 * ownership of the chain. */
void sessionHold(clientIo *s, replyBlock *chain, const outputMark *mark);
/* Drops held output, as the session ends. */
void sessionHoldForget(clientIo *s);

#endif
