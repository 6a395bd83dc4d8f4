/* connection.c -- connections over TCP and Unix sockets; the link between connections and the event loop.
 *
 * The loop has descriptors and masks, a connection has handlers. onInput() and onWritable() connect the two: they are
 * the only functions that are registered in the loop, with the connection as argument.
 *
 * Not here    clients, buffers and limits (client/, net/), TLS (tls.c).
 * Owns        the descriptor, from connCreate... to connClose().
 * Threads     the owner thread; a detached connection can be passed to another thread, which then owns it.
 * Invariants  1. The loop of an attached connection waits for exactly the events that eventsNeeded() returns.
 *             2. CONN_CLOSED and CONN_ERROR are final. In CONN_CLOSED, output is still possible.
 * Cost        read and write: one system call, no bookkeeping on success.
 * Tests       tests/unit/event/connection_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "connection_internal.h"
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

/* ------------------------------------------------------------------------------------------ sockets */

/* Returns whether the result of a system call is a failure that ends the connection, and then sets its state. Keeps
 * errno. */
static bool recordFailure(connection *c, ssize_t result) {
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
        recordFailure(c, got);
    }
    return got;
}

static ssize_t socketWritev(connection *c, const struct iovec *iov, int count) {
    struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov};
    ssize_t sent;

    msg.msg_iovlen = (size_t)(count < IOV_MAX ? count : IOV_MAX);
    /* send() of a single piece saves the kernel a copy of the list. */
    do sent = count == 1 ? send(c->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL) : sendmsg(c->fd, &msg, MSG_NOSIGNAL);
    while (unlikely(sent == -1 && errno == EINTR));
    recordFailure(c, sent);
    return sent;
}

static int socketAccept(connection *c, connHandler *done) {
    if (c->state != CONN_ACCEPTING) return C_ERR;
    c->state = CONN_CONNECTED;
    if (done) done(c);
    return C_OK;
}

static void socketFinish(connection *c) { shutdown(c->fd, SHUT_WR); }

size_t connSocketUnsent(const connection *c) {
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
    .unsent = connSocketUnsent,
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

connection *connCreateAcceptedSocket(int fd, void *owner) { return createAccepted(&tcp_type, fd, owner); }
connection *connCreateAcceptedUnix(int fd, void *owner) { return createAccepted(&unix_type, fd, owner); }

const char *connErrorText(const connection *c) {
    const char *text = c->type->error_text ? c->type->error_text(c) : NULL;
    return text ? text : strerror(c->last_errno);
}

void connClose(connection *c) {
    connDetach(c);
    c->type->close(c);
}

/* -------------------------------------------------------------------------------------------- loop */

/* Calls the handler for input. It may close the connection, so nothing of it is used afterwards. */
static void onInput(aeEventLoop *loop, int fd, void *arg, int mask) {
    connection *c = arg;
    unused(loop), unused(fd), unused(mask);
    if (unlikely(c->step)) c->type->go_on(c);
    else if (unlikely(c->write_needs_read) && c->on_writable) c->on_writable(c);
    else if (likely(c->on_readable != NULL)) c->on_readable(c);
    else c->on_hangup(c);
}

static void onWritable(aeEventLoop *loop, int fd, void *arg, int mask) {
    connection *c = arg;
    unused(loop), unused(fd), unused(mask);
    if (unlikely(c->step)) c->type->go_on(c);
    else if (unlikely(c->read_needs_write) && c->on_readable) c->on_readable(c);
    else c->on_writable(c);
}

/* Returns the events for which the loop is to wait. */
static int eventsNeeded(const connection *c) {
    if (unlikely(c->step)) return c->step;
    int input = c->on_readable ? AE_READABLE : c->on_hangup ? AE_HANGUP : AE_NONE;
    int output = c->on_writable ? AE_WRITABLE : AE_NONE;
    if (unlikely(c->write_needs_read) && c->on_writable) input = AE_READABLE;
    if (unlikely(c->read_needs_write) && c->on_readable) output = AE_WRITABLE;
    return input | output;
}

static int addEvent(connection *c, int direction) {
    return aeCreateFileEvent(c->loop, c->fd, direction | AE_REENTRANT, direction == AE_WRITABLE ? onWritable : onInput,
                             c);
}

int connUpdateEvents(connection *c) {
    if (!c->loop) return C_OK;
    int now = eventsNeeded(c), before = c->events;
    if (likely(now == before)) return C_OK; /* replacing a handler by another one needs no system call */
    int input = now & (AE_READABLE | AE_HANGUP), input_before = before & (AE_READABLE | AE_HANGUP);
    if ((input && input != input_before && addEvent(c, input) != C_OK) ||
        (now & ~before & AE_WRITABLE && addEvent(c, AE_WRITABLE) != C_OK)) {
        c->events = aeGetFileEvents(c->loop, c->fd) & (AE_READABLE | AE_HANGUP | AE_WRITABLE);
        c->last_errno = errno;
        return C_ERR;
    }
    int unneeded = before & ~now & (input ? AE_WRITABLE : ~0); /* addEvent() has replaced the old input event */
    if (unneeded) aeDeleteFileEvent(c->loop, c->fd, unneeded);
    c->events = now;
    return C_OK;
}

/* Makes the loop call the read handler for bytes that are not in the socket any more. */
static void raisePending(connection *c) {
    if (c->type->has_pending && c->loop && c->on_readable && !c->step)
        aeRaiseReadable(c->loop, c->fd, c->type->has_pending(c));
}

int connAttach(connection *c, aeEventLoop *loop) {
    serverAssert(c->loop == NULL);
    c->loop = loop;
    c->events = AE_NONE;
    if (connUpdateEvents(c) == C_OK) {
        raisePending(c);
        return C_OK;
    }
    int saved = errno;
    connDetach(c);
    c->last_errno = errno = saved;
    return C_ERR;
}

void connDetach(connection *c) {
    if (!c->loop) return;
    if (c->type->detach) c->type->detach(c);
    aeDeleteFileEvent(c->loop, c->fd, AE_READABLE | AE_HANGUP | AE_WRITABLE);
    c->loop = NULL;
    c->events = AE_NONE;
}

/* Sets both handlers of input. On failure they are unchanged. */
static int setInput(connection *c, connHandler *readable, connHandler *hangup) {
    connHandler *readable_before = c->on_readable, *hangup_before = c->on_hangup;
    c->on_readable = readable;
    c->on_hangup = hangup;
    if (connUpdateEvents(c) == C_OK) {
        raisePending(c);
        return C_OK;
    }
    c->on_readable = readable_before;
    c->on_hangup = hangup_before;
    return C_ERR;
}

int connSetReadHandler(connection *c, connHandler *fn) { return setInput(c, fn, NULL); }
int connSetHangupHandler(connection *c, connHandler *fn) { return setInput(c, NULL, fn); }

int connSetWriteHandler(connection *c, connHandler *fn) {
    connHandler *before = c->on_writable;
    c->on_writable = fn;
    if (connUpdateEvents(c) == C_OK) return C_OK;
    c->on_writable = before;
    return C_ERR;
}
