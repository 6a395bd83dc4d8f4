/* aof_gather.h -- with `always`, whether a sync begins at once, or waits for those whom the last one has let go.
 *
 * Clients that send one write after the other would fall into two halves: while the sync of one half runs the writes
 * of the other wait for the next, and each request lasts two syncs. If the next one waits a moment, until who was let
 * go has written again, it takes both halves, and each request lasts one. The moment is no longer than a sync, which
 * is what it can save; where those who were let go have other things to do it is not waited for again for a while.
 *
 * Writes are counted in units of the log: what one reply stands for.
 *
 * Runs on: the AOF thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_GATHER_H
#define PERSIST_AOF_GATHER_H

#include "platform.h"

typedef struct aofGather {
    uint64_t max_us;    /* const: the longest moment */
    uint64_t sync_us;   /* how long a sync takes, smoothed; 0: not known yet */
    uint64_t let_go;    /* units of the last sync, until they have been waited for */
    unsigned fruitless; /* times in a row that less than half of them have come */
    unsigned skip;      /* so many syncs begin at once */
} aofGather;

void aofGatherInit(aofGather *g, uint64_t max_us);
/* A sync of so many units has worked and taken so long. */
void aofGatherSynced(aofGather *g, uint64_t units, uint64_t took_us);
/* For how many more units than there are the next one may wait, and how long, in microseconds; 0: it begins at once. */
uint64_t aofGatherBegin(aofGather *g, uint64_t *more);
/* So many of the units that were let go have come meanwhile, or others in their place. */
void aofGatherEnd(aofGather *g, uint64_t more, uint64_t came);

#endif
