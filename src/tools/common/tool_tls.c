/* tool_tls.c -- the TLS options of the programs, and the TLS context made from them.
 *
 * Tests       tests/tools/tls.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tool_tls.h"

#include <stdio.h>
#include <stdlib.h>

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
