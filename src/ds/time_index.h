/* time_index.h -- entries in order of their time, for whoever wants those that are due.
 *
 * The index holds addresses; an entry knows its own time, and keeps it while it is in here.
 *
 * Threads     one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_TIME_INDEX_H
#define DS_TIME_INDEX_H

#include "zmalloc_move.h"

typedef struct timeIndex timeIndex;

typedef int64_t timeIndexTimeOf(const void *entry);

timeIndex *timeIndexCreate(timeIndexTimeOf *time_of);
void timeIndexFree(timeIndex *t); /* not the entries; NULL is allowed */
size_t timeIndexSize(const timeIndex *t);
size_t timeIndexMemUsage(const timeIndex *t);

/* The entry must not be in the index. */
void timeIndexAdd(timeIndex *t, const void *entry);
/* Take out what went in at this address with this time; the entry is not read. It must be there. */
void timeIndexRemove(timeIndex *t, const void *entry, int64_t time);

/* No entry is earlier than this; INT64_MAX when there is none. */
int64_t timeIndexEarliest(const timeIndex *t);
/* Take out up to `max` entries that are earlier than `time`, earlier ones not always first. Returns how many. What it
 * reads besides them is bounded. */
size_t timeIndexTakeBefore(timeIndex *t, int64_t time, void **out, size_t max);

/* Defragmentation. Offer the leaf of that number to `move`, with the first one also the directory. Returns the number
 * at which to go on, 0 when all have been offered; one that is too large does no harm. Entries are not read: one that
 * has moved is taken out and added anew. */
size_t timeIndexDefrag(timeIndex *t, size_t number, blockMover *move);

/* Assert the invariants at the top of time_index.c; reads every entry. */
void timeIndexCheck(const timeIndex *t);

#endif
