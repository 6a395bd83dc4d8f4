/* tool_tls.h -- what the programs' options say of TLS, and the context made of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_TOOL_TLS_H
#define TOOLS_TOOL_TLS_H

#include "tls_context.h"

/* All borrowed; NULL: not given. */
typedef struct toolTls {
    bool on;
    bool insecure;                /* whoever the server is */
    const char *sni;              /* the name it is asked for */
    const char *ca_file, *ca_dir; /* neither: whom the system trusts */
    const char *cert_file, *key_file;
    const char *ciphers, *ciphersuites;
} toolTls;

/* NULL when TLS is not on. Ends the program with a sentence when the options make no context. */
tlsContext *toolTlsContext(const toolTls *t);

/* The part of a help text about these options. */
#define TOOL_TLS_USAGE                                                                 \
    "  --tls              speak TLS; so does a URI that begins with valkeys://\n"      \
    "  --cacert FILE, --cacertdir DIR  whom to trust (else: whom the system trusts)\n" \
    "  --insecure         trust whoever answers: only for a first try\n"               \
    "  --cert FILE, --key FILE  the certificate to show, and its key\n"                \
    "  --sni NAME         the name to ask for, where servers share an address\n"       \
    "  --tls-ciphers LIST, --tls-ciphersuites LIST  for TLS 1.2, for 1.3 (OpenSSL's)\n"

#endif
