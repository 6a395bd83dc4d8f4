/* link_job.c -- a job that waits for the primary, on a thread of its own.
 *
 * The thread may be in the name resolver, which cannot be interrupted. So it is detached, not joined, and frees the job
 * if main has dropped its share before.
 *
 * Not here    the handshake (handshake.c) and receiving an RDB (snapshot_reader.c).
 * Owns        a job, together with main.
 * Threads     main creates, starts and drops a job; its own thread does the rest.
 * Invariants  1. While a job runs main touches only its atomic fields.
 *             2. A job is owned by main, by its thread, or by both; the last to drop its share frees it.
 *             3. The early bytes of a wire do not exceed their capacity.
 * Tests       tests/unit/repl/replica/snapshot_reader_test.c, tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "link_job.h"

#include "anet.h"
#include "clock.h"
#include "conn_wait.h"
#include "log.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAKE_MS 100 /* longest wait before the thread checks whether the job was dropped */
#define READ_BYTES ((size_t)16 << 10)

/* Asserts the invariants of a wire. Call where no function of this file is changing it. */
static void wireCheck(const linkWire *wire) {
    debugAssert(wire->early_len <= wire->early_capacity);
    debugAssert(wire->early || wire->early_capacity == 0);
    unused(wire);
}

linkJob *linkJobCreate(void (*work)(linkJob *job), void (*done)(void)) {
    linkJob *job = zcalloc(1, sizeof(*job));
    job->work = work;
    job->done = done;
    job->got_db = -1;
    atomic_init(&job->owners, 1);
    atomic_init(&job->last_input_ms, clockMonotonicMs());
    return job;
}

static void closeWire(linkWire *wire) {
    if (wire->conn) connClose(wire->conn);
    zfree(wire->early);
}

static void linkJobRelease(linkJob *job) {
    int owners = atomic_fetch_sub_explicit(&job->owners, 1, memory_order_acq_rel);
    debugAssert(owners == 1 || owners == 2);
    if (owners > 1) return;
    wireCheck(&job->wire);
    wireCheck(&job->stream);
    closeWire(&job->wire);
    closeWire(&job->stream);
    unreadFree(&job->buffered);
    if (job->tls) tlsContextRelease(job->tls);
    if (job->path && job->outcome == LINK_RECEIVED) unlink(job->path); /* the file was not taken over */
    sdsFree(job->user);
    sdsFree(job->password);
    zfree(job->host);
    zfree(job->source_address);
    zfree(job->announce_ip);
    zfree(job->path);
    zfree(job);
}

static void linkJobRun(void *arg) {
    linkJob *job = arg;
    job->work(job);
    wireCheck(&job->wire);
    wireCheck(&job->stream);
    debugAssert(!linkJobIsOver(job));
    void (*done)(void) = job->done;
    atomic_store_explicit(&job->over, true, memory_order_release);
    linkJobRelease(job);
    done();
}

bool linkJobStart(linkJob *job) {
    pthread_t thread;
    debugAssert(job->work && job->done); /* they are called on the thread */
    debugAssert(!linkJobIsOver(job) && linkJobIsWanted(job));
    debugAssert(atomic_load_explicit(&job->owners, memory_order_relaxed) == 1); /* it was not started before */
    atomic_fetch_add_explicit(&job->owners, 1, memory_order_relaxed);
    int error = threadStart(&thread, &(threadPlan){.name = "repl_link"}, linkJobRun, job);
    if (error) {
        atomic_fetch_sub_explicit(&job->owners, 1, memory_order_relaxed);
        errno = error;
        return false;
    }
    pthread_detach(thread);
    return true;
}

bool linkJobIsOver(const linkJob *job) { return atomic_load_explicit(&job->over, memory_order_acquire); }

void linkSwapWires(linkJob *job) {
    linkWire wire = job->wire;
    job->wire = job->stream;
    job->stream = wire;
}

void linkJobDrop(linkJob *job) {
    if (!job) return;
    atomic_store_explicit(&job->dropped, true, memory_order_relaxed);
    linkJobRelease(job);
}

/* ---- Waiting ---- */

static void noteInput(linkJob *job) {
    atomic_store_explicit(&job->last_input_ms, clockMonotonicMs(), memory_order_relaxed);
}

typedef struct jobWaiter {
    connWaiter base; /* first, so that a pointer to it can be cast to jobWaiter */
    linkJob *job;    /* borrowed */
} jobWaiter;

static bool waitFor(connWaiter *w, int fd, int mask) {
    linkJob *job = ((jobWaiter *)w)->job;
    debugAssert(job->timeout_s > 0);
    uint64_t until_ms = clockMonotonicMs() + (uint64_t)job->timeout_s * 1000;
    while (linkJobIsWanted(job)) {
        int ready = aeWait(fd, mask, WAKE_MS);
        if (ready > 0) return true;
        if (ready < 0) return false;
        if (clockMonotonicMs() >= until_ms) {
            job->timed_out = true;
            errno = ETIMEDOUT;
            return false;
        }
    }
    errno = ECANCELED;
    return false;
}

static jobWaiter waiterOf(linkJob *job) { return (jobWaiter){{waitFor}, job}; }

/* ---- The connection ---- */

static void linkJobConnected(connWaiter *w) {
    noteInput(((jobWaiter *)w)->job);
    serverLog(LL_NOTICE, "Non blocking connect for SYNC fired the event.");
}

bool linkConnect(linkJob *job) {
    char err[ANET_ERR_LEN], why[CONN_WAIT_ERR_LEN] = "";
    debugAssert(!job->wire.conn && job->wire.early_len == 0);
    int fd = anetTcpConnect(err, job->host, job->port, job->source_address, true);
    if (fd < 0) {
        serverLog(LL_WARNING, "Unable to connect to PRIMARY: %s", err);
        return false;
    }
    jobWaiter w = waiterOf(job);
    job->wire.conn = connWaitConnected(fd, job->tls, &w.base, linkJobConnected, why);
    if (job->wire.conn) return true;
    if (*why) serverLog(LL_WARNING, "TLS handshake with PRIMARY failed: %s", why);
    else if (linkErrorIsNews(errno)) serverLog(LL_WARNING, "Error condition on socket for SYNC: %s", strerror(errno));
    return false;
}

bool linkWait(linkJob *job, int ms) {
    if (connHasPending(job->wire.conn)) return true;
    return aeWait(job->wire.conn->fd, job->wire.conn->read_needs_write ? AE_WRITABLE : AE_READABLE, ms) > 0;
}

void linkPause(unsigned ms) {
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

ssize_t linkRead(linkJob *job, void *buf, size_t len) {
    debugAssert(len > 0);        /* 0 is the end of the connection */
    if (!linkJobIsWanted(job)) { /* checked here too: waitFor() is not called while bytes are available */
        errno = ECANCELED;
        return -1;
    }
    jobWaiter w = waiterOf(job);
    ssize_t n = connWaitRead(job->wire.conn, buf, len, &w.base);
    debugAssert(n <= (ssize_t)len);
    if (n > 0) noteInput(job);
    return n;
}

bool linkWrite(linkJob *job, slice bytes) {
    jobWaiter w = waiterOf(job);
    return connWaitWrite(job->wire.conn, bytes, &w.base);
}

/* ---- Lines ---- */

bool linkReadMore(linkJob *job) {
    linkWire *w = &job->wire;
    if (w->early_capacity - w->early_len < READ_BYTES) {
        w->early_capacity = w->early_len + READ_BYTES;
        w->early = zrealloc(w->early, w->early_capacity);
    }
    ssize_t n = linkRead(job, w->early + w->early_len, w->early_capacity - w->early_len);
    if (n == 0) errno = ECONNRESET;
    if (n <= 0) return false;
    w->early_len += (size_t)n;
    return true;
}

bool linkReadLine(linkJob *job, char *line, size_t max) {
    linkWire *w = &job->wire;
    const char *end;
    size_t scanned = 0;
    wireCheck(w);
    while (!(end = w->early_len > scanned ? memchr(w->early + scanned, '\n', w->early_len - scanned) : NULL)) {
        scanned = w->early_len;
        if (scanned >= max) {
            errno = EMSGSIZE;
            return false;
        }
        if (!linkReadMore(job)) return false;
    }
    size_t used = (size_t)(end - w->early) + 1, len = used - 1;
    if (len > 0 && w->early[len - 1] == '\r') len--;
    if (len >= max) {
        errno = EMSGSIZE;
        return false;
    }
    memcpy(line, w->early, len);
    line[len] = '\0';
    w->early_len -= used;
    memmove(w->early, w->early + used, w->early_len);
    wireCheck(w);
    return true;
}
