/* backlog.h -- the last bytes of a stream of writes, kept once for all who are sent them.
 *
 * A chain of blocks. Each is a counted string, so that what is sent can refer to it: who is behind by a hundred
 * megabytes costs a place in the chain, and the chain is one. Offsets count the bytes of the stream before a place;
 * they only grow, but for backlogTruncate().
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
    robj *text;     /* counted: its bytes, of which `used` are written */
    char *bytes;    /* of it */
    uint64_t begin; /* offset of the first */
    size_t used, room;
} backlogBlock;

typedef struct backlog {
    backlogBlock *head, *tail; /* own; NULL: nothing is kept */
    uint64_t end;              /* behind the last byte */
    size_t wanted;             /* so many bytes are kept for those who come back */
    size_t memory;
} backlog;

/* A place from which somebody reads. What lies behind it is kept as long as backlogTrim() is told so. */
typedef struct backlogCursor {
    backlogBlock *block; /* borrowed; NULL: the first one that comes */
    uint64_t offset;
} backlogCursor;

/* Empty, at `end`. */
void backlogInit(backlog *b, uint64_t end, size_t wanted);
/* Let go of all blocks; who refers to bytes of them keeps these. No cursor may be used again. */
void backlogClear(backlog *b);

/* Another block. */
void backlogGrow(backlog *b);
static inline void backlogAppend(backlog *b, const char *bytes, size_t len) {
    uint64_t end = b->end + len;
    for (;;) {
        size_t room = b->tail ? b->tail->room - b->tail->used : 0;
        if (likely(len <= room)) break;
        if (room) memcpy(b->tail->bytes + b->tail->used, bytes, room);
        if (room) b->tail->used = b->tail->room;
        bytes += room;
        len -= room;
        backlogGrow(b);
    }
    if (len) memcpy(b->tail->bytes + b->tail->used, bytes, len);
    if (len) b->tail->used += len;
    b->end = end;
}
/* So many bytes will come next, or soon: their places, which have long left the caches, are asked for. A hint. */
static inline void backlogExpect(const backlog *b, size_t len) {
    if (!b->tail) return;
    size_t room = b->tail->room - b->tail->used;
    prefetchWriteRun(b->tail->bytes + b->tail->used, len < room ? len : room);
}
/* Take back what lies behind `end`, which nobody has read. */
void backlogTruncate(backlog *b, uint64_t end);
/* Let go of what is beyond `wanted` and lies before `needed`, a few blocks at a call. */
void backlogTrim(backlog *b, uint64_t needed);

/* Offset of the first byte that is kept; `end` when there is none. */
static inline uint64_t backlogBegin(const backlog *b) {
    return b->head ? b->head->begin : b->end;
}
/* Set the cursor to an offset. False: it is not kept. */
bool backlogSeek(const backlog *b, uint64_t offset, backlogCursor *c) must_check;
/* The next bytes, in one piece, at most up to `limit`; the cursor moves behind them. Their string, not counted; NULL:
 * there are none. */
robj *backlogRead(const backlog *b, backlogCursor *c, uint64_t limit, slice *out);
/* Assert what holds. */
void backlogCheck(const backlog *b);

#endif
