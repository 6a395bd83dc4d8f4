/* backlog.h -- the last bytes of the replication stream, stored once for all replicas.
 *
 * A chain of blocks. Each block is a counted string, so that output can refer to its bytes: a replica that is a hundred
 * megabytes behind costs one offset in the chain, which all replicas share. An offset is the number of bytes of the
 * stream before a position; the end only grows, except in backlogTruncate().
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_BACKLOG_H
#define REPL_BACKLOG_H

#include "object.h"

#include <string.h>

typedef struct backlogBlock {
    struct backlogBlock *prev, *next;
    robj *text;            /* counted: the string that has the bytes */
    char *bytes;           /* borrowed from `text` */
    uint64_t begin;        /* offset of the first byte */
    size_t used, capacity; /* bytes written; bytes that fit */
} backlogBlock;

typedef struct backlog {
    backlogBlock *head, *tail; /* own; NULL without blocks */
    uint64_t end;              /* offset after the last byte */
    size_t keep_bytes;         /* bytes to keep for replicas that reconnect */
    size_t memory;             /* bytes that the blocks take */
} backlog;

/* The position of a reader. The bytes after it stay as long as backlogTrim() is not called with a higher `needed`. */
typedef struct backlogCursor {
    backlogBlock *block; /* borrowed; NULL while the backlog has no block, then the first one is meant */
    uint64_t offset;
} backlogCursor;

/* Makes an empty backlog whose next byte has the offset `end`. `keep_bytes` is its size for replicas that reconnect. */
void backlogInit(backlog *b, uint64_t end, size_t keep_bytes);
/* Frees all blocks; their bytes stay while output refers to them. Invalidates all cursors. */
void backlogClear(backlog *b);

/* Appends an empty block, for backlogAppend(). The last block must be full. */
void backlogGrow(backlog *b);
/* Appends a copy of the bytes and moves the end. */
static inline void backlogAppend(backlog *b, const char *bytes, size_t len) {
    uint64_t end = b->end + len;
    for (;;) {
        size_t free_bytes = b->tail ? b->tail->capacity - b->tail->used : 0;
        if (likely(len <= free_bytes)) break;
        if (free_bytes) memcpy(b->tail->bytes + b->tail->used, bytes, free_bytes);
        if (free_bytes) b->tail->used = b->tail->capacity;
        bytes += free_bytes;
        len -= free_bytes;
        backlogGrow(b);
    }
    if (len) memcpy(b->tail->bytes + b->tail->used, bytes, len);
    if (len) b->tail->used += len;
    b->end = end;
}
/* Prefetches the memory for the next `len` bytes, which left the caches long ago. Only a hint. */
static inline void backlogExpect(const backlog *b, size_t len) {
    if (!b->tail) return;
    size_t free_bytes = b->tail->capacity - b->tail->used;
    prefetchWriteRun(b->tail->bytes + b->tail->used, len < free_bytes ? len : free_bytes);
}
/* Removes the bytes after `end`, which no cursor may have read. */
void backlogTruncate(backlog *b, uint64_t end);
/* Frees blocks that end before `needed` and that are not among the last `keep_bytes` bytes; a few at each call. */
void backlogTrim(backlog *b, uint64_t needed);

/* Returns the offset of the first byte that is kept, or `end` if there is none. */
static inline uint64_t backlogBegin(const backlog *b) { return b->head ? b->head->begin : b->end; }
/* Sets the cursor to an offset. Returns false if the backlog does not have the bytes from there on. */
bool backlogSeek(const backlog *b, uint64_t offset, backlogCursor *c) must_check;
/* Sets `out` to the next bytes that are in one block, at most up to the offset `limit`, and moves the cursor after
 * them. Returns the string that has them, without taking a reference, or NULL if there are none. */
robj *backlogRead(const backlog *b, backlogCursor *c, uint64_t limit, slice *out);
/* Asserts the invariants of the whole chain. */
void backlogCheck(const backlog *b);

#endif
