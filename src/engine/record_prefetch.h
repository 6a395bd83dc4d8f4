/* record_prefetch.h -- prefetches the keys of many commands, and the elements that they look up, all at once.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RECORD_PREFETCH_H
#define ENGINE_RECORD_PREFETCH_H

#include "client.h"

/* A command that will run for a client, which must not change before. */
typedef struct recordItem {
    client *c;
    parsedCommand *req; /* gets REQ_PREFETCHED */
} recordItem;

typedef struct prefetchStats {
    long long batches, entries; /* entries: keys and elements */
} prefetchStats;
extern prefetchStats prefetch_stats;

/* Returns whether another thread sends replies with the values of this client's commands. The callback itself may be
 * NULL if none does. */
typedef bool recordSentElsewhere(const client *c);

/* Prefetches the keys of all items that have not been prefetched, at most `max_keys` (up to DICT_PREFETCH_MAX), by
 * interleaved walks through their dicts, and then their elements in the tables of the values found. Skips a command
 * with more keys than are left of `max_keys`. Returns how many keys of these items are prefetched by now, each as often
 * as it is named; 0 if no key was walked. */
size_t recordsPrefetch(const recordItem *items, size_t n, size_t max_keys, recordSentElsewhere *elsewhere);

/* Returns the share of a command in the time of a walk, in proportion to its keys. `per_key` is the time of the walk
 * divided by the result of recordsPrefetch(). */
static inline monotime recordPrefetchShare(const parsedCommand *req, monotime per_key) {
    return req->flags & REQ_PREFETCHED ? per_key * req->nkeys : 0;
}

/* Sets the commands that will run next, in this order, until the next call; NULL and 0 if they are not known.
 * Borrowed. */
void recordsUpcoming(const recordItem *items, size_t n);
/* Call when one of them runs whose change may be propagated: prefetches the wire bytes of the command after it. */
void recordsExpectNext(const parsedCommand *running);

#endif
