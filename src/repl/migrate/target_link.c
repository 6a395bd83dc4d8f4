/* target_link.c -- connections to the targets of MIGRATE, which are cached for some seconds.
 *
 * Many MIGRATE commands often follow each other, and a new connection would cost each of them a round trip, and more
 * with TLS.
 *
 * Not here    the commands and replies (migrate.c), waiting for a connection (event/conn_wait.h).
 * Owns        the cached links.
 * Threads     main.
 * Invariants  1. A link is cached, or one caller owns it.
 *             2. A cached link has no unread bytes, so that no reply is taken for that to a later command.
 * Tests       tests/unit/repl/migrate/target_link_test.c, tests/repl/migrate.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "target_link.h"

#include "anet.h"
#include "clock.h"
#include "conn_wait.h"
#include "long_loop.h"
#include "panic.h"
#include "sds.h"
#include "tls_settings.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define CACHE_MAX 64
#define CACHE_MS 10000
#define PIECE_MS 1

struct targetLink {
    connWaiter waiter; /* first, so that a pointer to it can be cast to targetLink */
    uint64_t until_ms; /* monotonic: end of the present wait */
    uint64_t timeout_ms;
    sds name;         /* owns: key of the cache: host, port, whether authenticated, whether with TLS */
    connection *conn; /* owns */
    bool has_db;      /* `db` is known */
    long long db;     /* the selected database */
    uint64_t used_ms; /* monotonic: when it was cached */
    size_t from, len; /* the unread bytes are in[from .. len) */
    char in[TARGET_LINE_MAX];
};

static struct {
    targetLink *links[CACHE_MAX]; /* own */
    size_t count;
} cache;

static_assert(offsetof(targetLink, waiter) == 0, "the address of the waiter is that of the link");

static void linkCheck(const targetLink *link) {
    debugAssert(link->from <= link->len && link->len <= sizeof(link->in));
    debugAssert(link->timeout_ms > 0 && link->name);
    unused(link);
}

/* Asserts that each cached link is connected and has no unread bytes. */
static void cacheCheck(void) {
#ifdef DEBUG_ASSERTIONS
    debugAssert(cache.count <= CACHE_MAX);
    for (size_t i = 0; i < cache.count; i++) {
        linkCheck(cache.links[i]);
        debugAssert(cache.links[i]->conn && cache.links[i]->from == cache.links[i]->len);
    }
#endif
}

/* ---- Waiting ---- */

/* In pieces, between which others may be served (base/long_loop.h). They may take the rest of the time, so the last
 * look is after it. */
static bool waitReady(connWaiter *w, int fd, int mask) {
    const targetLink *link = (const targetLink *)w;
    uint64_t now_ms;
    int ready = 0;
    while (ready == 0 && (now_ms = clockMonotonicMs()) < link->until_ms) {
        uint64_t left_ms = link->until_ms - now_ms;
        bool whole = long_loop_left == 0 || left_ms < PIECE_MS;
        ready = aeWait(fd, mask, whole ? (long long)left_ms : PIECE_MS);
        if (ready == 0) longLoopPause();
    }
    if (ready == 0) ready = aeWait(fd, mask, 0);
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0;
}

static void beginWait(targetLink *link) { link->until_ms = clockMonotonicMs() + link->timeout_ms; }

/* ---- Opening and closing ---- */

static targetLink *takeCached(const sds name) {
    for (size_t i = 0; i < cache.count; i++) {
        targetLink *link = cache.links[i];
        if (sdsCmp(link->name, name) != 0) continue;
        cache.links[i] = cache.links[--cache.count];
        return link;
    }
    return NULL;
}

/* Returns whether the connection is still open and has received no bytes, which would be taken for a reply. */
static bool isQuiet(targetLink *link) {
    char byte;
    return connRead(link->conn, &byte, 1) == -1 && link->conn->state == CONN_CONNECTED;
}

static int portOf(slice text) {
    sds digits = sdsFromSlice(text);
    long port = strtol(digits, NULL, 10);
    sdsFree(digits);
    return port < 0 || port > INT_MAX ? 0 : (int)port;
}

static bool connectTo(targetLink *link, slice host, slice port) {
    tlsContext *tls = tls_settings.cluster ? tlsClientContext() : NULL;
    if (tls_settings.cluster && !tls) {
        errno = EPROTO;
        return false;
    }
    sds name = sdsFromSlice(host);
    int fd = anetTcpConnect(NULL, name, portOf(port), NULL, true);
    sdsFree(name);
    if (fd != C_ERR) link->conn = connWaitConnected(fd, tls, &link->waiter, NULL, NULL);
    return link->conn != NULL;
}

targetLink *targetOpen(slice host, slice port, bool authenticated, long long timeout_ms) {
    assertMainRole();
    debugAssert(timeout_ms > 0);
    cacheCheck();
    sds name =
        sdsCatPrintf(sdsFromSlice(host), ":%.*s:%d:%d", (int)port.len, port.ptr, authenticated, tls_settings.cluster);
    targetLink *link = takeCached(name);
    if (link && isQuiet(link)) {
        sdsFree(name);
        link->timeout_ms = (uint64_t)timeout_ms;
        return link;
    }
    targetDrop(link);
    link = zcalloc(1, sizeof(*link));
    link->waiter.ready = waitReady;
    link->timeout_ms = (uint64_t)timeout_ms;
    link->name = name;
    beginWait(link);
    if (connectTo(link, host, port)) return link;
    int error = errno;
    targetDrop(link);
    errno = error;
    return NULL;
}

void targetDrop(targetLink *link) {
    if (!link) return;
    if (link->conn) connClose(link->conn);
    sdsFree(link->name);
    zfree(link);
}

/* If the cache is full, closes the link that was not used for the longest time. */
static void targetLinkReserve(void) {
    if (cache.count < CACHE_MAX) return;
    size_t oldest = 0;
    for (size_t i = 1; i < cache.count; i++)
        if (cache.links[i]->used_ms < cache.links[oldest]->used_ms) oldest = i;
    targetDrop(cache.links[oldest]);
    cache.links[oldest] = cache.links[--cache.count];
}

void targetCache(targetLink *link) {
    assertMainRole();
    linkCheck(link);
    if (link->from != link->len) {
        targetDrop(link);
        return;
    }
    targetLinkReserve();
    link->used_ms = clockMonotonicMs();
    serverAssert(cache.count < CACHE_MAX);
    cache.links[cache.count++] = link;
    cacheCheck();
}

size_t targetsCached(void) { return cache.count; }

void targetsTick(void) {
    assertMainRole();
    uint64_t now_ms = clockMonotonicMs();
    for (size_t i = cache.count; i-- > 0;) {
        targetLink *link = cache.links[i];
        if (now_ms - link->used_ms <= CACHE_MS) continue;
        cache.links[i] = cache.links[--cache.count];
        targetDrop(link);
    }
    cacheCheck();
}

/* ---- The selected database ---- */

bool targetHasDb(const targetLink *link, long long db) { return link->has_db && link->db == db; }

void targetSetDb(targetLink *link, long long db) {
    linkCheck(link);
    link->has_db = true;
    link->db = db;
}

void targetForgetDb(targetLink *link) { link->has_db = false; }

/* ---- Reading and writing ---- */

bool targetWrite(targetLink *link, slice bytes) {
    while (bytes.len > 0) {
        size_t n = bytes.len < TARGET_PIECE_BYTES ? bytes.len : TARGET_PIECE_BYTES;
        beginWait(link);
        if (!connWaitWrite(link->conn, sliceOf(bytes.ptr, n), &link->waiter)) return false;
        bytes = sliceOf(bytes.ptr + n, bytes.len - n);
    }
    return true;
}

/* Reads more bytes and appends them to the unread ones. */
static bool targetLinkReadMore(targetLink *link) {
    link->len -= link->from;
    memmove(link->in, link->in + link->from, link->len);
    link->from = 0;
    if (link->len == sizeof(link->in)) {
        errno = EBADMSG;
        return false;
    }
    ssize_t n = connWaitRead(link->conn, link->in + link->len, sizeof(link->in) - link->len, &link->waiter);
    if (n == 0) errno = ECONNRESET;
    if (n <= 0) return false;
    link->len += (size_t)n;
    linkCheck(link);
    return true;
}

bool targetReadLine(targetLink *link, slice *line) {
    size_t scanned = 0;
    beginWait(link);
    for (;;) {
        const char *begin = link->in + link->from;
        size_t have = link->len - link->from;
        const char *end = have > scanned ? memchr(begin + scanned, '\n', have - scanned) : NULL;
        if (end) {
            size_t len = (size_t)(end - begin);
            link->from += len + 1;
            if (len > 0 && begin[len - 1] == '\r') len--;
            *line = sliceOf(begin, len);
            return true;
        }
        scanned = have;
        if (!targetLinkReadMore(link)) return false;
    }
}
