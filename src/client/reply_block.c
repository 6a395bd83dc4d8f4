/* reply_block.c -- the blocks that carry replies from main to the socket, and the pool they come from.
 *
 * A busy server opens and closes a block for each batch of each client. Two short lists of spare blocks reduce that to
 * a few loads and stores instead of a call of the allocator.
 *
 * Not here    the contents of a block (reply.c), and its way to the socket (net).
 * Owns        the spare blocks.
 * Threads     main. The owner thread of a connection has the blocks that were handed to it: it reads them, counts in
 *             `sent`, and may move the contents of a block into the one before it.
 * Invariants  1. Bytes and references never meet: used + nrefs * sizeof(replyRef) <= capacity.
 *             2. total = used + the lengths of all references; sent <= total.
 *             3. Offsets do not decrease from ref0 on, and none is beyond `used`.
 *             4. beyond = the lengths of all values referred to less those of the references; 0 in a block that is
 *                `external`.
 * Tests       tests/unit/client/reply_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_block.h"
#include "lazyfree.h"
#include "panic.h"
#include "zmalloc.h"

#include <stdatomic.h>

#define CAPACITY_OF(alloc) ((uint32_t)((alloc) - sizeof(replyBlock)))

static_assert(sizeof(replyBlock) == offsetof(replyBlock, data) && sizeof(replyBlock) % alignof(replyRef) == 0,
              "references at the end of a block are aligned");
static_assert(sizeof(replyRef) == 32, "four words");

/* Spare blocks of one size: at most 1 MiB of each. */
typedef struct blockPool {
    replyBlock *spare; /* owns */
    uint32_t count, max;
} blockPool;
static blockPool small_pool = {NULL, 0, (1 << 20) / REPLY_BLOCK_SMALL};
static blockPool large_pool = {NULL, 0, (1 << 20) / REPLY_BLOCK_LARGE};

/* Bytes of all blocks that exist, spare ones included. Atomic, relaxed: owner threads make blocks, too. */
static atomic_size_t allocated;

static replyBlock *makeBlock(uint32_t capacity) {
    replyBlock *b = ztrymalloc(sizeof(*b) + capacity);
    if (!b) return NULL;
    b->capacity = capacity;
    atomic_fetch_add_explicit(&allocated, replyBlockAllocSize(b), memory_order_relaxed);
    return b;
}

/* Makes a block for something large, whose capacity includes what the allocator adds. Returns NULL if there is no
 * memory. */
static replyBlock *makeExact(size_t needed) {
    serverAssert(needed <= REPLY_BLOCK_CAPACITY_MAX);
    size_t want = sizeof(replyBlock) + ((needed + sizeof(replyRef) - 1) & ~(sizeof(replyRef) - 1));
    replyBlock *b = ztrymalloc(want);
    if (!b) return NULL;
    size_t capacity = zmallocSize(b) - sizeof(*b);
    if (capacity > REPLY_BLOCK_CAPACITY_MAX) capacity = REPLY_BLOCK_CAPACITY_MAX;
    b->capacity = (uint32_t)(capacity & ~(sizeof(replyRef) - 1));
    atomic_fetch_add_explicit(&allocated, replyBlockAllocSize(b), memory_order_relaxed);
    return b;
}

static replyBlock *poolGet(blockPool *pool, uint32_t capacity) {
    replyBlock *b = pool->spare;
    if (unlikely(!b)) return makeBlock(capacity);
    pool->spare = b->next;
    pool->count--;
    return b;
}

static replyBlock *startEmpty(replyBlock *b) {
    b->next = NULL;
    b->nrefs = 0;
    b->used = b->total = b->sent = b->beyond = 0;
    b->external = false;
    return b;
}

replyBlock *replyBlockMake(size_t needed, bool first) {
    size_t capacity = CAPACITY_OF(first ? REPLY_BLOCK_SMALL : REPLY_BLOCK_LARGE);
    if (needed > capacity) capacity = CAPACITY_OF(REPLY_BLOCK_LARGE);
    debugAssert(needed <= capacity);
    replyBlock *b = makeBlock((uint32_t)capacity);
    return b ? startEmpty(b) : NULL;
}

void replyBlockAddBytes(replyBlock *b, slice bytes) {
    debugAssert(bytes.len <= replyBlockAvail(b));
    memcpy(b->data + b->used, bytes.ptr, bytes.len);
    b->used += bytes.len;
    b->total += bytes.len;
}

size_t replyBlockAddRef(replyBlock *b, robj *o, slice part) {
    debugAssert(replyBlockAvail(b) >= sizeof(replyRef));
    size_t before = replyBlockCost(b);
    *replyBlockRef(b, b->nrefs++) = (replyRef){.obj = o, .ptr = part.ptr, .len = part.len, .offset = b->used};
    b->total += part.len;
    if (!b->external) b->beyond += objectStringLen(o) - part.len;
    return replyBlockCost(b) - before;
}

replyBlock *replyBlockGet(size_t needed, bool first) {
    assertMainRole();
    replyBlock *b;
    if (first && needed <= CAPACITY_OF(REPLY_BLOCK_SMALL)) {
        b = poolGet(&small_pool, CAPACITY_OF(REPLY_BLOCK_SMALL));
    } else if (likely(needed <= CAPACITY_OF(REPLY_BLOCK_LARGE))) {
        b = poolGet(&large_pool, CAPACITY_OF(REPLY_BLOCK_LARGE));
    } else {
        b = makeExact(needed);
    }
    return likely(b) ? startEmpty(b) : NULL;
}

void replyBlockRelease(replyBlock *b) {
    assertMainRole();
    blockPool *pool = NULL;
    for (uint32_t i = 0; i < b->nrefs; i++) objectReleaseBorrowed(replyBlockRef(b, i)->obj);
    if (b->capacity == CAPACITY_OF(REPLY_BLOCK_SMALL)) pool = &small_pool;
    else if (b->capacity == CAPACITY_OF(REPLY_BLOCK_LARGE)) pool = &large_pool;
    if (!pool || pool->count >= pool->max) {
        size_t bytes = replyBlockAllocSize(b);
        atomic_fetch_sub_explicit(&allocated, bytes, memory_order_relaxed);
        lazyfreeBlock(b, bytes);
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

bool replyBlockMove(replyBlock *to, replyBlock *from) {
    size_t refs_bytes = from->nrefs * sizeof(replyRef);

    debugAssert(from->sent == 0);
    if (to->external != from->external || replyBlockAvail(to) < from->used + refs_bytes) return false;
    memcpy(to->data + to->used, from->data, from->used);
    if (from->nrefs) {
        uint32_t last = to->nrefs + from->nrefs - 1;
        memcpy(replyBlockRef(to, last), replyBlockRef(from, from->nrefs - 1), refs_bytes);
        for (uint32_t i = to->nrefs; i <= last; i++) replyBlockRef(to, i)->offset += to->used;
    }
    to->nrefs += from->nrefs;
    to->used += from->used;
    to->total += from->total;
    to->beyond += from->beyond;
    from->nrefs = 0;
    from->used = from->total = from->beyond = 0;
    return true;
}

size_t replyBlocksMemory(void) {
    assertMainRole();
    size_t all = atomic_load_explicit(&allocated, memory_order_relaxed);
    return all - small_pool.count * (size_t)REPLY_BLOCK_SMALL - large_pool.count * (size_t)REPLY_BLOCK_LARGE;
}

size_t replyBlockAllocSize(const replyBlock *b) { return sizeof(*b) + b->capacity; }

void replyBlockCheck(const replyBlock *b) {
    size_t referred = 0, before = 0, beyond = 0;
    serverAssert(b->used + b->nrefs * sizeof(replyRef) <= b->capacity);
    for (uint32_t i = 0; i < b->nrefs; i++) {
        const replyRef *ref = replyBlockRef(b, i);
        serverAssert(ref->offset >= before && ref->offset <= b->used);
        before = ref->offset;
        referred += ref->len;
        if (!b->external) beyond += objectStringLen(ref->obj) - ref->len;
    }
    serverAssert(b->beyond == beyond);
    serverAssert(b->total == b->used + referred);
    serverAssert(b->sent <= b->total);
}
