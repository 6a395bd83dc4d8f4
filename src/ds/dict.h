/* dict.h -- the one hash table of the tree: buckets of one cache line, incremental rehash.
 *
 * A dict holds opaque entries (void *, never NULL); an entry contains its key, and the dictType says
 * where. Keys are byte strings. The hash of a key is computed once, where the key is first seen,
 * and passed along: every function that takes a key also takes dictHash(d, key).
 *
 * Growing and shrinking move a few buckets in each call that may write, such as dictAdd() (not in
 * dictFind()), so no call pays for a whole table, except dictExpand() on request. With
 * dictSetBackground() no call pays for touching the pages of a new table either.
 *
 * Threads     one owner at a time. dictFind(), dictHash() and dictPrefetch() write nothing, so a
 *             dict that is not being changed may be read by any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_DICT_H
#define DS_DICT_H

#include "slice.h"
#include "zmalloc_move.h"

typedef struct dict dict;

typedef struct dictType {
    /* Returns the key of an entry. Its bytes stay valid as long as the entry. Required. */
    slice (*entryKey)(const void *entry);
    /* Both may be NULL, for hashBytes() and equality of bytes. */
    uint64_t (*hash)(slice key);
    bool (*keyEqual)(slice a, slice b);
    /* Called for each entry that dictRelease(), dictEmpty() or dictDelete() removes. May be NULL. */
    void (*entryFree)(void *entry);
    /* Returns the next address to fetch after the entry's first line, if the key is not in it. May be NULL, or return
     * NULL: the key is then in the entry's first 64 bytes. Called once the entry's line has been fetched. */
    const void *(*prefetchKey)(const void *entry);
    /* If not 0, the key is inside the entry and begins at most this many bytes after its start, so that a search can
     * prefetch both lines at once; prefetchKey is then called by rehashing only. */
    size_t key_within;
    /* Prefetches what a command will read of the value; called when the key has matched. May be NULL. */
    void (*prefetchValue)(const void *entry);
    /* Returns whether the table may be resized to `bytes`, at which its fill is `used / slots`. NULL: always. Used for
     * maxmemory and while a child process runs. */
    bool (*resizeAllowed)(size_t bytes, double fill);
    /* If not 0, the table grows only when it is fuller than this, in percent of its slots, and not at the usual 85:
     * for many small dicts, each of which would else double its memory early. More keys are in chains. */
    unsigned max_fill_percent;
} dictType;

/* Creates an empty dict, which has no table yet. `type` is borrowed for the dict's life. */
dict *dictCreate(const dictType *type);
/* Frees the dict, and its entries with entryFree. */
void dictRelease(dict *d);
/* Makes an empty dict of DICT_BYTES zeroed bytes of the caller; end it by dictEmpty(), not by dictRelease(). Without
 * this call such bytes are an empty dict as well, to which nothing can be added. All that a search reads, unless the
 * dict is rehashing, is in the first CACHE_LINE bytes. */
void dictInit(dict *d, const dictType *type);
#define DICT_BYTES 104
/* Frees all entries. `progress` (may be NULL) is called now and then, so that a long call can report. */
void dictEmpty(dict *d, void (*progress)(void));
const dictType *dictGetType(const dict *d);

size_t dictSize(const dict *d);
size_t dictSlots(const dict *d);        /* capacity of both tables, without chained buckets */
size_t dictMemUsage(const dict *d);     /* bytes, without entries */
size_t dictMemTables(const dict *d);    /* the part of it for tables and chained buckets; 0 without a table */
size_t dictMemEmpty(void);              /* the rest of it */
size_t dictMemRehashing(const dict *d); /* bytes of the table that a rehash is emptying */
bool dictIsRehashing(const dict *d);

uint64_t dictHash(const dict *d, slice key); /* by the dict's type */

/* Returns the entry with that key, or NULL. */
void *dictFind(const dict *d, slice key, uint64_t hash);
/* Returns the entry whose key has that hash, or NULL; for callers that do not know the key. Hashes the keys of
 * candidates. */
void *dictFindByHash(const dict *d, uint64_t hash);
/* Prefetches the entries that dictFindByHash() will read. Prefetch its bucket first (dictPrefetchAdd()). */
void dictPrefetchByHash(const dict *d, uint64_t hash);
/* Returns the slot that holds the entry, or NULL; the caller may replace the entry by another with the same key by
 * writing to it. Valid until the next call that may change or rehash the dict. May do a rehash step. */
void **dictFindRef(dict *d, slice key, uint64_t hash);
/* Adds an entry whose key must not be in the dict (checked in debug builds). */
void dictAddNew(dict *d, void *entry, uint64_t hash);
/* Adds the entry unless its key is present. Returns NULL if added, else the present entry (nothing has changed). */
void *dictAdd(dict *d, void *entry, uint64_t hash);
/* Like dictAdd(), for an entry that is in no cache: it is read only if a present entry may have the same key. */
void *dictAddUnread(dict *d, void *entry, uint64_t hash);
/* Prefetches the line that dictAddNew() with that hash will read and write. */
void dictPrefetchAdd(const dict *d, uint64_t hash);
/* Returns whether exactly this entry is in the dict under this hash. Compares addresses only, so `entry` may be freed
 * memory. */
bool dictHoldsEntry(const dict *d, const void *entry, uint64_t hash);
/* Removes the entry and returns it without freeing it; NULL if the key is absent. */
void *dictPop(dict *d, slice key, uint64_t hash);
/* Removes exactly this entry without freeing it, for keys that may compare equal or must not be read. Returns false if
 * it is absent. */
bool dictPopEntry(dict *d, const void *entry, uint64_t hash);
/* Removes and frees the entry. Returns false if the key is absent. */
bool dictDelete(dict *d, slice key, uint64_t hash);

/* Reserves capacity for `n` entries at once. Returns false if memory is short or the type does not allow it. */
bool dictExpand(dict *d, size_t n);
/* Starts to shrink if the fill is low; called by cron. Returns whether it has started. */
bool dictShrinkIfNeeded(dict *d);
/* Moves up to `buckets` buckets of a rehash. Returns whether more are left. */
bool dictRehash(dict *d, size_t buckets);
/* Rehashes for about `us` microseconds. Returns the number of buckets moved. */
size_t dictRehashMicroseconds(dict *d, uint64_t us);
/* Stops and resumes rehashing and resizing; pauses nest. */
void dictPauseRehash(dict *d);
void dictResumeRehash(dict *d);
/* Call at startup; applies to all dicts. Tables of `min_bytes` and more are touched page by page before use, and given
 * back to the system, in jobs that `submit` runs on another thread, soon and in any order. Without it the dict's own
 * thread does both. NULL switches it off. */
void dictSetBackground(void (*submit)(void (*job)(void *arg), void *arg), size_t min_bytes);
/* Sets the policy of all dicts. With AVOID, tables are resized only if they must be (a child process shares their
 * pages). */
typedef enum { DICT_RESIZE_ENABLE, DICT_RESIZE_AVOID, DICT_RESIZE_FORBID } dictResizePolicy;
void dictSetResizePolicy(dictResizePolicy policy);

/* Returns a random entry, NULL if the dict is empty. Nearly uniform: see FAIR_COUNT in dict.c. */
void *dictRandomEntry(const dict *d);
/* Writes up to `n` different entries from neighbouring random buckets to `out`, for sampling, and returns their number;
 * fewer than n only if the dict is smaller or sparse. */
size_t dictSampleEntries(const dict *d, void **out, size_t n);

/* Visits a part of the table and returns the cursor for the next call; start with 0, and end when it returns 0. An
 * entry that is present from the first call to the last is visited at least once, however the table is resized between
 * calls (reverse binary cursor). `fn` gets the entry's slot, in which it may replace the entry (defragmentation); it
 * may delete the entry it is given, and no other. */
uint64_t dictScan(dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg);
/* Like dictScan(), but changes nothing: `fn` may only read. Cursors of the two are interchangeable. */
uint64_t dictScanRead(const dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg);

/* For defragmentation: offers the dict's own block and its tables to `move` and returns the dict's new address. Not
 * during a walk. */
dict *dictDefrag(dict *d, blockMover *move);
/* Like dictDefrag(), without the dict's own block. */
void dictDefragTables(dict *d, blockMover *move);
/* Like dictScan(), and offers the overflow buckets that it passes to `move`; `fn` offers the entries. */
uint64_t dictScanDefrag(dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg, blockMover *move);

/* A walk over all entries. If `safe`, the dict may change meanwhile: rehashing pauses, added entries may or may not be
 * seen, and the current entry may be deleted. Otherwise the dict must not change. */
typedef struct dictIterator {
    dict *d;
    void *bucket;
    size_t index;
    int table, pos;
    bool safe, started;
} dictIterator;
/* Begins a walk; it must be ended by dictIterEnd(), also when it was not walked to its end. */
void dictIterBegin(dictIterator *it, dict *d, bool safe);
/* Returns the next entry, NULL at the end. */
void *dictIterNext(dictIterator *it);
void dictIterEnd(dictIterator *it);
/* Writes the next entries, at most `max`, without reading them, and for each of them the bits of its hash that are
 * known from its slot: the bits in *known, which is the same for all. Such a partial hash finds the key in any dict
 * whose dictHashMask() has no bits outside of *known. Returns their number, 0 at the end. */
size_t dictIterMany(dictIterator *it, size_t max, const void **entries, uint64_t *hashes, uint64_t *known);
/* Returns the bits of a hash that a search in this dict uses. Changes with its tables. */
uint64_t dictHashMask(const dict *d);

/* Asserts the numbered invariants at the top of dict.c. Visits every entry and reads its key. */
void dictCheck(const dict *d);

#ifdef DEBUG_ASSERTIONS
/* Returns how many times entries were added, removed or moved. Reads do not count. */
uint64_t dictChanges(const dict *d);
#endif

/* Writes text about fill, chains and rehash state, as DEBUG HTSTATS shows it, and returns its length. */
size_t dictStats(const dict *d, char *out, size_t size, bool full);

/* --- memory_prefetch.c: many keys of many dicts at once, so that their cache misses overlap ----------------------- */

/* The maximum of lookups per call. */
#define DICT_PREFETCH_MAX 128

/* A key to look up. The caller sets the first group of fields; dictPrefetch() uses the second and sets `entry` to the
 * entry found, NULL if there is none. The result is a hint, valid until the dict changes. */
typedef struct dictLookup {
    const dict *d; /* borrowed; NULL or an empty dict is a miss */
    slice key;     /* borrowed until dictPrefetch() returns */
    uint64_t hash;
    bool skip_value; /* the caller will not read the value (a reply by reference) */

    const void *entry;
    const void *bucket;
    uint8_t state, table, candidates;
} dictLookup;

/* Looks up `n` keys (at most DICT_PREFETCH_MAX), interleaved. Changes nothing. Prefetch the dicts themselves first if
 * they may not be in the cache. */
void dictPrefetch(dictLookup *lookups, size_t n);

#endif
