/* zmalloc_move.h -- defragmentation: finds blocks worth moving, and moves them.
 *
 * Small blocks of one size share slabs of a few pages, and a page goes back to the system only when the last
 * block of its slab is freed. After many blocks were freed at random, a few live ones keep many pages in use. Moving
 * those in slabs emptier than others of their size frees these pages: the allocator puts new blocks
 * into the oldest slabs with free space.
 *
 * Threads     any, for blocks that no other thread touches.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ZMALLOC_MOVE_H
#define BASE_ZMALLOC_MOVE_H

#include "platform.h"

/* Returns whether the allocator reports the fill of slabs. The first call finds out. */
bool zmallocCanMove(void);
/* Returns whether the block is in a slab that should be emptied; false if the allocator cannot tell. */
bool zmallocWorthMoving(const void *p);

/* A callback to which structures offer their blocks. Returns the new address if the block has moved, and then the old
 * one is freed; NULL if it stays. A moved block has the same size class and alignment. */
typedef void *blockMover(void *block);
/* Moves the block, within its arena, if that is worth it. Counts in the calling thread's figures. */
void *zmallocMover(void *block);
/* Returns how many blocks the calling thread's zmallocMover() has moved, and left in place. */
typedef struct moverCounts {
    long long moved, left;
} moverCounts;
moverCounts *zmallocMoverCounts(void);

/* For tests: makes every block worth moving, with any allocator. Call on main, before other threads move blocks. */
void zmallocMoveAll(bool on);

#endif
