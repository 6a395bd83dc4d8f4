/* conn_wait.c -- blocking functions for a connection, for a thread without a loop.
 *
 * Not here    how long to wait (the caller's connWaiter).
 * Owns        nothing.
 * Threads     the connection's owner thread.
 * Tests       tests/unit/event/conn_wait_test.c, tests/repl/sync.tcl, tests/repl/migrate.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "conn_wait.h"

#include "anet.h"
#include "tls.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Performs the TLS handshake. Returns false with errno on failure. */
static bool waiterEncrypt(connection *c, connWaiter *w, char *err) {
    do {
        connAccept(c, NULL);
        if (c->state == CONN_CONNECTED) return true;
        if (c->state == CONN_CONNECTING && !w->ready(w, c->fd, c->step)) return false;
    } while (c->state == CONN_CONNECTING);
    if (err) snprintf(err, CONN_WAIT_ERR_LEN, "%s", connErrorText(c));
    errno = EPROTO;
    return false;
}

connection *connWaitConnected(int fd, tlsContext *tls, connWaiter *w, void (*connected)(connWaiter *w), char *err) {
    int error = w->ready(w, fd, AE_WRITABLE) ? anetGetError(fd) : errno;
    if (error) {
        close(fd);
        errno = error;
        return NULL;
    }
    if (connected) connected(w);
    anetNoDelay(NULL, fd, true);
    if (!tls) {
        connection *c = connCreateAcceptedSocket(fd, NULL);
        connAccept(c, NULL);
        return c;
    }
    connection *c = connCreateTlsClient(fd, tls, NULL, NULL);
    if (waiterEncrypt(c, w, err)) return c;
    error = errno;
    connClose(c);
    errno = error;
    return NULL;
}

ssize_t connWaitRead(connection *c, void *buf, size_t len, connWaiter *w) {
    for (;;) {
        ssize_t n = connRead(c, buf, len);
        if (n >= 0) return n;
        if (c->state != CONN_CONNECTED) {
            errno = c->last_errno ? c->last_errno : EPROTO;
            return -1;
        }
        if (!w->ready(w, c->fd, c->read_needs_write ? AE_WRITABLE : AE_READABLE)) return -1;
    }
}

bool connWaitWrite(connection *c, slice bytes, connWaiter *w) {
    while (bytes.len > 0) {
        struct iovec iov = {(void *)(uintptr_t)bytes.ptr, bytes.len};
        ssize_t n = connWritev(c, &iov, 1);
        if (n > 0) {
            bytes = sliceOf(bytes.ptr + n, bytes.len - (size_t)n);
            continue;
        }
        if (c->state != CONN_CONNECTED) {
            errno = c->last_errno ? c->last_errno : EPIPE;
            return false;
        }
        if (!w->ready(w, c->fd, c->write_needs_read ? AE_READABLE : AE_WRITABLE)) return false;
    }
    return true;
}
