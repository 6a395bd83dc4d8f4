/* connection.c -- one byte stream to a peer, over TCP or a Unix socket.
 *
 * The loop knows descriptors and masks; a connection knows handlers. onInput() and onWritable() translate: they
 * are the only functions that the loop is given, with the connection as argument.
 *
 * Not here    the table of clients, buffers, limits (client/, net/); TLS, which is a type of its own.
 * Owns        the descriptor, from connCreate... to connClose().
 * Threads     the holder: whoever may call functions on the connection at present; a detached one may be handed over.
 * Invariants  1. Attached: the loop waits for exactly the directions that have a handler. Detached: for none.
 *             2. CONN_CLOSED and CONN_ERROR are final; a peer that has closed its half may still be written to.
 * Cost        read and write: one system call, no bookkeeping on success.
 * Tests       tests/unit/event/connection_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "connection.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IOV_MAX
#define IOV_MAX 1024
#endif

/* ------------------------------------------------------------------------------------------ stream */

/* Whether `result` of a system call is a failure that ends the connection; keeps errno. */
static bool noteFailure(connection *c, ssize_t result) {
    if (likely(result >= 0) || errno == EAGAIN || errno == EWOULDBLOCK) return false;
    c->last_errno = errno;
    if (c->state != CONN_CLOSED) c->state = CONN_ERROR;
    return true;
}

static ssize_t socketRead(connection *c, void *buf, size_t len) {
    ssize_t got;

    do got = read(c->fd, buf, len);
    while (unlikely(got == -1 && errno == EINTR));
    if (unlikely(got == 0 && len > 0)) {
        if (c->state != CONN_ERROR) c->state = CONN_CLOSED;
    } else {
        noteFailure(c, got);
    }
    return got;
}

static ssize_t socketWritev(connection *c, const struct iovec *iov, int count) {
    struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov};
    ssize_t sent;

    msg.msg_iovlen = (size_t)(count < IOV_MAX ? count : IOV_MAX);
    /* One piece needs no list, which saves the kernel a copy of it. */
    do sent = count == 1 ? send(c->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL) : sendmsg(c->fd, &msg, MSG_NOSIGNAL);
    while (unlikely(sent == -1 && errno == EINTR));
    noteFailure(c, sent);
    return sent;
}

static int socketAccept(connection *c, connHandler *done) {
    if (c->state != CONN_ACCEPTING) return C_ERR;
    c->state = CONN_CONNECTED;
    if (done) done(c);
    return C_OK;
}

static void socketFinish(connection *c) {
    shutdown(c->fd, SHUT_WR);
}

static size_t socketUnsent(const connection *c) {
#ifdef TIOCOUTQ
    int bytes = 0;
    if (ioctl(c->fd, TIOCOUTQ, &bytes) == 0 && bytes > 0) return (size_t)bytes;
#else
    unused(c);
#endif
    return 0;
}

static void socketClose(connection *c) {
    if (c->fd != -1) close(c->fd);
    zfree(c);
}

static const connectionType tcp_type = {
    .name = "tcp",
    .accept = socketAccept,
    .read = socketRead,
    .writev = socketWritev,
    .finish = socketFinish,
    .unsent = socketUnsent,
    .close = socketClose,
};

static const connectionType unix_type = {
    .name = "unix",
    .accept = socketAccept,
    .read = socketRead,
    .writev = socketWritev,
    .finish = socketFinish,
    .close = socketClose,
};

static connection *createAccepted(const connectionType *type, int fd, void *owner) {
    connection *c = zcalloc(1, sizeof(*c));

    c->type = type;
    c->fd = fd;
    c->state = CONN_ACCEPTING;
    c->owner = owner;
    return c;
}

connection *connCreateAcceptedSocket(int fd, void *owner) {
    return createAccepted(&tcp_type, fd, owner);
}

connection *connCreateAcceptedUnix(int fd, void *owner) {
    return createAccepted(&unix_type, fd, owner);
}

void connClose(connection *c) {
    connDetach(c);
    c->type->close(c);
}

/* -------------------------------------------------------------------------------------------- loop */

/* The handler may close the connection; nothing of it is touched afterwards. */
static void onInput(aeEventLoop *loop, int fd, void *arg, int mask) {
    connection *c = arg;

    unused(loop);
    unused(fd);
    unused(mask);
    if (likely(c->on_readable != NULL)) c->on_readable(c);
    else c->on_hangup(c);
}

static void onWritable(aeEventLoop *loop, int fd, void *arg, int mask) {
    connection *c = arg;

    unused(loop);
    unused(fd);
    unused(mask);
    c->on_writable(c);
}

static int arm(connection *c, int direction) {
    return aeCreateFileEvent(c->loop, c->fd, direction, direction == AE_WRITABLE ? onWritable : onInput, c);
}

static int inputDirection(const connection *c) {
    return c->on_readable ? AE_READABLE : c->on_hangup ? AE_HANGUP : AE_NONE;
}

int connAttach(connection *c, aeEventLoop *loop) {
    serverAssert(c->loop == NULL);
    c->loop = loop;
    int input = inputDirection(c);
    if ((input == AE_NONE || arm(c, input) == C_OK) && (!c->on_writable || arm(c, AE_WRITABLE) == C_OK)) {
        return C_OK;
    }
    int saved = errno;
    connDetach(c);
    c->last_errno = errno = saved;
    return C_ERR;
}

void connDetach(connection *c) {
    if (!c->loop) return;
    aeDeleteFileEvent(c->loop, c->fd, AE_READABLE | AE_HANGUP | AE_WRITABLE);
    c->loop = NULL;
}

/* From waiting for `before` to waiting for `now`, each one direction or none; C_ERR when the kernel refuses. */
static int rearm(connection *c, int before, int now) {
    if (!c->loop || before == now) return C_OK; /* a handler for another is no matter of the kernel's */
    if (now == AE_NONE) {
        aeDeleteFileEvent(c->loop, c->fd, before);
    } else if (arm(c, now) != C_OK) {
        c->last_errno = errno;
        return C_ERR;
    }
    return C_OK;
}

/* On failure the handlers are as before. */
static int setInput(connection *c, connHandler *readable, connHandler *hangup) {
    if (rearm(c, inputDirection(c), readable ? AE_READABLE : hangup ? AE_HANGUP : AE_NONE) != C_OK) return C_ERR;
    c->on_readable = readable;
    c->on_hangup = hangup;
    return C_OK;
}

int connSetReadHandler(connection *c, connHandler *fn) {
    return setInput(c, fn, NULL);
}

int connSetHangupHandler(connection *c, connHandler *fn) {
    return setInput(c, NULL, fn);
}

int connSetWriteHandler(connection *c, connHandler *fn) {
    if (rearm(c, c->on_writable ? AE_WRITABLE : AE_NONE, fn ? AE_WRITABLE : AE_NONE) != C_OK) return C_ERR;
    c->on_writable = fn;
    return C_OK;
}
