/* tls_context.c -- the options of TLS connections: certificate, key, trusted authorities, protocols, ciphers.
 *
 * Not here    connections (tls.c), the settings and when they take effect (net/tls_settings.c).
 * Owns        OpenSSL's SSL_CTX, until the last reference is released.
 * Threads     any: only the reference count and OpenSSL's session cache change, and the cache has a lock.
 * Invariants  1. A context is created with all its options, or not at all.
 *             2. No function leaves an entry in the thread's error queue of OpenSSL.
 * Tests       tests/unit/event/tls_test.c, tests/server/tls.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tls_context.h"

#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct tlsContext {
    /* const */
    SSL_CTX *ssl_ctx; /* owns */
    tlsRole role;
    tlsCertInfo cert, ca; /* own */
    /* atomic; acq_rel at release: the last one sees all accesses of the others before it frees */
    _Atomic unsigned refs;
};

static bool isGiven(const char *text) { return text && *text; }

void tlsErrorText(char *out, size_t size) {
    unsigned long code = ERR_peek_error();
    if (code) ERR_error_string_n(code, out, size);
    else snprintf(out, size, "no further details");
    ERR_clear_error();
}

/* Writes "what: name: why" to `err`, with OpenSSL's reason, and returns false. `name` may be NULL. */
static bool tlsContextFail(char *err, const char *what, const char *name) {
    char why[256];
    tlsErrorText(why, sizeof(why));
    if (name) snprintf(err, TLS_ERR_LEN, "%s: %s: %s", what, name, why);
    else snprintf(err, TLS_ERR_LEN, "%s: %s", what, why);
    return false;
}

static bool failPlain(char *err, const char *what, const char *name) {
    ERR_clear_error();
    snprintf(err, TLS_ERR_LEN, "%s%s", what, name ? name : "");
    return false;
}

/* ---- Certificates ------------------------------------------------------------------------------------------------ */

/* Stores the data of a certificate, and takes ownership of it. Accepts NULL. */
static void noteCert(tlsCertInfo *info, X509 *x) {
    if (!x) return;
    BIGNUM *number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
    char *hex = number ? BN_bn2hex(number) : NULL;
    if (hex) info->serial = zstrdup(hex);
    OPENSSL_free(hex);
    BN_free(number);
    struct tm end;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(x), &end) == 1) info->expires_s = (long long)timegm(&end);
    X509_free(x);
}

static X509 *firstCertOf(const char *path) {
    BIO *file = BIO_new_file(path, "r");
    X509 *x = file ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    BIO_free(file);
    ERR_clear_error();
    return x;
}

/* Called by OpenSSL for the password of the key. Without one it fails, so that OpenSSL does not prompt for it. */
static int givePassword(char *buf, int size, int rwflag, void *arg) {
    unused(rwflag);
    const char *pass = arg;
    size_t len = pass ? strlen(pass) : 0;
    if (!pass || len > (size_t)size) return -1;
    memcpy(buf, pass, len);
    return (int)len;
}

static bool useCertificate(tlsContext *t, const tlsOptions *o, char *err) {
    SSL_CTX *ctx = t->ssl_ctx;
    if (SSL_CTX_use_certificate_chain_file(ctx, o->cert_file) != 1)
        return tlsContextFail(err, "Failed to load certificate", o->cert_file);
    SSL_CTX_set_default_passwd_cb(ctx, givePassword);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, isGiven(o->key_pass) ? (void *)(uintptr_t)o->key_pass : NULL);
    int loaded = SSL_CTX_use_PrivateKey_file(ctx, o->key_file, SSL_FILETYPE_PEM);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL); /* the password was borrowed for this call */
    if (loaded != 1 || SSL_CTX_check_private_key(ctx) != 1)
        return tlsContextFail(err, "Failed to load private key", o->key_file);
    X509 *own = SSL_CTX_get0_certificate(ctx);
    if (own && X509_up_ref(own)) noteCert(&t->cert, own);
    return true;
}

static bool usePair(tlsContext *t, const tlsOptions *o, char *err) {
    bool cert = isGiven(o->cert_file), key = isGiven(o->key_file);
    if (t->role == TLS_CLIENT && !cert && !key) return true;
    if (!cert) return failPlain(err, "No tls-cert-file configured!", NULL);
    if (!key) return failPlain(err, "No tls-key-file configured!", NULL);
    return useCertificate(t, o, err);
}

/* ---- Trusted authorities ----------------------------------------------------------------------------------------- */

static bool useAuthorities(tlsContext *t, const tlsOptions *o, char *err) {
    SSL_CTX *ctx = t->ssl_ctx;
    const char *file = isGiven(o->ca_file) ? o->ca_file : NULL, *dir = isGiven(o->ca_dir) ? o->ca_dir : NULL;
    if (file || dir) {
        if (SSL_CTX_load_verify_locations(ctx, file, dir) != 1)
            return tlsContextFail(err, "Failed to configure CA certificate(s) file/directory", NULL);
        if (file) noteCert(&t->ca, firstCertOf(file));
    } else if (o->peer != TLS_PEER_ANY) {
        if (t->role == TLS_SERVER)
            return failPlain(err,
                             "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, "
                             "tls-replication or tls-auth-clients are enabled!",
                             NULL);
        if (SSL_CTX_set_default_verify_paths(ctx) != 1)
            return tlsContextFail(err, "Failed to load the CA certificates of the system", NULL);
    }
    if (file && t->role == TLS_SERVER && o->peer != TLS_PEER_ANY) /* lets a client choose among several certificates */
        SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(file));
    int mode = o->peer == TLS_PEER_ANY ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
    if (o->peer == TLS_PEER_VERIFIED) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ctx, mode, NULL);
    return true;
}

/* ---- Protocols and ciphers --------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int version;
    uint64_t off;
} protocol_names[] = {{"TLSv1", TLS1_VERSION, SSL_OP_NO_TLSv1},
                      {"TLSv1.1", TLS1_1_VERSION, SSL_OP_NO_TLSv1_1},
                      {"TLSv1.2", TLS1_2_VERSION, SSL_OP_NO_TLSv1_2},
                      {"TLSv1.3", TLS1_3_VERSION, SSL_OP_NO_TLSv1_3}};
#define PROTOCOLS_DEFAULT "TLSv1.2 TLSv1.3"

/* Returns the index of the word in protocol_names, or -1. */
static int protocolOf(const char *word, size_t len) {
    for (size_t i = 0; i < array_len(protocol_names); i++)
        if (strlen(protocol_names[i].name) == len && strncasecmp(word, protocol_names[i].name, len) == 0) return (int)i;
    return -1;
}

static bool useProtocols(tlsContext *t, const tlsOptions *o, char *err) {
    const char *text = isGiven(o->protocols) ? o->protocols : PROTOCOLS_DEFAULT;
    uint64_t off = 0;
    int least = -1;
    for (size_t i = 0; i < array_len(protocol_names); i++) off |= protocol_names[i].off;
    for (const char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        int which = protocolOf(p, len);
        if (which < 0)
            return failPlain(err,
                             "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', 'TLSv1.2' "
                             "and 'TLSv1.3'.",
                             NULL);
        off &= ~protocol_names[which].off;
        if (least < 0 || which < least) least = which;
        p += len;
    }
    if (least < 0) return failPlain(err, "Invalid tls-protocols specified: it names no protocol.", NULL);
    SSL_CTX_set_options(t->ssl_ctx, off);
    /* Overrides the system's configuration, which may require a newer protocol. */
    if (SSL_CTX_set_min_proto_version(t->ssl_ctx, protocol_names[least].version) != 1)
        return tlsContextFail(err, "Failed to configure protocols", text);
    return true;
}

static bool useCiphers(tlsContext *t, const tlsOptions *o, char *err) {
    if (isGiven(o->ciphers) && SSL_CTX_set_cipher_list(t->ssl_ctx, o->ciphers) != 1)
        return failPlain(err, "Failed to configure ciphers: ", o->ciphers);
    if (isGiven(o->ciphersuites) && SSL_CTX_set_ciphersuites(t->ssl_ctx, o->ciphersuites) != 1)
        return failPlain(err, "Failed to configure ciphersuites: ", o->ciphersuites);
    if (o->prefer_server_ciphers) SSL_CTX_set_options(t->ssl_ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
    return true;
}

static bool useDhParams(tlsContext *t, const tlsOptions *o, char *err) {
    if (!isGiven(o->dh_params_file)) {
        SSL_CTX_set_dh_auto(t->ssl_ctx, 1);
        return true;
    }
    FILE *file = fopen(o->dh_params_file, "re");
    if (!file) {
        snprintf(err, TLS_ERR_LEN, "Failed to load %s: %s", o->dh_params_file, strerror(errno));
        return false;
    }
    BIO *bio = BIO_new_fp(file, BIO_NOCLOSE);
    EVP_PKEY *params = bio ? PEM_read_bio_Parameters(bio, NULL) : NULL;
    BIO_free(bio);
    fclose(file);
    if (!params || !EVP_PKEY_is_a(params, "DH")) {
        EVP_PKEY_free(params);
        return failPlain(err, o->dh_params_file, ": failed to read DH params.");
    }
    if (SSL_CTX_set0_tmp_dh_pkey(t->ssl_ctx, params) == 1) return true;
    EVP_PKEY_free(params);
    return tlsContextFail(err, "Failed to load DH params file", o->dh_params_file);
}

/* ---- Sessions ---------------------------------------------------------------------------------------------------- */

static void useSessions(tlsContext *t, const tlsOptions *o) {
    SSL_CTX *ctx = t->ssl_ctx;
    if (t->role == TLS_CLIENT || !o->session_caching) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        /* A client that resumed with a ticket would not be verified again, although options may have changed. */
        if (t->role == TLS_SERVER) {
            SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
            SSL_CTX_set_num_tickets(ctx, 0);
        }
        return;
    }
    static const unsigned char id[] = "valkey";
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(ctx, o->session_cache_size);
    SSL_CTX_set_timeout(ctx, (long)o->session_cache_timeout_s);
    SSL_CTX_set_session_id_context(ctx, id, sizeof(id) - 1);
}

static void useModes(tlsContext *t, const tlsOptions *o) {
    SSL_CTX *ctx = t->ssl_ctx;
    /* A write may end after any record; a repeated write may pass the same bytes at another address, because output can
     * move meanwhile. An idle connection keeps no buffers. */
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    uint64_t options = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_SSLv3 | SSL_OP_SINGLE_DH_USE |
                       SSL_OP_IGNORE_UNEXPECTED_EOF; /* an end without close_notify is an ordinary end of input */
#ifdef SSL_OP_ENABLE_KTLS
    if (o->kernel) options |= SSL_OP_ENABLE_KTLS;
#endif
    SSL_CTX_set_options(ctx, options);
    if (!o->kernel) SSL_CTX_set_read_ahead(ctx, 1); /* one read gets both header and body of a record */
}

tlsContext *tlsContextCreate(tlsRole role, const tlsOptions *options, char *err) {
    ERR_clear_error();
    tlsContext *t = zcalloc(1, sizeof(*t));
    t->role = role;
    atomic_init(&t->refs, 1);
    t->ssl_ctx = SSL_CTX_new(role == TLS_SERVER ? TLS_server_method() : TLS_client_method());
    bool made = t->ssl_ctx || tlsContextFail(err, "Failed to create a TLS context", NULL);
    if (made) useModes(t, options);
    made = made && usePair(t, options, err) && useAuthorities(t, options, err) && useProtocols(t, options, err) &&
           useCiphers(t, options, err) && useDhParams(t, options, err);
    if (made) {
        useSessions(t, options);
        return t;
    }
    tlsContextRelease(t);
    return NULL;
}

tlsContext *tlsContextRetain(tlsContext *t) {
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void tlsContextRelease(tlsContext *t) {
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1) return;
    SSL_CTX_free(t->ssl_ctx);
    zfree(t->cert.serial);
    zfree(t->ca.serial);
    zfree(t);
}

const tlsCertInfo *tlsContextCert(const tlsContext *t) { return &t->cert; }
const tlsCertInfo *tlsContextCa(const tlsContext *t) { return &t->ca; }

SSL *tlsContextSession(const tlsContext *t) {
    SSL *ssl = SSL_new(t->ssl_ctx);
    if (!ssl) return NULL;
    if (t->role == TLS_SERVER) SSL_set_accept_state(ssl);
    else SSL_set_connect_state(ssl);
    return ssl;
}
