/* web.c -- the metrics port as main sees it: on or off, and once a second a few figures for it.
 *
 * All that main does for those who look: when somebody has asked since the last time, and a second has passed, it takes
 * a snapshot; and when users have changed it makes a copy of who may look. A thousand who look cost it what one does,
 * and none nothing.
 *
 * Not here    the thread that serves (http_server.c).
 * Owns        what is noted about the last copy of the users.
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
#include "setting.h"
#include "web_settings.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SNAPSHOT_EVERY_MS 1000

static struct {
    const webWiring *wiring; /* borrowed; NULL until webStart() */
    uint64_t access_version;
    bool was_protected;
    uint64_t snapshot_ms; /* when the last one was taken */
} web;

/* ---- Listening ---- */

/* Not there at all: an address that this machine lacks, or a protocol that it does not speak. */
static bool isUnavailable(int err) {
    return err == EADDRNOTAVAIL || err == EPROTONOSUPPORT || err == EAFNOSUPPORT || err == EPFNOSUPPORT;
}

/* An address as in `bind`: "*" and "::*" are all of IPv4 and of IPv6, and a leading '-' makes it optional. The
 * descriptor, -1 when an optional one is not there, or -2 after a log line. */
static int openAddress(const char *address) {
    bool optional = address[0] == '-';
    if (optional) address++;
    char err[ANET_ERR_LEN];
    int port = (int)web_settings.port, backlog = (int)*web.wiring->backlog, fd;
    if (!strcmp(address, "::*")) fd = anetTcp6Server(err, port, NULL, backlog, false);
    else if (strchr(address, ':')) fd = anetTcp6Server(err, port, address, backlog, false);
    else fd = anetTcpServer(err, port, strcmp(address, "*") ? address : NULL, backlog, false);
    if (fd >= 0) {
        anetNonBlock(NULL, fd);
        anetCloexec(fd);
        return fd;
    }
    if (optional && isUnavailable(errno)) return -1;
    serverLog(LL_WARNING, "The metrics port %s:%d cannot be opened: %s", address, port, err);
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
    serverLog(LL_WARNING, "The metrics port has no address that this machine has (metrics-bind).");
failed:
    while (*count > 0) close(fds[--*count]);
    return false;
}

/* ---- Who may look ---- */

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
    web.snapshot_ms = 0; /* who comes first does not wait for a second to be over */
    httpServerStart(&(httpServerSetup){.listeners = fds,
                                       .listeners_count = count,
                                       .keepalive_s = (int)*web.wiring->keepalive_s,
                                       .cpulist = *web.wiring->cpulist,
                                       .access = makeAccess()});
    return true;
}

/* The old sockets hold addresses that the new set may share, so they go first. */
static bool reopen(const char **err) {
    if (!web.wiring) return true; /* still booting */
    assertMainThread();
    httpServerStop();
    *err = "Unable to open the metrics port. Check server logs.";
    return openPort();
}

void webRegister(void) {
    webSettingsRegister();
    settingOnApply("metrics-port", reopen);
    settingOnApply("metrics-bind", reopen);
}

bool webStart(const webWiring *wiring) {
    assertMainThread();
    debugAssert(!web.wiring || web.wiring == wiring);
    web.wiring = wiring;
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
        httpServerGiveAccess(makeAccess());
    uint64_t now_ms = clockMonotonicMs();
    debugAssert(web.snapshot_ms <= now_ms);
    if (now_ms - web.snapshot_ms < SNAPSHOT_EVERY_MS || !httpServerTakeWish()) return;
    web.snapshot_ms = now_ms;
    httpServerGiveSnapshot(metricsSnapshotMake());
}
