/* sessions.h -- sessions on connections that this server opened, messages of connections, the end of sessions.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSIONS_H
#define NET_SESSIONS_H

#include "client.h"
#include "connection.h"
#include "messages.h"

/* Creates a session for a connection that this server has opened, and whose peer sends commands and is trusted: no
 * limits of requests apply. Takes ownership of the connection, which must be attached to no loop. For main's own
 * thread. */
client *sessionAdoptOutgoing(connection *conn);
/* Handles a message from a connection (`to_session` of ioThreadHooks). */
void sessionDeliver(const ioMessage *m);
/* Frees the clients that are to be closed. Not while a batch is open. */
void sessionsFreeClosing(void);

#endif
