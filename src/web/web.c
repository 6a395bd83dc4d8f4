/* web.c -- main's half of the metrics port: opens and closes it, and gives its thread a snapshot per second at most.
 *
 * Main makes a snapshot if a client has asked for metrics since the last one and a second has passed, and a new copy of
 * the users when they have changed. So a thousand readers cost main as much as one, and no readers cost nothing.
 *
 * Not here    the thread that serves (http_server.c).
 * Owns        web_settings, the version of the last copy of the users, and the time of the last snapshot.
 * Threads     main's own.
 * Cost        docs/metrics.md
 * Tests       tests/server/metrics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web.h"

#include "anet.h"
#include "clock.h"
#include "http_server.h"
#include "log.h"
#include "panic.h"
#include "sds.h"
#include "setting.h"
#include "zmalloc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SNAPSHOT_EVERY_MS 1000

webSettings web_settings;

static struct {
    const webWiring *wiring; /* borrowed; NULL until webStart() */
    uint64_t access_version;
    bool was_protected;
    uint64_t snapshot_ms; /* when the last one was taken */
} web;

/* ---- Listening ---- */

/* Returns true if the machine lacks the address or does not support its protocol. */
static bool isUnavailable(int err) {
    return err == EADDRNOTAVAIL || err == EPROTONOSUPPORT || err == EAFNOSUPPORT || err == EPFNOSUPPORT;
}

/* Opens an address in the form of `bind`: "*" and "::*" are all addresses of IPv4 and of IPv6, and a leading '-' makes
 * it optional. Returns the descriptor, -1 if an optional address is unavailable, or -2 after a log line. */
static int openAddress(const char *address) {
    bool optional = address[0] == '-';
    if (optional) address++;
    char err[ANET_ERR_LEN];
    int port = (int)web_settings.port, backlog = (int)*web.wiring->backlog;
    int fd = strchr(address, ':') ? anetTcp6Server(err, port, address, backlog, false)
                                  : anetTcpServer(err, port, address, backlog, false);
    if (fd >= 0) {
        anetNonBlock(NULL, fd);
        anetCloexec(fd);
        return fd;
    }
    if (optional && isUnavailable(errno)) return -1;
    serverLog(LL_WARNING, "Cannot open the metrics port %s:%d: %s", address, port, err);
    return -2;
}

static bool openAll(int *fds, int *count) {
    *count = 0;
    static_assert(WEB_BIND_MAX <= HTTP_LISTENERS_MAX, "the server takes as many listeners as may be configured");
    debugAssert(web_settings.bind_count <= WEB_BIND_MAX);
    for (int i = 0; i < web_settings.bind_count; i++) {
        int fd = openAddress(web_settings.bind[i]);
        if (fd >= 0) fds[(*count)++] = fd;
        if (fd == -2) goto failed;
    }
    if (*count > 0) return true;
    serverLog(LL_WARNING, "Cannot open the metrics port: this machine has none of the addresses in metrics-bind.");
failed:
    while (*count > 0) close(fds[--*count]);
    return false;
}

/* ---- The copy of the users ---- */

static webAccess *makeAccess(void) {
    debugAssert(web.access_version <= webAccessVersion());
    web.access_version = webAccessVersion();
    web.was_protected = *web.wiring->protected_mode;
    return webAccessMake(web.was_protected);
}

/* ---- On and off ---- */

static bool openPort(void) {
    int fds[WEB_BIND_MAX], count;
    debugAssert(!httpServerRuns());
    if (web_settings.port == 0) return true;
    if (!openAll(fds, &count)) return false;
    web.snapshot_ms = 0; /* so that the first client need not wait until a second has passed */
    httpServerStart(&(httpServerSetup){.listeners = fds,
                                       .listeners_count = count,
                                       .keepalive_s = (int)*web.wiring->keepalive_s,
                                       .cpulist = *web.wiring->cpulist,
                                       .access = makeAccess()});
    return true;
}

/* Closes the old sockets before it opens new ones, because both may have the same address. */
static bool webReopen(const char **err) {
    if (!web.wiring) return true; /* the server is still starting */
    assertMainThread();
    httpServerStop();
    *err = "Unable to open the metrics port. Check server logs.";
    return openPort();
}

/* ---- Settings ---- */

static bool setBind(const setting *s, char **words, int count, const char **err) {
    unused(s);
    if (count == 0 || (count == 1 && words[0][0] == '\0')) {
        *err = "metrics-bind needs at least one address; to turn the port off, set metrics-port to 0";
        return false;
    }
    if (count > WEB_BIND_MAX) {
        *err = "Too many bind addresses specified.";
        return false;
    }
    debugAssert(web_settings.bind_count >= 0 && web_settings.bind_count <= WEB_BIND_MAX);
    while (web_settings.bind_count > 0) zfree(web_settings.bind[--web_settings.bind_count]);
    for (; web_settings.bind_count < count; web_settings.bind_count++)
        web_settings.bind[web_settings.bind_count] = zstrdup(words[web_settings.bind_count]);
    return true;
}

static char *getBind(const setting *s) {
    unused(s);
    return sdsJoin(web_settings.bind, web_settings.bind_count, " ");
}

static const settingName names[] = {{"valkey", METRICS_NAMES_VALKEY}, {"redis", METRICS_NAMES_REDIS}, {.name = NULL}};

static bool applyNames(const char **err) {
    unused(err);
    httpServerSetNames((metricsNames)web_settings.names);
    return true;
}

static const setting rows[] = {
    INT_SETTING("metrics-port", web_settings.port, 0, 0, 65535),
    {.name = "metrics-bind",
     .type = SETTING_SPECIAL,
     .flags = SETTING_MULTI_ARG,
     .default_text = "127.0.0.1 -::1",
     .set = setBind,
     .get = getBind},
    ENUM_SETTING("metrics-names", web_settings.names, METRICS_NAMES_VALKEY, names, .apply = applyNames),
    SETTINGS_END,
};

void webRegister(void) {
    settingRegister(rows);
    settingOnApply("metrics-port", webReopen);
    settingOnApply("metrics-bind", webReopen);
}

bool webStart(const webWiring *wiring) {
    assertMainThread();
    debugAssert(!web.wiring || web.wiring == wiring);
    web.wiring = wiring;
    httpServerSetNames((metricsNames)web_settings.names);
    return openPort();
}

void webStop(void) {
    assertMainThread();
    httpServerStop();
}

void webTick(void) {
    assertMainThread();
    if (!httpServerRuns()) return;
    if (web.access_version != webAccessVersion() || web.was_protected != *web.wiring->protected_mode)
        httpServerSetAccess(makeAccess());
    uint64_t now_ms = clockMonotonicMs();
    debugAssert(web.snapshot_ms <= now_ms);
    if (now_ms - web.snapshot_ms < SNAPSHOT_EVERY_MS || !httpServerTakeRequest()) return;
    web.snapshot_ms = now_ms;
    httpServerSetSnapshot(metricsSnapshotMake());
}
