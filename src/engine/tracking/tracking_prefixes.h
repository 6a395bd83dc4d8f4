/* tracking_prefixes.h -- BCAST: prefixes of clients that are notified of every change of a key with such a prefix,
 * whether or not they have read it, and the keys that have changed since the last notification.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRACKING_PREFIXES_H
#define ENGINE_TRACKING_PREFIXES_H

#include "object.h"
#include "sds.h"

/* The prefixes of one client, in order. Initialize to zero. Must not move while it has prefixes. */
typedef struct prefixList {
    struct prefixLink **links; /* owns */
    void *owner;               /* borrowed */
    size_t count, capacity;
    size_t bytes; /* size of the prefixes; a part that several lists share counts for the one that was last to join */
} prefixList;

extern size_t tracking_prefix_count; /* number of different prefixes */
extern bool tracking_prefix_news;    /* keys have changed: call prefixesForEach() */

/* Adds prefixes to the list: from now on its owner is notified of keys that begin with one of them. No two of them and
 * of the list's may overlap. Costs one walk of the list. Returns false if there is no memory; then nothing has
 * changed. */
bool prefixesJoin(prefixList *l, void *owner, const slice *names, size_t count) must_check;
/* Removes all prefixes of the list. Its owner is not notified of earlier changes either. */
void prefixesLeave(prefixList *l);
/* Returns whether `prefix` is the beginning of one of the list's prefixes or the other way round; then *with is the
 * first such prefix. */
bool prefixesOverlap(const prefixList *l, slice prefix, slice *with);
/* Returns the list's prefix at index `i`. */
slice prefixesAt(const prefixList *l, size_t i);

/* Records that the client with the id `by` (0: no client) has changed the key in that database. */
void prefixesNote(slice key, int dbid, uint64_t by);

/* The changes of keys with one prefix: an array of names in RESP. keys.ptr is NULL if names are missing: any key may
 * have changed. */
typedef struct prefixNews {
    slice keys;
    robj *shared;                 /* borrowed; replyShare() of `keys` */
    struct trackedPrefix *prefix; /* for prefixNewsOnly() */
    int dbid;                     /* database of the changes; -1: several */
} prefixNews;
/* Calls `fn` with the changes of each prefix, in the order of the prefixes, for each owner of the prefix, and forgets
 * the changes. `fn` must not change a list. */
void prefixesForEach(void (*fn)(void *owner, const prefixNews *news));
/* Returns false if the client with that id has made none of these changes. */
bool prefixNewsMayBeOf(const prefixNews *news, uint64_t id);
typedef bool prefixKeepFn(void *arg, slice key, uint64_t by);
/* Returns an array like news->keys, which the caller frees, with the keys for which `keep` returns true; `by` is the
 * last client that has changed the key. Returns NULL if no key is left. Returns NULL and sets *failed if there is no
 * memory. */
sds prefixNewsOnly(const prefixNews *news, prefixKeepFn *keep, void *arg, bool *failed);

#endif
