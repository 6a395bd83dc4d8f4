/* slot_stats.h -- what the commands of each slot cost: time and bytes (cluster-slot-stats-enabled).
 *
 * A command counts for the slot of its keys when it has ended: its time, its request, its reply, and what replicas get
 * of it. A transaction counts as one command, and its queued requests when they arrive; what a script calls counts as
 * the script's. Commands without a slot, and those that were refused, do not count.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SLOT_STATS_H
#define ENGINE_SLOT_STATS_H

#include "call_after.h"
#include "client.h"

typedef struct slotFigures {
    uint64_t ns; /* execution */
    uint64_t bytes_in, bytes_out;
} slotFigures;

/* Begins and ends counting. Figures begin at zero, and their memory is freed when it ends. */
void slotStatsEnable(bool on);
static inline bool slotStatsAreOn(void) { return unlikely(call_after & CALL_AFTER_SLOT_STATS); }
slotFigures slotStatsOf(unsigned slot);
/* Sets the figures of one slot, or of all, to zero. */
void slotStatsForget(unsigned slot);
void slotStatsReset(void);
/* Sets the function that returns how many replicas get what is propagated. Call at startup. */
void slotStatsSetReplicas(size_t (*count)(void));

/* --- Call these only while slotStatsAreOn() ----------------------------------------------------------------------- */

/* The running command of `c` has ended. */
void slotStatsRan(const client *c, uint64_t ns, size_t reply_bytes);
/* It waits now. The rest counts when it runs again. */
void slotStatsWaits(const client *c, uint64_t ns);
/* A request was queued in MULTI. */
void slotStatsQueued(const parsedCommand *req);
/* EXEC begins to run a queue: its commands do not count until slotStatsExecEnds(), which is called in any case, as a
 * command of the queue may end counting. */
void slotStatsExecBegins(const client *c, parsedCommand *const *queue, uint32_t count);
void slotStatsExecEnds(void);
/* The running command has made replicas get `bytes`. */
void slotStatsPropagated(size_t bytes);
/* `receivers` clients get a message of a shard channel. */
void slotStatsPublished(slice channel, slice payload, size_t receivers);

#endif
