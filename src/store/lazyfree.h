/* lazyfree.h -- where dead objects go: freed here, by the thread that made them, or in the background.
 *
 * Runs on: main, but for lazyfreeBlock() and lazyfreeUnknown(); the freeing itself on bio's BIO_LAZY_FREE thread or
 * wherever the sink leads.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_LAZYFREE_H
#define STORE_LAZYFREE_H

#include "dict.h"
#include "object.h"

/* Drop a reference to a value. The last one goes to the sink when another thread made the object; else it is freed:
 * at once, or in the background when that is worth it and lazyfree-lazy-server-del says so. */
void objectRelease(robj *o);
/* The same, but in the background whenever that is worth it, whatever the setting. */
void objectReleaseLazily(robj *o);
/* The same, but never in the background. */
void objectReleaseNow(robj *o);
/* The net layer registers who takes dead objects of other threads; returns false to have it freed at once. */
void storeSetFreeSink(bool (*sink)(robj *dead));

/* Free an object nobody else knows (refcount 1), in the background when objectFreeEffort() says it is worth it (> 64).
 * A string of 1 MiB and more is freed in the background by both of these, and by the three above. */
void lazyfreeObject(robj *o);
void lazyfreeObjectNow(robj *o); /* a structure here and now, whatever it costs */
/* As lazyfreeObjectNow(), for an object that main does not know. Any thread. */
void lazyfreeUnknown(robj *o);
/* Free a block of zmalloc's whose size the caller knows: in the background when it is as large as a large string, so
 * that no thread with clients waits. Any thread. */
void lazyfreeBlock(void *block, size_t bytes);
/* Free a whole database's dicts in the background. Takes both. Entries that replies still refer to stay until those
 * let go of them. */
void lazyfreeDicts(dict *keys, dict *expires);
/* The entryFree of the keyspace's dicts: drops the dict's reference, on main or in the background. */
void lazyfreeDropEntry(void *entry);
/* What structures do with elements that are objects (objectDropElement()): the same for an element. */
void lazyfreeDropElement(robj *o);
/* Take back what the background could not free because a reply refers to it. Called at each tick; cheap when there
 * is nothing. */
void lazyfreeCollect(void);

/* Large strings are not counted, as in the field, where they are freed at once; their bytes are. */
size_t lazyfreePending(void);      /* objects waiting: INFO lazyfree_pending_objects */
size_t lazyfreePendingBytes(void); /* the memory that waits, tables of whole databases excepted */
long long lazyfreeDone(void);      /* INFO lazyfreed_objects */
void lazyfreeResetStats(void);

#endif
