/* tracking_prefixes.h -- BCAST: clients that hear of every change of keys with a prefix, whether they have read them or
 * not, and the keys that have changed since they were told.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRACKING_PREFIXES_H
#define ENGINE_TRACKING_PREFIXES_H

#include "object.h"
#include "sds.h"

/* The prefixes of one client, in order. Starts as zeroes, and stays where it is while it has any. */
typedef struct prefixList {
    struct prefixLink **links; /* owns */
    void *owner;               /* borrowed */
    size_t count, capacity;
    size_t
        bytes; /* what they cost. What several lists share is counted in one of them, the one that was last to join */
} prefixList;

extern size_t tracking_prefix_count; /* prefixes that somebody has */
extern bool tracking_prefix_news;    /* keys have changed: prefixesForEach() has something to do */

/* The list's owner hears of keys that begin with one of these from now on; no two of them and of the list's overlap.
 * Costs what they are and one walk of the list. False: no memory, nothing has changed. */
bool prefixesJoin(prefixList *l, void *owner, const slice *names, size_t count) must_check;
/* It hears of nothing any more, not even of what has changed already. */
void prefixesLeave(prefixList *l);
/* Whether one of the list's prefixes begins with `prefix` or the other way round; then `with` is the first of them. */
bool prefixesOverlap(const prefixList *l, slice prefix, slice *with);
slice prefixesAt(const prefixList *l, size_t i);

/* The key has changed in that database, by the doing of the client with that id (0: nobody's). */
void prefixesNote(slice key, int dbid, uint64_t by);

/* What is told of one prefix: an array of names in RESP; ptr NULL: names are missing, anything may have changed. */
typedef struct prefixNews {
    slice keys;
    robj *shared;                 /* replyShare() of it; borrowed */
    struct trackedPrefix *prefix; /* for prefixNewsOnly() */
    int dbid;                     /* where they have changed; -1: in several databases */
} prefixNews;
/* Tell every owner what has changed, prefix by prefix in their order, and forget it. `tell` changes no list. */
void prefixesForEach(void (*tell)(void *owner, const prefixNews *news));
/* False: none of it is the doing of the client with that id. */
bool prefixNewsMayBeOf(const prefixNews *news, uint64_t id);
/* The same array with the keys alone that `keep` wants, which is told the client that was the last to change each: an
 * sds for the caller; NULL when that leaves none, or, *failed, when there was no memory to find out. */
typedef bool prefixKeepFn(void *arg, slice key, uint64_t by);
sds prefixNewsOnly(const prefixNews *news, prefixKeepFn *keep, void *arg, bool *failed);

#endif
