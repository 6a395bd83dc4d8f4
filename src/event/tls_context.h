/* tls_context.h -- the options of TLS connections: certificate, key, trusted authorities, protocols, ciphers.
 *
 * A context does not change. To change options, the caller creates another context and releases the old one; existing
 * connections keep theirs.
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

/* The certificate that the peer must present: none; one that a trusted authority has signed; the same, or none. */
typedef enum { TLS_PEER_ANY, TLS_PEER_VERIFIED, TLS_PEER_OPTIONAL } tlsPeerCheck;

/* Strings are borrowed for the call; NULL and "" both mean that the option is absent. */
typedef struct tlsOptions {
    const char *cert_file, *key_file, *key_pass; /* a server needs certificate and key, a client may have them */
    const char *ca_file, *ca_dir;                /* if both are absent, a client uses those of the system */
    const char *dh_params_file;                  /* PEM; if absent, OpenSSL chooses by the size of the key */
    const char *protocols;                       /* "TLSv1.2 TLSv1.3" is the default */
    const char *ciphers, *ciphersuites;          /* for TLS 1.2 and older; for TLS 1.3 */
    bool prefer_server_ciphers;
    bool session_caching; /* server: clients may resume sessions */
    long long session_cache_size, session_cache_timeout_s;
    tlsPeerCheck peer;
    bool kernel; /* the kernel encrypts, if it and OpenSSL support that */
} tlsOptions;

typedef struct tlsContext tlsContext;

/* Creates a context, with a reference for the caller. On failure returns NULL and writes a line that names the wrong
 * option or file to `err` (TLS_ERR_LEN bytes). */
tlsContext *tlsContextCreate(tlsRole role, const tlsOptions *options, char *err);
/* Takes another reference, and returns the context. */
tlsContext *tlsContextRetain(tlsContext *t);
/* Drops a reference; the last one frees the context. Accepts NULL. */
void tlsContextRelease(tlsContext *t);

/* Data of a certificate, for INFO. */
typedef struct tlsCertInfo {
    char *serial;        /* owns: serial number in hexadecimal; NULL without a certificate */
    long long expires_s; /* end of its validity, in seconds since the epoch */
} tlsCertInfo;
const tlsCertInfo *tlsContextCert(const tlsContext *t); /* the context's own certificate */
const tlsCertInfo *tlsContextCa(const tlsContext *t);   /* the first certificate of ca_file */

/* For tls.c: creates an SSL object for the context's role. Returns NULL if memory is short. */
SSL *tlsContextSession(const tlsContext *t);
/* Writes OpenSSL's text of the first error in the thread's error queue to `out`, and empties the queue. */
void tlsErrorText(char *out, size_t size);

#endif
