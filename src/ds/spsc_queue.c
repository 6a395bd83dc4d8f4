/* spsc_queue.c -- bounded ring from one producer thread to one consumer thread, without locks.
 *
 * Indexes count elements since the start and wrap around at 2^64; a slot is index & mask. Each side works on its
 * private index and publishes it after a batch, so a batch costs one store, and the line with the other
 * side's index is only fetched if the queue is full or empty by the cached copy.
 *
 *        head <= head_local <= tail <= tail_local <= head + capacity
 *   released^      taken^  committed^    reserved^
 *
 * Threads     producer: spscReserve, spscCommit; consumer: spscTake, spscPeek, spscRelease; init and destroy:
 *             while neither is active. Elements are handed over by the release store of tail in spscCommit() and the
 *             acquire load in refreshTail(); their slots by the release store of head in spscRelease() and the acquire
 *             load in spscReserve().
 * Tests       tests/unit/ds/spsc_queue_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "spsc_queue.h"
#include "panic.h"
#include "zmalloc.h"

static_assert(offsetof(spscQueue, tail) % CACHE_LINE == 0, "the producer has a line of its own");
static_assert(offsetof(spscQueue, head) % CACHE_LINE == 0, "the consumer has a line of its own");

void spscInit(spscQueue *q, size_t capacity, size_t elem_size) {
    serverAssert(capacity > 0 && elem_size > 0 && capacity <= SIZE_MAX / 2 / elem_size);
    size_t slots = 1;
    while (slots < capacity) slots *= 2;
    q->slots = zmallocAligned(CACHE_LINE, slots * elem_size);
    q->mask = slots - 1;
    q->elem_size = elem_size;
    q->tail_local = q->head_cached = q->head_local = q->tail_cached = 0;
    atomic_init(&q->tail, 0);
    atomic_init(&q->head, 0);
}

void spscDestroy(spscQueue *q) {
    zfree(q->slots);
    q->slots = NULL;
}

static void *slotAt(const spscQueue *q, size_t index) { return q->slots + (index & q->mask) * q->elem_size; }

void *spscReserve(spscQueue *q) {
    if (q->tail_local - q->head_cached > q->mask) {
        q->head_cached = atomic_load_explicit(&q->head, memory_order_acquire);
        if (q->tail_local - q->head_cached > q->mask) return NULL;
    }
    return slotAt(q, q->tail_local++);
}

bool spscCommit(spscQueue *q) {
    if (atomic_load_explicit(&q->tail, memory_order_relaxed) == q->tail_local) return false;
    atomic_store_explicit(&q->tail, q->tail_local, memory_order_release);
    return true;
}

/* Returns whether at least `want` committed elements are waiting. */
static bool refreshTail(spscQueue *q, size_t want) {
    if (likely(q->tail_cached - q->head_local >= want)) return true;
    q->tail_cached = atomic_load_explicit(&q->tail, memory_order_acquire);
    return q->tail_cached - q->head_local >= want;
}

void *spscTake(spscQueue *q) { return refreshTail(q, 1) ? slotAt(q, q->head_local++) : NULL; }

void *spscPeek(spscQueue *q, size_t ahead) {
    if (ahead > q->mask) return NULL;
    return refreshTail(q, ahead + 1) ? slotAt(q, q->head_local + ahead) : NULL;
}

void spscRelease(spscQueue *q) {
    if (atomic_load_explicit(&q->head, memory_order_relaxed) == q->head_local) return;
    atomic_store_explicit(&q->head, q->head_local, memory_order_release);
}

/* Before sleeping, a consumer sets an atomic of its own (seq_cst) and then calls this; a producer commits and then
 * reads that atomic (with a seq_cst fence between). One of the two sees the other's store. */
bool spscIsEmpty(spscQueue *q) {
    return atomic_load_explicit(&q->tail, memory_order_seq_cst) == atomic_load_explicit(&q->head, memory_order_seq_cst);
}
