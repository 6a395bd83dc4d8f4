/* connection.h -- one byte stream to a peer, whatever carries it: TCP, Unix socket, TLS (tls.h).
 *
 * A connection belongs to one thread at a time and registers with that thread's loop. Bytes that a type has taken off
 * the socket and not given out (has_pending) are as good as a readable descriptor: the read handler runs for them with
 * the next turn of whatever loop the connection is attached to then.
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
    /* Finish what comes before the first byte (TLS: the handshake, of either side); `done` is called now or later, on
     * the loop's thread, with the state CONNECTED or ERROR. Called again by the next holder if the connection has moved
     * meanwhile, and by who has no loop when the descriptor is ready for `step`. */
    int (*accept)(connection *c, connHandler *done);
    /* As read(2)/writev(2)/sendmsg: -1 with errno EAGAIN when it would block (state stays CONNECTED);
     * 0 from read is end of file and sets CONN_CLOSED; other errors set CONN_ERROR. After EAGAIN the next writev
     * begins with the same bytes, at least as many as before. */
    ssize_t (*read)(connection *c, void *buf, size_t len);
    ssize_t (*writev)(connection *c, const struct iovec *iov, int count);
    void (*finish)(connection *c); /* no more will be written: the peer reads the end behind the last byte */
    /* Bytes that close() might still take back from the peer: accepted by writev, not known to have arrived. NULL
     * where what was written is the peer's. */
    size_t (*unsent)(const connection *c);
    void (*close)(connection *c);       /* frees c */
    void (*mute)(connection *c);        /* close() will say no farewell; NULL where it says none */
    bool (*has_pending)(connection *c); /* decrypted data waits although the descriptor is not readable */
    void (*go_on)(connection *c);       /* the descriptor is ready for `step` */
    /* Why it has failed, in a line; NULL: strerror(last_errno) says it. */
    const char *(*error_text)(const connection *c);
} connectionType;

struct connection {
    const connectionType *type; /* const */
    int fd;                     /* holder */
    connState state;            /* holder */
    int last_errno;             /* holder */
    aeEventLoop *loop;          /* holder; NULL while it moves between threads */
    connHandler *on_readable, *on_writable;
    connHandler *on_hangup; /* not together with on_readable */
    void *owner;            /* borrowed: whoever set it */
    int armed;              /* holder: what the loop waits for */
    /* Holder: what the type waits for beside its owner. `step`: before all else, the handlers do not run meanwhile. */
    int step; /* AE_READABLE, AE_WRITABLE or AE_NONE */
    bool read_needs_write, write_needs_read;
};

/* Take a non-blocking descriptor. State CONN_ACCEPTING. The connection owns fd. */
connection *connCreateAcceptedSocket(int fd, void *owner);
connection *connCreateAcceptedUnix(int fd, void *owner);

/* Register with a loop / leave it. Handlers stay set and are armed again on the next attach. */
int connAttach(connection *c, aeEventLoop *loop) must_check;
void connDetach(connection *c);
/* Set or clear (NULL) a handler. Effective at once if attached. */
int connSetReadHandler(connection *c, connHandler *fn);
/* Instead of reading: hear of it when the peer has closed its half or the whole (AE_HANGUP). Takes the read handler's
 * place, as that takes its. Runs again with each turn until it is taken off. */
int connSetHangupHandler(connection *c, connHandler *fn);
int connSetWriteHandler(connection *c, connHandler *fn);

static inline int connAccept(connection *c, connHandler *done) {
    return c->type->accept(c, done);
}
static inline ssize_t connRead(connection *c, void *buf, size_t len) {
    return c->type->read(c, buf, len);
}
static inline ssize_t connWritev(connection *c, const struct iovec *iov, int count) {
    return c->type->writev(c, iov, count);
}
static inline void connFinish(connection *c) {
    c->type->finish(c);
}
static inline size_t connUnsent(const connection *c) {
    return c->type->unsent ? c->type->unsent(c) : 0;
}
static inline bool connHasPending(connection *c) {
    return c->type->has_pending && c->type->has_pending(c);
}
/* Before its first byte there is work to do: connAccept() will not be over at once. */
static inline bool connShakesHands(const connection *c) {
    return c->state == CONN_ACCEPTING && c->type->go_on;
}
/* Why the connection has failed. Until the connection's next function. */
const char *connErrorText(const connection *c);
/* Another process goes on with the connection: nothing of what is done here from now on reaches the peer. */
static inline void connMute(connection *c) {
    if (c->type->mute) c->type->mute(c);
}
void connClose(connection *c); /* leaves the loop, closes the descriptor, frees */

#endif
