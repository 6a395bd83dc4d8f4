/* tool_tls.h -- the TLS options of the programs, and the TLS context made from them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_TOOL_TLS_H
#define TOOLS_TOOL_TLS_H

#include "tls_context.h"

/* The options. All pointers are borrowed; NULL if not given. */
typedef struct toolTls {
    bool on;
    bool insecure;                /* accept any certificate */
    const char *sni;              /* server name for SNI */
    const char *ca_file, *ca_dir; /* neither given: the system's trust store */
    const char *cert_file, *key_file;
    const char *ciphers, *ciphersuites;
} toolTls;

/* Creates the context; NULL if TLS is off. Prints a message and ends the program if the options make no valid
 * context. */
tlsContext *toolTlsContext(const toolTls *t);

/* The part of a help text that describes these options. */
#define TOOL_TLS_USAGE                                                                 \
    "  --tls              speak TLS; so does a URI that begins with valkeys://\n"      \
    "  --cacert FILE, --cacertdir DIR  whom to trust (else: whom the system trusts)\n" \
    "  --insecure         trust whoever answers: only for a first try\n"               \
    "  --cert FILE, --key FILE  the certificate to show, and its key\n"                \
    "  --sni NAME         the name to ask for, where servers share an address\n"       \
    "  --tls-ciphers LIST, --tls-ciphersuites LIST  for TLS 1.2, for 1.3 (OpenSSL's)\n"

#endif
