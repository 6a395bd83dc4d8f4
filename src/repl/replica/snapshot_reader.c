/* snapshot_reader.c -- reads an RDB from the primary's connection: of a known length, or up to a mark.
 *
 * Not here    finding the end of the RDB (resp/snapshot_frame.h), parsing it (persist/rdb/rdb_scan.h).
 * Owns        nothing.
 * Threads     the job's, or that of the loader (rdb_scan).
 * Invariants  1. Bytes after an RDB of known length stay in the job's `early` bytes, or in the socket.
 *             2. The stash is used for an RDB of unknown length only, and has no bytes that may belong to the mark.
 * Tests       tests/unit/repl/replica/snapshot_reader_test.c
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

static_assert(SNAPSHOT_STASH_BYTES > SNAPSHOT_MARK_BYTES, "a mark is found in the stash");
static_assert(BUFFER_BYTES >= SNAPSHOT_STASH_BYTES, "a file is received without the stash");

static void readerCheck(const snapshotReader *r) {
    debugAssert(r->stash_at <= r->stash_len && r->stash_len <= sizeof(r->stash));
    debugAssert(!r->scan.frame.has_length || r->stash_len == 0);
    debugAssert(r->scan.held_len <= SNAPSHOT_MARK_BYTES);
    debugAssert(r->job->wire.early_len <= r->job->wire.early_capacity);
    unused(r);
}

void snapshotReaderBegin(snapshotReader *r, linkJob *job) {
    r->job = job;
    snapshotFrameBegin(&r->scan, &job->frame);
    r->stash_at = r->stash_len = 0;
}

/* Returns bytes that were read together with the header, or else reads from the socket. */
static ssize_t snapshotReaderTake(linkJob *job, char *buf, size_t len) {
    if (job->wire.early_len == 0) return linkRead(job, buf, len);
    if (len > job->wire.early_len) len = job->wire.early_len;
    memcpy(buf, job->wire.early, len);
    job->wire.early_len -= len;
    memmove(job->wire.early, job->wire.early + len, job->wire.early_len);
    return (ssize_t)len;
}

static ssize_t readScanned(snapshotReader *r, char *buf, size_t len) {
    while (!r->scan.ended) {
        ssize_t n = snapshotReaderTake(r->job, buf, snapshotFrameMost(&r->scan, len));
        if (n == 0) errno = ECONNRESET;
        if (n <= 0) return -1;
        debugAssert((size_t)n <= len);
        size_t certain = snapshotFrameTake(&r->scan, buf, (size_t)n);
        if (certain > 0) return (ssize_t)certain;
    }
    return 0;
}

/* Reads through the stash, because a mark cannot be searched in a buffer that is smaller than the mark. */
static ssize_t readStashed(snapshotReader *r, char *buf, size_t len) {
    if (r->stash_at == r->stash_len) {
        ssize_t n = readScanned(r, r->stash, sizeof(r->stash));
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
    return directly ? readScanned(r, buf, len) : readStashed(r, buf, len);
}

ssize_t snapshotRead(snapshotReader *r, void *buf, size_t len) {
    readerCheck(r);
    debugAssert(len > 0);
    ssize_t n = r->job->frame.has_length ? readScanned(r, buf, len) : readUpToMark(r, buf, len);
    debugAssert(n <= (ssize_t)len && (n != 0 || r->scan.ended));
    readerCheck(r);
    if (n > 0) atomic_fetch_add_explicit(&r->job->received, (uint64_t)n, memory_order_relaxed);
    return n;
}

/* ---- Receiving into a file ---- */

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

/* Copies the RDB to the file and syncs it. On failure returns false with errno, and sets `what` to a description. */
static bool snapshotReaderReceive(linkJob *job, int fd, const char **what) {
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
    debugAssert(job->path && job->wire.conn);
    int fd = open(job->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    bool ok = fd >= 0 && snapshotReaderReceive(job, fd, &what);
    int error = errno;
    if (fd >= 0) close(fd);
    if (ok) {
        job->outcome = LINK_RECEIVED;
        return;
    }
    if (linkErrorIsNews(error)) serverLog(LL_WARNING, "%s: %s", what, strerror(error));
    if (fd >= 0) unlink(job->path);
}
