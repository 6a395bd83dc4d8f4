/* connection.h -- one byte stream to a peer, whatever carries it: TCP, Unix socket, later TLS.
 *
 * A connection belongs to one thread at a time and registers with that thread's loop. TLS fits in as
 * a third connectionType: handshake behind connAccept(), records behind read and writev, and
 * has_pending for data decrypted but not read.
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
    /* Finish the accept (TLS handshake); `done` is called now or later, on the loop's thread. */
    int (*accept)(connection *c, connHandler *done);
    /* As read(2)/writev(2)/sendmsg: -1 with errno EAGAIN when it would block (state stays CONNECTED);
     * 0 from read is end of file and sets CONN_CLOSED; other errors set CONN_ERROR. */
    ssize_t (*read)(connection *c, void *buf, size_t len);
    ssize_t (*writev)(connection *c, const struct iovec *iov, int count);
    void (*finish)(connection *c); /* no more will be written: the peer reads the end behind the last byte */
    /* Bytes that close() might still take back from the peer: accepted by writev, not known to have arrived. NULL
     * where what was written is the peer's. */
    size_t (*unsent)(const connection *c);
    void (*close)(connection *c);       /* frees c */
    bool (*has_pending)(connection *c); /* decrypted data waits although the descriptor is not readable */
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
void connClose(connection *c); /* leaves the loop, closes the descriptor, frees */

#endif
