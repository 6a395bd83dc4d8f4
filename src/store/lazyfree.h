/* lazyfree.h -- frees objects here, on the thread that made them, or in the background.
 *
 * Runs on: main, except lazyfreeBlock() and lazyfreePrivate(); freeing itself on bio's BIO_LAZY_FREE thread or
 * on the thread that the sink chooses.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_LAZYFREE_H
#define STORE_LAZYFREE_H

#include "dict.h"
#include "object.h"
#include "slot_dicts.h"

/* Drops a reference to a value. After the last one the object goes to the sink if another thread made it; otherwise it
 * is freed: immediately, or in the background if that is worth it and lazyfree-lazy-server-del is set. */
void objectRelease(robj *o);
/* Like objectRelease(), for a reference of a reply or another borrower: a value that stays is not orphaned by it. */
void objectReleaseBorrowed(robj *o);
/* Like objectRelease(), but in the background whenever that is worth it, whatever the setting. */
void objectReleaseLazily(robj *o);
/* Like objectRelease(), but never in the background. */
void objectReleaseNow(robj *o);
/* Registers the net layer's function that takes unreferenced objects of other threads; it returns false to have the
 * object freed immediately. */
void storeSetFreeSink(bool (*sink)(robj *o));

/* Frees an object that no other code refers to (refcount 1), in the background if objectFreeEffort() is large enough (>
 * 64). A string of 1 MiB and more is freed in the background by both of these functions, and by the three above. */
void lazyfreeObject(robj *o);
void lazyfreeObjectNow(robj *o); /* frees a structure on this thread, whatever the time */
/* Like lazyfreeObjectNow(), for an object that main does not know. Any thread. */
void lazyfreePrivate(robj *o);
/* Frees a zmalloc() block whose size the caller knows, in the background if it has the size of a large string, so that
 * no thread with clients waits. Any thread. */
void lazyfreeBlock(void *block, size_t bytes);
/* Frees a whole database's dicts in the background. Takes all of them; `keys` or `slots` is NULL. Entries that replies
 * still refer to stay until those references are dropped. `counted`: INFO counts the objects. */
void lazyfreeDicts(dict *keys, slotDicts *slots, dict *expires, bool counted);
/* The entryFree of the keyspace's dicts: drops the dict's reference, on main or in the background. */
void lazyfreeDropEntry(void *entry);
/* Like lazyfreeDropEntry(), for elements of structures that are objects (objectDropElement()). */
void lazyfreeDropElement(robj *o);
/* Takes back objects that the background could not free because a reply refers to them. Called at each tick; cheap if
 * there are none. */
void lazyfreeCollect(void);

/* Return figures for INFO. Large strings are not counted, as in Valkey, which frees them immediately; their bytes
 * are. */
size_t lazyfreePending(void);      /* objects waiting: INFO lazyfree_pending_objects */
size_t lazyfreePendingBytes(void); /* memory waiting to be freed, except for tables of whole databases */
long long lazyfreeDone(void);      /* INFO lazyfreed_objects */
void lazyfreeResetStats(void);

#endif
