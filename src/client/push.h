/* push.h -- messages that a client has not asked for at this moment: what was published, what a cache must forget.
 *
 * They may come at any time, and never between the parts of a reply: while a command of the client runs they wait, and
 * follow its reply when it has ended, that of EXEC for a whole transaction. They come although replies are off.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_PUSH_H
#define CLIENT_PUSH_H

#include "client.h"

/* What is added from pushBegin() to pushEnd() is one message or several, in whole. No deferred length in between, no
 * other client's pushes either, and pairs do not nest. */
void pushBegin(client *c);
void pushEnd(client *c);
/* The command has ended (CLIENT_PUSHES_HELD is set, which upper layers do for messages that they have not made yet). */
void pushesRelease(client *c);

#endif
