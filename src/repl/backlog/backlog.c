/* backlog.c -- the last bytes of the replication stream, stored once for all replicas.
 *
 *   head                                      tail
 *   [ begin .. used ] <-> [ full ] <-> .. <-> [ begin .. used | free ]
 *          ^ a cursor                                  ^ end
 *
 * Main appends at `used` of the last block while other threads send the bytes before it. No byte is written twice,
 * except those that backlogTruncate() has removed, which no reader has received.
 *
 * Not here    what the bytes are and who reads them (repl_stream.c, replicas.c).
 * Owns        the blocks, and a reference to the string of each.
 * Threads     main; the bytes that were read through a cursor also the threads that send them.
 * Invariants  1. Blocks follow each other without a gap; all but the last are full. Only the last may be empty: when
 *                it is new, or when all its bytes were removed again.
 *             2. The last block ends at `end`.
 *             3. The block of a cursor stays as long as the bytes after the cursor, even if the cursor is at the start
 *                or at the end of the block.
 * Cost        one copy of each byte; a block has hundreds of commands.
 * Tests       tests/unit/repl/backlog/backlog_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "backlog.h"

#include "panic.h"
#include "zmalloc.h"

#define BLOCK_MIN ((size_t)16 << 10)
#define BLOCK_MAX ((size_t)256 << 10)
#define BLOCKS_KEPT 64 /* keep_bytes is so many blocks, so that the chain exceeds it by little */
#define TRIM_AT_ONCE 64
#define WALK_EVERY 64 /* one of so many calls of check() checks all blocks */

static_assert(BLOCK_MIN <= BLOCK_MAX, "the size of a block lies between both");

/* Asserts the invariants at both ends of the chain, and at some calls those of the whole chain. */
static void check(const backlog *b) {
#ifdef DEBUG_ASSERTIONS
    static unsigned calls;
    debugAssert(!b->head == !b->tail && !b->head == (b->memory == 0));
    debugAssert(!b->head || (!b->head->prev && !b->tail->next));
    debugAssert(!b->tail || b->tail->begin + b->tail->used == b->end);
    debugAssert(!b->tail || b->tail->used <= b->tail->capacity);
    if (calls++ % WALK_EVERY == 0) backlogCheck(b);
#endif
    unused(b);
}

/* Asserts that the offset of the cursor is in the cursor's block. */
static void checkCursor(const backlog *b, const backlogCursor *c) {
    debugAssert(c->offset >= backlogBegin(b) && c->offset <= b->end);
    debugAssert(!c->block || (c->offset >= c->block->begin && c->offset - c->block->begin <= c->block->used));
    unused(b), unused(c);
}

void backlogInit(backlog *b, uint64_t end, size_t keep_bytes) {
    assertMainRole();
    *b = (backlog){.end = end, .keep_bytes = keep_bytes};
}

static size_t blockMemory(const backlogBlock *block) { return sizeof(*block) + block->capacity; }

static void freeBlock(backlog *b, backlogBlock *block) {
    b->memory -= blockMemory(block);
    decrRefCount(block->text);
    zfree(block);
}

void backlogClear(backlog *b) {
    assertMainRole();
    while (b->head) {
        backlogBlock *next = b->head->next;
        freeBlock(b, b->head);
        b->head = next;
    }
    b->tail = NULL;
    debugAssert(b->memory == 0);
}

void backlogGrow(backlog *b) {
    size_t capacity = b->keep_bytes / BLOCKS_KEPT;
    debugAssert(!b->tail || b->tail->used == b->tail->capacity); /* all but the last block are full */
    if (capacity < BLOCK_MIN) capacity = BLOCK_MIN;
    if (capacity > BLOCK_MAX) capacity = BLOCK_MAX;
    backlogBlock *block = zcalloc(1, sizeof(*block));
    block->bytes = zmalloc(capacity);
    block->text = objectCreateFromExactTake(sliceOf(NULL, 0), block->bytes, capacity, object_main_owner);
    block->begin = b->tail ? b->tail->begin + b->tail->used : b->end;
    block->capacity = capacity;
    block->prev = b->tail;
    if (b->tail) b->tail->next = block;
    else b->head = block;
    b->tail = block;
    b->memory += blockMemory(block);
}

void backlogTruncate(backlog *b, uint64_t end) {
    assertMainRole();
    serverAssert(end <= b->end && (!b->head || end >= b->head->begin));
    check(b);
    while (b->tail && b->tail->begin > end) { /* a block that begins at `end` stays: a cursor may be at its start */
        backlogBlock *last = b->tail;
        b->tail = last->prev;
        if (b->tail) b->tail->next = NULL;
        else b->head = NULL;
        freeBlock(b, last);
    }
    if (b->tail) b->tail->used = (size_t)(end - b->tail->begin);
    b->end = end;
    check(b);
}

void backlogTrim(backlog *b, uint64_t needed) {
    assertMainRole();
    check(b);
    for (int i = 0; i < TRIM_AT_ONCE && b->head && b->head != b->tail; i++) {
        backlogBlock *first = b->head;
        uint64_t end = first->begin + first->used;
        if (end >= needed || b->end - end < b->keep_bytes) return;
        b->head = first->next;
        b->head->prev = NULL;
        freeBlock(b, first);
    }
}

/* Searches from the end, because nearly all offsets that are requested are near it. */
bool backlogSeek(const backlog *b, uint64_t offset, backlogCursor *c) {
    assertMainRole();
    if (offset > b->end || offset < backlogBegin(b)) return false;
    backlogBlock *block = b->tail;
    while (block && block->begin > offset) block = block->prev;
    *c = (backlogCursor){block, offset};
    debugAssert(block || !b->head);
    checkCursor(b, c);
    return true;
}

robj *backlogRead(const backlog *b, backlogCursor *c, uint64_t limit, slice *out) {
    debugAssert(limit <= b->end);
    checkCursor(b, c);
    if (c->offset >= limit) return NULL;
    if (!c->block) c->block = b->head;
    if (c->offset == c->block->begin + c->block->used) c->block = c->block->next;
    backlogBlock *block = c->block;
    size_t at = (size_t)(c->offset - block->begin), len = block->used - at;
    if (len > limit - c->offset) len = (size_t)(limit - c->offset);
    debugAssert(len > 0 && at + len <= block->used);
    *out = sliceOf(block->bytes + at, len);
    c->offset += len;
    checkCursor(b, c);
    return block->text;
}

void backlogCheck(const backlog *b) {
    size_t memory = 0;
    uint64_t at = backlogBegin(b);
    serverAssert(!b->head == !b->tail);
    for (const backlogBlock *block = b->head; block; block = block->next) {
        serverAssert(block->begin == at && block->used <= block->capacity);
        serverAssert(block->next ? block->used == block->capacity && block->next->prev == block : block == b->tail);
        at += block->used;
        memory += blockMemory(block);
    }
    serverAssert(at == b->end && memory == b->memory);
}
