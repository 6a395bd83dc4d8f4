/* record_prefetch.h -- the keys of many commands, and what they look up in those keys' values, asked for at once.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_RECORD_PREFETCH_H
#define ENGINE_RECORD_PREFETCH_H

#include "client.h"

/* A command that will run for a client, which is not changed before it does. */
typedef struct recordItem {
    client *c;
    parsedCommand *req; /* gets REQ_PREFETCHED */
} recordItem;

typedef struct prefetchStats {
    long long batches, entries; /* entries: keys and elements */
} prefetchStats;
extern prefetchStats prefetch_stats;

/* Whether replies of the client's values are sent by another thread than this one; NULL: never. */
typedef bool recordSentElsewhere(const client *c);

/* Walk the keys of all items that have not been walked, `max_keys` (at most DICT_PREFETCH_MAX) of them, through their
 * dicts in turns, and then the elements through the tables of the values found. A command with more keys than are left
 * fetches them by itself. Returns how many keys of these items are fetched by now, each as often as it is named; 0 if
 * nothing was walked. */
size_t recordsPrefetch(const recordItem *items, size_t n, size_t max_keys, recordSentElsewhere *elsewhere);

/* The part of a walk's time that belongs to one of its commands: the time is shared out by the keys that each names.
 * `per_key` is the time of the walk divided by what recordsPrefetch() has returned. */
static inline monotime recordPrefetchShare(const parsedCommand *req, monotime per_key) {
    return req->flags & REQ_PREFETCHED ? per_key * req->nkeys : 0;
}

/* These will run, in this order, until something else is said (NULL, 0: nothing is known, or it is over). Borrowed. */
void recordsUpcoming(const recordItem *items, size_t n);
/* One runs whose change may be passed on: what would be passed on of the one behind it is asked for. */
void recordsExpectNext(const parsedCommand *running);

#endif
