/* rdb_writer.h -- where the bytes of RDB go: into a buffer that grows, or piece by piece to somebody else.
 *
 *   buffer                 at                 end
 *   | written, not yet given away |   room     |
 *
 * With `flush` the buffer has one size, and what is in it is handed on when it is full; what would not fit at all goes
 * past it, without a copy. So a value of any size is written with the memory of one buffer. Without it the buffer is an
 * sds that grows.
 *
 * A writer whose `flush` has said no is `failed`: all that is written from then on is lost, so that callers may look at
 * it when it suits them.
 *
 * Threads     one owner at a time; nothing is written but the writer's own memory (a forked child shares the rest).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_WRITER_H
#define OBJECT_RDB_WRITER_H

#include "sds.h"

#define RDB_WRITER_SIZE_MIN ((size_t)4096)

/* Takes bytes, which are gone when it returns. False: it cannot, and there is no going on. */
typedef bool (*rdbFlush)(void *arg, slice bytes);

typedef struct rdbWriter {
    char *at, *end;  /* next byte to write; end of the room */
    sds buffer;      /* owns; its length is not kept up to date */
    bool compress;   /* strings with LZF, where that pays; may be changed at any time */
    bool failed;     /* for good */
    uint64_t passed; /* bytes given to `flush` */
    rdbFlush flush;  /* NULL: the buffer grows */
    void *arg;       /* borrowed: flush's */
} rdbWriter;

/* One that grows, with room for so many bytes at first. */
void rdbWriterBegin(rdbWriter *w, bool compress, size_t room);
/* One that hands on to `flush`, through a buffer of `size` bytes (RDB_WRITER_SIZE_MIN at least). */
void rdbWriterBeginFlushing(rdbWriter *w, bool compress, size_t size, rdbFlush flush, void *arg);
/* Hand on what there is; false when it has failed. Only with `flush`. */
bool rdbWriterFlush(rdbWriter *w) must_check;
/* End one that grows: what was written, which is the caller's. */
sds rdbWriterTake(rdbWriter *w) must_check;
/* End it, and drop what is still in the buffer. */
void rdbWriterEnd(rdbWriter *w);
/* Bytes written so far. */
static inline uint64_t rdbWriterBytes(const rdbWriter *w) {
    return w->passed + (uint64_t)(w->at - w->buffer);
}

/* The slow halves of the functions below. */
void rdbWriterMakeRoom(rdbWriter *w, size_t n);
void rdbWriterPass(rdbWriter *w, slice bytes);

/* What rdbWriterRoom() may be asked for, of a writer with `flush`. */
static inline size_t rdbWriterRoomMax(const rdbWriter *w) {
    return (size_t)(w->end - w->buffer);
}

/* Room for `n` bytes: where they go. Who has written them moves w->at behind them. */
static inline char *rdbWriterRoom(rdbWriter *w, size_t n) {
    if (unlikely((size_t)(w->end - w->at) < n)) rdbWriterMakeRoom(w, n);
    return w->at;
}

static inline void rdbWriteByte(rdbWriter *w, uint8_t byte) {
    char *at = rdbWriterRoom(w, 1);
    *at = (char)byte;
    w->at = at + 1;
}

/* Bytes as they are. */
static inline void rdbWriteBytes(rdbWriter *w, slice bytes) {
    if (unlikely((size_t)(w->end - w->at) < bytes.len)) {
        rdbWriterPass(w, bytes);
        return;
    }
    memcpy(w->at, bytes.ptr, bytes.len);
    w->at += bytes.len;
}

#endif
