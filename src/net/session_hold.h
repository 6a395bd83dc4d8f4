/* session_hold.h -- replies on their way to their stream: at once, or when an offset is safe, each when its own is.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_HOLD_H
#define NET_SESSION_HOLD_H

#include "client_stream.h"
#include "reply_hold.h"

typedef struct outputMark {
    holdSequence seq;
    uint64_t offset;
} outputMark;

/* Post replies to the stream, together with its used-up blocks (takes both); while it moves they are kept. NULL: blocks
 * alone; the stream does not move then. */
void sessionSend(clientStream *s, replyBlock *chain);
/* Take the client's replies and send them when `mark` is reached; NULL: with those that wait already. What it says
 * later comes behind them. */
void sessionHold(client *c, const outputMark *mark);
/* The session ends: nothing that waits is sent. */
void sessionHoldForget(clientStream *s);

#endif
