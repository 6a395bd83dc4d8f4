/* slot_dicts.c -- a dict of keys for each cluster slot of one database, made when the slot's first key comes.
 *
 *   slotDicts:  keys of all slots
 *               in_group[256]      keys of 64 neighbouring slots
 *               slot[16384]        {dict, number of its keys, bytes} --> dict --> entries
 *               work[256]          a bit for each slot: rehashing, or empty
 *
 * The counts lead to the next slot with keys, and to a slot by the number of a key, in 256 + 64 steps at most. A change
 * costs three additions; a tree of sums over all slots would cost fourteen.
 *
 * An empty dict stays until the next tick, so that nothing that a command does frees a dict that another function is
 * walking. If it stayed for good, a node that has lost all its slots would keep 2.6 MB.
 *
 * Not here    which of the two forms a database has (db.c); `expires` and the index by time, which are one for all
 *             slots: they are found by the hash of a key and not by its slot.
 * Owns        the dicts, and their entries as the dictType says.
 * Threads     main; a released set belongs to the job that frees it.
 * Invariants  (slotDictsCheck() asserts them)
 *             1. A slot's count is the size of its dict, 0 without one; the sums are those of the counts.
 *             2. An entry is in the dict of the slot that its key's hash has.
 *             3. A dict that is rehashing or empty has its bit set in `work`, which may be set without cause. Without
 *                it, the noted bytes of a slot are those of its dict.
 * Cost        388 KiB per database that has had a key, 96 bytes and at least a bucket per slot that has some.
 * Tests       tests/unit/store/slot_dicts_test.c; most tests of tests/unit/store run with slots as well
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_dicts.h"

#include "clock.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"

#define GROUP 64 /* slots of a group: the bits of a word */
#define GROUPS (HASH_SLOTS / GROUP)
#define SLOT_BITS 14
#define AT_ONCE_SLOTS ((size_t)7 * (64 + 128)) /* of both tables of a rehash that is done at once */
#define FREE_PER_TICK 1024                     /* empty dicts: 0.1 ms */
#define FILL_PERCENT 85                        /* of a dict that may not be fuller (dict.c) */

static_assert(1 << SLOT_BITS == HASH_SLOTS, "a cursor has the slot in its low bits");

typedef struct slotOfKeys {
    dict *d; /* owns; NULL: none */
    size_t keys;
    size_t bytes; /* of its tables and chains when its entries changed last: a part of tables_bytes */
} slotOfKeys;

struct slotDicts {
    size_t keys, dicts, tables_bytes;
    size_t in_group[GROUPS];
    uint64_t work[GROUPS];
    int next_shrink; /* group that the next tick visits */
    slotOfKeys slot[HASH_SLOTS];
};

/* ---- Slots ---- */

static slice noKey(const void *entry) {
    unused(entry);
    return sliceOf(NULL, 0);
}

/* Returns the dict of slots that have none: it is searched, and never changed. */
static dict *emptyDict(void) {
    static const dictType type = {.entryKey = noKey};
    static dict *empty;
    if (unlikely(!empty)) empty = dictCreate(&type);
    return empty;
}

dict *slotDictsAt(const slotDicts *s, int slot) {
    dict *d = likely(s != NULL) ? s->slot[slot].d : NULL;
    return likely(d != NULL) ? d : emptyDict();
}

size_t slotDictsSize(const slotDicts *s) { return s ? s->keys : 0; }

size_t slotDictsSizeOf(const slotDicts *s, int slot) { return s ? s->slot[slot].keys : 0; }

int slotDictsNext(const slotDicts *s, int from) {
    if (!s) return -1;
    for (int slot = from; slot < HASH_SLOTS;) {
        if (slot % GROUP == 0 && s->in_group[slot / GROUP] == 0) slot += GROUP;
        else if (s->slot[slot].keys == 0) slot++;
        else return slot;
    }
    return -1;
}

static dict *makeAt(slotDicts **s, const dictType *type, int slot) {
    if (unlikely(!*s)) *s = zcalloc(1, sizeof(**s));
    slotOfKeys *at = &(*s)->slot[slot];
    if (unlikely(!at->d)) {
        at->d = dictCreate(type);
        (*s)->dicts++;
    }
    return at->d;
}

void slotDictsRelease(slotDicts *s) {
    if (!s) return;
    for (int slot = 0; slot < HASH_SLOTS; slot++) dictRelease(s->slot[slot].d);
    zfree(s);
}

/* ---- Changes ---- */

static void noteWork(slotDicts *s, int slot) { s->work[slot / GROUP] |= 1ull << slot % GROUP; }

static void noteBytes(slotDicts *s, int slot) {
    slotOfKeys *at = &s->slot[slot];
    size_t bytes = at->d ? dictMemTables(at->d) : 0;
    s->tables_bytes += bytes - at->bytes;
    at->bytes = bytes;
}

/* Call when the dict may have got another size. A small one is moved to its new table at once, in 10 us: a bucket per
 * call would find nothing in the cache that the last call has prefetched, after calls for thousands of other slots, and
 * thousands of dicts would have two tables for a long time. */
static void noteSize(slotDicts *s, int slot) {
    dict *d = s->slot[slot].d;
    if (unlikely(dictIsRehashing(d))) {
        if (dictSlots(d) <= AT_ONCE_SLOTS) dictRehash(d, AT_ONCE_SLOTS);
        if (dictIsRehashing(d)) noteWork(s, slot);
    }
    noteBytes(s, slot);
}

void slotDictsChanged(slotDicts *s, uint64_t hash) { noteSize(s, keyHashSlotOf(hash)); }

/* One entry more, or one less (-1). */
static void count(slotDicts *s, int slot, size_t by) {
    s->keys += by;
    s->in_group[slot / GROUP] += by;
    s->slot[slot].keys += by;
    if (unlikely(s->slot[slot].keys == 0)) noteWork(s, slot);
    noteSize(s, slot);
}

void slotDictsAddNew(slotDicts **s, const dictType *type, void *entry, uint64_t hash) {
    int slot = keyHashSlotOf(hash);
    dictAddNew(makeAt(s, type, slot), entry, hash);
    count(*s, slot, 1);
}

void *slotDictsAddUnread(slotDicts **s, const dictType *type, void *entry, uint64_t hash) {
    int slot = keyHashSlotOf(hash);
    void *present = dictAddUnread(makeAt(s, type, slot), entry, hash);
    if (likely(!present)) count(*s, slot, 1);
    return present;
}

void *slotDictsPop(slotDicts *s, slice key, uint64_t hash) {
    void *entry = dictPop(slotDictsOf(s, hash), key, hash);
    if (entry) count(s, keyHashSlotOf(hash), (size_t)-1);
    return entry;
}

bool slotDictsPopEntry(slotDicts *s, const void *entry, uint64_t hash) {
    bool found = dictPopEntry(slotDictsOf(s, hash), entry, hash);
    if (found) count(s, keyHashSlotOf(hash), (size_t)-1);
    return found;
}

bool slotDictsExpand(slotDicts **s, const dictType *type, int slot, size_t n) {
    size_t percent = type->max_fill_percent ? type->max_fill_percent : FILL_PERCENT;
    bool done = dictExpand(makeAt(s, type, slot), n * FILL_PERCENT / percent);
    noteWork(*s, slot);
    noteSize(*s, slot);
    return done;
}

/* ---- Walks ---- */

const dict *slotDictsDraw(const slotDicts *s) {
    if (slotDictsSize(s) == 0) return emptyDict();
    size_t nth = rngBelow(rngThread(), s->keys);
    int group = 0;
    while (nth >= s->in_group[group]) nth -= s->in_group[group++];
    int slot = group * GROUP;
    while (nth >= s->slot[slot].keys) nth -= s->slot[slot++].keys;
    return s->slot[slot].d;
}

static int slotOfCursor(uint64_t cursor) { return (int)(cursor & (HASH_SLOTS - 1)); }

/* Returns the cursor after `in_dict`, which is that of a slot's dict: 0 leads to the next slot that has keys, up to
 * `last`. */
static uint64_t cursorAfter(const slotDicts *s, int slot, int last, uint64_t in_dict) {
    if (in_dict) return in_dict << SLOT_BITS | (uint64_t)slot;
    int next = slotDictsNext(s, slot + 1);
    return next == -1 || next > last ? 0 : (uint64_t)next;
}

uint64_t slotDictsScanRead(const slotDicts *s, int first, int last, uint64_t cursor, void (*fn)(void *arg, void **ref),
                           void *arg) {
    int slot = slotOfCursor(cursor);
    if (slot > last) return 0;
    if (slot < first) cursor = (uint64_t)(slot = first);
    uint64_t in_dict = dictScanRead(slotDictsAt(s, slot), cursor >> SLOT_BITS, fn, arg);
    return cursorAfter(s, slot, last, in_dict);
}

uint64_t slotDictsScanDefrag(slotDicts *s, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg,
                             blockMover *move) {
    int slot = slotOfCursor(cursor);
    uint64_t in_dict = dictScanDefrag(slotDictsAt(s, slot), cursor >> SLOT_BITS, fn, arg, move);
    if (s && s->slot[slot].d) {
        if (in_dict == 0) s->slot[slot].d = dictDefrag(s->slot[slot].d, move);
        noteBytes(s, slot);
    }
    return cursorAfter(s, slot, HASH_SLOTS - 1, in_dict);
}

/* ---- Cron ---- */

static void freeEmpty(slotDicts *s) {
    int left = FREE_PER_TICK;
    for (int group = 0; group < GROUPS && left; group++) {
        for (uint64_t bits = s->work[group]; bits; bits &= bits - 1) {
            int slot = group * GROUP + __builtin_ctzll(bits);
            if (s->slot[slot].keys) continue;
            if (left-- == 0) return;
            dictRelease(s->slot[slot].d);
            s->dicts -= s->slot[slot].d != NULL;
            s->slot[slot].d = NULL;
            noteBytes(s, slot);
            s->work[group] &= ~(1ull << slot % GROUP);
        }
    }
}

void slotDictsTick(slotDicts *s) {
    if (!s) return;
    freeEmpty(s);
    int from = s->next_shrink * GROUP;
    for (int slot = from; slot < from + GROUP; slot++)
        if (s->slot[slot].d && dictShrinkIfNeeded(s->slot[slot].d)) noteSize(s, slot);
    s->next_shrink = (s->next_shrink + 1) % GROUPS;
}

/* Ends at the first rehash that may not go on, because a child shares the pages: the others would not either. */
bool slotDictsRehash(slotDicts *s, uint64_t us) {
    if (!s) return false;
    bool any = false;
    uint64_t end_us = clockMonotonicUs() + us;
    for (int group = 0; group < GROUPS; group++) {
        for (uint64_t bits = s->work[group]; bits; bits &= bits - 1) {
            int slot = group * GROUP + __builtin_ctzll(bits);
            dict *d = slotDictsAt(s, slot);
            if (dictIsRehashing(d)) {
                uint64_t now_us = clockMonotonicUs();
                if (any && now_us >= end_us) return true;
                if (dictRehashMicroseconds(d, now_us < end_us ? end_us - now_us : 1) == 0) return any;
                any = true;
            }
            noteBytes(s, slot);
            if (s->slot[slot].keys && !dictIsRehashing(d)) s->work[group] &= ~(1ull << slot % GROUP);
        }
    }
    return any;
}

/* ---- Figures and invariants ---- */

slotDictsFigures slotDictsGetFigures(const slotDicts *s) {
    slotDictsFigures f = {0};
    if (!s) return f;
    f.dicts = s->dicts;
    f.own_bytes = sizeof(*s) + s->dicts * dictMemEmpty();
    f.tables_bytes = s->tables_bytes;
    for (int group = 0; group < GROUPS; group++) {
        for (uint64_t bits = s->work[group]; bits; bits &= bits - 1) {
            const dict *d = slotDictsAt(s, group * GROUP + __builtin_ctzll(bits));
            f.rehashing += dictIsRehashing(d);
            f.rehashing_bytes += dictMemRehashing(d);
        }
    }
    return f;
}

size_t slotDictsCapacity(const slotDicts *s) {
    size_t slots = 0;
    for (int slot = 0; slot < HASH_SLOTS; slot++) slots += dictSlots(slotDictsAt(s, slot));
    return slots;
}

static void checkSlot(const slotDicts *s, int slot) {
    dict *d = s->slot[slot].d;
    serverAssert(s->slot[slot].keys == (d ? dictSize(d) : 0));
    bool has_work = s->work[slot / GROUP] >> slot % GROUP & 1;
    serverAssert(has_work || s->slot[slot].bytes == (d ? dictMemTables(d) : 0));
    if (!d) return;
    dictCheck(d);
    serverAssert(has_work || (dictSize(d) > 0 && !dictIsRehashing(d)));
    dictIterator it;
    dictIterBegin(&it, d, false);
    for (const void *entry; (entry = dictIterNext(&it));)
        serverAssert(keyHashSlotOf(keyHash(dictGetType(d)->entryKey(entry))) == slot);
    dictIterEnd(&it);
}

void slotDictsCheck(const slotDicts *s) {
    serverAssert(dictSize(emptyDict()) == 0 && dictSlots(emptyDict()) == 0);
    if (!s) return;
    size_t keys = 0, dicts = 0, bytes = 0;
    for (int group = 0; group < GROUPS; group++) {
        size_t in_group = 0;
        for (int slot = group * GROUP; slot < (group + 1) * GROUP; slot++) {
            checkSlot(s, slot);
            in_group += s->slot[slot].keys;
            dicts += s->slot[slot].d != NULL;
            bytes += s->slot[slot].bytes;
        }
        serverAssert(in_group == s->in_group[group]);
        keys += in_group;
    }
    serverAssert(keys == s->keys && dicts == s->dicts && bytes == s->tables_bytes);
}
