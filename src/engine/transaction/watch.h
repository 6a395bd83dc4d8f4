/* watch.h -- WATCH: which clients watch which keys.
 *
 * A watched key counts as changed when it is written to, created or deleted, or has expired: then every client that
 * watches it gets CLIENT_DIRTY_CAS and watches nothing any more, unless its whole database was emptied. A key that had
 * expired when it was watched counts as absent: its deletion is no change.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_WATCH_H
#define ENGINE_WATCH_H

#include "client.h"

/* The keys that one client watches; part of the client's transaction state. Initialize to zero. */
typedef struct watchList {
    struct watcher *first; /* owns */
    size_t count, bytes;
    client *c; /* borrowed */
} watchList;

typedef struct watchTotals {
    size_t clients, keys; /* clients that watch keys; keys that are watched */
} watchTotals;
extern watchTotals watch_totals;

/* Watches a key of the client's database. Does nothing if the client watches it already. */
void watchKey(watchList *w, client *c, hashedKey key);
/* Ends the watching of all keys of the list. */
void watchForget(watchList *w);
/* Returns whether a key has expired that was present when the client began to watch it. */
bool watchHasExpired(const watchList *w);

#endif
