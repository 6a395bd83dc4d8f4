/* rdb_writer.c -- where the bytes of RDB go.
 *
 * Not here    what is written (rdb_string.c, rdb_value.c); who takes it (persist/file/file_writer.c).
 * Owns        the buffer.
 * Threads     one owner at a time.
 * Invariants  1. buffer <= at <= end, and the buffer's block ends behind `end`.
 *             2. `flush` gets each byte once and in order, until it fails; then nothing any more.
 * Tests       tests/unit/object/rdb_writer_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_writer.h"

#include "panic.h"

static void begin(rdbWriter *w, bool compress, size_t size) {
    *w = (rdbWriter){.buffer = sdsMakeRoomForNonGreedy(sdsEmpty(), size), .compress = compress};
    w->at = w->buffer;
    w->end = w->buffer + sdsAvail(w->buffer);
}

void rdbWriterBegin(rdbWriter *w, bool compress, size_t room) {
    begin(w, compress, room);
}

void rdbWriterBeginFlushing(rdbWriter *w, bool compress, size_t size, rdbFlush flush, void *arg) {
    serverAssert(flush && size >= RDB_WRITER_SIZE_MIN);
    begin(w, compress, size);
    w->end = w->buffer + size;
    w->flush = flush;
    w->arg = arg;
}

static void handOn(rdbWriter *w, slice bytes) {
    if (w->failed || bytes.len == 0) return;
    w->passed += bytes.len;
    if (!w->flush(w->arg, bytes)) w->failed = true;
}

bool rdbWriterFlush(rdbWriter *w) {
    handOn(w, sliceOf(w->buffer, (size_t)(w->at - w->buffer)));
    w->at = w->buffer;
    return !w->failed;
}

void rdbWriterMakeRoom(rdbWriter *w, size_t n) {
    if (w->flush) {
        debugAssert(n <= rdbWriterRoomMax(w));
        (void)!rdbWriterFlush(w);
        return;
    }
    size_t used = (size_t)(w->at - w->buffer);
    sdsIncrLen(w->buffer, (ptrdiff_t)(used - sdsLen(w->buffer)));
    w->buffer = sdsMakeRoomFor(w->buffer, n);
    w->at = w->buffer + used;
    w->end = w->at + sdsAvail(w->buffer);
}

/* What does not fit fills the buffer up and goes on behind it, so that pieces have one size, unless more than a buffer
 * of it is left. */
void rdbWriterPass(rdbWriter *w, slice bytes) {
    if (!w->flush) {
        rdbWriterMakeRoom(w, bytes.len);
    } else {
        size_t room = (size_t)(w->end - w->at);
        memcpy(w->at, bytes.ptr, room);
        w->at += room;
        bytes = sliceOf(bytes.ptr + room, bytes.len - room);
        if (rdbWriterFlush(w) && bytes.len >= rdbWriterRoomMax(w)) {
            handOn(w, bytes);
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
