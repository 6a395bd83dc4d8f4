/* time_index.h -- entries by their time, to find those that are due.
 *
 * The index holds addresses; an entry stores its own time, which must not change while it is in the index.
 *
 * Threads     one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_TIME_INDEX_H
#define DS_TIME_INDEX_H

#include "zmalloc_move.h"

typedef struct timeIndex timeIndex;

typedef int64_t timeIndexTimeOf(const void *entry);

timeIndex *timeIndexCreate(timeIndexTimeOf *time_of); /* `time_of` returns an entry's time */
void timeIndexFree(timeIndex *t);                     /* frees no entries; NULL is allowed */
size_t timeIndexSize(const timeIndex *t);
/* Returns a time that no entry is before, which may be too early after a removal; INT64_MAX if the index is empty. */
int64_t timeIndexBound(const timeIndex *t);
/* Returns a variable for the caller, INT64_MAX at first: the bound that it has noted elsewhere. */
int64_t *timeIndexNoted(timeIndex *t);
size_t timeIndexMemUsage(const timeIndex *t); /* bytes, without entries */

/* Adds an entry that is not in the index. */
void timeIndexAdd(timeIndex *t, const void *entry);
/* Removes the entry that was added with this address and time, and must be present; does not read the entry. */
void timeIndexRemove(timeIndex *t, const void *entry, int64_t time);

/* Removes up to `max` entries whose time is before `time`, not always the earliest first, and writes them to `out`.
 * Returns their number. Reads only a bounded number of others. */
size_t timeIndexTakeBefore(timeIndex *t, int64_t time, void **out, size_t max);

/* For defragmentation: offers leaf `number` to `move`, and the directory with the first one. Returns the number at
 * which to continue, 0 when all have been offered; a number out of range is allowed. Does not read entries: one that
 * moves must be removed and added again. */
size_t timeIndexDefrag(timeIndex *t, size_t number, blockMover *move);

/* Asserts the invariants at the top of time_index.c; reads every entry. */
void timeIndexCheck(const timeIndex *t);

#endif
