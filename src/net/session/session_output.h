/* session_output.h -- what sessions send to their streams: replies, used-up blocks, the word to drain and close.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_OUTPUT_H
#define NET_SESSION_OUTPUT_H

#include "client_io.h"
#include "reply_hold.h"

/* Give an executed block back to the stream (takes it), with the next message. */
void sessionReturnBlock(clientIo *s, requestBlock *b);
/* Blocks that no stream waits for: to the pool of the thread that has main's role. */
void sessionDropBlocks(requestBlock *chain);
/* Count now what samples there are in blocks that are to be given back (hotKeysCountHere()). */
void sessionsCountSamples(void);
/* Stop reading and close when all output is written. */
void sessionDrain(client *c);
/* Nothing more comes from the client. A peer that has closed only its half still gets the replies to what it has sent.
 */
void sessionCloseAfterOutput(client *c);
/* Hand all that is pending to the streams: the one point where output leaves main. */
void sessionsFlush(void);
/* Who is asked before output leaves: true when all there is now must wait for `*seq` to reach `*offset`. Boot only. */
void sessionsSetGate(bool (*gate)(holdSequence *seq, uint64_t *offset));
/* Who may have more for clients before output leaves; asked each time, so it looks first. Boot only. */
void sessionsSetFeeder(void (*feed)(void));
/* The session is gone (its client is freed): let the stream go, too. */
void sessionCloseIo(clientIo *s);

#endif
