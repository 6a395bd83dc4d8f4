/* http_server.c -- the thread that serves metrics and a page over HTTP/1.1.
 *
 * It sleeps in a loop of its own. Its knowledge of the server comes from main: a snapshot, and a copy of the users. A
 * request for metrics is served from a snapshot that is younger than a second. If there is none, the thread asks main
 * for one and waits a short time; if main is too busy to make it, the response is the last snapshot (with its time), or
 * 503 if there is none.
 *
 *     READS --whole request--> [WAITS --snapshot, or SNAPSHOT_WAIT_MS--> ] WRITES --all sent--> READS
 *       |                                                               |
 *       '-- end of file, time limit: closed        the last response: LINGERS -- end of file, time limit: closed
 *
 * A connection is in one of these phases, each with a time limit. Its input is read only while it READS: a peer that
 * sends many requests gets the responses one after the other, and its further input stays in the kernel. Requests
 * without a pause between them form a burst, whose time and bytes are limited, too: the response that exceeds a limit
 * is the last one of the connection. After the last response the connection LINGERS until the peer has read it: closing
 * a socket with unread input would discard the response.
 *
 * When all slots are in use, a new connection gets the slot of one that uses it least (web_slots.h), whatever its
 * phase: slow peers do not lock out others.
 *
 * All responses of one second refer to the same text. Slow peers keep a text in memory, but their time is limited, so
 * few texts exist at any time.
 *
 * Not here    parsing requests (http_request.c), writing metrics (open_metrics.c), the rules of access (web_access.c).
 * Owns        the thread, its loop and connections; the snapshot and the copy of the users that main gave it.
 * Threads     functions of the header: main's own thread. The rest: the thread. They share only `web.shared`.
 * Invariants  1. A text is freed with its last reference; all references are the thread's.
 *             2. There are at most CONNECTIONS_MAX connections, each with HTTP_REQUEST_MAX bytes of input.
 *             3. READS: no response is being sent. WAITS: a request is complete, its response is not begun. WRITES:
 *                part of a response is unsent. LINGERS: all of the last response is sent.
 *             4. The loop watches a connection for the events that its phase needs, and for no others.
 *             5. While there are connections, the timer that checks their time limits exists.
 * Tests       tests/unit/web/http_server_test.c, tests/server/metrics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "http_server.h"

#include "ae.h"
#include "anet.h"
#include "clock.h"
#include "http_answer.h"
#include "http_request.h"
#include "log_limit.h"
#include "panic.h"
#include "thread.h"
#include "web_page.h"
#include "web_slots.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CONNECTIONS_MAX WEB_SLOTS_MAX
#define ACCEPTS_PER_EVENT 64
#define FRESH_MS 1000                    /* a younger snapshot is recent enough */
#define SNAPSHOT_WAIT_MS 1500            /* wait for a new one: longer than the slowest tick of main, one per second */
#define IDLE_MS 75000                    /* between two requests: longer than collectors usually pause */
#define REQUEST_MS 10000                 /* from the first byte of a request to its last one */
#define WRITE_MS 30000                   /* to send a response */
#define BURST_MS 20000                   /* for requests without a pause between them; one more response may follow */
#define BURST_BYTES ((uint64_t)64 << 20) /* for their responses */
#define PAUSE_MS 100                     /* a time without requests that ends a burst */
#define PROGRESS_BYTES 4096              /* of a response: a peer that reads less in its time makes no progress */
#define SEND_BYTES 131072 /* of a socket: the kernel would hold megabytes for each peer that does not read */
#define LINGER_MS 2000
#define SWEEP_MS 250 /* the end of a time limit may be noticed this much late */
#define ACCEPT_PAUSE_MS 100
#define THREAD_NICE 10
#define CREDENTIALS_MAX 1024
#define LOOP_FDS_AT_START 512 /* grows with the descriptors */
#define TEXTS_MAX (2 * METRICS_FORMATS * METRICS_NAMES)

typedef struct blob {
    unsigned refs;
    size_t len;
    char *bytes; /* owns, except for the page */
} blob;

typedef enum { WEB_READS, WEB_WAITS, WEB_WRITES, WEB_LINGERS, WEB_CLOSED } webPhase;

typedef struct webConn {
    int fd;
    webPhase phase;
    uint64_t until_ms;              /* end of the time limit of this phase */
    uint64_t progress_ms;           /* when the phase began, or PROGRESS_BYTES more of the response were sent */
    uint64_t burst_ms, burst_bytes; /* when the burst began, and bytes sent in it */
    uint64_t network;               /* webNetworkOf() */
    bool is_local;                  /* the peer is on this machine */
    bool closes;                    /* after the response that is being written */
    bool may_see_keys;              /* the user may see the names of hot keys */
    httpRequest request;
    blob *body; /* counted; NULL if the whole response is in `head` */
    size_t head_len, body_len, sent;
    size_t progress_at; /* bytes of the response that were sent at progress_ms */
    size_t in_len;
    char in[HTTP_REQUEST_MAX];
    char head[HTTP_HEAD_MAX];
} webConn;

static struct {
    /* Main. */
    bool runs;
    pthread_t id;

    /* Shared, atomic. The thread that exchanges a pointer for another one owns the old object. */
    struct {
        _Atomic bool snapshot_requested; /* set by the thread, cleared by main; publishes nothing */
        _Atomic bool stop;               /* release by main, acquire by the thread */
        _Atomic metricsNames names;      /* set by main; publishes nothing */
        _Atomic(metricsSnapshot *) snapshot;
        _Atomic(webAccess *) access;
    } shared;

    /* The thread's; main's before the thread starts and after it ends. */
    aeEventLoop *loop;
    aeWakeup wakeup;
    int listeners[HTTP_LISTENERS_MAX], listeners_count;
    int keepalive_s;
    unsigned speedup;
    bool accept_paused;              /* no descriptor was left */
    bool timer_exists;               /* of the time limits */
    webConn *conns[CONNECTIONS_MAX]; /* owns */
    size_t conns_count;
    metricsSnapshot *snapshot; /* owns; NULL until the first one */
    /* Counted: texts of this snapshot, without keys and with keys, in each format, with the names of either kind; made
     * when they are first needed. */
    blob *texts[TEXTS_MAX];
    webAccess *access; /* owns */
    webCounters counters;
} web;

static blob page = {.refs = 1};

/* ---- Checks of the invariants ---- */

static const int phase_masks[] = {[WEB_READS] = AE_READABLE,
                                  [WEB_WAITS] = AE_NONE,
                                  [WEB_WRITES] = AE_WRITABLE,
                                  [WEB_LINGERS] = AE_READABLE,
                                  [WEB_CLOSED] = AE_NONE};
static_assert(array_len(phase_masks) == WEB_CLOSED + 1, "each phase says what its connection listens for");

/* Asserts the invariants of a connection's phase. Called at the beginning of each event of the loop and at its end;
 * `settled` means that the loop watches for what the phase needs. */
static void connCheck(const webConn *c, bool settled) {
    size_t whole = c->head_len + c->body_len;
    debugAssert(c->fd >= 0 && c->in_len <= sizeof(c->in) && c->head_len <= sizeof(c->head));
    debugAssert(c->progress_at <= c->sent && c->sent <= whole);
    debugAssert(!c->body || (c->body->refs > 0 && c->body_len == c->body->len));
    debugAssert(!settled || aeGetFileEvents(web.loop, c->fd) == phase_masks[c->phase]);
    switch (c->phase) {
    case WEB_READS:
        debugAssert(!c->body && c->sent == whole && c->request.end == 0);
        debugAssert(!settled || c->in_len < sizeof(c->in));
        break;
    case WEB_WAITS: debugAssert(!c->body && c->request.end > 0 && c->request.end <= c->in_len); break;
    case WEB_WRITES:
        debugAssert(c->sent < whole && (c->closes || c->request.end > 0));
        debugAssert((c->body == NULL) == (c->body_len == 0));
        break;
    case WEB_LINGERS: debugAssert(c->closes && !c->body && c->sent == whole); break;
    case WEB_CLOSED: debugAssert(!settled); break;
    }
    unused(whole), unused(settled);
}

/* Asserts the same for all connections, and the counts of what they share, at both ends of an event. */
static void serverCheck(void) {
#ifdef DEBUG_ASSERTIONS
    serverAssert(web.conns_count <= CONNECTIONS_MAX && web.speedup > 0);
    debugAssert(web.timer_exists || web.conns_count == 0);
    debugAssert(web.access && page.refs >= 1 && page.bytes);
    size_t refs[TEXTS_MAX] = {0}, page_refs = 1;
    for (size_t i = 0; i < web.conns_count; i++) {
        const webConn *c = web.conns[i];
        connCheck(c, c->phase != WEB_CLOSED);
        page_refs += c->body == &page;
        for (int t = 0; t < TEXTS_MAX; t++) refs[t] += c->body && c->body == web.texts[t];
    }
    debugAssert(page.refs == page_refs);
    for (int t = 0; t < TEXTS_MAX; t++)
        debugAssert(!web.texts[t] || (web.snapshot && web.texts[t]->refs == refs[t] + 1));
#endif
}

/* ---- Texts ---- */

static void blobRelease(blob *b) {
    if (!b) return;
    serverAssert(b->refs > 0);
    if (--b->refs > 0) return;
    debugAssert(b != &page);
    zfree(b->bytes);
    zfree(b);
}

static char *writeText(bool with_keys, metricsFormat format, metricsNames names, size_t *len) {
    debugAssert(web.snapshot && format < METRICS_FORMATS);
    webHotKeys hot = {.count = {0}};
    for (hotKeysMetric m = 0; m < HOT_KEYS_METRICS && with_keys; m++)
        hot.count[m] = hotKeysTop(m, hot.keys[m], WEB_HOT_KEYS);
    web.counters.open = web.conns_count;
    char *bytes = openMetricsWrite(web.snapshot, &web.counters, with_keys ? &hot : NULL, format, names, len);
    for (hotKeysMetric m = 0; m < HOT_KEYS_METRICS; m++) heavyKeysFree(hot.keys[m], hot.count[m]);
    return bytes;
}

static blob *textOf(bool with_keys, metricsFormat format, metricsNames names) {
    blob **b = &web.texts[(with_keys * METRICS_FORMATS + format) * METRICS_NAMES + names];
    if (!*b) {
        *b = zmalloc(sizeof(**b));
        **b = (blob){.refs = 1};
        (*b)->bytes = writeText(with_keys, format, names, &(*b)->len);
    }
    return *b;
}

/* Replaces the snapshot by `s`. */
static void takeSnapshot(metricsSnapshot *s) {
    for (int i = 0; i < TEXTS_MAX; i++) {
        blobRelease(web.texts[i]);
        web.texts[i] = NULL;
    }
    metricsSnapshotFree(web.snapshot);
    web.snapshot = s;
}

/* ---- Phases ---- */

static void httpServerEnter(webConn *c, webPhase phase, uint64_t ms) {
    c->phase = phase;
    c->progress_ms = clockMonotonicMs();
    c->until_ms = c->progress_ms + ms / web.speedup;
}

static void readNext(webConn *c) {
    httpServerEnter(c, WEB_READS, c->in_len > 0 ? REQUEST_MS : IDLE_MS);
    httpRequestReset(&c->request);
}

static void noteSent(webConn *c, size_t bytes) {
    debugAssert(c->phase == WEB_WRITES && bytes > 0 && c->sent + bytes <= c->head_len + c->body_len);
    c->sent += bytes;
    c->burst_bytes += bytes;
    if (c->sent - c->progress_at < PROGRESS_BYTES) return;
    c->progress_at = c->sent;
    c->progress_ms = clockMonotonicMs();
}

static bool burstIsTooLong(const webConn *c) {
    return c->burst_bytes >= BURST_BYTES || clockMonotonicMs() - c->burst_ms >= BURST_MS / web.speedup;
}

static bool flushOnce(webConn *c) {
    struct iovec parts[2];
    int count = 0;
    size_t head_left = c->sent < c->head_len ? c->head_len - c->sent : 0;
    size_t body_sent = c->sent > c->head_len ? c->sent - c->head_len : 0;
    if (head_left) parts[count++] = (struct iovec){c->head + c->sent, head_left};
    if (c->body_len > body_sent) parts[count++] = (struct iovec){c->body->bytes + body_sent, c->body_len - body_sent};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    if (n > 0) noteSent(c, (size_t)n);
    else if (errno != EAGAIN && errno != EINTR) c->phase = WEB_CLOSED;
    return n > 0;
}

/* Writes as much as the socket accepts. After the last byte it goes on to the next request, or lingers. */
static void httpServerFlush(webConn *c) {
    size_t whole = c->head_len + c->body_len;
    while (c->phase == WEB_WRITES && c->sent < whole && flushOnce(c)) continue;
    if (c->phase != WEB_WRITES || c->sent < whole) return;
    blobRelease(c->body);
    c->body = NULL;
    if (c->closes) {
        shutdown(c->fd, SHUT_WR);
        httpServerEnter(c, WEB_LINGERS, LINGER_MS);
        return;
    }
    debugAssert(c->request.end > 0 && c->request.end <= c->in_len);
    c->in_len -= c->request.end;
    memmove(c->in, c->in + c->request.end, c->in_len);
    readNext(c);
}

/* ---- Answers ---- */

static const char *reasonOf(const webConn *c, int status) {
    if (status == 403 && webAccessIsLocal(web.access) && !c->is_local)
        return "Protected mode is on and no password is set: only this machine may read metrics.\n";
    if (status == 421)
        return "Without a user name and a password, a request from this machine must name an address or localhost as "
               "its\n"
               "host: under another name it could come from a page of another site.\n";
    return "";
}

/* Begins a response. `body` is its content, which is not sent for a HEAD request; if it is NULL, a line of text
 * explains the status. */
static void answer(webConn *c, int status, const char *type, blob *body, const char *extra) {
    char line[512];
    size_t line_len = 0;
    debugAssert((c->phase == WEB_READS || c->phase == WEB_WAITS) && !c->body);
    bool has_none = status == 304, wants_body = c->request.method != HTTP_HEAD;
    if (!body && !has_none)
        line_len = (size_t)snprintf(line, sizeof(line), "%d %s\n%s", status, httpReason(status), reasonOf(c, status));
    /* The end of an invalid request is unknown, so no other request can follow it. */
    bool is_whole = c->request.end > 0;
    c->closes = !is_whole || !c->request.keeps_alive || burstIsTooLong(c);
    httpAnswer a = {.status = status,
                    .type = has_none ? NULL
                            : type   ? type
                                     : "text/plain; charset=utf-8",
                    .length = body ? body->len : line_len,
                    .extra = extra,
                    .closes = c->closes,
                    .keep_alive = is_whole && c->request.minor_0};
    c->head_len = httpAnswerHead(c->head, &a, clockWallMs() / 1000);
    c->sent = c->progress_at = c->body_len = 0;
    if (wants_body && body) {
        body->refs++;
        c->body = body;
        c->body_len = body->len;
    } else if (wants_body && line_len < sizeof(c->head) - c->head_len) {
        memcpy(c->head + c->head_len, line, line_len);
        c->head_len += line_len;
    }
    httpServerEnter(c, WEB_WRITES, WRITE_MS);
    httpServerFlush(c);
}

/* Returns the names of metrics that the request asks for, or those of the setting. */
static metricsNames namesOf(const httpRequest *request) {
    slice wanted = httpQueryValue(request->query, "names");
    if (sliceEq(wanted, sliceStr("valkey"))) return METRICS_NAMES_VALKEY;
    if (sliceEq(wanted, sliceStr("redis"))) return METRICS_NAMES_REDIS;
    return atomic_load_explicit(&web.shared.names, memory_order_relaxed);
}

static void answerMetrics(webConn *c) {
    static const char *const types[METRICS_FORMATS] = {
        [METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
        [METRICS_OPEN] = "application/openmetrics-text; version=1.0.0; charset=utf-8"};
    metricsFormat format = c->request.prefers_open ? METRICS_OPEN : METRICS_TEXT;
    if (!web.snapshot) {
        answer(c, 503, NULL, NULL, "Retry-After: 1\r\n");
        return;
    }
    web.counters.scrapes++;
    answer(c, 200, types[format], textOf(c->may_see_keys, format, namesOf(&c->request)),
           "Cache-Control: no-store\r\nVary: Accept\r\n");
}

static void serveMetrics(webConn *c) {
    /* Even if there is a recent snapshot: a client that reads once a second needs a new one for each second. */
    atomic_store_explicit(&web.shared.snapshot_requested, true, memory_order_relaxed);
    if (web.snapshot && clockMonotonicMs() - web.snapshot->monotonic_ms < FRESH_MS) answerMetrics(c);
    else httpServerEnter(c, WEB_WAITS, SNAPSHOT_WAIT_MS);
}

static void servePage(webConn *c) {
    if (c->request.etags.ptr && httpHasEtag(c->request.etags, webPageEtag()))
        answer(c, 304, NULL, NULL, webPageFields());
    else answer(c, 200, "text/html; charset=utf-8", &page, webPageFields());
}

/* ---- Requests ---- */

static int checkAccess(webConn *c) {
    char room[CREDENTIALS_MAX];
    slice name, password;
    if (webAccessIsLocal(web.access) && !c->is_local) return 403;
    int status = 401;
    if (!c->request.credentials.ptr) {
        status = webAccessCheckAnonymous(web.access, &c->may_see_keys);
        /* A page on another site can make a browser on this machine send a request here, by letting its own host name
         * lead here. */
        return status == 200 && c->is_local && !httpHostIsLocal(c->request.host) ? 421 : status;
    }
    if (httpCredentials(&c->request, room, sizeof(room), &name, &password))
        status = webAccessCheck(web.access, name, password, &c->may_see_keys);
    explicit_bzero(room, sizeof(room));
    return status;
}

static void serveRequest(webConn *c) {
    int status = checkAccess(c);
    slice path = c->request.path;
    if (status != 200) {
        web.counters.denied++;
        answer(c, status, NULL, NULL,
               status == 401 ? "WWW-Authenticate: Basic realm=\"valkey\", charset=\"UTF-8\"\r\n" : NULL);
    } else if (sliceEq(path, sliceStr("/metrics"))) {
        serveMetrics(c);
    } else if (sliceEq(path, sliceStr("/"))) {
        servePage(c);
    } else {
        answer(c, 404, NULL, NULL, NULL);
    }
}

/* Serves the next request. Returns false if it is incomplete. */
static bool serveNext(webConn *c) {
    int status = httpRequestRead(&c->request, c->in, c->in_len);
    if (status == HTTP_MORE) return false;
    web.counters.requests++;
    if (status == HTTP_OK) {
        serveRequest(c);
        return true;
    }
    web.counters.bad_requests++;
    c->request.end = 0;
    answer(c, status, NULL, NULL, status == 405 ? "Allow: GET, HEAD\r\n" : NULL);
    return true;
}

/* ---- Connections ---- */

static void onReady(aeEventLoop *loop, int fd, void *arg, int mask);

/* Makes the loop watch the connection for the events of its phase. */
static bool listenFor(webConn *c) {
    int now = aeGetFileEvents(web.loop, c->fd), wanted = phase_masks[c->phase];
    if (now & ~wanted) aeDeleteFileEvent(web.loop, c->fd, now & ~wanted);
    return !(wanted & ~now) || aeCreateFileEvent(web.loop, c->fd, wanted & ~now, onReady, c) == C_OK;
}

static void closeConn(webConn *c) {
    size_t at = 0;
    while (at < web.conns_count && web.conns[at] != c) at++;
    serverAssert(at < web.conns_count);
    web.conns[at] = web.conns[--web.conns_count];
    aeDeleteFileEvent(web.loop, c->fd, AE_READABLE | AE_WRITABLE);
    shutdown(c->fd, SHUT_RDWR); /* a forked child may have the descriptor for a moment */
    close(c->fd);
    blobRelease(c->body);
    explicit_bzero(c->in, sizeof(c->in)); /* may hold passwords */
    zfree(c);
}

/* Each event of a connection ends here: serves requests that were read already, and closes it or updates its events. */
static void httpServerSettle(webConn *c) {
    while (c->phase == WEB_READS && serveNext(c)) continue;
    if (c->phase == WEB_CLOSED || !listenFor(c)) closeConn(c);
    else connCheck(c, true);
}

/* Starts the time limit of a request when its first bytes arrive, and perhaps a new burst. */
static void beginRequest(webConn *c) {
    uint64_t idle_since_ms = c->progress_ms;
    httpServerEnter(c, WEB_READS, REQUEST_MS);
    if (c->progress_ms - idle_since_ms < PAUSE_MS) return;
    c->burst_ms = c->progress_ms;
    c->burst_bytes = 0;
}

static void httpServerReadMore(webConn *c) {
    bool begins = c->in_len == 0;
    serverAssert(c->in_len < sizeof(c->in)); /* httpRequestRead() has refused longer requests */
    ssize_t n = read(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) c->phase = WEB_CLOSED;
        return;
    }
    c->in_len += (size_t)n;
    if (begins) beginRequest(c);
}

/* Discards input after the last response. */
static void discardInput(webConn *c) {
    char room[4096];
    for (int i = 0; i < 16; i++) {
        ssize_t n = read(c->fd, room, sizeof(room));
        if (n > 0) continue;
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) c->phase = WEB_CLOSED;
        return;
    }
}

static void onReady(aeEventLoop *loop, int fd, void *arg, int mask) {
    webConn *c = arg;
    unused(loop), unused(fd), unused(mask);
    serverCheck();
    debugAssert(fd == c->fd && !(mask & ~(phase_masks[c->phase] | AE_READABLE | AE_WRITABLE)));
    switch (c->phase) {
    case WEB_READS: httpServerReadMore(c); break;
    case WEB_WRITES: httpServerFlush(c); break;
    case WEB_LINGERS: discardInput(c); break;
    case WEB_WAITS:
    case WEB_CLOSED: break;
    }
    httpServerSettle(c);
    serverCheck();
}

/* ---- Time ---- */

static void onTimeout(webConn *c) {
    if (c->phase == WEB_WAITS) answerMetrics(c); /* from the last snapshot */
    else c->phase = WEB_CLOSED;
    httpServerSettle(c);
}

static long long onSweep(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    uint64_t now_ms = clockMonotonicMs();
    serverCheck();
    for (size_t i = web.conns_count; i-- > 0;) /* a closed connection is replaced by one that was checked already */
        if (now_ms >= web.conns[i]->until_ms) onTimeout(web.conns[i]);
    web.timer_exists = web.conns_count > 0;
    serverCheck();
    return web.timer_exists ? SWEEP_MS : AE_NOMORE;
}

/* ---- Accepting ---- */

/* Closes a connection to free a slot for one from `network`. */
static void httpServerReserve(uint64_t network) {
    webSlot slots[CONNECTIONS_MAX];
    serverAssert(web.conns_count == CONNECTIONS_MAX);
    for (size_t i = 0; i < web.conns_count; i++) {
        const webConn *c = web.conns[i];
        slots[i] = (webSlot){c->network, c->progress_ms, c->phase == WEB_WAITS};
    }
    web.counters.turned_away++;
    closeConn(web.conns[webSlotPick(slots, web.conns_count, network)]);
}

static void adopt(int fd, const char *ip) {
    int fds = aeGetSetSize(web.loop);
    if (fd >= fds && aeResizeSetSize(web.loop, fd >= 2 * fds ? fd + 1 : 2 * fds) == C_ERR) goto refused;
    uint64_t network = webNetworkOf(ip);
    if (web.conns_count == CONNECTIONS_MAX) httpServerReserve(network);
    webConn *c = zmalloc(sizeof(*c));
    c->fd = fd;
    c->network = network;
    c->is_local = anetIsLoopback(ip);
    c->body = NULL;
    c->in_len = c->head_len = c->body_len = c->sent = c->progress_at = 0;
    c->burst_ms = clockMonotonicMs();
    c->burst_bytes = 0;
    int send_bytes = SEND_BYTES;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
    anetNoDelay(NULL, fd, true);
    if (web.keepalive_s > 0) anetKeepAlive(NULL, fd, web.keepalive_s);
    serverAssert(web.conns_count < CONNECTIONS_MAX);
    web.conns[web.conns_count++] = c;
    web.counters.connections++;
    readNext(c);
    if (!web.timer_exists) web.timer_exists = aeCreateTimeEvent(web.loop, SWEEP_MS, onSweep, NULL) >= 0;
    httpServerSettle(c);
    return;
refused:
    web.counters.turned_away++;
    close(fd);
}

static void onAcceptable(aeEventLoop *loop, int fd, void *arg, int mask);

static void listenAgain(void) {
    for (int i = 0; i < web.listeners_count; i++)
        if (aeCreateFileEvent(web.loop, web.listeners[i], AE_READABLE, onAcceptable, NULL) == C_ERR)
            LOG_LIMITED(LL_WARNING, 1, "accepting connections to the metrics port could not be resumed",
                        "Cannot accept connections to the metrics port: %s", strerror(errno));
}

static long long onAcceptAgain(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    web.accept_paused = false;
    listenAgain();
    return AE_NOMORE;
}

/* Pauses accepting when no descriptor is left: the connection stays in the listen queue, and an immediate retry would
 * only waste processor time. */
static void pauseAccepting(void) {
    web.accept_paused = aeCreateTimeEvent(web.loop, ACCEPT_PAUSE_MS, onAcceptAgain, NULL) >= 0;
    for (int i = 0; i < web.listeners_count && web.accept_paused; i++)
        aeDeleteFileEvent(web.loop, web.listeners[i], AE_READABLE);
}

static void onAcceptable(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(loop), unused(arg), unused(mask);
    for (int i = 0; i < ACCEPTS_PER_EVENT && !web.accept_paused; i++) {
        char ip[ANET_ADDR_LEN] = "", err[ANET_ERR_LEN];
        int port, peer = anetTcpAccept(err, fd, ip, sizeof(ip), &port);
        if (peer >= 0) {
            adopt(peer, ip);
            continue;
        }
        int why = errno;
        if (why == EAGAIN || why == EWOULDBLOCK) return;
        LOG_LIMITED(LL_WARNING, 1, "accepting a connection to the metrics port failed",
                    "Cannot accept a connection to the metrics port: %s", err);
        if (why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM) pauseAccepting();
        return;
    }
}

/* ---- The thread ---- */

static void answerWaiting(void) {
    for (size_t i = web.conns_count; i-- > 0;) {
        webConn *c = web.conns[i];
        if (c->phase != WEB_WAITS) continue;
        answerMetrics(c);
        httpServerSettle(c);
    }
}

/* Takes over what main has published, and ends the loop if main wants that. */
static void beforeSleep(aeEventLoop *loop, void *arg) {
    unused(arg);
    serverCheck();
    webAccess *access = atomic_exchange_explicit(&web.shared.access, NULL, memory_order_acquire);
    if (access) {
        webAccessFree(web.access);
        web.access = access;
    }
    metricsSnapshot *snapshot = atomic_exchange_explicit(&web.shared.snapshot, NULL, memory_order_acquire);
    if (snapshot) {
        takeSnapshot(snapshot);
        answerWaiting();
    }
    if (atomic_load_explicit(&web.shared.stop, memory_order_acquire)) aeStop(loop);
    serverCheck();
}

static void threadMain(void *arg) {
    unused(arg);
    aeMain(web.loop);
    while (web.conns_count > 0) closeConn(web.conns[0]);
}

/* ---- Main ---- */

bool httpServerRuns(void) { return web.runs; }

void httpServerStart(const httpServerSetup *setup) {
    assertMainThread();
    serverAssert(!web.runs && setup->listeners_count <= HTTP_LISTENERS_MAX && setup->access);
    debugAssert(web.conns_count == 0 && !web.snapshot && page.refs == 1);
    webPageInit();
    page.bytes = (char *)(uintptr_t)webPage().ptr; /* never freed, as one reference stays */
    page.len = webPage().len;
    web.loop = aeCreateEventLoop(LOOP_FDS_AT_START);
    if (!web.loop || aeWakeupOpen(web.loop, &web.wakeup, NULL) == C_ERR)
        serverPanic("Cannot create the event loop of the metrics port: %s", strerror(errno));
    web.listeners_count = setup->listeners_count;
    for (int i = 0; i < setup->listeners_count; i++) {
        int fd = web.listeners[i] = setup->listeners[i];
        if (fd >= aeGetSetSize(web.loop)) (void)aeResizeSetSize(web.loop, fd + 1);
    }
    web.keepalive_s = setup->keepalive_s;
    web.speedup = setup->speedup ? setup->speedup : 1;
    web.access = setup->access;
    web.counters = (webCounters){.scrapes = 0};
    web.accept_paused = web.timer_exists = false;
    aeSetBeforeSleep(web.loop, beforeSleep, NULL);
    listenAgain();
    atomic_store_explicit(&web.shared.stop, false, memory_order_relaxed);
    atomic_store_explicit(&web.shared.snapshot_requested, false, memory_order_relaxed);
    threadPlan plan = {.name = "web", .cpulist = setup->cpulist, .nice = THREAD_NICE};
    int err = threadStart(&web.id, &plan, threadMain, NULL);
    if (err) serverPanic("Cannot start the thread of the metrics port: %s", strerror(err));
    web.runs = true;
}

void httpServerStop(void) {
    assertMainThread();
    if (!web.runs) return;
    atomic_store_explicit(&web.shared.stop, true, memory_order_release);
    aeWakeupSend(&web.wakeup);
    pthread_join(web.id, NULL);
    web.runs = false;
    debugAssert(web.conns_count == 0);
    for (int i = 0; i < web.listeners_count; i++) {
        aeDeleteFileEvent(web.loop, web.listeners[i], AE_READABLE);
        shutdown(web.listeners[i], SHUT_RDWR); /* as in closeConn() */
        close(web.listeners[i]);
    }
    aeDeleteEventLoop(web.loop);
    aeWakeupClose(&web.wakeup);
    takeSnapshot(NULL);
    metricsSnapshotFree(atomic_exchange(&web.shared.snapshot, NULL));
    webAccessFree(web.access);
    webAccessFree(atomic_exchange(&web.shared.access, NULL));
}

void httpServerSetNames(metricsNames names) { atomic_store_explicit(&web.shared.names, names, memory_order_relaxed); }

bool httpServerTakeRequest(void) {
    return atomic_load_explicit(&web.shared.snapshot_requested, memory_order_relaxed) &&
           atomic_exchange_explicit(&web.shared.snapshot_requested, false, memory_order_relaxed);
}

/* A previous snapshot that the thread has not taken is freed: it is of no use any more. */
void httpServerSetSnapshot(metricsSnapshot *s) {
    assertMainThread();
    debugAssert(web.runs && s);
    metricsSnapshotFree(atomic_exchange_explicit(&web.shared.snapshot, s, memory_order_acq_rel));
    aeWakeupSend(&web.wakeup);
}

void httpServerSetAccess(webAccess *a) {
    assertMainThread();
    debugAssert(web.runs && a);
    webAccessFree(atomic_exchange_explicit(&web.shared.access, a, memory_order_acq_rel));
    aeWakeupSend(&web.wakeup);
}
