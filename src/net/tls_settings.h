/* tls_settings.h -- the settings of TLS, and the contexts made from them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_TLS_SETTINGS_H
#define NET_TLS_SETTINGS_H

#include "tls_context.h"

typedef struct tlsSettings {
    long long port, new_connections_per_cycle, handshake_max_wait_ms;
    long long session_cache_size, session_cache_timeout_s, auto_reload_s;
    int auth_clients, auth_clients_user; /* a tlsPeerCheck; a tlsNameField or TLS_USER_OFF */
    bool prefer_server_ciphers, session_caching, kernel;
    bool cluster; /* tls-cluster: use TLS for connections to other nodes, and for MIGRATE */
    /* Owns; NULL if not set. */
    char *cert_file, *key_file, *key_pass, *client_cert_file, *client_key_file, *client_key_pass;
    char *ca_file, *ca_dir, *dh_params_file, *protocols, *ciphers, *ciphersuites;
} tlsSettings;
extern tlsSettings tls_settings;

#define TLS_USER_OFF (-1)

/* Registers the settings. Call at startup. */
void tlsSettingsRegister(void);
/* Makes the contexts if tls-port is set. Returns false, after a log line, if they cannot be made. `reopen` is called
 * when the port changes at run time, and may refuse. Call at startup, before listening. */
bool tlsStart(bool (*reopen)(const char **err));
/* Returns whether contexts can be made from the settings; if not, logs why and sets *err. For users of TLS other than
 * the clients' port. */
bool tlsCheckSettings(const char **err);
/* Returns the context of accepted connections, borrowed until the settings change; NULL if TLS is not in use. */
tlsContext *tlsServerContext(void);
/* Returns the context of connections that this server opens, made at the first call and borrowed until the settings
 * change; NULL, after a log line, if it cannot be made. */
tlsContext *tlsClientContext(void);
/* Returns the context of connections that other nodes of a cluster open: each has to show a certificate that a CA of
 * tls-ca-cert-file has signed, whatever tls-auth-clients says. Made at the first call and borrowed until the settings
 * change; NULL, after a log line, if it cannot be made. */
tlsContext *tlsNodeContext(void);
/* Returns a number that grows when contexts are replaced, by a setting or a changed file. */
unsigned tlsContextChanges(void);
/* Reloads changed files every tls-auto-reload-interval seconds. Call once a second or more often. */
void tlsCron(void);
/* Registers the section "tls" of INFO. */
void tlsInfoRegister(void);

#endif
