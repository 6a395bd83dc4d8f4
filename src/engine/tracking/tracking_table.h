/* tracking_table.h -- which client has read which key: the readers to notify when a cached key changes.
 *
 * A key is identified by the 64 bits of its hash and not by its name, as the code that changes a key has its name. Only
 * a key that is absent when it is read is stored with its name, because nothing else has it. A reader is a number from
 * 1 to TRACKING_READER_MAX that the caller assigns. Numbers of readers that do not exist any more stay until a key's
 * readers are swept.
 *
 * Threads     one owner at a time; keys that trackingTableEmpty() drops are freed in the background.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRACKING_TABLE_H
#define ENGINE_TRACKING_TABLE_H

#include "slice.h"
#include "platform.h"

#define TRACKING_READER_MAX 0x7fffffffu
/* A key with a longer name is stored without it: that bounds the size of the table. */
#define TRACKING_NAME_MAX 255

typedef struct trackingTable trackingTable;

/* A key that was removed from the table. */
typedef struct trackedKey {
    uint64_t hash;
    uint64_t readers; /* 0: no key; else see tracking_table.c */
} trackedKey;

/* Creates a table. `exists` returns whether a reader's client still exists. */
trackingTable *trackingTableCreate(bool (*exists)(uint32_t reader));
/* Removes all keys and frees the table. */
void trackingTableRelease(trackingTable *t);
/* Removes all keys. Many keys are freed in the background. */
void trackingTableEmpty(trackingTable *t);

/* Adds the reader to the key. Returns true if the key was not in the table. */
bool trackingTableAdd(trackingTable *t, uint64_t hash, uint32_t reader);
/* Stores the name of a key that is in the table, has one reader and no name yet, and is not in the keyspace. */
void trackingTableName(trackingTable *t, uint64_t hash, slice name);
/* Prefetches the cache line in which the key will be looked up. */
void trackingTablePrefetch(const trackingTable *t, uint64_t hash);
/* Prefetches the set of the key's readers, if it has one. Call when the line has had time to arrive. */
void trackingTablePrefetchReaders(const trackingTable *t, uint64_t hash);

/* Removes the key from the table and moves it to `out`, which the caller frees with trackedKeyFree(). Returns false if
 * it is absent. */
bool trackingTableTake(trackingTable *t, uint64_t hash, trackedKey *out);
/* Does the same for a random key. Returns false if the table is empty. */
bool trackingTableTakeAny(trackingTable *t, trackedKey *out);
/* Returns the readers of a removed key one by one, and 0 after the last; *at is 0 in the first call. */
uint32_t trackedKeyNext(const trackedKey *k, uint32_t *at);
/* Returns the name of the key; ptr is NULL if the table kept only its hash. */
slice trackedKeyName(const trackedKey *k);
/* Frees the readers of a removed key. */
void trackedKeyFree(trackedKey *k);

/* Return the number of keys, of readers of all keys together, and of bytes. */
size_t trackingTableKeys(const trackingTable *t);
size_t trackingTableItems(const trackingTable *t);
size_t trackingTableMemory(const trackingTable *t);

/* Asserts the numbered invariants at the top of tracking_table.c. Visits every key. */
void trackingTableCheck(const trackingTable *t);

/* --- The numbers that identify readers (tracking_readers.c) ------------------------------------------------------- */

/* A number has 31 bits and is assigned once, and again only after two thousand million others: a key in the table may
 * still name a reader whose client was freed long ago. Main only. */
struct trackingState;

/* Returns a number for `s`, from 1 to TRACKING_READER_MAX. The state is borrowed until readerForget(). */
uint32_t readerNew(struct trackingState *s);
/* Ends the use of a number. */
void readerForget(uint32_t reader);
/* Returns the state with that number; NULL if it is not in use any more. */
struct trackingState *readerState(uint32_t reader);
/* Returns whether the number is in use. */
bool readerExists(uint32_t reader);
/* Returns the bytes that all this uses. */
size_t readersMemory(void);

#endif
