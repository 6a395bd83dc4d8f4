/* conn_detach.h -- a connection that a command has for itself for a while.
 *
 * Between connDetachNow() and its end no thread reads from it or writes to it but who has borrowed it. What the client
 * is sent meanwhile waits.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CONN_DETACH_H
#define NET_CONN_DETACH_H

#include "client.h"
#include "connection.h"

/* The connection of the client whose command runs. It is attached to no loop. NULL, and nothing has happened: the
 * client has none, or has not been sent all that it was owed before this turn; what is not on its way yet stays. */
connection *connDetachNow(client *c);
/* The loan is over: the stream has a holder again, and what has waited is sent. */
void connReattach(client *c);
/* The loan is over, and another process goes on with the connection (a fork has it, too): the client is closed, and its
 * peer hears nothing of that. */
void connAbandon(client *c);

/* The same without waiting, for a loan that may outlive the client: the stream then stays until it is returned, and is
 * closed behind that. */
struct clientIo;
/* Ask for the connection of a client. NULL: it has none, or is about to be closed. */
struct clientIo *connDetachBegin(client *c);
typedef enum {
    DETACH_PENDING, /* its last holder has not let go of it yet */
    DETACH_DONE,
    DETACH_REFUSED /* it has failed, is closed, or has unsent output: the loan is over */
} detachState;
detachState connDetachPoll(struct clientIo *s, connection **conn);
void connDetachEnd(struct clientIo *s);

#endif
