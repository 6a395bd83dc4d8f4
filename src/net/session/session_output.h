/* session_output.h -- what sessions send to their connections: replies, executed blocks, the order to drain and close.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_OUTPUT_H
#define NET_SESSION_OUTPUT_H

#include "client_io.h"
#include "reply_hold.h"

/* Gives an executed block back to the owner thread with the next message; takes ownership of it. */
void sessionReturnBlock(clientIo *s, requestBlock *b);
/* Tells the owner thread, with the next message, to read ahead what the client sends, because its commands wait for its
 * output (CLIENT_OUTPUT_FULL). */
void sessionReadAhead(clientIo *s);
/* Puts blocks that no connection needs back into the pool of the thread that has the main role. */
void sessionDropBlocks(requestBlock *chain);
/* Counts now the samples in blocks that are to be returned (hotKeysCountHere()). */
void sessionsCountSamples(void);
/* Stops reading from the client and closes it when all its output is written. */
void sessionDrain(client *c);
/* Call when the client sends nothing more: closes it after its output is written. A peer that has closed only its half
 * still gets the replies to what it has sent. */
void sessionCloseAfterOutput(client *c);
/* Hands all pending output to the owner threads. Output leaves main only here. */
void sessionsFlush(void);
/* Sets a function that is called before output leaves; it returns true if all output made so far must wait until `*seq`
 * reaches `*offset`. Call at startup. */
void sessionsSetHold(bool (*check)(holdSequence *seq, uint64_t *offset));
/* Sets a function that may add output before the rest leaves. It is called each time, so it has to be fast if it has
 * none. Call at startup. */
void sessionsSetAppender(void (*append)(void));
/* Closes the connection of a session whose client is freed. */
void sessionCloseIo(clientIo *s);

#endif
