/* tls_settings.h -- the settings of TLS, and the contexts that they make.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_TLS_SETTINGS_H
#define NET_TLS_SETTINGS_H

#include "tls_context.h"

typedef struct tlsSettings {
    long long port, new_connections_per_cycle;
    long long session_cache_size, session_cache_timeout_s, auto_reload_s;
    int auth_clients, auth_clients_user; /* tlsPeerCheck; a tlsNameField or TLS_USER_OFF */
    bool prefer_server_ciphers, session_caching, kernel;
    bool cluster; /* tls-cluster: connections to other nodes, and those that MIGRATE makes */
    /* Own; NULL: not given. */
    char *cert_file, *key_file, *key_pass, *client_cert_file, *client_key_file, *client_key_pass;
    char *ca_file, *ca_dir, *dh_params_file, *protocols, *ciphers, *ciphersuites;
} tlsSettings;
extern tlsSettings tls_settings;

#define TLS_USER_OFF (-1)

void tlsSettingsRegister(void);
/* Boot, before listening: make the contexts if anything is to be encrypted. False after a log line. `reopen` is called
 * when the port has changed at run time, and may refuse. */
bool tlsStart(bool (*reopen)(const char **err));
/* Whether contexts could be made of the settings; false with *err after a log line that says why not. For who uses TLS
 * beside the clients' port. */
bool tlsCheckSettings(const char **err);
/* What accepted connections are made from; borrowed until the settings change. NULL: TLS is not in use. */
tlsContext *tlsServerContext(void);
/* What connections are made from that this server begins, made when they are first asked for; borrowed until the
 * settings change. NULL: they cannot be made, and the log says why. */
tlsContext *tlsClientContext(void);
/* Once a second or more often: look for changed files when it is time (tls-auto-reload-interval). */
void tlsCron(void);
/* The section "tls" of INFO. */
void tlsInfoRegister(void);

#endif
