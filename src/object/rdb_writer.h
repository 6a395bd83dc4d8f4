/* rdb_writer.h -- the output of RDB data: a buffer that grows, or a callback that takes it piece by piece.
 *
 *   buffer                 at                 end
 *   | written, not yet flushed    |   free     |
 *
 * With `flush` the buffer has a fixed size and is passed to the callback when it is full; longer strings are passed
 * directly, without a copy. So a value of any size is written with the memory of one buffer. Without it the buffer is
 * an sds that grows.
 *
 * When `flush` returns false the writer is `failed`: all later writes are dropped, so that callers may check
 * for it at any time.
 *
 * Threads     one owner at a time; only the writer's own memory is written (a forked child shares the rest).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_WRITER_H
#define OBJECT_RDB_WRITER_H

#include "sds.h"

#define RDB_WRITER_SIZE_MIN ((size_t)4096)

/* Takes bytes, which are not valid after it returns. Returns false on a failure, which is final. */
typedef bool (*rdbFlush)(void *arg, slice bytes);

typedef struct rdbWriter {
    char *at, *end;  /* next byte to write; end of the free space */
    sds buffer;      /* owned; its length is not up to date */
    bool compress;   /* compress strings by LZF if that pays; may be changed at any time */
    bool failed;     /* final */
    uint64_t passed; /* bytes passed to `flush` */
    rdbFlush flush;  /* the buffer grows if it is NULL */
    void *arg;       /* borrowed: flush's */
} rdbWriter;

/* Begins a writer with a buffer that grows, of `capacity` bytes at first. */
void rdbWriterBegin(rdbWriter *w, bool compress, size_t capacity);
/* Begins a writer that passes its output to `flush`, through a buffer of `size` bytes (at least
 * RDB_WRITER_SIZE_MIN). */
void rdbWriterBeginFlushing(rdbWriter *w, bool compress, size_t size, rdbFlush flush, void *arg);
/* Passes the buffer's content on. Returns false if the writer has failed. Only with `flush`. */
bool rdbWriterFlush(rdbWriter *w) must_check;
/* Ends a writer without `flush` and returns its output, which the caller owns. */
sds rdbWriterTake(rdbWriter *w) must_check;
/* Ends the writer and drops the content of the buffer. */
void rdbWriterEnd(rdbWriter *w);
/* Returns the number of bytes written so far. */
static inline uint64_t rdbWriterBytes(const rdbWriter *w) { return w->passed + (uint64_t)(w->at - w->buffer); }

/* The slow paths of the functions below. */
void rdbWriterReserveSlow(rdbWriter *w, size_t n);
void rdbWriterPass(rdbWriter *w, slice bytes);

/* Returns the limit for rdbWriterReserve(), for a writer with `flush`. */
static inline size_t rdbWriterReserveMax(const rdbWriter *w) { return (size_t)(w->end - w->buffer); }

/* Returns the address of `n` free bytes. The caller writes them and advances w->at. */
static inline char *rdbWriterReserve(rdbWriter *w, size_t n) {
    if (unlikely((size_t)(w->end - w->at) < n)) rdbWriterReserveSlow(w, n);
    return w->at;
}

static inline void rdbWriteByte(rdbWriter *w, uint8_t byte) {
    char *at = rdbWriterReserve(w, 1);
    *at = (char)byte;
    w->at = at + 1;
}

/* Writes bytes unchanged. */
static inline void rdbWriteBytes(rdbWriter *w, slice bytes) {
    if (unlikely((size_t)(w->end - w->at) < bytes.len)) {
        rdbWriterPass(w, bytes);
        return;
    }
    memcpy(w->at, bytes.ptr, bytes.len);
    w->at += bytes.len;
}

#endif
