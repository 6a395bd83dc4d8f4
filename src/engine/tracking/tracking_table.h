/* tracking_table.h -- who has read which key: of each key that somebody may have cached, the readers that must hear
 * when it changes.
 *
 * A key is known by its hash, all 64 bits of it, and not by its name: what changes a key has the name at hand. Only a
 * key that is not there when it is read gets a name here, because nobody else has it. A reader is a number from 1 to
 * TRACKING_READER_MAX that whoever uses the table gives out; numbers of readers that are gone stay until somebody
 * looks.
 *
 * Threads     one owner at a time; what trackingTableEmpty() drops is freed in the background.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRACKING_TABLE_H
#define ENGINE_TRACKING_TABLE_H

#include "slice.h"

#define TRACKING_READER_MAX 0x7fffffffu
/* A key with a longer name gets none: that bounds what a table of so many keys may cost. */
#define TRACKING_NAME_MAX 255

typedef struct trackingTable trackingTable;

/* A key that was taken out of the table. */
typedef struct trackedKey {
    uint64_t hash;
    uint64_t readers; /* 0: no key; see tracking_table.c */
} trackedKey;

/* `alive` tells whether a reader may still want to hear of keys. */
trackingTable *trackingTableCreate(bool (*alive)(uint32_t reader));
void trackingTableRelease(trackingTable *t);
/* Forget all keys. Many are freed in the background. */
void trackingTableEmpty(trackingTable *t);

/* The reader has read the key. True when the key was not in the table: nobody had read it. */
bool trackingTableAdd(trackingTable *t, uint64_t hash, uint32_t reader);
/* Keep the name of a key that is in the table, has no name yet, and is not in the keyspace. */
void trackingTableName(trackingTable *t, uint64_t hash, slice name);
/* Ask for the line in which the key will be looked for; and, some time later, for what it refers to if it has more
 * readers than fit into it. */
void trackingTablePrefetch(const trackingTable *t, uint64_t hash);
void trackingTablePrefetchReaders(const trackingTable *t, uint64_t hash);

/* Take the key out of the table, or any key. False: it is not there, or there is none. Else `out` owns what is to be
 * given back by trackedKeyFree(). */
bool trackingTableTake(trackingTable *t, uint64_t hash, trackedKey *out);
bool trackingTableTakeAny(trackingTable *t, trackedKey *out);
/* Readers of a key that was taken out, one after another; `*at` starts as 0. 0: that was the last. */
uint32_t trackedKeyNext(const trackedKey *k, uint32_t *at);
/* ptr is NULL for a key without a name. */
slice trackedKeyName(const trackedKey *k);
void trackedKeyFree(trackedKey *k);

size_t trackingTableKeys(const trackingTable *t);
size_t trackingTableItems(const trackingTable *t); /* readers of all keys together */
size_t trackingTableMemory(const trackingTable *t);

/* Assert the numbered invariants at the top of tracking_table.c. Visits every key. */
void trackingTableCheck(const trackingTable *t);

#endif
