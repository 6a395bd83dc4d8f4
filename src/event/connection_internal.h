/* connection_internal.h -- what the types of connections share.
 *
 * Runs on: the holder.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_CONNECTION_INTERNAL_H
#define EVENT_CONNECTION_INTERNAL_H

#include "connection.h"

/* Let the loop wait for what the handlers, `step` and the `needs` ask for. C_ERR with errno and last_errno when the
 * system refuses. */
int connRearm(connection *c);
/* Bytes of the socket's buffer that the peer has not acknowledged. */
size_t connSocketUnsent(const connection *c);

#endif
