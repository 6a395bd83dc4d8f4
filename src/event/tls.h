/* tls.h -- connections over TLS, for servers and clients.
 *
 * They are used like all others (connection.h). connAccept() performs the handshake, on the client's side as well; all
 * work of OpenSSL, computations with keys included, is done on the calling thread, the connection's owner thread.
 *
 * Without a loop: with a blocking descriptor connAccept(c, NULL) returns when the handshake has ended, and c->state is
 * CONN_CONNECTED or CONN_ERROR. With a non-blocking descriptor the caller repeats it, after aeWait(c->fd, c->step,
 * ...), as long as the state is CONN_CONNECTING.
 *
 * The process must ignore SIGPIPE, because OpenSSL writes with write(2).
 *
 * Runs on: the owner thread; functions that create a connection, any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_TLS_H
#define EVENT_TLS_H

#include "connection.h"
#include "sds.h"
#include "tls_context.h"

#include <stdatomic.h>

/* Limits of handshakes on accepted connections. Atomic, relaxed: main stores them, owner threads read them. */
typedef struct tlsHandshakeLimits {
    _Atomic long long max_wait_ms;   /* a peer that waits longer for the first step is dropped; 0: no limit */
    _Atomic long long per_iteration; /* handshakes that a thread begins in one iteration of its loop */
} tlsHandshakeLimits;
extern tlsHandshakeLimits tls_handshake_limits;

/* Counts of handshakes on accepted connections. Atomic, relaxed: any thread counts, main shows them. */
typedef struct tlsHandshakeStats {
    _Atomic uint64_t begun, completed, resumed;
    _Atomic uint64_t gone, late; /* dropped before they were begun: the peer had closed; it had waited too long */
    _Atomic uint64_t waiting;    /* now */
} tlsHandshakeStats;
extern tlsHandshakeStats tls_handshake_stats;

/* The largest record. A piece of output of this size is encrypted in place; smaller ones are copied together first. */
#define TLS_RECORD_BYTES 16384

/* Creates a connection in the state CONN_ACCEPTING, which owns the non-blocking descriptor. `context` must be for
 * TLS_SERVER; the connection takes a reference of its own. */
connection *connCreateAcceptedTls(int fd, tlsContext *context, void *owner);
/* Creates a connection in the state CONN_CONNECTING, which owns the descriptor, connected or not yet. `context` must be
 * for TLS_CLIENT. `sni` is the server name that the handshake sends; NULL for none. */
connection *connCreateTlsClient(int fd, tlsContext *context, const char *sni, void *owner);
/* Returns whether the handshake of a connection in CONN_ERROR was dropped before it was begun. */
bool connTlsWasDropped(const connection *c);
typedef enum { TLS_NAME_CN, TLS_NAME_URI } tlsNameField;
/* Returns the names in the peer's verified certificate: the common name or the URIs, as an sds in which a zero byte
 * ends each name. Skips names that contain a zero byte or are longer than 1024 bytes. Returns NULL if there are none,
 * or the connection has no TLS. */
sds connTlsPeerNames(const connection *c, tlsNameField field);

#endif
