/* conn_wait.h -- a connection used by a thread that waits for it, without a loop.
 *
 * How long, and whether still, the user says: a connWaiter waits until the descriptor is ready for `mask` (AE_READABLE,
 * AE_WRITABLE). False with errno: no more (ETIMEDOUT, ECANCELED ...); then what was asked for ends, with that errno.
 *
 * The connection is of any type, with a descriptor that does not block, and attached to no loop.
 *
 * Runs on: the connection's holder.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_CONN_WAIT_H
#define EVENT_CONN_WAIT_H

#include "connection.h"
#include "slice.h"
#include "tls_context.h"

typedef struct connWaiter connWaiter;
struct connWaiter {
    bool (*ready)(connWaiter *w, int fd, int mask);
};

/* Make a connection of a socket whose connect() is under way (takes fd). `tls` NULL: no encryption. Once TCP is
 * connected `connected`, if not NULL, is called. NULL with errno: the socket is closed. If it is the handshake of TLS
 * that has failed errno is EPROTO, and `err`, if not NULL, gets a line (CONN_WAIT_ERR_LEN) that says why. */
#define CONN_WAIT_ERR_LEN 256
connection *connWaitConnected(int fd, tlsContext *tls, connWaiter *w, void (*connected)(connWaiter *w),
                              char *err) must_check;
/* What there is, waiting for the first byte: its length; 0 at the end; -1 with errno. */
ssize_t connWaitRead(connection *c, void *buf, size_t len, connWaiter *w);
/* All of it, or false with errno. */
bool connWaitWrite(connection *c, slice bytes, connWaiter *w) must_check;

#endif
