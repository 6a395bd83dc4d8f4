/* session_output_internal.h -- functions that session_output.c, session_hold.c and session_fan.c share, by file.
 *
 * Only files of this room include it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_OUTPUT_INTERNAL_H
#define NET_SESSION_OUTPUT_INTERNAL_H

#include "session_output.h"

/* --- session_hold.c: sends output to its connection, at once or when its offset is safe ------------------------ */
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

/* --- session_fan.c: messages for many clients, on their way to the owner threads and back ---------------------- */
/* Hands over all runs (client/fan_out.h), before other pending output. They are sent when `mark` is reached; NULL:
 * now. */
void sessionFanFlush(const outputMark *mark);
/* Handles a batch that an owner thread has delivered; takes ownership of it. */
void sessionFanned(fanBatch *batch);

#endif
