/* session_hold.h -- output on its way to its stream: at once, or when an offset is safe, each piece when its own is.
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

/* Post output to the stream, together with its used-up blocks (takes both); while it moves it is kept. NULL: blocks
 * alone; the stream does not move then. */
void sessionSend(clientIo *s, replyBlock *chain);
/* Something of the client's output waits: all that comes behind it goes by sessionHold(), too. */
static inline bool sessionHolds(const clientIo *s) {
    return s->held_first != NULL;
}
/* Send the chain, output of the stream's client (takes it), when `mark` is reached; NULL: with what waits already. */
void sessionHold(clientIo *s, replyBlock *chain, const outputMark *mark);
/* The session ends: nothing that waits is sent. */
void sessionHoldForget(clientIo *s);

#endif
