/* dict.h -- the one hash table of the tree: buckets of one cache line, incremental rehash.
 *
 * A dict holds opaque entries (void *, never NULL); an entry contains its key, and the dictType says
 * where. Keys are byte strings. The hash of a key is computed once, by whoever first sees the key,
 * and handed in: every function that takes a key also takes dictHash(d, key).
 *
 * Growing and shrinking move a few buckets with each dictFind/dictAdd/... that may write (not with
 * reads through dictFind), so no call ever pays for a whole table, except dictExpand() on request. With
 * dictSetBackground() no call pays for the pages of one either.
 *
 * Threads     one owner at a time. dictFind(), dictHash() and dictPrefetch() write nothing, so a
 *             dict that nobody changes may be read by any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_DICT_H
#define DS_DICT_H

#include "slice.h"
#include "zmalloc_move.h"

typedef struct dict dict;

typedef struct dictType {
    /* The key of an entry. Bytes stay valid as long as the entry. Required. */
    slice (*entryKey)(const void *entry);
    /* NULL: hashBytes() and byte equality. */
    uint64_t (*hash)(slice key);
    bool (*keyEqual)(slice a, slice b);
    /* Called for each entry that dictRelease(), dictEmpty() or dictDelete() drops. NULL: nothing. */
    void (*entryFree)(void *entry);
    /* The next address to fetch after the entry's own line when the key does not lie in it; NULL
     * result or callback: the key is in the entry's first 64 bytes. Called on a line already fetched. */
    const void *(*prefetchKey)(const void *entry);
    /* Not 0: the key lies in the entry and begins so many bytes behind its start at most, so that a search can ask for
     * both lines at once; only rehashing calls prefetchKey then. */
    size_t key_within;
    /* Ask for what a command will touch of the value, when the key has matched. NULL: nothing. */
    void (*prefetchValue)(const void *entry);
    /* May the table be resized to `bytes`, at fill `used / slots`? NULL: always. (maxmemory, fork.) */
    bool (*resizeAllowed)(size_t bytes, double fill);
} dictType;

/* `type` is borrowed for the dict's life. An empty dict has no table. */
dict *dictCreate(const dictType *type);
void dictRelease(dict *d);
/* Drop all entries; `progress` (may be NULL) is called now and then so that a long call can report. */
void dictEmpty(dict *d, void (*progress)(void));
const dictType *dictGetType(const dict *d);

size_t dictSize(const dict *d);
size_t dictSlots(const dict *d);        /* entry places in both tables, without chained buckets */
size_t dictMemUsage(const dict *d);     /* without entries */
size_t dictMemTables(const dict *d);    /* of it: tables and chained buckets; 0 as long as there is no table */
size_t dictMemEmpty(void);              /* the rest of it */
size_t dictMemRehashing(const dict *d); /* memory of the table that is being left */
bool dictIsRehashing(const dict *d);

uint64_t dictHash(const dict *d, slice key);

/* The entry with that key, or NULL. */
void *dictFind(const dict *d, slice key, uint64_t hash);
/* The entry whose key has that hash, when the key itself is not known: keys of entries that could be it are hashed. */
void *dictFindByHash(const dict *d, uint64_t hash);
/* The place that holds the entry, or NULL; lets the caller exchange the entry for another with the
 * same key by one store. Valid until the next call that may change or rehash the dict. May do a rehash step. */
void **dictFindRef(dict *d, slice key, uint64_t hash);
/* Add an entry whose key must not be in the dict (debug builds check). */
void dictAddNew(dict *d, void *entry, uint64_t hash);
/* Add unless the key is there: returns NULL when added, else the entry in the way (nothing changed). */
void *dictAdd(dict *d, void *entry, uint64_t hash);
/* The same for an entry that is in no cache: it is read only when one that is there could have the same key. */
void *dictAddUnread(dict *d, void *entry, uint64_t hash);
/* Ask for the line that it will look at and write to. */
void dictPrefetchAdd(const dict *d, uint64_t hash);
/* Is exactly this entry in the dict, under this hash? Only addresses are compared: it may be freed memory. */
bool dictHoldsEntry(const dict *d, const void *entry, uint64_t hash);
/* Take the entry out and return it without freeing it; NULL when there is none. */
void *dictPop(dict *d, slice key, uint64_t hash);
/* The same for an exact entry: used when several entries' keys could compare equal or the key must not be read. */
bool dictPopEntry(dict *d, const void *entry, uint64_t hash);
/* Take out and free. False when there is none. */
bool dictDelete(dict *d, slice key, uint64_t hash);

/* Make room for `n` entries at once. False if memory for the table cannot be had or it is not allowed. */
bool dictExpand(dict *d, size_t n);
/* Start shrinking if fill is low; called by cron. */
bool dictShrinkIfNeeded(dict *d);
/* Move `buckets` buckets; true while more is to do. */
bool dictRehash(dict *d, size_t buckets);
/* Rehash for about `us` microseconds; returns buckets moved. */
size_t dictRehashMicroseconds(dict *d, uint64_t us);
/* While paused (nests), no call rehashes or resizes. */
void dictPauseRehash(dict *d);
void dictResumeRehash(dict *d);
/* Process-wide, boot: a table of `min_bytes` and more gets its pages, and gives them back, in jobs that `submit` has
 * run by another thread, soon and in any order. Without it the thread of the dict does both. NULL: off again. */
void dictSetBackground(void (*submit)(void (*job)(void *arg), void *arg), size_t min_bytes);
/* Process-wide: with `avoid`, tables resize only when really needed (a child process shares the pages). */
typedef enum { DICT_RESIZE_ENABLE, DICT_RESIZE_AVOID, DICT_RESIZE_FORBID } dictResizePolicy;
void dictSetResizePolicy(dictResizePolicy policy);

/* A random entry, NULL when empty. Fair within the limits of one bucket's neighbourhood. */
void *dictRandomEntry(const dict *d);
/* Up to `n` entries from random places that lie near each other, for sampling; returns how many. May
 * repeat none; fewer than n only when the dict is smaller or sparse. */
size_t dictSampleEntries(const dict *d, void **out, size_t n);

/* Visit a part of the table for each call: start with cursor 0, go on with the result until it is 0.
 * Every entry present from the first call to the last is visited at least once, whatever resizing
 * happens between (reverse binary cursor). `fn` gets the place of the entry, so that it may exchange the entry
 * (defrag); it may delete the entry it is given, and no other. */
uint64_t dictScan(dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg);
/* The same walk, and nothing changes: `fn` only looks. The two may go on with each other's cursors. */
uint64_t dictScanRead(const dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg);

/* Defragmentation. Offer the dict's own block and its tables: the dict's address from now on. Not while it is walked. A
 * dictScan() that offers the overflow buckets it passes; entries are offered by `fn`. */
dict *dictDefrag(dict *d, blockMover *move);
uint64_t dictScanDefrag(dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg, blockMover *move);

/* Iterate all entries. Safe: the dict may be changed meanwhile (rehash pauses; entries added may or
 * may not be seen; the current entry may be deleted). Not safe: it must not be changed. Must be ended by
 * dictIterEnd(). */
typedef struct dictIterator {
    dict *d;
    void *bucket;
    size_t index;
    int table, pos;
    bool safe, started;
} dictIterator;
void dictIterBegin(dictIterator *it, dict *d, bool safe);
void *dictIterNext(dictIterator *it);
void dictIterEnd(dictIterator *it);
/* The next entries, `max` at most, not yet read, and of each the part of its hash that its place tells: the bits of
 * *known, the same for all of them, and what buckets keep of it. Such a hash finds the same key in any dict for which
 * dictHashMask() has no other bits. Returns how many, 0 at the end. */
size_t dictIterMany(dictIterator *it, size_t max, const void **entries, uint64_t *hashes, uint64_t *known);
/* The bits of a hash that say where in the dict to look. Changes with its tables. */
uint64_t dictHashMask(const dict *d);

/* Assert the numbered invariants at the top of dict.c. Every entry is visited and its key read. */
void dictCheck(const dict *d);

#ifdef DEBUG_ASSERTIONS
/* How many entries have come, gone or moved so far. What only reads leaves it as it is. */
uint64_t dictChanges(const dict *d);
#endif

/* Text about fill, chains and rehash state as DEBUG HTSTATS shows it; returns its length. */
size_t dictStats(const dict *d, char *out, size_t size, bool full);

#endif
