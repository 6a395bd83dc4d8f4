/* tls.c -- connections over TLS, with OpenSSL.
 *
 *     CONNECTING, ACCEPTING --handshake--> CONNECTED --close_notify of the peer--> CLOSED
 *                 |                            |
 *                 +-----------> ERROR <--------+
 *
 * Reading. OpenSSL reads from the socket up to a whole record, of which the caller may have requested only a part. The
 * socket is not readable for the rest. `unread` is true if bytes may be left; then aeRaiseReadable() makes the loop
 * call the read handler again.
 *
 * Writing. One SSL_write_ex() makes one record of any size, and one system call. So pieces that are smaller than a
 * record are copied together, and pieces as large as a record are encrypted in place. If the socket is full OpenSSL
 * keeps the record, and the next call must pass the same bytes, as many as before (`retry_len`).
 *
 * A handshake costs a thousand times as much as a request, nearly all of it in the step after the ClientHello. So in
 * one iteration a thread begins a few handshakes and does at most HANDSHAKE_STEPS_PER_ITERATION further steps, and
 * then serves its other connections. (With I/O threads, a thread of its own performs all handshakes:
 * net/balance/rebalance.c.) The others wait in a queue, without an SSL object, and the loop waits only for their end.
 * A handshake is not begun if its peer has closed the connection, nor, if many wait, if its peer has waited for longer
 * than the limit.
 *
 * Not here    which handshake is next (handshake_queue.c), certificates and options (tls_context.c), timeouts
 *             (net/io/client_io.c).
 * Owns        the SSL object; a reference to the context.
 * Threads     the owner thread only: an SSL object has no lock.
 * Invariants  1. The thread's error queue of OpenSSL is empty before each call, so that all entries after it are from
 *                this call.
 *             2. `step` is set exactly while the handshake, or close_notify after the last byte, waits for the socket.
 *             3. After an error OpenSSL is not called again.
 *             4. A connection that waits for its turn is attached to a loop of this thread, with AE_HANGUP as `step`.
 * Cost        writing copies bytes of pieces that are smaller than a record.
 * Tests       tests/unit/event/tls_test.c, tests/server/tls.tcl, tls_protocol.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tls.h"

#include "anet.h"
#include "clock.h"
#include "connection_internal.h"
#include "handshake_queue.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE_STEPS_PER_ITERATION 4
#define DROPS_PER_ITERATION 64 /* of each kind: each is some microseconds of main, for closing a client */
#define NAME_MAX_BYTES 1024

typedef struct tlsConnection {
    connection base;        /* first, so that a pointer to it can be cast to tlsConnection */
    SSL *ssl;               /* owns; NULL before the handshake */
    tlsContext *context;    /* counted */
    char *sni;              /* owns; NULL without one */
    connHandler *done;      /* called at the end of the handshake */
    handshakeWait wait;     /* in the thread's queue, from the first bytes of the peer to the first step */
    size_t retry_len;       /* bytes of the record that the socket did not accept; 0 without one */
    bool unread;            /* more bytes may follow those that were read last */
    bool close_notify_done; /* close_notify was sent, or is not to be sent */
    bool broken;            /* after an error: OpenSSL must not be called again */
    bool begun, dropped;    /* the handshake was begun, or was dropped before that */
    int end;                /* READ_END or READ_ERROR if the next read is to report that; else READ_ON */
    char error[TLS_ERR_LEN];
} tlsConnection;

tlsHandshakeLimits tls_handshake_limits = {.max_wait_ms = 2000, .per_iteration = 1};
tlsHandshakeStats tls_handshake_stats;

enum { READ_ON, READ_END, READ_ERROR };

static tlsConnection *tlsOf(connection *c) { return (tlsConnection *)c; }

/* Stores an errno and OpenSSL's text, unless there was an error before. */
static void noteError(tlsConnection *t, int number) {
    if (!t->error[0]) tlsErrorText(t->error, sizeof(t->error));
    ERR_clear_error();
    if (!t->broken) t->base.last_errno = number;
    t->broken = true;
}

/* Sets the state to CONN_ERROR, with `number` as errno. */
static void setError(tlsConnection *t, int number) {
    noteError(t, number);
    t->base.step = AE_NONE;
    if (t->base.state != CONN_CLOSED) t->base.state = CONN_ERROR;
}

/* Returns OpenSSL's reason for a failed call. Sets *number to the errno of a failed system call, else EPROTO. */
static int failureReason(tlsConnection *t, int result, int *number) {
    int saved = errno;
    int why = SSL_get_error(t->ssl, result);
    *number = EPROTO;
    if (why == SSL_ERROR_SYSCALL) {
        *number = saved ? saved : ECONNRESET;
        if (ERR_peek_error() == 0) snprintf(t->error, sizeof(t->error), "%s", strerror(*number));
    }
    return why;
}

/* ---- Handshake --------------------------------------------------------------------------------------------------- */

static void endHandshake(tlsConnection *t) {
    connHandler *done = t->done;
    t->done = NULL;
    if (connUpdateEvents(&t->base) == C_ERR) setError(t, errno);
    if (done) done(&t->base);
}

/* Ends the handshake in CONN_ERROR, with `number` as errno. */
static void failHandshake(tlsConnection *t, int number) {
    setError(t, number);
    endHandshake(t);
}

/* Ends a handshake that OpenSSL has refused, with its reason. */
static void refuseHandshake(tlsConnection *t, int number) {
    long verified = SSL_get_verify_result(t->ssl);
    char why[256];
    tlsErrorText(why, sizeof(why));
    if (!t->error[0] && verified != X509_V_OK)
        snprintf(t->error, sizeof(t->error), "%s (%s)", why, X509_verify_cert_error_string(verified));
    else if (!t->error[0]) snprintf(t->error, sizeof(t->error), "%s", why);
    failHandshake(t, number);
}

static void count(_Atomic uint64_t *counter) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

static void handshake(tlsConnection *t) {
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(t->ssl), number, why;
    if (result == 1) {
        t->base.step = AE_NONE;
        t->base.state = CONN_CONNECTED;
        t->unread = SSL_has_pending(t->ssl); /* the first request may have arrived with the handshake */
        if (SSL_is_server(t->ssl)) count(&tls_handshake_stats.completed);
        if (SSL_is_server(t->ssl) && SSL_session_reused(t->ssl)) count(&tls_handshake_stats.resumed);
        endHandshake(t);
        return;
    }
    why = failureReason(t, result, &number);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
        refuseHandshake(t, number);
        return;
    }
    t->base.step = why == SSL_ERROR_WANT_READ ? AE_READABLE : AE_WRITABLE;
    if (connUpdateEvents(&t->base) == C_ERR) failHandshake(t, errno);
}

static bool makeSession(tlsConnection *t) {
    t->ssl = tlsContextSession(t->context);
    if (!t->ssl || SSL_set_fd(t->ssl, t->base.fd) != 1) return false;
    return !t->sni || SSL_set_tlsext_host_name(t->ssl, t->sni) == 1;
}

static void beginHandshake(tlsConnection *t) {
    t->begun = true;
    if (t->base.state == CONN_ACCEPTING) count(&tls_handshake_stats.begun);
    if (makeSession(t)) handshake(t);
    else failHandshake(t, ENOMEM);
}

static int tlsAccept(connection *c, connHandler *done) {
    tlsConnection *t = tlsOf(c);
    if (c->state != CONN_ACCEPTING && c->state != CONN_CONNECTING) return C_ERR;
    t->done = done;
    if (c->loop && c->state == CONN_ACCEPTING) {
        /* The loop calls tlsGoOn(), which limits the steps of an iteration. */
        c->step = c->step ? c->step : AE_READABLE;
        if (connUpdateEvents(c) == C_ERR) failHandshake(t, errno);
    } else if (t->begun) {
        handshake(t);
    } else {
        beginHandshake(t);
    }
    return C_OK;
}

/* ---- Whose turn it is -------------------------------------------------------------------------------------------- */

static _Thread_local handshakeQueue greeting; /* handshakes on connections of this thread that were not begun yet */

static tlsConnection *waitingOf(handshakeWait *w) {
    return (tlsConnection *)(void *)((char *)w - offsetof(tlsConnection, wait));
}

static void stopWaiting(tlsConnection *t) {
    if (!t->wait.waits) return;
    handshakeQueueRemove(&greeting, &t->wait);
    atomic_fetch_sub_explicit(&tls_handshake_stats.waiting, 1, memory_order_relaxed);
    t->base.step = AE_READABLE;
}

/* Ends a handshake that was not begun. */
static void dropHandshake(tlsConnection *t, _Atomic uint64_t *counter, const char *why) {
    stopWaiting(t);
    count(counter);
    t->dropped = true;
    snprintf(t->error, sizeof(t->error), "%s", why);
    failHandshake(t, ECONNABORTED);
}

static uint64_t maxWaitMs(void) {
    return (uint64_t)atomic_load_explicit(&tls_handshake_limits.max_wait_ms, memory_order_relaxed);
}

/* Returns whether the peer of a handshake that was not begun is still there. If not, ends the handshake. */
static bool isWanted(tlsConnection *t) {
    if (!anetPeerHasClosed(t->base.fd)) return true;
    dropHandshake(t, &tls_handshake_stats.gone, "the peer has closed the connection before its turn");
    return false;
}

static bool mayBegin(const aeEventLoop *loop) {
    long long most = atomic_load_explicit(&tls_handshake_limits.per_iteration, memory_order_relaxed);
    return handshakeQueueMayBegin(&greeting, aeIteration(loop), most);
}

static void takeTurn(tlsConnection *t) {
    handshakeQueueBegun(&greeting);
    beginHandshake(t);
}

static void dropLate(void) {
    uint64_t now_ms = clockMonotonicMs(), limit_ms = maxWaitMs();
    handshakeWait *w;
    for (int i = 0; i < DROPS_PER_ITERATION && (w = handshakeQueueLate(&greeting, now_ms, limit_ms)) != NULL; i++)
        dropHandshake(waitingOf(w), &tls_handshake_stats.late,
                      "the peer has waited longer than tls-handshake-max-wait");
}

/* Runs in each iteration after the other connections were served, as long as handshakes wait. */
static void greetWaiting(aeEventLoop *loop, void *arg) {
    unused(arg);
    handshakeWait *w;
    if (handshakeQueueIsCrowded(&greeting)) dropLate();
    for (int i = 0; i < DROPS_PER_ITERATION && mayBegin(loop) && (w = handshakeQueueNext(&greeting)) != NULL; i++) {
        tlsConnection *t = waitingOf(w);
        if (!isWanted(t)) continue;
        stopWaiting(t);
        takeTurn(t);
    }
    if (greeting.count) aeDontWait(loop);
    else aeSetAfterAll(loop, NULL, NULL);
}

static void waitForTurn(tlsConnection *t, uint64_t since_ms) {
    handshakeQueueAdd(&greeting, &t->wait, since_ms);
    count(&tls_handshake_stats.waiting);
    t->base.step = AE_HANGUP;
    aeSetAfterAll(t->base.loop, greetWaiting, NULL);
    if (connUpdateEvents(&t->base) == C_OK) return;
    stopWaiting(t);
    failHandshake(t, errno);
}

/* The peer of a connection whose handshake was not begun has sent its first bytes, or has closed. */
static void helloArrived(tlsConnection *t) {
    uint64_t now_ms = clockMonotonicMs(), age_ms = anetLastInputMs(t->base.fd);
    uint64_t since_ms = now_ms > age_ms ? now_ms - age_ms : 0;
    if (!isWanted(t) || t->wait.waits) return;
    bool at_once = !greeting.count && !handshakeIsLate(since_ms, now_ms, maxWaitMs()) && mayBegin(t->base.loop);
    if (at_once) takeTurn(t);
    else waitForTurn(t, since_ms); /* a late one may be one of many */
}

static void tlsDetach(connection *c) { stopWaiting(tlsOf(c)); }

/* Returns whether this iteration of the thread's loop may do one more step of a handshake. If not, the loop, which is
 * level-triggered, calls again in the next one. */
static bool mayStep(const aeEventLoop *loop) {
    static _Thread_local struct {
        uint64_t iteration;
        int steps;
    } taken;
    if (!loop) return true;
    if (taken.iteration != aeIteration(loop)) {
        taken.iteration = aeIteration(loop);
        taken.steps = 0;
    }
    return taken.steps++ < HANDSHAKE_STEPS_PER_ITERATION;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* Sends close_notify, if that is possible and was not done. Returns false if the socket does not accept it now. */
static bool sendCloseNotify(tlsConnection *t) {
    if (t->close_notify_done || !t->ssl || t->broken || t->retry_len || !SSL_is_init_finished(t->ssl)) return true;
    ERR_clear_error();
    errno = 0;
    int result = SSL_shutdown(t->ssl), number;
    bool later = result < 0 && failureReason(t, result, &number) == SSL_ERROR_WANT_WRITE;
    ERR_clear_error();
    t->close_notify_done = !later;
    return !later;
}

static void tlsFinish(connection *c) {
    tlsConnection *t = tlsOf(c);
    bool sent = sendCloseNotify(t);
    c->step = sent ? AE_NONE : AE_WRITABLE;
    if (sent) shutdown(c->fd, SHUT_WR);
    connUpdateEvents(c);
}

static void tlsGoOn(connection *c) {
    if (c->state == CONN_CONNECTED || c->state == CONN_CLOSED) tlsFinish(c);
    else if (!tlsOf(c)->begun) helloArrived(tlsOf(c));
    else if (mayStep(c->loop)) handshake(tlsOf(c));
}

static void tlsMute(connection *c) { tlsOf(c)->close_notify_done = true; }

static void tlsClose(connection *c) {
    tlsConnection *t = tlsOf(c);
    if (c->state == CONN_CONNECTED || c->state == CONN_CLOSED) sendCloseNotify(t);
    SSL_free(t->ssl);
    if (c->fd != -1) close(c->fd);
    tlsContextRelease(t->context);
    zfree(t->sni);
    zfree(t);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Records why SSL_read_ex() has returned no bytes. */
static void readFailed(tlsConnection *t, int result) {
    int number;
    t->unread = false;
    switch (failureReason(t, result, &number)) {
    case SSL_ERROR_WANT_READ: return;
    case SSL_ERROR_WANT_WRITE: t->base.read_needs_write = true; return;
    case SSL_ERROR_ZERO_RETURN: t->end = READ_END; break;
    default:
        t->end = READ_ERROR;
        noteError(t, number);
        break;
    }
}

/* Returns the result of a read that has no bytes: 0 at the end of input, or -1 with errno. */
static ssize_t readNothing(tlsConnection *t) {
    connection *c = &t->base;
    if (t->end == READ_END) {
        if (c->state != CONN_ERROR) c->state = CONN_CLOSED;
        return 0;
    }
    if (t->end == READ_ERROR) {
        setError(t, c->last_errno);
        errno = c->last_errno;
        return -1;
    }
    errno = EAGAIN;
    return -1;
}

static ssize_t tlsRead(connection *c, void *buf, size_t len) {
    tlsConnection *t = tlsOf(c);
    size_t got = 0, n;
    if (len == 0) return 0;
    if (unlikely(t->broken && t->end == READ_ON)) { /* a write has failed */
        errno = c->last_errno;
        return -1;
    }
    if (unlikely(!t->ssl || c->step)) {
        errno = EAGAIN;
        return -1;
    }
    bool needed_write = c->read_needs_write;
    c->read_needs_write = false;
    while (got < len && t->end == READ_ON) {
        ERR_clear_error();
        errno = 0;
        int result = SSL_read_ex(t->ssl, (char *)buf + got, len - got, &n);
        if (result != 1) {
            readFailed(t, result);
            break;
        }
        got += n;
        t->unread = SSL_has_pending(t->ssl); /* true also for a part of a record, which the next call finds out */
        if (!t->unread) break;
    }
    if (unlikely(needed_write || c->read_needs_write)) connUpdateEvents(c);
    if (c->loop && c->on_readable) aeRaiseReadable(c->loop, c->fd, t->unread || (got && t->end != READ_ON));
    return got ? (ssize_t)got : readNothing(t);
}

static bool tlsHasPending(connection *c) {
    const tlsConnection *t = tlsOf(c);
    return t->unread || (t->end != READ_ON && c->state == CONN_CONNECTED);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* A position in the pieces of output. */
typedef struct piecePosition {
    const struct iovec *iov;
    int left;      /* pieces from here on, this one included */
    size_t offset; /* in this piece */
} piecePosition;

/* Moves the position by `n` bytes, and past pieces that end there. */
static void tlsAdvance(piecePosition *at, size_t n) {
    while (at->left > 0 && n >= at->iov->iov_len - at->offset) {
        n -= at->iov->iov_len - at->offset;
        at->iov++;
        at->left--;
        at->offset = 0;
    }
    at->offset += n;
}

/* Returns up to `want` bytes as one piece: in place, or copied to `scratch`. Sets *len to their number. */
static const char *nextRecord(piecePosition at, size_t want, char *scratch, size_t *len) {
    const char *here = (const char *)at.iov->iov_base + at.offset;
    *len = at.iov->iov_len - at.offset;
    if (*len >= want || at.left == 1) {
        if (*len > want) *len = want;
        return here;
    }
    size_t n = 0;
    while (at.left > 0 && n < want) {
        size_t left_of_record = want - n, have = at.iov->iov_len - at.offset;
        size_t take = have < left_of_record ? have : left_of_record;
        memcpy(scratch + n, (const char *)at.iov->iov_base + at.offset, take);
        n += take;
        tlsAdvance(&at, take);
    }
    *len = n;
    return scratch;
}

/* Encrypts and sends one record. Returns the number of bytes in it, 0 if the socket is full, or -1 on error. */
static ssize_t writeRecord(tlsConnection *t, const char *bytes, size_t len) {
    connection *c = &t->base;
    size_t written = 0;
    int number;
    ERR_clear_error();
    errno = 0;
    int result = SSL_write_ex(t->ssl, bytes, len, &written);
    if (likely(result == 1)) {
        t->retry_len = 0;
        return (ssize_t)written;
    }
    switch (failureReason(t, result, &number)) {
    case SSL_ERROR_WANT_READ: c->write_needs_read = true; /* fall through */
    case SSL_ERROR_WANT_WRITE: t->retry_len = len; return 0;
    default: setError(t, number); return -1;
    }
}

static ssize_t tlsWritev(connection *c, const struct iovec *iov, int count) {
    static _Thread_local char scratch[TLS_RECORD_BYTES];
    tlsConnection *t = tlsOf(c);
    piecePosition at = {.iov = iov, .left = count};
    ssize_t total = 0, n = 0;
    if (unlikely(!t->ssl || c->step || t->broken)) {
        errno = t->broken ? c->last_errno : EAGAIN;
        return -1;
    }
    bool needed_read = c->write_needs_read;
    c->write_needs_read = false;
    tlsAdvance(&at, 0); /* skips empty pieces */
    while (at.left > 0) {
        size_t len, want = t->retry_len ? t->retry_len : TLS_RECORD_BYTES;
        const char *bytes = nextRecord(at, want, scratch, &len);
        serverAssert(!t->retry_len || len == t->retry_len);
        n = writeRecord(t, bytes, len);
        if (n <= 0) break;
        total += n;
        tlsAdvance(&at, (size_t)n);
    }
    if (unlikely(needed_read || c->write_needs_read)) connUpdateEvents(c);
    if (total || at.left == 0) return total;
    errno = n < 0 ? c->last_errno : EAGAIN;
    return -1;
}

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

static const char *tlsErrorOf(const connection *c) {
    const tlsConnection *t = (const tlsConnection *)c;
    return t->error[0] ? t->error : NULL;
}

static const connectionType tls_type = {
    .name = "tls",
    .accept = tlsAccept,
    .read = tlsRead,
    .writev = tlsWritev,
    .finish = tlsFinish,
    .unsent = connSocketUnsent,
    .mute = tlsMute,
    .close = tlsClose,
    .has_pending = tlsHasPending,
    .go_on = tlsGoOn,
    .detach = tlsDetach,
    .error_text = tlsErrorOf,
};

bool connTlsWasDropped(const connection *c) { return c->type == &tls_type && ((const tlsConnection *)c)->dropped; }

static connection *tlsCreate(int fd, tlsContext *context, connState state, void *owner) {
    tlsConnection *t = zcalloc(1, sizeof(*t));
    t->base.type = &tls_type;
    t->base.fd = fd;
    t->base.state = state;
    t->base.owner = owner;
    t->context = tlsContextRetain(context);
    return &t->base;
}

connection *connCreateAcceptedTls(int fd, tlsContext *context, void *owner) {
    return tlsCreate(fd, context, CONN_ACCEPTING, owner);
}

connection *connCreateTlsClient(int fd, tlsContext *context, const char *sni, void *owner) {
    connection *c = tlsCreate(fd, context, CONN_CONNECTING, owner);
    if (sni) tlsOf(c)->sni = zstrdup(sni);
    return c;
}

/* ---- The peer's names -------------------------------------------------------------------------------------------- */

static sds addName(sds names, const unsigned char *text, int len) {
    if (!text || len <= 0 || len > NAME_MAX_BYTES || memchr(text, 0, (size_t)len)) return names;
    if (!names) names = sdsEmpty();
    names = sdsCatLen(names, (const char *)text, (size_t)len);
    return sdsCatLen(names, "", 1);
}

/* Returns the last common name, which is the most specific one. */
static sds commonName(const X509 *x) {
    X509_NAME *subject = X509_get_subject_name(x);
    int at = -1, last = -1;
    while ((at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0) last = at;
    if (last < 0) return NULL;
    unsigned char *utf8 = NULL;
    int len = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
    sds names = addName(NULL, utf8, len);
    OPENSSL_free(utf8);
    return names;
}

static sds uris(const X509 *x) {
    sds names = NULL;
    GENERAL_NAMES *alternatives = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); i++) {
        int type;
        const ASN1_STRING *text = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(alternatives, i), &type);
        if (type == GEN_URI) names = addName(names, ASN1_STRING_get0_data(text), ASN1_STRING_length(text));
    }
    GENERAL_NAMES_free(alternatives);
    return names;
}

sds connTlsPeerNames(const connection *c, tlsNameField field) {
    const tlsConnection *t = (const tlsConnection *)c;
    if (c->type != &tls_type || !t->ssl || SSL_get_verify_result(t->ssl) != X509_V_OK) return NULL;
    const X509 *x = SSL_get0_peer_certificate(t->ssl);
    if (!x) return NULL;
    sds names = field == TLS_NAME_CN ? commonName(x) : uris(x);
    ERR_clear_error();
    return names;
}
