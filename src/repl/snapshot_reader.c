/* snapshot_reader.c -- the bytes of a snapshot as they come from the primary: of a known length, or up to a mark.
 *
 * The mark ends what the primary sends until it is answered: so it is there when the last forty bytes that have come
 * are the mark. Forty bytes are held back until more come.
 *
 * Not here    what the bytes mean (persist/rdb_scan.h).
 * Owns        nothing.
 * Threads     the job's, or whoever loads.
 * Invariants  1. What lies behind a snapshot of known length stays in the job's `early`, or in the socket.
 * Tests       tests/unit/repl/snapshot_reader_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_reader.h"

#include "log.h"
#include "panic.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)64 << 10)
#define SYNC_EVERY ((uint64_t)8 << 20)
#define FILE_MODE 0644

void snapshotReaderBegin(snapshotReader *r, linkJob *job) {
    r->job = job;
    r->left = job->length;
    r->held_len = r->stash_at = r->stash_len = 0;
    r->ended = false;
}

/* What came with the header, or from the socket. */
static ssize_t take(linkJob *job, char *buf, size_t len) {
    if (job->wire.early_len == 0) return linkRead(job, buf, len);
    if (len > job->wire.early_len) len = job->wire.early_len;
    memcpy(buf, job->wire.early, len);
    job->wire.early_len -= len;
    memmove(job->wire.early, job->wire.early + len, job->wire.early_len);
    return (ssize_t)len;
}

static ssize_t readCounted(snapshotReader *r, char *buf, size_t len) {
    if (r->left == 0) {
        r->ended = true;
        return 0;
    }
    ssize_t n = take(r->job, buf, len < r->left ? len : (size_t)r->left);
    if (n == 0) errno = ECONNRESET;
    if (n <= 0) return -1;
    r->left -= (uint64_t)n;
    return n;
}

/* `n` bytes have come behind those that are held: give out all but the last forty of both. */
static ssize_t giveOut(snapshotReader *r, char *buf, size_t n) {
    char both[2 * LINK_MARK_BYTES];
    if (n >= LINK_MARK_BYTES) { /* all that was held, and of the new ones as many less */
        memcpy(both, buf + n - LINK_MARK_BYTES, LINK_MARK_BYTES);
        memmove(buf + r->held_len, buf, n - LINK_MARK_BYTES);
        memcpy(buf, r->held, r->held_len);
        size_t out = r->held_len + n - LINK_MARK_BYTES;
        memcpy(r->held, both, LINK_MARK_BYTES);
        r->held_len = LINK_MARK_BYTES;
        return (ssize_t)out;
    }
    memcpy(both, r->held, r->held_len);
    memcpy(both + r->held_len, buf, n);
    size_t all = r->held_len + n, out = all > LINK_MARK_BYTES ? all - LINK_MARK_BYTES : 0;
    memcpy(buf, both, out);
    r->held_len = all - out;
    memcpy(r->held, both + out, r->held_len);
    return (ssize_t)out;
}

static ssize_t readMarked(snapshotReader *r, char *buf, size_t len) {
    serverAssert(len > LINK_MARK_BYTES);
    while (!r->ended) {
        ssize_t n = take(r->job, buf, len - LINK_MARK_BYTES); /* what is held may go before it */
        if (n == 0) errno = ECONNRESET;
        if (n <= 0) return -1;
        n = giveOut(r, buf, (size_t)n);
        r->ended = r->held_len == LINK_MARK_BYTES && !memcmp(r->held, r->job->mark, LINK_MARK_BYTES);
        if (n > 0) return n;
    }
    return 0;
}

/* A mark cannot be looked for in a few bytes. */
static ssize_t readStashed(snapshotReader *r, char *buf, size_t len) {
    if (r->stash_at == r->stash_len) {
        ssize_t n = readMarked(r, r->stash, sizeof(r->stash));
        if (n <= 0) return n;
        r->stash_at = 0;
        r->stash_len = (size_t)n;
    }
    if (len > r->stash_len - r->stash_at) len = r->stash_len - r->stash_at;
    memcpy(buf, r->stash + r->stash_at, len);
    r->stash_at += len;
    return (ssize_t)len;
}

static ssize_t readUpToMark(snapshotReader *r, char *buf, size_t len) {
    bool directly = r->stash_at == r->stash_len && len >= sizeof(r->stash);
    return directly ? readMarked(r, buf, len) : readStashed(r, buf, len);
}

ssize_t snapshotRead(snapshotReader *r, void *buf, size_t len) {
    ssize_t n = r->job->has_length ? readCounted(r, buf, len) : readUpToMark(r, buf, len);
    if (n > 0) atomic_fetch_add_explicit(&r->job->received, (uint64_t)n, memory_order_relaxed);
    return n;
}

/* ---- Into a file ---- */

static bool writeAll(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* False with errno, and what could not be done. */
static bool receive(linkJob *job, int fd, const char **what) {
    static const char reading[] = "I/O error trying to sync with PRIMARY";
    static const char writing[] = "Write error or short write writing to the DB dump file needed for PRIMARY <-> "
                                  "REPLICA synchronization";
    char buffer[BUFFER_BYTES];
    uint64_t unsynced = 0;
    snapshotReader r;
    snapshotReaderBegin(&r, job);
    for (ssize_t n; (n = snapshotRead(&r, buffer, sizeof(buffer))) != 0; unsynced += (uint64_t)n) {
        *what = reading;
        if (n < 0) return false;
        *what = writing;
        if (!writeAll(fd, buffer, (size_t)n)) return false;
        if (unsynced < SYNC_EVERY) continue;
        if (fdatasync(fd) < 0) return false;
        unsynced = 0;
    }
    *what = writing;
    return fsync(fd) == 0;
}

void snapshotReceiveWork(linkJob *job) {
    const char *what = "Opening the temp file needed for PRIMARY <-> REPLICA synchronization";
    job->outcome = LINK_FAILED;
    int fd = open(job->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    bool ok = fd >= 0 && receive(job, fd, &what);
    int error = errno;
    if (fd >= 0) close(fd);
    if (ok) {
        job->outcome = LINK_RECEIVED;
        return;
    }
    if (error != ECANCELED) serverLog(LL_WARNING, "%s: %s", what, strerror(error));
    if (fd >= 0) unlink(job->path);
}
