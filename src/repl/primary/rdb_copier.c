/* rdb_copier.c -- a thread that copies a snapshot to the connections of replicas.
 *
 *   child ==pipe==> |           | ==> connection 0
 *                   |  buffer   | ==> connection 1
 *   file =========> |           | ==> ...
 *
 * The thread fills its buffer, writes it to all connections, and so on. So before the next read each connection has
 * received the whole buffer, has failed, or was cancelled.
 *
 * Not here    which replica gets which snapshot (full_sync.c), detaching connections (net/balance/conn_detach.h).
 * Owns        the thread, the source, the buffer.
 * Threads     main's own; the copier's, which alone touches the connections between rdbCopierStart() and its end.
 * Invariants  1. Each connection gets the same bytes in the same order, or fails.
 *             2. A connection was sent the first `sent` bytes of the buffer. Not more than `length` bytes of the source
 *                are read, unless that is 0.
 *             3. The thread ends when the source ends, or within WAKE_MS after all connections were cancelled.
 * Cost        a copy into the process and one out of it for each byte, none of it on main.
 * Tests       tests/unit/repl/primary/rdb_copier_test.c, tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_copier.h"

#include "clock.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)256 << 10)
#define WAKE_MS 100 /* longest wait before the thread checks which connections were cancelled */

typedef struct outlet {
    connection *conn;               /* borrowed; the thread */
    size_t sent;                    /* the thread: bytes of the buffer that were written */
    uint64_t progress_ms;           /* the thread, monotonic: when the connection last accepted bytes */
    _Atomic uint64_t full_since_ms; /* relaxed, by the thread: since when it accepts none; 0 if it does, or need not */
    bool failed;                    /* the thread; main after its end */
    _Atomic bool cancelled;         /* relaxed, by main */
} outlet;

struct rdbCopier {
    /* const */
    int source; /* owns */
    uint64_t length;
    unsigned timeout_s;
    void (*done)(void);
    size_t count;
    pthread_t thread;
    /* the thread */
    char *buffer;           /* owns */
    bool broken;            /* the source has failed, or ended before `length` bytes */
    _Atomic uint64_t bytes; /* relaxed: read from the source */
    _Atomic bool over;      /* release by the thread: publishes all its results */
    outlet outlets[];
};

static _Atomic uint64_t sent_bytes; /* relaxed: by all copiers since startup */

static bool isWanted(const outlet *o) {
    return !o->failed && !atomic_load_explicit(&o->cancelled, memory_order_relaxed);
}

/* Asserts the invariants; the buffer has `len` bytes. Runs on the thread. */
static void transferCheck(const rdbCopier *t, size_t len) {
#ifdef DEBUG_ASSERTIONS
    debugAssert(len <= BUFFER_BYTES && len <= t->bytes);
    debugAssert(!t->length || t->bytes <= t->length);
    debugAssert(!atomic_load_explicit(&t->over, memory_order_relaxed));
    for (size_t i = 0; i < t->count; i++) debugAssert(t->outlets[i].sent <= len);
#endif
    unused(t), unused(len);
}

static bool anyWanted(const rdbCopier *t) {
    for (size_t i = 0; i < t->count; i++)
        if (isWanted(&t->outlets[i])) return true;
    return false;
}

/* Writes as much of the rest of the buffer as the connection accepts now. */
static void writeSome(rdbCopier *t, outlet *o, size_t len) {
    debugAssert(o->sent < len);
    struct iovec iov = {t->buffer + o->sent, len - o->sent};
    ssize_t n = connWritev(o->conn, &iov, 1);
    uint64_t now_ms = clockMonotonicMs();
    if (n > 0) {
        atomic_fetch_add_explicit(&sent_bytes, (uint64_t)n, memory_order_relaxed);
        o->sent += (size_t)n;
        o->progress_ms = now_ms;
        atomic_store_explicit(&o->full_since_ms, o->sent < len ? now_ms : 0, memory_order_relaxed);
    } else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        o->failed = true;
    } else if (now_ms - o->progress_ms > (uint64_t)t->timeout_s * 1000) {
        o->failed = true;
    }
}

/* Returns the first connection that has not yet accepted the whole buffer, or NULL. */
static outlet *firstUnfinished(rdbCopier *t, size_t len) {
    for (size_t i = 0; i < t->count; i++)
        if (t->outlets[i].sent < len && isWanted(&t->outlets[i])) return &t->outlets[i];
    return NULL;
}

static void writeToAll(rdbCopier *t, size_t len) {
    for (size_t i = 0; i < t->count; i++) {
        t->outlets[i].sent = 0;
        t->outlets[i].progress_ms = clockMonotonicMs();
        atomic_store_explicit(&t->outlets[i].full_since_ms, t->outlets[i].progress_ms, memory_order_relaxed);
        if (isWanted(&t->outlets[i])) writeSome(t, &t->outlets[i], len);
    }
    for (outlet *o; (o = firstUnfinished(t, len)) != NULL;) {
        aeWait(o->conn->fd, o->conn->write_needs_read ? AE_READABLE : AE_WRITABLE, WAKE_MS);
        writeSome(t, o, len);
    }
    transferCheck(t, len);
}

/* Reads the next bytes of the source into the buffer. Returns 0 at its end, or if no connection is left. */
static size_t readSome(rdbCopier *t) {
    size_t most = BUFFER_BYTES;
    debugAssert(!t->broken); /* else there is no further call */
    if (t->length && t->length - t->bytes < most) most = (size_t)(t->length - t->bytes);
    if (most == 0) return 0;
    while (anyWanted(t)) {
        if (aeWait(t->source, AE_READABLE, WAKE_MS) == 0) continue;
        ssize_t n = read(t->source, t->buffer, most);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        t->broken = n < 0 || (n == 0 && t->length);
        return n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

static void rdbCopierCopy(void *arg) {
    rdbCopier *t = arg;
    for (size_t n; (n = readSome(t)) > 0;) {
        t->bytes += n;
        debugAssert(n <= BUFFER_BYTES);
        writeToAll(t, n);
    }
    void (*done)(void) = t->done;
    atomic_store_explicit(&t->over, true, memory_order_release);
    done();
}

rdbCopier *rdbCopierStart(int source, uint64_t length, connection **conns, size_t count, unsigned timeout_s,
                          void (*done)(void)) {
    assertMainThread();
    debugAssert(source >= 0 && count > 0 && done);
    rdbCopier *t = zcalloc(1, sizeof(*t) + count * sizeof(t->outlets[0]));
    t->source = source;
    t->length = length;
    t->timeout_s = timeout_s;
    t->done = done;
    t->count = count;
    t->buffer = zmalloc(BUFFER_BYTES);
    for (size_t i = 0; i < count; i++) t->outlets[i].conn = conns[i];
    int error = threadStart(&t->thread, &(threadPlan){.name = "repl_transfer"}, rdbCopierCopy, t);
    if (!error) return t;
    close(source);
    zfree(t->buffer);
    zfree(t);
    errno = error;
    return NULL;
}

void rdbCopierCancel(rdbCopier *t, size_t i) {
    serverAssert(i < t->count);
    atomic_store_explicit(&t->outlets[i].cancelled, true, memory_order_relaxed);
}

bool rdbCopierIsOver(const rdbCopier *t) { return atomic_load_explicit(&t->over, memory_order_acquire); }

uint64_t rdbCopierFullSince(const rdbCopier *t, size_t i) {
    serverAssert(i < t->count);
    return atomic_load_explicit(&t->outlets[i].full_since_ms, memory_order_relaxed);
}

bool rdbCopierSucceeded(const rdbCopier *t, size_t i) {
    serverAssert(rdbCopierIsOver(t) && i < t->count);
    return !t->broken && isWanted(&t->outlets[i]);
}

uint64_t rdbCopiersSent(void) { return atomic_load_explicit(&sent_bytes, memory_order_relaxed); }

void rdbCopierEnd(rdbCopier *t) {
    assertMainThread();
    pthread_join(t->thread, NULL);
    serverAssert(rdbCopierIsOver(t)); /* the thread has called done(); the connections belong to main again */
    close(t->source);
    zfree(t->buffer);
    zfree(t);
}
