/* rdb_writer.c -- the output of RDB data: a buffer that grows, or a callback that takes it piece by piece.
 *
 * Not here    the content (rdb_string.c, rdb_value.c); the callback (persist/file/file_writer.c).
 * Owns        the buffer.
 * Threads     one owner at a time.
 * Invariants  1. buffer <= at <= end, and the buffer's block ends after `end`.
 *             2. `flush` gets each byte once and in order, until it fails, and nothing afterwards.
 * Tests       tests/unit/object/rdb_writer_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_writer.h"

#include "panic.h"

void rdbWriterBegin(rdbWriter *w, bool compress, size_t capacity) {
    *w = (rdbWriter){.buffer = sdsMakeRoomForNonGreedy(sdsEmpty(), capacity), .compress = compress};
    w->at = w->buffer;
    w->end = w->buffer + sdsAvail(w->buffer);
}

void rdbWriterBeginFlushing(rdbWriter *w, bool compress, size_t size, rdbFlush flush, void *arg) {
    serverAssert(flush && size >= RDB_WRITER_SIZE_MIN);
    rdbWriterBegin(w, compress, size);
    w->end = w->buffer + size;
    w->flush = flush;
    w->arg = arg;
}

static void passOn(rdbWriter *w, slice bytes) {
    if (w->failed || bytes.len == 0) return;
    w->passed += bytes.len;
    if (!w->flush(w->arg, bytes)) w->failed = true;
}

bool rdbWriterFlush(rdbWriter *w) {
    passOn(w, sliceOf(w->buffer, (size_t)(w->at - w->buffer)));
    w->at = w->buffer;
    return !w->failed;
}

void rdbWriterReserveSlow(rdbWriter *w, size_t n) {
    if (w->flush) {
        debugAssert(n <= rdbWriterReserveMax(w));
        (void)!rdbWriterFlush(w);
        return;
    }
    size_t used = (size_t)(w->at - w->buffer);
    sdsIncrLen(w->buffer, (ptrdiff_t)(used - sdsLen(w->buffer)));
    w->buffer = sdsMakeRoomFor(w->buffer, n);
    w->at = w->buffer + used;
    w->end = w->at + sdsAvail(w->buffer);
}

/* Bytes that do not fit fill the buffer first, so that pieces have the same size; if more than a buffer is left, it is
 * passed directly. */
void rdbWriterPass(rdbWriter *w, slice bytes) {
    if (!w->flush) {
        rdbWriterReserveSlow(w, bytes.len);
    } else {
        size_t fits = (size_t)(w->end - w->at);
        memcpy(w->at, bytes.ptr, fits);
        w->at += fits;
        bytes = sliceOf(bytes.ptr + fits, bytes.len - fits);
        if (rdbWriterFlush(w) && bytes.len >= rdbWriterReserveMax(w)) {
            passOn(w, bytes);
            return;
        }
        if (w->failed) return;
    }
    memcpy(w->at, bytes.ptr, bytes.len);
    w->at += bytes.len;
}

sds rdbWriterTake(rdbWriter *w) {
    serverAssert(!w->flush);
    sds out = w->buffer;
    sdsIncrLen(out, w->at - w->buffer - (ptrdiff_t)sdsLen(out));
    w->buffer = w->at = w->end = NULL;
    return out;
}

void rdbWriterEnd(rdbWriter *w) {
    sdsFree(w->buffer);
    w->buffer = w->at = w->end = NULL;
}
