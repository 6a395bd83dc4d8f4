/* tool_options.h -- options that both programs have: the login, TLS, and the server's address as a URI.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_TOOL_OPTIONS_H
#define TOOLS_TOOL_OPTIONS_H

#include "server_link.h"
#include "suggest.h"

/* All pointers are borrowed, NULL if not given. */
typedef struct toolLogin {
    const char *user, *password;
    int db;
} toolLogin;

typedef struct toolTls {
    bool on;
    bool insecure;                /* accept any certificate */
    const char *ca_file, *ca_dir; /* neither given: the system's trust store */
    const char *cert_file, *key_file;
    const char *ciphers, *ciphersuites;
} toolTls;

/* These end the program with a message if the option is invalid: */
/* Stores the parts that a URI (-u) has. */
void toolTakeUri(const char *uri, linkTarget *target, toolLogin *login, toolTls *tls);
/* Returns the number that an option has as its value. */
long long toolNumber(const char *option, const char *text, long long min, long long max);
/* Creates the TLS context; NULL if TLS is off. */
tlsContext *toolTlsContext(const toolTls *t);
/* Ends the program with a message: there is no option (or test: `kind`) s->word, but perhaps s->best was meant. */
noreturn_fn void toolQuitUnknown(const char *program, const char *kind, const suggestion *s);
/* An option of Valkey's program that is not supported here. */
typedef struct absentOption {
    const char *name, *why;
} absentOption;
/* Ends the program with a message if `option` is one of `absent`. */
void toolCheckAbsent(const char *option, const absentOption *absent, size_t count);

/* Sends AUTH and returns its reply. Call with a password. */
replyValue *toolLogIn(serverLink *l, const toolLogin *login);

/* The part of a help text that describes these options. */
#define TOOL_TLS_USAGE                                                                  \
    "  --tls              use TLS, as does a URI that begins with valkeys://\n"         \
    "  --cacert FILE, --cacertdir DIR  trusted CA certificates (those of the system)\n" \
    "  --insecure         accept any certificate of the server\n"                       \
    "  --cert FILE, --key FILE  client certificate and its private key\n"               \
    "  --sni NAME         server name for the TLS handshake\n"                          \
    "  --tls-ciphers LIST, --tls-ciphersuites LIST  ciphers of TLS 1.2; of TLS 1.3\n"

#endif
