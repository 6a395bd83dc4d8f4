/* request_block.h -- bytes of requests and the records made of them, handed over as one piece.
 *
 *   requestBlock | records and argument vectors -> (arena) | input bytes ->  |
 *
 * The owner thread reads into `buf`, parses, and appends one parsedCommand per request; their arguments point into
 * `buf`. From then on the bytes do not move. Main executes the records in order and returns the block.
 *
 * Threads     one thread at a time: the owner thread, then main, then the owner thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_REQUEST_BLOCK_H
#define NET_REQUEST_BLOCK_H

#include "command_record.h"
#include "hot_keys.h"
#include "request_reader.h"

#include <stdatomic.h>

#define REQUEST_BUF_BYTES (16 * 1024)        /* input bytes of an ordinary block */
#define REQUEST_ARENA_BYTES (8 * 1024 - 160) /* makes a whole block a size class of the allocator */
#define REQUEST_POOL_MAX 64                  /* free blocks that a thread keeps */

/* Bytes of an argument that must have arrived before its announced length is trusted (requestBlockLargeReserve()). */
#define LARGE_ARG_TRUSTED (1024 * 1024)

typedef struct requestBlock {
    struct requestBlock *next; /* in a list of its owner */
    parsedCommand *first, *last;
    parsedCommand *current; /* main: next to execute */
    char *buf;              /* owns, unless it is `inline_buf` */
    size_t len, cap;
    size_t commands;
    size_t wire_bytes;      /* bytes of its requests on the wire */
    size_t value_bytes;     /* bytes of values built for its commands, and of large arguments of complete requests */
    size_t extra_bytes;     /* bytes of its own buffer, samples, and received parts of large arguments; 0: has none */
    size_t large_bytes;     /* received bytes of large arguments, while `large` is not NULL */
    largeArg *large;        /* of the first request, no other may have any; in the arena; last of a circular list */
    requestSample *samples; /* in the arena: sampled commands (engine/observe/hot_keys.h); extra_bytes includes them */
    size_t counted_bytes;   /* its own memory, while that is counted in large_in */
    recordArena arena;      /* of the records; its first piece is inline_arena */
    alignas(16) char inline_arena[REQUEST_ARENA_BYTES];
    char inline_buf[REQUEST_BUF_BYTES];
} requestBlock;
static_assert(sizeof(requestBlock) <= 24 * 1024, "a few bytes more take 28 KB of the allocator's");

/* The free blocks of one thread, and the command it looked up last: clients repeat commands. */
typedef struct requestPool {
    requestBlock *free;
    size_t count;
    unsigned thread_id; /* const: becomes the owner of the values that the thread builds */
    recordCache cache;
    hotCollector hot; /* hot keys of what this thread has read */
    /* atomic, relaxed, written by the pool's thread: bytes of large buffers and values taken into use and released. The
     * difference, summed over all threads, is the memory of requests that have not run yet. */
    _Atomic uint64_t memory_in, memory_out;
    /* The same for the rest of the memory of large blocks (REQUESTS_LARGE) that main has not returned yet, and for
     * bytes that were read ahead. */
    _Atomic uint64_t large_in, large_out;
} requestPool;

/* Returns an empty block: one of the pool, or a new one. */
requestBlock *requestBlockGet(requestPool *pool);
/* Returns the block to the pool, or frees it if the pool is full; frees its extra memory, and values that no command
 * has taken. */
void requestBlockPut(requestPool *pool, requestBlock *b);
void requestPoolEmpty(requestPool *pool); /* frees all its blocks */
/* Samples some of the block's commands, to be counted when it comes back; call if hotKeysPassBy() returned false,
 * before the block is handed over. */
void requestBlockPick(requestPool *pool, requestBlock *b);
/* Call after all commands of the block have run: values built for them no longer count as request memory. */
void requestBlockExecuted(requestPool *pool, requestBlock *b);
/* Returns the bytes that the block takes, with its records and the values built for its commands. */
size_t requestBlockMemory(const requestBlock *b);
/* Bytes of requests whose records take so much memory that a block of them counts. */
#define REQUESTS_LARGE 2048
/* Counts in large_in what a block takes beyond memory_in, once, until requestBlockUncount(). Each with the pool of the
 * calling thread. */
void requestBlockCount(requestPool *pool, requestBlock *b);
void requestBlockUncount(requestPool *pool, requestBlock *b);
/* Reserves at least `extra` more bytes after len. Only while the block has no records. Returns false, with nothing
 * changed, if there is no memory. */
bool requestBlockReserve(requestPool *pool, requestBlock *b, size_t extra) must_check;

/* --- Large arguments: each has an allocation of its own, which may become the value without a copy (object.h) -------
 *
 * The reader stops inside the argument (READ_BODY), and requestBlockLargeBegin() moves the bytes received so far out of
 * the buffer. Then requestBlockLargeReserve() and requestBlockLargeReceived() are called alternately until the argument
 * is complete; nothing is read into the buffer meanwhile. After that the reader continues with the bytes that
 * follow. */

/* Returns whether a large argument is being received. */
static inline bool requestBlockLargeOpen(const requestBlock *b) { return b->large && b->large->have < b->large->len; }
/* Returns whether a large argument is being received, or the argument that `r` is in is to become one. */
static inline bool requestBlockLargeDue(const requestBlock *b, const requestReader *r) {
    return requestBlockLargeOpen(b) || (r->state == READ_BODY && r->body_len >= LARGE_ARG_BYTES);
}
/* Begins with the argument that `r` is in, of the request that begins at `start` in buf. Only while the block has no
 * records. After that the request cannot be parsed again from its start. Returns false if there is no memory; `r` is in
 * READ_BAD then. */
bool requestBlockLargeBegin(requestPool *pool, requestBlock *b, requestReader *r, size_t start) must_check;
/* Returns where the next bytes of the large argument go, at most *room, which is not 0. An announced length is not
 * trusted: first LARGE_ARG_TRUSTED bytes are allocated, and the whole only when those have arrived. Untouched memory
 * takes no pages and does not count as used. Returns NULL, with nothing changed, if there is no memory. */
char *requestBlockLargeReserve(requestBlock *b, size_t *room) must_check;
/* Records that `n` bytes were stored there. */
void requestBlockLargeReceived(requestPool *pool, requestBlock *b, size_t n);

/* Appends a completed record (recordComplete()) of the request that `r` has read; its bytes begin at `start` in buf.
 * Returns false, with nothing appended, if there is no memory for the record. If a value cannot be built, the command
 * builds it. */
bool requestBlockAddCommand(requestPool *pool, requestBlock *b, const requestReader *r, size_t start) must_check;
/* Appends a REQ_EMPTY record of a request without arguments, so that its bytes are counted; only `wire` and `wire_len`
 * are meaningful. */
void requestBlockAddEmpty(requestBlock *b, const requestReader *r, size_t start);
/* Appends a record that makes main reply with a protocol error. */
void requestBlockAddError(requestBlock *b, slice text);

#endif
