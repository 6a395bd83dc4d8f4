/* conn_wait.h -- blocking functions for a connection, for a thread without a loop.
 *
 * They wait by a function of the caller, which decides for how long.
 *
 * The connection may be of any type; its descriptor must be non-blocking, and it must be detached.
 *
 * Runs on: the connection's owner thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_CONN_WAIT_H
#define EVENT_CONN_WAIT_H

#include "connection.h"
#include "slice.h"
#include "tls_context.h"

typedef struct connWaiter connWaiter;
struct connWaiter {
    /* Waits until the descriptor is ready for `mask` (AE_READABLE, AE_WRITABLE) and returns true. Returns false with
     * errno (ETIMEDOUT, ECANCELED ...) to end the wait: then the function that waits fails with that errno. */
    bool (*ready)(connWaiter *w, int fd, int mask);
};

#define CONN_WAIT_ERR_LEN 256
/* Creates a connection from a socket whose connect() is in progress (takes ownership of fd), over TLS unless `tls` is
 * NULL. Calls `connected`, if not NULL, when TCP is connected. On failure closes the socket and returns NULL with
 * errno. If the TLS handshake has failed, errno is EPROTO, and a line that says why is written to `err`
 * (CONN_WAIT_ERR_LEN bytes, may be NULL). */
connection *connWaitConnected(int fd, tlsContext *tls, connWaiter *w, void (*connected)(connWaiter *w),
                              char *err) must_check;
/* Waits for bytes and reads up to `len` of them. Returns their number, 0 at the end of input, or -1 with errno. */
ssize_t connWaitRead(connection *c, void *buf, size_t len, connWaiter *w);
/* Writes all bytes. Returns false with errno on failure. */
bool connWaitWrite(connection *c, slice bytes, connWaiter *w) must_check;

#endif
