/* tool_options.c -- options that both programs have: the login, TLS, and the server's address as a URI.
 *
 * Tests       tests/tools/cli.tcl, tests/tools/tls.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tool_options.h"
#include "numbers.h"
#include "server_uri.h"
#include <stdio.h>
#include <stdlib.h>

void toolTakeUri(const char *text, linkTarget *target, toolLogin *login, toolTls *tls) {
    static serverUri uri; /* its strings are used until the program ends */
    const char *err = serverUriParse(&uri, text);
    if (err) {
        fprintf(stderr, "%s\n", err);
        exit(1);
    }
    if (uri.host) target->host = uri.host;
    if (uri.port) target->port = uri.port;
    if (uri.user) login->user = uri.user;
    if (uri.password) login->password = uri.password;
    if (uri.has_db) login->db = uri.db;
    if (uri.tls) tls->on = true;
}

long long toolNumber(const char *option, const char *text, long long min, long long max) {
    long long n;
    if (string2ll(text, strlen(text), &n) && n >= min && n <= max) return n;
    fprintf(stderr, "Invalid value '%s' for option '%s': expected a number from %lld to %lld\n", text, option, min,
            max);
    exit(1);
}

tlsContext *toolTlsContext(const toolTls *t) {
    if (!t->on) return NULL;
    char err[TLS_ERR_LEN];
    /* If only one of the two is given, its file holds certificate and key. */
    tlsOptions options = {.cert_file = t->cert_file ? t->cert_file : t->key_file,
                          .key_file = t->key_file ? t->key_file : t->cert_file,
                          .ca_file = t->ca_file,
                          .ca_dir = t->ca_dir,
                          .ciphers = t->ciphers,
                          .ciphersuites = t->ciphersuites,
                          .peer = t->insecure ? TLS_PEER_ANY : TLS_PEER_VERIFIED};
    tlsContext *context = tlsContextCreate(TLS_CLIENT, &options, err);
    if (context) return context;
    fprintf(stderr, "Could not negotiate a TLS connection: %s\n", err);
    exit(1);
}

void toolQuitUnknown(const char *program, const char *kind, const suggestion *s) {
    fprintf(stderr, "Unknown %s '%s'.", kind, s->word);
    if (s->best) fprintf(stderr, " Did you mean %s?", s->best);
    fprintf(stderr, "\n'%s --help' shows all %ss.\n", program, kind);
    exit(1);
}

void toolCheckAbsent(const char *option, const absentOption *absent, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(option, absent[i].name) != 0) continue;
        fprintf(stderr, "Option '%s' is not supported: %s.\n", option, absent[i].why);
        exit(1);
    }
}

replyValue *toolLogIn(serverLink *l, const toolLogin *login) {
    return login->user ? linkCall(l, "AUTH", login->user, login->password, NULL)
                       : linkCall(l, "AUTH", login->password, NULL);
}
