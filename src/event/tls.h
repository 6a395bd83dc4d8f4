/* tls.h -- connections over TLS, of either side.
 *
 * They are used as all others (connection.h). connAccept() makes the handshake, of a client's, too; all of OpenSSL's
 * work, the keys' included, is done by who calls it, which is the connection's holder.
 *
 * A program without a loop and with a blocking descriptor: connAccept(c, NULL) returns when the handshake has ended,
 * and c->state is CONN_CONNECTED or CONN_ERROR. With a descriptor that does not block it goes on when it is called
 * again, after aeWait(c->fd, c->step, ...), for as long as the state is CONN_CONNECTING.
 *
 * The process ignores SIGPIPE: OpenSSL writes by write(2).
 *
 * Runs on: the holder; creating: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_TLS_H
#define EVENT_TLS_H

#include "connection.h"
#include "sds.h"
#include "tls_context.h"

/* A record holds so much: a piece so large is encrypted from where it lies, smaller ones are gathered. */
#define TLS_RECORD_BYTES 16384

/* Take a non-blocking descriptor that was accepted. State CONN_ACCEPTING. `context` is of TLS_SERVER; the connection
 * holds a reference of its own. */
connection *connCreateAcceptedTls(int fd, tlsContext *context, void *owner);
/* Take a descriptor that is connected, or about to be. State CONN_CONNECTING. `context` is of TLS_CLIENT. `sni` is the
 * name that the server is told it is asked for; NULL: none. */
connection *connCreateTlsClient(int fd, tlsContext *context, const char *sni, void *owner);
/* The names in the certificate that the peer has shown and that was verified, as an sds in which each ends with a zero
 * byte; those with a zero byte of their own, and those longer than 1024 bytes, are left out. NULL: none, or no TLS. */
typedef enum { TLS_NAME_CN, TLS_NAME_URI } tlsNameField;
sds connTlsPeerNames(const connection *c, tlsNameField field);

#endif
