/* reply_block.h -- the blocks that carry replies from main to the socket, and the pool they come from.
 *
 *   replyBlock:  +--------+-----------------------+ . . free . . +------+------+
 *                | header | bytes ->              |              | <- ref1 ref0|
 *                +--------+-----------------------+ . . . . . .  +------+------+
 *   On the wire a reference follows the first `offset` bytes of the block: offsets give the order.
 *
 * Main fills a block, hands it to the owner thread of the connection, and gets it back when its bytes are written, or
 * were moved into another block that waits there.
 *
 * Runs on: main, unless a function says otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REPLY_BLOCK_H
#define CLIENT_REPLY_BLOCK_H

#include "db.h"
#include "sds.h"

typedef struct replyRef {
    robj *obj;       /* counted: main releases it when the block comes back */
    const char *ptr; /* into obj */
    size_t len;
    size_t offset; /* bytes of this block that precede it */
} replyRef;

typedef struct replyBlock {
    struct replyBlock *next; /* next block of the chain */
    uint32_t nrefs;
    uint32_t capacity; /* bytes of data[]: for bytes and references together */
    bool external;     /* its references are to memory of another owner, who counts it */
    size_t used;       /* bytes in data[] */
    size_t total;      /* bytes and referenced bytes: what is sent */
    size_t sent;       /* owner thread: bytes of `total` that are written */
    size_t beyond;     /* bytes of the values referred to that are not sent: they stay in memory as well */
    alignas(replyRef) char data[];
} replyBlock;

/* Sizes of the allocation of a chain's first block and of the following ones. More data gets a block of its own
 * size. */
#define REPLY_BLOCK_SMALL 2048
#define REPLY_BLOCK_LARGE 16384
#define REPLY_BLOCK_CAPACITY_MAX (UINT32_MAX & ~(uint32_t)(sizeof(replyRef) - 1))

/* Returns the i-th reference: references grow down from the end. */
static inline replyRef *replyBlockRef(const replyBlock *b, uint32_t i) {
    return (replyRef *)(void *)((char *)b->data + b->capacity) - (i + 1);
}

/* Returns the bytes that may still be added; a reference takes sizeof(replyRef). */
static inline size_t replyBlockAvail(const replyBlock *b) {
    return b->capacity - b->used - b->nrefs * sizeof(replyRef);
}

/* Returns the memory that counts for a block: its own, and the values that its references keep alive, each at full
 * size. */
static inline size_t replyBlockCost(const replyBlock *b) {
    size_t block_bytes = sizeof(*b) + b->capacity;
    return unlikely(b->external) ? block_bytes : block_bytes + (b->total - b->used) + b->beyond;
}

/* Returns an empty block with a capacity of at least `needed` bytes (which is at most REPLY_BLOCK_CAPACITY_MAX), a
 * small one if `first` is set and that suffices. Returns NULL if there is no memory. */
replyBlock *replyBlockGet(size_t needed, bool first) must_check;
/* Same as replyBlockGet(), but may be called on any thread: it does not use the pool. `needed` is at most that of a
 * large block. */
replyBlock *replyBlockMake(size_t needed, bool first) must_check;
/* Add bytes, or a reference to bytes of a RAW string, to a block with enough capacity. Run on the thread that has the
 * block. Main has to count a reference; replyBlockAddRef() does not. It returns by how much the cost of the block
 * grows. */
void replyBlockAddBytes(replyBlock *b, slice bytes);
size_t replyBlockAddRef(replyBlock *b, robj *o, slice part);
/* Appends the contents of `from` to `to`, if they fit; then `from` is empty, and the sum of both costs is unchanged.
 * Returns false, without a change, if they do not fit or only one of the blocks is `external`. Runs on: the thread that
 * has both; for blocks that were handed over that is the owner thread. References move, so no count changes. */
bool replyBlockMove(replyBlock *to, replyBlock *from);
/* Releases the references of a block whose bytes are written, and recycles or frees its memory. */
void replyBlockRelease(replyBlock *b);
/* Same for each block of a chain; `head` may be NULL. */
void replyBlockReleaseChain(replyBlock *head);
/* Appends all bytes of a chain to `s`, references replaced by their bytes (replies of scripts, tests). */
sds replyBlockCatChain(sds s, const replyBlock *head);
size_t replyBlockAllocSize(const replyBlock *b); /* bytes of its allocation */
/* Returns the memory of all blocks in use, wherever they are, without the values that they refer to. */
size_t replyBlocksMemory(void);
/* Asserts the numbered invariants of reply_block.c. */
void replyBlockCheck(const replyBlock *b);

#endif
