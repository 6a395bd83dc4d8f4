/* connection.h -- a connection to a peer over TCP, a Unix socket or TLS (tls.h), with the same functions for all.
 *
 * A connection belongs to one thread at a time, its owner thread, and is attached to that thread's loop. If the type
 * has read bytes from the socket that its caller has not read yet (has_pending), the connection counts as readable: the
 * read handler runs in the next iteration of the loop to which the connection is attached then.
 *
 * Runs on: the owner thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_CONNECTION_H
#define EVENT_CONNECTION_H

#include "ae.h"
#include <sys/types.h>
#include <sys/uio.h>

typedef struct connection connection;
typedef void connHandler(connection *c);

typedef enum { CONN_NONE, CONN_CONNECTING, CONN_ACCEPTING, CONN_CONNECTED, CONN_CLOSED, CONN_ERROR } connState;

typedef struct connectionType {
    const char *name; /* "tcp", "unix", "tls" */
    /* Does the work before the first byte (the TLS handshake, on either side) and calls `done`, now or later on the
     * loop's thread, with the state CONNECTED or ERROR. The next owner thread calls it again if the connection has
     * moved meanwhile; a caller without a loop calls it again when the descriptor is ready for `step`. */
    int (*accept)(connection *c, connHandler *done);
    /* Like read(2) and writev(2): -1 with errno EAGAIN if they would block (the state stays CONNECTED). 0 from read is
     * the end of input and sets CONN_CLOSED; other errors set CONN_ERROR. After EAGAIN the next writev must begin with
     * the same bytes, at least as many as before. */
    ssize_t (*read)(connection *c, void *buf, size_t len);
    ssize_t (*writev)(connection *c, const struct iovec *iov, int count);
    void (*finish)(connection *c); /* ends output: the peer reads an end of input after the last byte */
    /* Returns the bytes that writev has accepted and that close() could still discard, because the peer has not
     * acknowledged them. NULL if close() discards none. */
    size_t (*unsent)(const connection *c);
    void (*close)(connection *c);       /* frees c */
    void (*mute)(connection *c);        /* makes close() send nothing to the peer; NULL if it never does */
    bool (*has_pending)(connection *c); /* bytes were read from the socket in advance; or NULL */
    void (*go_on)(connection *c);       /* continues the work of `step`, whose descriptor is ready; or NULL */
    void (*detach)(connection *c);      /* forgets what the thread keeps about it, before it leaves its loop; or NULL */
    /* Returns a line that says why the connection has failed, or NULL if strerror(last_errno) does. May be NULL. */
    const char *(*error_text)(const connection *c);
} connectionType;

struct connection {
    const connectionType *type; /* owner thread: conn_unread.c replaces it for a time */
    /* owner thread */
    int fd; /* owns */
    connState state;
    int last_errno;    /* of the failure in CONN_ERROR */
    aeEventLoop *loop; /* borrowed; NULL while it is detached */
    connHandler *on_readable, *on_writable;
    connHandler *on_hangup; /* not together with on_readable */
    void *owner;            /* borrowed: a pointer for the handlers */
    int events;             /* the events for which the loop waits */
    /* The events for which the type waits itself, such as in a handshake: AE_READABLE, AE_WRITABLE or AE_NONE. While
     * it is not AE_NONE no handler runs. */
    int step;
    bool read_needs_write, write_needs_read; /* the type has to write before it can read, and vice versa (TLS) */
};

/* Creates a connection in the state CONN_ACCEPTING, which owns the non-blocking descriptor. */
connection *connCreateAcceptedSocket(int fd, void *owner);
connection *connCreateAcceptedUnix(int fd, void *owner);

/* Attaches the connection to a loop, which calls its handlers from then on. Returns C_ERR with errno on failure. */
int connAttach(connection *c, aeEventLoop *loop) must_check;
/* Detaches the connection from its loop, if any. The handlers stay set for the next connAttach(). */
void connDetach(connection *c);
/* Sets the function that is called when there are bytes to read, or removes it (NULL). Replaces a hangup handler. Takes
 * effect at once if the connection is attached. Returns C_ERR with errno on failure; then the handlers stay. */
int connSetReadHandler(connection *c, connHandler *fn);
/* Sets the function that is called when the peer has closed its half of the connection, or all of it (AE_HANGUP), for a
 * connection that is not read now. Replaces the read handler. Called in each iteration until it is removed. */
int connSetHangupHandler(connection *c, connHandler *fn);
/* Sets the function that is called when bytes can be written, or removes it. */
int connSetWriteHandler(connection *c, connHandler *fn);

/* The functions of the connection's type, described above. */
static inline int connAccept(connection *c, connHandler *done) { return c->type->accept(c, done); }
static inline ssize_t connRead(connection *c, void *buf, size_t len) { return c->type->read(c, buf, len); }
static inline ssize_t connWritev(connection *c, const struct iovec *iov, int count) {
    return c->type->writev(c, iov, count);
}
static inline void connFinish(connection *c) { c->type->finish(c); }
static inline size_t connUnsent(const connection *c) { return c->type->unsent ? c->type->unsent(c) : 0; }
static inline bool connHasPending(connection *c) { return c->type->has_pending && c->type->has_pending(c); }
/* Returns whether there is a handshake before the first byte, so that connAccept() will not end at once. */
static inline bool connShakesHands(const connection *c) { return c->state == CONN_ACCEPTING && c->type->go_on; }
/* Returns a text that says why the connection has failed. Valid until the next call for the connection. */
const char *connErrorText(const connection *c);
/* Makes connClose() send nothing to the peer, because another process continues with the connection. */
static inline void connMute(connection *c) {
    if (c->type->mute) c->type->mute(c);
}
void connClose(connection *c); /* detaches it, closes the descriptor and frees the connection */

#endif
