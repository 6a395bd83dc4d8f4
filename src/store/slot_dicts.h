/* slot_dicts.h -- a dict of keys for each cluster slot of one database, made when the slot's first key comes.
 *
 * For the files of this folder: all other code uses the functions of db.h and db_walk.h, which know databases with one
 * dict as well.
 *
 * Runs on: main; slotDictsRelease() also in the background, by the only thread that knows the set.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_SLOT_DICTS_H
#define STORE_SLOT_DICTS_H

#include "dict.h"
#include "hash.h"

typedef struct slotDicts slotDicts;

/* Creates a set without dicts. `type` is borrowed for its life. */
slotDicts *slotDictsCreate(const dictType *type);
/* Frees the set with its dicts and their entries. */
void slotDictsRelease(slotDicts *s);
/* Frees all entries and dicts. */
void slotDictsEmpty(slotDicts *s);

size_t slotDictsSize(const slotDicts *s);             /* entries of all slots */
size_t slotDictsSizeOf(const slotDicts *s, int slot); /* entries of one */
/* Returns the first slot from `from` on that has entries; -1: none. */
int slotDictsNext(const slotDicts *s, int from);
/* Returns the dict of a slot to be searched; an empty dict if there is none, never NULL. It is at the same address
 * for the life of the set. */
dict *slotDictsAt(const slotDicts *s, int slot);
#define SLOT_DICTS_SHIFT 7 /* dicts lie 128 bytes apart */
#define SLOT_DICTS_MASK ((uint64_t)(HASH_SLOTS - 1) << SLOT_DICTS_SHIFT)
/* Returns the dict of the hash's slot, where `first` is slotDictsAt(s, 0) and `mask` SLOT_DICTS_MASK. With a mask of 0,
 * `first` itself: so the dict of a database's keys is found in the same way, with slots and without. */
static inline dict *slotDictsOf(dict *first, uint64_t mask, uint64_t hash) {
    return (dict *)(void *)((char *)first + (hash >> (HASH_SLOT_SHIFT - SLOT_DICTS_SHIFT) & mask));
}

/* These take the slot from the hash, which must have one (keyHashSetSlots()). A dict must get and lose entries by these
 * functions only, since they count. */
/* Like dictAddNew(). Makes the slot's dict if it does not exist. */
void slotDictsAddNew(slotDicts *s, void *entry, uint64_t hash);
/* Like dictAddUnread(). */
void *slotDictsAddUnread(slotDicts *s, void *entry, uint64_t hash);
void *slotDictsPop(slotDicts *s, slice key, uint64_t hash);
bool slotDictsPopEntry(slotDicts *s, const void *entry, uint64_t hash);
/* Call after entries of the slot were exchanged in its dict, without a change of their number. */
void slotDictsChanged(slotDicts *s, uint64_t hash);
/* Reserves capacity for `n` entries of a slot. */
bool slotDictsExpand(slotDicts *s, int slot, size_t n);

/* Returns a dict that has entries, drawn with a chance proportional to their number; an empty one if there is none. */
const dict *slotDictsDraw(const slotDicts *s);
/* Like dictScanRead(), over the slots from `first` to `last`: the low 14 bits of a cursor are the slot, the others
 * the cursor in its dict. A cursor before these slots leads to the first one, a cursor after them ends the walk. */
uint64_t slotDictsScanRead(const slotDicts *s, int first, int last, uint64_t cursor, void (*fn)(void *arg, void **ref),
                           void *arg);
/* Like dictScanDefrag(), over all slots with cursors of the same form. Offers the tables as well. */
uint64_t slotDictsScanDefrag(slotDicts *s, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg,
                             blockMover *move);

/* For cron: frees dicts that are empty, and shrinks some that are sparse. No walk may be in progress. */
void slotDictsTick(slotDicts *s);
/* Goes on with rehashes that calls have left, for about `us` microseconds. Returns false if there was none. */
bool slotDictsRehash(slotDicts *s, uint64_t us);

typedef struct slotDictsFigures {
    size_t dicts;                      /* that have been made and not freed */
    size_t own_bytes, tables_bytes;    /* of the set and its dicts; of their tables and chained buckets */
    size_t rehashing, rehashing_bytes; /* tables that a rehash is emptying */
} slotDictsFigures;
slotDictsFigures slotDictsGetFigures(const slotDicts *s); /* visits only dicts that are rehashing or empty */
size_t slotDictsCapacity(const slotDicts *s);             /* entries that fit into all tables; visits each dict */
/* Asserts that the counts are right, all dicts are valid, and their entries belong to the slot. Reads every key, and
 * nothing of slots that have no dict. */
void slotDictsCheck(const slotDicts *s);

#endif
