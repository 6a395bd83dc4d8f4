/* aof_queue.c -- the queue of the log's bytes from main to the AOF thread, which writes them.
 *
 *   head                                                        tail
 *    +---------------+    +-----------------+    +-----------------+
 *    | done | to do  | -> |                 | -> |        | . free |
 *    +---------------+    +-----------------+    +-----------------+
 *           ^ taken                    ^ published        ^ used
 *
 * Main neither allocates nor makes a system call for each command: a block holds hundreds of them, and is reused.
 *
 * Owns        the chain, and the blocks that were returned.
 * Threads     as the header says. The thread moves to the next block only when bytes in it are published, so it never
 *             reads a link that main has yet to write.
 * Invariants  1. consumed <= published <= whole <= appended.
 *             2. head is never NULL; a full block stays head until bytes after it are consumed.
 * Cost        a copy of the bytes; one store for all bytes of a loop iteration.
 * Tests       tests/unit/persist/aof/aof_queue_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_queue.h"

#include "panic.h"
#include "zmalloc.h"

#define SPARES_MAX 32 /* kept for reuse: 2 MiB */

static_assert(sizeof(aofBlock) <= 64 * 1024, "a block fits its size class");
static_assert(offsetof(aofQueue, head) % CACHE_LINE == 0 && offsetof(aofQueue, published) % CACHE_LINE == 0 &&
                  offsetof(aofQueue, back) % CACHE_LINE == 0,
              "main's part, the thread's part and what both reach lie on lines of their own");

/* Asserts the conditions of main's part at both ends of its functions. The thread changes `consumed` meanwhile. */
static void mainCheck(const aofQueue *s) {
    debugAssert(atomic_load_explicit(&s->published, memory_order_relaxed) <= s->whole && s->whole <= s->appended);
    debugAssert(s->used <= AOF_BLOCK_BYTES && !s->tail->next);
    debugAssert(!s->spare == (s->spares == 0) && s->spares < s->blocks);
    unused(s);
}

/* Asserts the conditions of the thread's part. */
static void threadCheck(const aofQueue *s) {
    debugAssert(s->consumed <= atomic_load_explicit(&s->published, memory_order_relaxed));
    debugAssert(s->head && s->taken <= AOF_BLOCK_BYTES);
    unused(s);
}

static aofBlock *makeBlock(void) {
    aofBlock *b = zmalloc(sizeof(*b));
    b->next = NULL;
    return b;
}

void aofQueueInit(aofQueue *s, uint64_t begin) {
    memset(s, 0, sizeof(*s));
    s->head = s->tail = makeBlock();
    s->blocks = 1;
    s->appended = s->whole = s->consumed = begin;
    atomic_init(&s->published, begin);
    atomic_init(&s->back, NULL);
}

static void freeChain(aofBlock *b) {
    while (b) {
        aofBlock *next = b->next;
        zfree(b);
        b = next;
    }
}

void aofQueueDestroy(aofQueue *s) {
    freeChain(s->head);
    freeChain(s->spare);
    freeChain(atomic_load_explicit(&s->back, memory_order_acquire));
    s->head = s->tail = s->spare = NULL;
}

/* --- main ------------------------------------------------------------------------------------------------ */

static void takeBack(aofQueue *s) {
    aofBlock *b = atomic_exchange_explicit(&s->back, NULL, memory_order_acquire);
    while (b) {
        aofBlock *next = b->next;
        b->next = s->spare;
        s->spare = b;
        s->spares++;
        b = next;
    }
}

static aofBlock *takeSpare(aofQueue *s) {
    if (!s->spare) takeBack(s);
    if (!s->spare) {
        s->blocks++;
        return makeBlock();
    }
    aofBlock *b = s->spare;
    s->spare = b->next;
    s->spares--;
    b->next = NULL;
    return b;
}

void aofQueueGrow(aofQueue *s) {
    mainCheck(s);
    aofBlock *b = takeSpare(s);
    s->tail->next = b;
    s->tail = b;
    s->used = 0;
    mainCheck(s);
}

void aofQueueTrim(aofQueue *s) {
    mainCheck(s);
    takeBack(s);
    while (s->spares > SPARES_MAX) {
        aofBlock *b = s->spare;
        s->spare = b->next;
        s->spares--;
        s->blocks--;
        zfree(b);
    }
    mainCheck(s);
}

/* --- thread ---------------------------------------------------------------------------------------------- */

int aofQueuePeek(const aofQueue *s, uint64_t limit, struct iovec *parts, int max, size_t *bytes) {
    uint64_t left = limit - s->consumed;
    aofBlock *b = s->head;
    size_t from = s->taken;
    int n = 0;
    threadCheck(s);
    debugAssert(s->consumed <= limit && limit <= atomic_load_explicit(&s->published, memory_order_relaxed));
    *bytes = 0;
    while (left > 0 && n < max) {
        if (from == AOF_BLOCK_BYTES) {
            b = b->next;
            from = 0;
        }
        size_t len = AOF_BLOCK_BYTES - from;
        if (len > left) len = (size_t)left;
        parts[n++] = (struct iovec){b->bytes + from, len};
        *bytes += len;
        from += len;
        left -= len;
    }
    return n;
}

static void aofQueueGiveBack(aofQueue *s, aofBlock *b) {
    b->next = atomic_load_explicit(&s->back, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&s->back, &b->next, b, memory_order_release, memory_order_relaxed))
        continue;
}

void aofQueueConsume(aofQueue *s, size_t bytes) {
    s->consumed += bytes;
    threadCheck(s);
    while (bytes > 0) {
        if (s->taken == AOF_BLOCK_BYTES) {
            aofBlock *done = s->head;
            s->head = done->next;
            s->taken = 0;
            aofQueueGiveBack(s, done);
        }
        size_t part = AOF_BLOCK_BYTES - s->taken;
        if (part > bytes) part = bytes;
        s->taken += part;
        bytes -= part;
    }
    threadCheck(s);
}
