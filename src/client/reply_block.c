/* reply_block.c -- the blocks that carry replies from main to the socket, and the pool they come from.
 *
 * A busy server opens and closes a block for each batch of each client; two short lists of spare ones make that a
 * few loads and stores instead of a trip to the allocator.
 *
 * Not here    what is written into a block (reply.c), and how it reaches the socket (net).
 * Owns        the spare blocks.
 * Threads     main. The holder of a connection reads a block that was handed to it and writes `sent`.
 * Invariants  1. Bytes and references never meet: used + nrefs * sizeof(replyRef) <= capacity.
 *             2. total = used + the lengths of all references.
 *             3. Offsets do not decrease from ref0 on.
 * Tests       tests/unit/client/reply_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_block.h"
#include "panic.h"
#include "zmalloc.h"

#define CAPACITY_OF(alloc) ((uint32_t)((alloc) - sizeof(replyBlock)))

static_assert(sizeof(replyBlock) == offsetof(replyBlock, data) && sizeof(replyBlock) % alignof(replyRef) == 0,
              "references at the end of a block are aligned");
static_assert(sizeof(replyRef) == 32, "four words");

/* Blocks of one size that wait for their next use: 1 MiB of each at most. */
typedef struct blockPool {
    replyBlock *spare; /* owns */
    uint32_t count, max;
} blockPool;
static blockPool small_pool = {NULL, 0, (1 << 20) / REPLY_BLOCK_SMALL};
static blockPool large_pool = {NULL, 0, (1 << 20) / REPLY_BLOCK_LARGE};

static replyBlock *makeBlock(uint32_t capacity) {
    replyBlock *b = zmalloc(sizeof(*b) + capacity);

    b->capacity = capacity;
    return b;
}

static replyBlock *poolGet(blockPool *pool, uint32_t capacity) {
    replyBlock *b = pool->spare;

    if (unlikely(!b)) return makeBlock(capacity);
    pool->spare = b->next;
    pool->count--;
    return b;
}

replyBlock *replyBlockGet(size_t room, bool first) {
    replyBlock *b;

    if (first && room <= CAPACITY_OF(REPLY_BLOCK_SMALL)) {
        b = poolGet(&small_pool, CAPACITY_OF(REPLY_BLOCK_SMALL));
    } else if (likely(room <= CAPACITY_OF(REPLY_BLOCK_LARGE))) {
        b = poolGet(&large_pool, CAPACITY_OF(REPLY_BLOCK_LARGE));
    } else {
        serverAssert(room <= REPLY_BLOCK_CAPACITY_MAX);
        b = makeBlock((uint32_t)((room + sizeof(replyRef) - 1) & ~(sizeof(replyRef) - 1)));
    }
    b->next = NULL;
    b->nrefs = 0;
    b->used = b->total = b->sent = 0;
    b->zerocopy = false;
    return b;
}

void replyBlockRelease(replyBlock *b) {
    blockPool *pool = NULL;

    for (uint32_t i = 0; i < b->nrefs; i++) objectRelease(replyBlockRef(b, i)->obj);
    if (b->capacity == CAPACITY_OF(REPLY_BLOCK_SMALL)) pool = &small_pool;
    else if (b->capacity == CAPACITY_OF(REPLY_BLOCK_LARGE)) pool = &large_pool;
    if (!pool || pool->count >= pool->max) {
        zfree(b);
        return;
    }
    b->next = pool->spare;
    pool->spare = b;
    pool->count++;
}

void replyBlockReleaseChain(replyBlock *head) {
    while (head) {
        replyBlock *next = head->next;
        replyBlockRelease(head);
        head = next;
    }
}

sds replyBlockCatChain(sds s, const replyBlock *head) {
    for (const replyBlock *b = head; b; b = b->next) {
        size_t at = 0;
        for (uint32_t i = 0; i < b->nrefs; i++) {
            const replyRef *ref = replyBlockRef(b, i);
            s = sdsCatLen(s, b->data + at, ref->offset - at);
            s = sdsCatLen(s, ref->ptr, ref->len);
            at = ref->offset;
        }
        s = sdsCatLen(s, b->data + at, b->used - at);
    }
    return s;
}

size_t replyBlockAllocSize(const replyBlock *b) {
    return sizeof(*b) + b->capacity;
}
