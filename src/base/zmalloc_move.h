/* zmalloc_move.h -- defragmentation: whether a block lies badly, and giving it a better place.
 *
 * Small blocks of one size lie together in slabs of a few pages, and a page goes back to the system only when the last
 * block of its slab has gone. After many have been freed here and there, a few live ones hold many pages. Who moves
 * those that lie in slabs emptier than the others of their size gets the pages free: the allocator puts what is new
 * into the oldest slabs that have room.
 *
 * Threads     any, for blocks that the caller alone may touch.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ZMALLOC_MOVE_H
#define BASE_ZMALLOC_MOVE_H

#include "platform.h"

/* Whether the allocator tells how its slabs are filled. The first call asks it. */
bool zmallocCanMove(void);
/* Whether the block lies in a slab that had better be emptied. false where the allocator cannot tell. */
bool zmallocWorthMoving(const void *p);

/* What structures offer their blocks to. The new address when the block has moved, and then the old one is free; NULL:
 * it stays. A block that has moved is of the same size class, and as much aligned. */
typedef void *blockMover(void *block);
/* Moves what is worth moving, within its arena. Counts what it does in the calling thread's figures. */
void *zmallocMover(void *block);
/* How many blocks the calling thread's zmallocMover() has moved, and left where they were. */
typedef struct moverCounts {
    long long moved, left;
} moverCounts;
moverCounts *zmallocMoverCounts(void);

/* Give back the free regions that the calling thread's cache holds: to the allocator their slabs are in use. To be done
 * before many blocks are offered. */
void zmallocDropCache(void);

/* For tests: every block is worth moving, with any allocator. Main, before other threads move anything. */
void zmallocMoveAll(bool on);

#endif
