/* watch.h -- WATCH: which clients wait to hear that a key has changed.
 *
 * A key that is watched counts as changed when it is written to, comes, goes, or its time is over: then every client
 * that watches it gets CLIENT_DIRTY_CAS, and watches nothing any more unless all of a database has gone. A key whose
 * time was over when it was watched was not there: that it is deleted afterwards is no change.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_WATCH_H
#define ENGINE_WATCH_H

#include "client.h"

/* What one client watches. Starts as zeroes; belongs to the client's transaction state. */
typedef struct watchList {
    struct watcher *first; /* owns */
    size_t count, bytes;
    client *c; /* borrowed */
} watchList;

typedef struct watchTotals {
    size_t clients, keys; /* clients that watch something; keys that are watched */
} watchTotals;
extern watchTotals watch_totals;

/* Watch a key of the client's database; once is enough. */
void watchKey(watchList *w, client *c, hashedKey key);
/* Watch nothing any more. */
void watchForget(watchList *w);
/* Whether the time of a watched key is over that was there when it was watched. */
bool watchHasExpired(const watchList *w);

#endif
