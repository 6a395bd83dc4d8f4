/* tls_context.h -- what TLS connections are made from: certificate, key, whom to trust, protocols, ciphers.
 *
 * A context does not change. Who wants other options makes another context and lets go of the old one: connections keep
 * the one they began with.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_TLS_CONTEXT_H
#define EVENT_TLS_CONTEXT_H

#include "platform.h"

#include <openssl/ssl.h>

#define TLS_ERR_LEN 512

typedef enum { TLS_SERVER, TLS_CLIENT } tlsRole;

/* What the peer has to show: nothing; a certificate by somebody trusted; the same if it shows one at all. */
typedef enum { TLS_PEER_ANY, TLS_PEER_VERIFIED, TLS_PEER_OPTIONAL } tlsPeerCheck;

/* Texts are borrowed for the call; NULL and "" both mean: not given. */
typedef struct tlsOptions {
    const char *cert_file, *key_file, *key_pass; /* a server needs a pair, a client may have one */
    const char *ca_file, *ca_dir;                /* neither: those of the system, for a client */
    const char *dh_params_file;                  /* PEM; not given: OpenSSL's choice by the size of the key */
    const char *protocols;                       /* "TLSv1.2 TLSv1.3", which is the default */
    const char *ciphers, *ciphersuites;          /* up to TLS 1.2; of TLS 1.3 */
    bool prefer_server_ciphers;
    bool session_caching; /* server: sessions may be taken up again */
    long long session_cache_size, session_cache_timeout_s;
    tlsPeerCheck peer;
    bool kernel; /* let the kernel encrypt, where it and OpenSSL can */
} tlsOptions;

typedef struct tlsContext tlsContext;

/* NULL with a line in `err` (TLS_ERR_LEN bytes) that says which option or file is at fault. Counted for the caller. */
tlsContext *tlsContextCreate(tlsRole role, const tlsOptions *options, char *err);
tlsContext *tlsContextRetain(tlsContext *t);
void tlsContextRelease(tlsContext *t); /* NULL: nothing */

/* Of a certificate, for INFO: serial number in hexadecimal (zmalloc'ed by the context; NULL when there is none), and
 * the end of its validity in seconds since the epoch. */
typedef struct tlsCertInfo {
    char *serial;
    long long expires_s;
} tlsCertInfo;
const tlsCertInfo *tlsContextCert(const tlsContext *t); /* the own one */
const tlsCertInfo *tlsContextCa(const tlsContext *t);   /* the first of ca_file */

/* For tls.c: a session of the context's role. NULL without memory. */
SSL *tlsContextSession(const tlsContext *t);
/* The first entry of the thread's queue of errors in OpenSSL's words, and empty the queue. */
void tlsErrorText(char *out, size_t size);

#endif
