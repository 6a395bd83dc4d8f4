/* file_writer.c -- writes a buffer to a file, sums it, and starts its writeback early.
 *
 * With incremental_sync, the kernel is asked to begin writing back each SYNC_STEP bytes when they are complete, and the
 * step that is SYNC_WINDOW bytes older is waited for. That needs no thread and does not flush the disk's own cache,
 * which the sync at the end does once. On a file system without sync_file_range() each step is synced with fdatasync().
 *
 * Not here    which bytes are written (rdb_save.c); the steps of replacing a file (durable_file.c).
 * Owns        the buffer and the open file.
 * Threads     one owner at a time.
 * Invariants  1. settled <= sent <= bytes written.
 * Tests       tests/unit/persist/file/file_writer_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "file_writer.h"

#include "hash.h"
#include "panic.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)128 << 10)
#define SYNC_STEP ((uint64_t)4 << 20)
#define SYNC_WINDOW (2 * SYNC_STEP)
#define FILE_MODE 0644

/* Asserts invariant 1. */
static void writerCheck(const fileWriter *f) {
    debugAssert(f->settled <= f->sent && f->sent <= f->out.passed);
    debugAssert(f->sent % SYNC_STEP == 0 && f->settled % SYNC_STEP == 0);
    debugAssert(f->incremental_sync || f->sent == 0);
    unused(f);
}

static_assert(SYNC_WINDOW % SYNC_STEP == 0, "the window is whole steps");

/* Syncs one step. The kernel reports a failed writeback only once, so EIO, ENOSPC and EDQUOT must be returned. Any
 * other error means that the file system does not support ranges. */
static bool syncRange(int fd, uint64_t from, unsigned flags) {
#ifdef SYNC_FILE_RANGE_WRITE
    if (sync_file_range(fd, (off_t)from, (off_t)SYNC_STEP, flags) == 0) return true;
    if (errno == EIO || errno == ENOSPC || errno == EDQUOT) return false;
#else
    unused(from);
    unused(flags);
#endif
    return fdatasync(fd) == 0;
}

static bool syncSteps(fileWriter *f) {
#ifdef SYNC_FILE_RANGE_WRITE
    const unsigned begin = SYNC_FILE_RANGE_WRITE;
    const unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
#else
    const unsigned begin = 0, wait = 0;
#endif
    while (f->out.passed - f->sent >= SYNC_STEP) {
        f->file.step = "sync";
        if (!syncRange(f->file.fd, f->sent, begin)) return false;
        f->sent += SYNC_STEP;
        if (f->sent - f->settled <= SYNC_WINDOW) continue;
        if (!syncRange(f->file.fd, f->settled, wait)) return false;
        f->settled += SYNC_STEP;
    }
    return true;
}

static bool writePiece(void *arg, slice bytes) {
    fileWriter *f = arg;
    debugAssert(bytes.len > 0 && f->file.fd >= 0 && !f->error);
    writerCheck(f);
    if (f->checksum) f->crc = crc64(f->crc, bytes.ptr, bytes.len);
    if (durableWrite(&f->file, bytes) && (!f->incremental_sync || syncSteps(f))) return true;
    f->error = errno;
    return false;
}

bool fileWriterBegin(fileWriter *f, const char *temporary, fileWriterOptions options) {
    *f = (fileWriter){.checksum = options.checksum, .incremental_sync = options.incremental_sync};
    if (!durableCreate(&f->file, temporary, FILE_MODE)) return false;
    rdbWriterBeginFlushing(&f->out, options.compress, BUFFER_BYTES, writePiece, f);
    return true;
}

bool fileWriterFlush(fileWriter *f) {
    writerCheck(f);
    bool done = rdbWriterFlush(&f->out);
    writerCheck(f);
    if (!done) errno = f->error;
    return done;
}

void fileWriterAbandon(fileWriter *f) {
    int error = errno;
    durableAbandon(&f->file);
    rdbWriterEnd(&f->out);
    errno = error;
}

bool fileWriterReplace(fileWriter *f, const char *path) {
    bool done = fileWriterFlush(f) && durableReplace(&f->file, path);
    fileWriterAbandon(f);
    return done;
}
