/* spsc_queue.h -- bounded ring from one producer thread to one consumer thread, without locks.
 *
 * Elements are fixed-size structs, written and read in place. The producer makes those it has written
 * visible together by spscCommit() (one release store); the consumer sees committed elements (one
 * acquire load when its cached index is reached) and frees their slots by spscRelease().
 *
 * Producer and consumer fields are on separate cache lines, and each side caches the other's index.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_SPSC_QUEUE_H
#define DS_SPSC_QUEUE_H

#include "platform.h"
#include <stdatomic.h>

typedef struct spscQueue {
    /* const after init */
    alignas(CACHE_LINE) char *slots; /* owns */
    size_t mask, elem_size;
    /* producer */
    alignas(CACHE_LINE) _Atomic size_t tail; /* published by release store in spscCommit() */
    size_t tail_local;                       /* next to write */
    size_t head_cached;
    /* consumer */
    alignas(CACHE_LINE) _Atomic size_t head; /* published by release store in spscRelease() */
    size_t head_local;
    size_t tail_cached;
} spscQueue;

/* Initializes a queue of at least `capacity` elements, rounded up to a power of two. */
void spscInit(spscQueue *q, size_t capacity, size_t elem_size);
void spscDestroy(spscQueue *q);

/* For the producer: returns a free slot for one more element, NULL if the queue is full. The element is invisible until
 * spscCommit(). */
void *spscReserve(spscQueue *q);
/* For the producer: publishes all reserved elements. Returns whether there were any. */
bool spscCommit(spscQueue *q);
/* For the consumer: returns the oldest element not yet taken, or NULL. It stays valid until spscRelease(). */
void *spscTake(spscQueue *q);
/* For the consumer: returns the element `ahead` positions after the next one to take (0: that one), to prefetch it;
 * NULL if none. */
void *spscPeek(spscQueue *q, size_t ahead);
/* For the consumer: frees the slots of all taken elements. */
void spscRelease(spscQueue *q);
/* For either side: returns whether all committed elements have been released (a consumer releases what it took first).
 * A snapshot by seq_cst loads, for the check before sleeping. */
bool spscIsEmpty(spscQueue *q);

#endif
