/* request_block.h -- bytes of requests and the records made of them, travelling as one piece.
 *
 *   requestBlock | records and argument vectors -> (arena) | input bytes ->  |
 *
 * The holder reads into `buf`, parses, and appends one parsedCommand per request; their arguments point
 * into `buf`. From then on the bytes do not move. Main walks the records in order and gives the block back.
 *
 * Threads     one owner at a time: the holder, then main, then the holder.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_REQUEST_BLOCK_H
#define NET_REQUEST_BLOCK_H

#include "command_record.h"
#include "hot_keys.h"
#include "request_reader.h"

#include <stdatomic.h>

#define REQUEST_BUF_BYTES (16 * 1024)        /* input bytes of an ordinary block */
#define REQUEST_ARENA_BYTES (8 * 1024 - 144) /* a whole block is an allocator class */
#define REQUEST_POOL_MAX 64                  /* free blocks a thread keeps */

/* When so much of an argument has come the rest is believed: see requestBlockLargeRoom(). */
#define LARGE_ARG_TRUSTED (1024 * 1024)

typedef struct requestBlock {
    struct requestBlock *next; /* in a list of whoever owns it */
    parsedCommand *first, *last;
    parsedCommand *current; /* main: next to execute */
    char *buf;              /* own when it is not `inline_buf` */
    size_t len, cap;
    size_t commands;
    size_t wire_bytes;  /* of the requests in it */
    size_t value_bytes; /* of the values built for its commands, and of large arguments of whole requests */
    size_t extra_bytes; /* of a buffer of its own, samples, and large arguments as far as they have come; 0: has none */
    size_t large_bytes; /* come of large arguments, while `large` is not NULL */
    largeArg *large;    /* of its first request, which alone may have some: the last of the ring; in the arena */
    requestSample
        *samples; /* in the arena: of commands that were picked (engine/observe/hot_keys.h); extra_bytes has them */
    recordArena arena; /* of the records; its first piece is inline_arena */
    alignas(16) char inline_arena[REQUEST_ARENA_BYTES];
    char inline_buf[REQUEST_BUF_BYTES];
} requestBlock;
static_assert(sizeof(requestBlock) <= 24 * 1024, "a few bytes more take 28 KB of the allocator's");

/* One thread's blocks, and what it has just looked up: clients send the same command again and again. */
typedef struct requestPool {
    requestBlock *free;
    size_t count;
    unsigned thread_id; /* const: becomes the owner of the values it builds */
    recordCache cache;
    hotCollector hot; /* of what the pool's thread has read */
    /* atomic, relaxed, written by the pool's thread: bytes of large buffers and values that came into use and went out
     * of it. The difference, summed over all threads, is the memory of requests that have not run yet. */
    _Atomic uint64_t memory_in, memory_out;
} requestPool;

requestBlock *requestBlockGet(requestPool *pool);
/* Back to the pool, or freed when it is large or the pool is full. Values that no command took are freed. */
void requestBlockPut(requestPool *pool, requestBlock *b);
void requestPoolEmpty(requestPool *pool);
/* Pick some of the block's commands, to be counted when it comes back (hotKeysPassBy()). Before it is handed over. */
void requestBlockPick(requestPool *pool, requestBlock *b);
/* All commands of the block have run: the values built for them are data now, or gone. */
void requestBlockExecuted(requestPool *pool, requestBlock *b);
/* Bytes of memory that the block costs, with its records and the values that were built for its commands. */
size_t requestBlockMemory(const requestBlock *b);
/* Room for at least `extra` more bytes behind len; only while the block has no records. False: no memory, nothing has
 * changed. */
bool requestBlockReserve(requestPool *pool, requestBlock *b, size_t extra) must_check;

/* --- Large arguments: an allocation each, of which a value can be made by taking it (object.h) --------------------
 *
 * The reader stops inside the argument (READ_BODY); requestBlockLargeBegin() moves what has come of it out of the
 * buffer; requestBlockLargeRoom() and requestBlockLargeCame() take turns until it is whole, and nothing is read into
 * the buffer meanwhile; then the reader goes on behind it. */

/* Is one under way? */
static inline bool requestBlockLargeOpen(const requestBlock *b) {
    return b->large && b->large->have < b->large->len;
}
/* Is one under way, or is the argument that `r` is in to become one? */
static inline bool requestBlockLargeDue(const requestBlock *b, const requestReader *r) {
    return requestBlockLargeOpen(b) || (r->state == READ_BODY && r->body_len >= LARGE_ARG_BYTES);
}
/* Begin with the argument that `r` is in, of the request that begins at `start` in buf; only while the block has no
 * records. The request cannot be read again from its start after that. False: no memory, `r` says so. */
bool requestBlockLargeBegin(requestPool *pool, requestBlock *b, requestReader *r, size_t start) must_check;
/* Where the next bytes of the one under way go, at most *room, which is not 0. An announced length is not trusted: so
 * much as LARGE_ARG_TRUSTED is asked for first, and the whole only when that has come. Untouched memory costs no pages
 * and is not counted as used. NULL: no memory, nothing has changed. */
char *requestBlockLargeRoom(requestBlock *b, size_t *room) must_check;
/* `n` bytes were put there. */
void requestBlockLargeCame(requestPool *pool, requestBlock *b, size_t n);

/* Append a record of the request that `r` has read, complete (command_record.h); its bytes begin at `start` in buf.
 * False: no memory for the record, nothing was appended. A value that cannot be built is left to the command. */
bool requestBlockAddCommand(requestPool *pool, requestBlock *b, const requestReader *r, size_t start) must_check;
/* The same for a request without a word, that somebody counts the bytes of: REQ_EMPTY, and only `wire` of it says
 * anything. */
void requestBlockAddEmpty(requestBlock *b, const requestReader *r, size_t start);
/* Append a record that makes main answer with a protocol error. */
void requestBlockAddError(requestBlock *b, slice text);

#endif
