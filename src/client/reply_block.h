/* reply_block.h -- the blocks that carry replies from main to the socket, and the pool they come from.
 *
 *   replyBlock:  +--------+-----------------------+ . . free . . +------+------+
 *                | header | bytes ->              |              | <- ref1 ref0|
 *                +--------+-----------------------+ . . . . . .  +------+------+
 *   A reference stands behind the byte at `offset`: order is that of the offsets.
 *
 * Main fills a block, hands it to the thread that holds the connection, and gets it back when its bytes have gone, or
 * have been moved into another block that waits there.
 *
 * Runs on: main, where it does not say something else.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REPLY_BLOCK_H
#define CLIENT_REPLY_BLOCK_H

#include "db.h"
#include "sds.h"

typedef struct replyRef {
    robj *obj;       /* counted: main drops it when the stream hands the block back */
    const char *ptr; /* into obj */
    size_t len;
    size_t offset; /* bytes of this block that go before it */
} replyRef;

typedef struct replyBlock {
    struct replyBlock *next; /* of the chain */
    uint32_t nrefs;
    uint32_t capacity; /* of data[], bytes and references together */
    bool lent;         /* what it refers to is kept, and counted, by somebody else */
    size_t used;       /* bytes */
    size_t total;      /* bytes and referenced bytes: what goes over the wire */
    size_t sent;       /* holder: of total */
    size_t beyond;     /* of values that are referred to in part: their other bytes, which live as long */
    alignas(replyRef) char data[];
} replyBlock;

/* Allocations of a chain's first block and of those that follow. What is larger gets a block made to measure. */
#define REPLY_BLOCK_SMALL 2048
#define REPLY_BLOCK_LARGE 16384
#define REPLY_BLOCK_CAPACITY_MAX (UINT32_MAX & ~(uint32_t)(sizeof(replyRef) - 1))

/* The i-th reference: they grow down from the end. */
static inline replyRef *replyBlockRef(const replyBlock *b, uint32_t i) {
    return (replyRef *)(void *)((char *)b->data + b->capacity) - (i + 1);
}

/* Bytes that may still be added; a reference costs sizeof(replyRef). */
static inline size_t replyBlockRoom(const replyBlock *b) {
    return b->capacity - b->used - b->nrefs * sizeof(replyRef);
}

/* Bytes of memory a block stands for: its own, and what its references keep alive, at full size each. */
static inline size_t replyBlockCost(const replyBlock *b) {
    size_t own = sizeof(*b) + b->capacity;
    return unlikely(b->lent) ? own : own + (b->total - b->used) + b->beyond;
}

/* An empty block with room for at least `room` bytes (at most REPLY_BLOCK_CAPACITY_MAX), of the small kind if `first`
 * and that is enough. NULL when there is no memory. */
replyBlock *replyBlockGet(size_t room, bool first) must_check;
/* The same on any thread: not from the pool, where main looks. */
replyBlock *replyBlockMake(size_t room, bool first) must_check;
/* Add bytes, or a reference to bytes of a RAW string, to a block that has room for them. Runs on: the thread that has
 * the block. Who adds a reference sees to it that main counts it. Returns how much more the block costs by it. */
void replyBlockAddBytes(replyBlock *b, slice bytes);
size_t replyBlockAddRef(replyBlock *b, robj *o, slice part);
/* Move everything `from` holds behind what `to` holds, if it fits: then `from` is empty and costs itself only, and the
 * sum of both costs is what it was. False: nothing was changed, also when only one of them is lent. Runs on: the thread
 * that has both, which for blocks that were handed over is the holder. No count changes: a reference moves. */
bool replyBlockMove(replyBlock *to, replyBlock *from);
/* Give back a block whose bytes have gone: drops the references, recycles the memory. */
void replyBlockRelease(replyBlock *b);
/* The same for a chain; NULL is allowed. */
void replyBlockReleaseChain(replyBlock *head);
/* All bytes of a chain, references resolved, appended to `s` (replies of scripts, tests). */
sds replyBlockCatChain(sds s, const replyBlock *head);
size_t replyBlockAllocSize(const replyBlock *b);
/* Assert the numbered invariants of reply_block.c. */
void replyBlockCheck(const replyBlock *b);

#endif
