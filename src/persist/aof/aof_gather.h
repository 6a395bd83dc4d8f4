/* aof_gather.h -- with `always`, decides whether a sync begins at once or waits for writes of clients that the last
 * sync released.
 *
 * Clients that send one write after the other would divide into two halves: while the sync of one half runs, the writes
 * of the other wait for the next one, and each request takes two syncs. If the next sync waits a moment, until the
 * released clients have written again, it covers both halves, and each request takes one. The wait is no longer than a
 * sync, which is what it can save. If released clients do not write again, the next syncs do not wait.
 *
 * Writes are counted in units of the log: each stands for one reply.
 *
 * Runs on: the AOF thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_GATHER_H
#define PERSIST_AOF_GATHER_H

#include "platform.h"

typedef struct aofGather {
    uint64_t max_us;    /* const: the longest wait */
    uint64_t sync_us;   /* smoothed duration of a sync; 0: not known yet */
    uint64_t released;  /* units that the last sync released; 0 once they were waited for */
    unsigned fruitless; /* waits in a row in which less than half of them arrived */
    unsigned skip;      /* so many syncs do not wait */
} aofGather;

/* Initializes; no wait will be longer than `max_us`. */
void aofGatherInit(aofGather *g, uint64_t max_us);
/* Call after a sync of `units` units that took `took_us`. */
void aofGatherSynced(aofGather *g, uint64_t units, uint64_t took_us);
/* Returns how many microseconds the next sync should wait at most, and in *more for how many additional units; 0 if it
 * begins at once. */
uint64_t aofGatherBegin(aofGather *g, uint64_t *more);
/* Call after a wait for `more` units in which `arrived` units arrived, of the same clients or of others. */
void aofGatherEnd(aofGather *g, uint64_t more, uint64_t arrived);

#endif
