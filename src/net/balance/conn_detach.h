/* conn_detach.h -- detached connections: a job has a client's connection for itself for a while.
 *
 * From the detach to its end no thread reads from the connection or writes to it except the job's. Output for the
 * client waits meanwhile.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CONN_DETACH_H
#define NET_CONN_DETACH_H

#include "client.h"
#include "connection.h"

/* Detaches the connection of the client whose command runs, and waits until that is done; no loop has it then. Returns
 * NULL, with nothing changed, if the client has no connection or it has ended, or if output of earlier iterations is
 * not written yet. Output of this iteration waits. */
connection *connDetachNow(client *c);
/* Ends a detach: the connection gets an owner thread again, and the output that waited is sent. */
void connReattach(client *c);
/* Ends a detach if another process continues with the connection (a fork has it, too): closes the client without
 * sending its peer anything. */
void connAbandon(client *c);

/* The same without waiting, for a detach that may outlive the client: then the connection stays until connDetachEnd(),
 * and is closed after that. */
struct clientIo;
/* Begins to detach the client's connection. Returns NULL if it has none or is being closed. */
struct clientIo *connDetachBegin(client *c);
typedef enum {
    DETACH_PENDING, /* its last owner thread has not detached it yet */
    DETACH_DONE,
    DETACH_REFUSED /* it has failed, is closed, or has unsent output: the detach has ended */
} detachState;
/* Returns how far the detach is; with DETACH_DONE, *conn is the connection, attached to no loop. */
detachState connDetachPoll(struct clientIo *s, connection **conn);
/* Ends the detach, like connReattach(). */
void connDetachEnd(struct clientIo *s);

#endif
