/* push.h -- push messages, which are not part of a reply: published messages, invalidations of a client's cache.
 *
 * A message may arrive at any time, but never between the parts of a reply: while a command of the client runs the
 * message is held, and it follows the reply of that command (within a transaction, the reply of EXEC). Messages are
 * sent even if replies are off.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_PUSH_H
#define CLIENT_PUSH_H

#include "client.h"

/* Enclose the addition of one or more complete messages. In between no deferred length may be opened and no push for
 * another client begun; pairs do not nest. */
void pushBegin(client *c);
void pushEnd(client *c);
/* Appends the held messages to the replies. Call when a command has ended, if CLIENT_PUSHES_HELD is set (upper layers
 * also set it for messages that they have not made yet). */
void pushesRelease(client *c);

#endif
