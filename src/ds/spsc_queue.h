/* spsc_queue.h -- bounded ring from one producer thread to one consumer thread, without locks.
 *
 * Elements are fixed-size structs, written and read where they lie. The producer makes those it has written
 * visible together by spscCommit() (one release store); the consumer sees what was committed (one
 * acquire load when its cached view runs dry) and gives room back by spscRelease().
 *
 * Producer and consumer fields lie on separate cache lines, and each side caches the other's index.
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
    size_t head_seen;
    /* consumer */
    alignas(CACHE_LINE) _Atomic size_t head; /* published by release store in spscRelease() */
    size_t head_local;
    size_t tail_seen;
} spscQueue;

/* `capacity` is rounded up to a power of two. */
void spscInit(spscQueue *q, size_t capacity, size_t elem_size);
void spscDestroy(spscQueue *q);

/* Producer: room for one more element, or NULL when full. The element is invisible until spscCommit(). */
void *spscReserve(spscQueue *q);
/* Producer: publish all reserved elements. True if there were any. */
bool spscCommit(spscQueue *q);
/* Consumer: the oldest element not yet taken, or NULL. Stays valid until spscRelease(). */
void *spscTake(spscQueue *q);
/* Consumer: look at the element `ahead` places behind the next one to take (0 = next), to prefetch; NULL if none. */
void *spscPeek(spscQueue *q, size_t ahead);
/* Consumer: give back the room of all taken elements. */
void spscRelease(spscQueue *q);
/* Either side, a snapshot: nothing is committed that has not been released (a consumer releases what it took before it
 * asks). Uses seq_cst loads, for the check before sleeping. */
bool spscIsEmpty(spscQueue *q);

#endif
