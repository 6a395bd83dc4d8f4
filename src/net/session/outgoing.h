/* outgoing.h -- sessions on connections that this server has made.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_OUTGOING_H
#define NET_OUTGOING_H

#include "client.h"
#include "connection.h"

/* A session for a connection (takes it) whose peer sends commands and is trusted in all: no limit of requests is for
 * it. The connection is attached to no loop. */
client *outgoingAdopt(connection *conn);

#endif
