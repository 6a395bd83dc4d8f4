/* tls_settings.c -- the settings of TLS, and the contexts made from them.
 *
 * Every change makes new contexts beside those in use and replaces them only when both are complete. So a CONFIG SET of
 * files that do not match changes nothing, and connections keep the context that they began with.
 *
 * Files may change under the same names. CONFIG SET of a name reads the file again even if the name is the same. Every
 * tls-auto-reload-interval seconds the files are checked, and if a time, size or inode number differs new contexts are
 * made. If that fails the old ones stay, until a file changes again.
 *
 * Not here    how a context is made (event/tls_context.c), the port's socket (listen.c).
 * Owns        a reference to each context.
 * Threads     main. Owner threads of connections read net_shared.
 * Tests       tests/server/tls.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tls_settings.h"

#include "clock.h"
#include "info_table.h"
#include "log.h"
#include "net_settings.h"
#include "panic.h"
#include "setting.h"
#include "tls.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

tlsSettings tls_settings;

#define WATCHED_FILES 7

/* Distinguishes one state of a file from another. */
typedef struct fileMark {
    dev_t device;
    ino_t number;
    off_t size;
    struct timespec changed; /* st_ctim, as a copy of a file may keep the modification time */
} fileMark;

static struct {
    tlsContext *server, *client; /* counted; NULL if TLS is not in use */
    tlsContext *node;            /* counted; NULL: none has been asked for */
    unsigned changes;            /* times that contexts were replaced */
    bool started;
    bool (*reopen)(const char **err);
    fileMark files[WATCHED_FILES]; /* as they were when contexts were made, or could not be made, last */
    uint64_t checked_ms;
} contexts;

/* ---- Making contexts --------------------------------------------------------------------------------------------- */

static tlsOptions optionsOf(tlsRole role) {
    const tlsSettings *s = &tls_settings;
    bool own = role == TLS_CLIENT && s->client_cert_file;
    return (tlsOptions){.cert_file = own ? s->client_cert_file : s->cert_file,
                        .key_file = own ? s->client_key_file : s->key_file,
                        .key_pass = own ? s->client_key_pass : s->key_pass,
                        .ca_file = s->ca_file,
                        .ca_dir = s->ca_dir,
                        .dh_params_file = s->dh_params_file,
                        .protocols = s->protocols,
                        .ciphers = s->ciphers,
                        .ciphersuites = s->ciphersuites,
                        .prefer_server_ciphers = s->prefer_server_ciphers,
                        .session_caching = s->session_caching,
                        .session_cache_size = s->session_cache_size,
                        .session_cache_timeout_s = s->session_cache_timeout_s,
                        /* The primary and other nodes are always verified if there is a CA to verify them by. */
                        .peer = role == TLS_SERVER        ? (tlsPeerCheck)s->auth_clients
                                : s->ca_file || s->ca_dir ? TLS_PEER_VERIFIED
                                                          : TLS_PEER_ANY,
                        .kernel = s->kernel};
}

static void markFiles(fileMark *marks) {
    const tlsSettings *s = &tls_settings;
    const char *paths[WATCHED_FILES] = {
        s->cert_file, s->key_file, s->client_cert_file, s->client_key_file, s->ca_file, s->dh_params_file, s->ca_dir};
    memset(marks, 0, WATCHED_FILES * sizeof(*marks));
    for (int i = 0; i < WATCHED_FILES; i++) {
        struct stat st;
        if (!paths[i] || stat(paths[i], &st) == -1) continue;
        marks[i].device = st.st_dev;
        marks[i].number = st.st_ino;
        marks[i].size = st.st_size;
        marks[i].changed = st.st_ctim;
    }
}

/* Makes both contexts, or none after a log line. */
static bool makeContexts(tlsContext **server, tlsContext **client) {
    char err[TLS_ERR_LEN];
    tlsOptions o = optionsOf(TLS_SERVER);
    *client = NULL;
    *server = tlsContextCreate(TLS_SERVER, &o, err);
    if (*server) {
        o = optionsOf(TLS_CLIENT);
        *client = tlsContextCreate(TLS_CLIENT, &o, err);
    }
    if (*client) return true;
    serverLog(LL_WARNING, "%s", err);
    tlsContextRelease(*server);
    *server = NULL;
    return false;
}

static void useContexts(tlsContext *server, tlsContext *client) {
    tlsContextRelease(contexts.server);
    tlsContextRelease(contexts.client);
    tlsContextRelease(contexts.node);
    contexts.server = server;
    contexts.client = client;
    contexts.node = NULL;
    contexts.changes++;
}

static bool renew(void) {
    tlsContext *server, *client;
    markFiles(contexts.files); /* before they are read, so that the next check notices later changes */
    if (!makeContexts(&server, &client)) return false;
    useContexts(server, client);
    return true;
}

static void shareLimits(void) {
    const tlsSettings *s = &tls_settings;
    atomic_store_explicit(&tls_handshake_limits.max_wait_ms, s->handshake_max_wait_ms, memory_order_relaxed);
    atomic_store_explicit(&tls_handshake_limits.per_iteration, s->new_connections_per_cycle, memory_order_relaxed);
}

bool tlsStart(bool (*reopen)(const char **err)) {
    assertMainThread();
    contexts.started = true;
    contexts.reopen = reopen;
    shareLimits();
    atomic_store_explicit(&net_shared.tls_user_field, tls_settings.auth_clients_user, memory_order_relaxed);
    if (!tls_settings.port || renew()) return true;
    serverLog(LL_WARNING, "Failed to configure TLS. Check logs for more info.");
    return false;
}

bool tlsCheckSettings(const char **err) {
    assertMainRole();
    tlsContext *server, *client;
    if (makeContexts(&server, &client)) {
        tlsContextRelease(server);
        tlsContextRelease(client);
        return true;
    }
    *err = "Unable to update TLS configuration. Check server logs.";
    return false;
}

tlsContext *tlsServerContext(void) {
    assertMainRole();
    return contexts.server;
}

tlsContext *tlsClientContext(void) {
    assertMainRole();
    if (!contexts.client && contexts.started) (void)renew();
    return contexts.client;
}

tlsContext *tlsNodeContext(void) {
    char err[TLS_ERR_LEN];
    assertMainRole();
    if (contexts.node) return contexts.node;
    tlsOptions o = optionsOf(TLS_SERVER);
    o.peer = TLS_PEER_VERIFIED;
    contexts.node = tlsContextCreate(TLS_SERVER, &o, err);
    if (!contexts.node) serverLog(LL_WARNING, "%s", err);
    return contexts.node;
}

unsigned tlsContextChanges(void) { return contexts.changes; }

/* ---- Changes ----------------------------------------------------------------------------------------------------- */

static bool applyContexts(const char **err) {
    if (!contexts.started || !tls_settings.port) return true;
    serverLog(LL_DEBUG, "Creating new TLS contexts");
    if (renew()) return true;
    *err = "Unable to update TLS configuration. Check server logs.";
    return false;
}

static bool applyCluster(const char **err) { return !tls_settings.cluster || tlsCheckSettings(err); }

static bool applyPort(const char **err) {
    if (!contexts.started) return true;
    if (!tls_settings.port) useContexts(NULL, NULL);
    else if (!contexts.server && !applyContexts(err)) return false;
    return contexts.reopen(err);
}

static bool applyUser(const char **err) {
    unused(err);
    atomic_store_explicit(&net_shared.tls_user_field, tls_settings.auth_clients_user, memory_order_relaxed);
    return true;
}

static bool applyLimits(const char **err) {
    unused(err);
    shareLimits();
    return true;
}

void tlsCron(void) {
    assertMainThread();
    if (tls_settings.auto_reload_s == 0 || !contexts.server) return;
    uint64_t now_ms = clockMonotonicMs();
    if (now_ms - contexts.checked_ms < (uint64_t)tls_settings.auto_reload_s * 1000) return;
    contexts.checked_ms = now_ms;
    fileMark marks[WATCHED_FILES];
    markFiles(marks);
    if (!memcmp(marks, contexts.files, sizeof(marks))) return;
    if (renew()) serverLog(LL_NOTICE, "TLS: reloaded certificates and keys because their files have changed");
    else
        serverLog(LL_WARNING,
                  "TLS: cannot use the changed files of certificates and keys; the previous ones stay in use");
}

/* ---- INFO -------------------------------------------------------------------------------------------------------- */

static struct { uint64_t begun, completed, resumed, gone, late; } handshakes_at_reset;

static uint64_t tlsCount(_Atomic uint64_t *counter) { return atomic_load_explicit(counter, memory_order_relaxed); }

static void resetTlsStats(void) {
    tlsHandshakeStats *s = &tls_handshake_stats;
    handshakes_at_reset.begun = tlsCount(&s->begun);
    handshakes_at_reset.completed = tlsCount(&s->completed);
    handshakes_at_reset.resumed = tlsCount(&s->resumed);
    handshakes_at_reset.gone = tlsCount(&s->gone);
    handshakes_at_reset.late = tlsCount(&s->late);
}

static void handshakes(infoOut *o) {
    tlsHandshakeStats *s = &tls_handshake_stats;
    infoCounter(o, "tls_handshakes_begun", tlsCount(&s->begun) - handshakes_at_reset.begun,
                "TLS handshakes of clients that were begun.");
    infoCounter(o, "tls_handshakes_completed", tlsCount(&s->completed) - handshakes_at_reset.completed,
                "TLS handshakes of clients that were completed.");
    infoCounter(o, "tls_handshakes_resumed", tlsCount(&s->resumed) - handshakes_at_reset.resumed,
                "Completed TLS handshakes that resumed a session, which saves the signature.");
    infoCounter(o, "tls_handshakes_dropped_gone", tlsCount(&s->gone) - handshakes_at_reset.gone,
                "TLS handshakes that were not begun because the client had closed the connection.");
    infoCounter(o, "tls_handshakes_dropped_late", tlsCount(&s->late) - handshakes_at_reset.late,
                "TLS handshakes that were not begun because the client had waited longer than tls-handshake-max-wait.");
    infoGauge(o, "tls_handshakes_waiting", tlsCount(&s->waiting), "TLS handshakes that wait to be begun.");
}

static void certLines(infoOut *o, const char *which, const tlsCertInfo *cert) {
    bool there = cert && cert->serial;
    long long left = there ? cert->expires_s - (long long)(clockWallMs() / 1000) : 0;
    infoLine(o, "tls_%s_cert_serial:%s", which, there ? cert->serial : "none");
    infoLine(o, "tls_%s_cert_expires_in_seconds:%lld", which, left > 0 ? left : 0);
}

static void certificates(infoOut *o) {
    bool own = contexts.client && tls_settings.client_cert_file;
    certLines(o, "server", contexts.server ? tlsContextCert(contexts.server) : NULL);
    certLines(o, "client", own ? tlsContextCert(contexts.client) : NULL);
    certLines(o, "ca", contexts.server ? tlsContextCa(contexts.server) : NULL);
    INFO_METRIC("tls_server_cert_expires_in_seconds", INFO_GAUGE,
                .help = "Time until the certificate for clients expires.");
    INFO_METRIC("tls_client_cert_expires_in_seconds", INFO_GAUGE,
                .help = "Time until the certificate for connections to other servers expires.");
    INFO_METRIC("tls_ca_cert_expires_in_seconds", INFO_GAUGE,
                .help = "Time until the first certificate of an authority (CA) expires.");
}

void tlsInfoRegister(void) {
    static const infoSection sections[] = {{"tls", "TLS", 20, 0}, {.name = NULL}};
    static const infoFields fields[] = {{"tls", 10, certificates}, {"tls", 100, handshakes}, {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetTlsStats);
}

/* ---- Table ------------------------------------------------------------------------------------------------------- */

static const settingName auth_names[] = {
    {"no", TLS_PEER_ANY}, {"yes", TLS_PEER_VERIFIED}, {"optional", TLS_PEER_OPTIONAL}, {NULL, 0}};
static const settingName user_names[] = {{"CN", TLS_NAME_CN}, {"URI", TLS_NAME_URI}, {"off", TLS_USER_OFF}, {NULL, 0}};

/* CONFIG SET reads the files again even if their names stay the same. */
#define TEXT(name_, field, flags_)                                                                               \
    STRING_SETTING(name_, tls_settings.field, NULL, .flags = SETTING_VOLATILE | (flags_), .empty_is_null = true, \
                   .apply = applyContexts)

static const setting rows[] = {
    INT_SETTING("tls-port", tls_settings.port, 0, 0, 65535, .apply = applyPort),
    ENUM_SETTING("tls-auth-clients", tls_settings.auth_clients, TLS_PEER_VERIFIED, auth_names, .apply = applyContexts),
    ENUM_SETTING("tls-auth-clients-user", tls_settings.auth_clients_user, TLS_USER_OFF, user_names, .apply = applyUser),
    TEXT("tls-cert-file", cert_file, 0),
    TEXT("tls-key-file", key_file, 0),
    TEXT("tls-key-file-pass", key_pass, SETTING_SENSITIVE),
    TEXT("tls-client-cert-file", client_cert_file, 0),
    TEXT("tls-client-key-file", client_key_file, 0),
    TEXT("tls-client-key-file-pass", client_key_pass, SETTING_SENSITIVE),
    TEXT("tls-dh-params-file", dh_params_file, 0),
    TEXT("tls-ca-cert-file", ca_file, 0),
    TEXT("tls-ca-cert-dir", ca_dir, 0),
    TEXT("tls-protocols", protocols, 0),
    TEXT("tls-ciphers", ciphers, 0),
    TEXT("tls-ciphersuites", ciphersuites, 0),
    BOOL_SETTING("tls-prefer-server-ciphers", tls_settings.prefer_server_ciphers, false, .apply = applyContexts),
    BOOL_SETTING("tls-session-caching", tls_settings.session_caching, true, .apply = applyContexts),
    BOOL_SETTING("tls-cluster", tls_settings.cluster, false, .apply = applyCluster),
    BOOL_SETTING("tls-kernel", tls_settings.kernel, false, .flags = SETTING_HIDDEN, .apply = applyContexts),
    INT_SETTING("tls-session-cache-size", tls_settings.session_cache_size, 20480, 0, INT_MAX, .apply = applyContexts),
    INT_SETTING("tls-session-cache-timeout", tls_settings.session_cache_timeout_s, 300, 0, INT_MAX,
                .apply = applyContexts),
    INT_SETTING("tls-auto-reload-interval", tls_settings.auto_reload_s, 0, 0, INT_MAX),
    INT_SETTING("max-new-tls-connections-per-cycle", tls_settings.new_connections_per_cycle, 1, 1, 1000,
                .apply = applyLimits),
    INT_SETTING("tls-handshake-max-wait", tls_settings.handshake_max_wait_ms, 2000, 0, 3600000, .apply = applyLimits),
    SETTINGS_END,
};

void tlsSettingsRegister(void) { settingRegister(rows); }
