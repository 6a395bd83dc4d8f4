/* connection_internal.h -- functions that the types of connections share.
 *
 * Runs on: the owner thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_CONNECTION_INTERNAL_H
#define EVENT_CONNECTION_INTERNAL_H

#include "connection.h"

/* Makes the loop wait for the events that the handlers, `step`, read_needs_write and write_needs_read require. Call
 * after a change of these. Returns C_ERR with errno, which it stores in last_errno, if the system refuses. */
int connUpdateEvents(connection *c);
/* Returns the bytes in the socket's buffer that the peer has not acknowledged. */
size_t connSocketUnsent(const connection *c);

#endif
