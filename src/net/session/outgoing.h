/* outgoing.h -- sessions on connections that this server has opened.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_OUTGOING_H
#define NET_OUTGOING_H

#include "client.h"
#include "connection.h"

/* Creates a session for a connection whose peer sends commands and is trusted: no limits of requests apply. Takes
 * ownership of the connection, which must be attached to no loop. */
client *outgoingAdopt(connection *conn);

#endif
