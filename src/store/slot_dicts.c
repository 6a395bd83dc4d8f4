/* slot_dicts.c -- a dict of keys for each cluster slot of one database, made when the slot's first key comes.
 *
 *   serverDb:   first dict ----.
 *   slotDicts:  array ---------+-> slot 0      slot 1      ...  slot 16383     each 128 bytes: a dict, and
 *               keys of all slots                                              the bytes of its tables
 *               in_group[256]      keys of 64 neighbouring slots
 *               in_eight[2048]     keys of 8
 *               made[256]          a bit for each slot: it has a dict; the others are zeros
 *               work[256]          a bit for each slot: rehashing, or empty
 *
 * The dicts of all slots lie in one array, so that the address of a key's dict is computed from its hash, without a
 * load: cluster mode would else need six instructions more for each search, and wait for a line that has the dict's
 * address before it can fetch the dict. The array takes 2 MiB of addresses; its pages come when they are written first
 * (zmallocPages()). A search reads the first line of a dict; the second one has the second table of a rehash, and the
 * bytes that were noted.
 *
 * The counts lead to the next slot with keys, and to a slot by the number of a key, in 256 + 8 + 8 steps at most. A
 * change costs three additions; a tree of sums over all slots would cost fourteen.
 *
 * An empty dict stays until the next tick, so that nothing that a command does frees a dict that another function is
 * walking. Then its bytes are zeros again, and the pages of 512 slots without a dict are given back: a node that has
 * lost all its slots would else keep 2 MB.
 *
 * Not here    which of the two forms a database has (db.c); `expires` and the index by time, which are one for all
 *             slots: they are found by the hash of a key and not by its slot.
 * Owns        the dicts, and their entries as the dictType says.
 * Threads     main; a released set belongs to the job that frees it.
 * Invariants  (slotDictsCheck() asserts them)
 *             1. The counts are the sums of the sizes of their dicts.
 *             2. An entry is in the dict of the slot that its key's hash has.
 *             3. A dict that is rehashing or empty has its bit set in `work`, which may be set without cause. Without
 *                it, the noted bytes of a slot are those of its dict.
 *             4. A slot whose bit in `made` is not set has no entry, and its bytes are 0 (not asserted: nothing reads
 *                the pages of slots without keys, except a search).
 * Cost        22 KiB per database, 128 bytes and at least a bucket per slot that has keys.
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
#define EIGHT 8
#define SLOT_BITS 14
#define AT_ONCE_SLOTS ((size_t)7 * (64 + 128)) /* of both tables of a rehash that is done at once */
#define FREE_PER_TICK 1024                     /* empty dicts: 0.1 ms */
#define FILL_PERCENT 85                        /* of a dict that may not be fuller (dict.c) */

static_assert(1 << SLOT_BITS == HASH_SLOTS, "a cursor has the slot in its low bits");

typedef struct slotOfKeys {
    alignas(1 << SLOT_DICTS_SHIFT) char dict[DICT_BYTES]; /* owns; zeros: none */
    size_t bytes; /* of its tables and chains when its entries changed last: a part of tables_bytes */
} slotOfKeys;

static_assert(sizeof(slotOfKeys) == 1 << SLOT_DICTS_SHIFT, "slotDictsOf() finds the dicts");

#define ARRAY_BYTES (HASH_SLOTS * sizeof(slotOfKeys))
#define GROUPS_OF_PAGES (ZMALLOC_PAGES / sizeof(slotOfKeys) / GROUP) /* whose pages are given back together */

struct slotDicts {
    const dictType *type; /* borrowed */
    slotOfKeys *slot;     /* owns; HASH_SLOTS of them */
    size_t keys, dicts, tables_bytes;
    int next_shrink; /* group that the next tick visits */
    size_t in_group[GROUPS];
    size_t in_eight[HASH_SLOTS / EIGHT];
    uint64_t made[GROUPS];
    uint64_t work[GROUPS];
};

/* ---- Slots ---- */

dict *slotDictsAt(const slotDicts *s, int slot) { return (dict *)(void *)s->slot[slot].dict; }

size_t slotDictsSize(const slotDicts *s) { return s->keys; }

static bool hasDict(const slotDicts *s, int slot) { return s->made[slot / GROUP] >> slot % GROUP & 1; }

size_t slotDictsSizeOf(const slotDicts *s, int slot) { return hasDict(s, slot) ? dictSize(slotDictsAt(s, slot)) : 0; }

int slotDictsNext(const slotDicts *s, int from) {
    for (int slot = from; slot < HASH_SLOTS;) {
        if (slot % GROUP == 0 && s->in_group[slot / GROUP] == 0) slot += GROUP;
        else if (slot % EIGHT == 0 && s->in_eight[slot / EIGHT] == 0) slot += EIGHT;
        else if (slotDictsSizeOf(s, slot) == 0) slot++;
        else return slot;
    }
    return -1;
}

static dict *makeAt(slotDicts *s, int slot) {
    dict *d = slotDictsAt(s, slot);
    if (unlikely(!dictGetType(d))) {
        dictInit(d, s->type);
        s->made[slot / GROUP] |= 1ull << slot % GROUP;
        s->dicts++;
        zmallocUntouched(-(ptrdiff_t)sizeof(slotOfKeys));
    }
    return d;
}

static void freeAt(slotDicts *s, int slot) {
    dictEmpty(slotDictsAt(s, slot), NULL);
    s->tables_bytes -= s->slot[slot].bytes;
    memset(&s->slot[slot], 0, sizeof(s->slot[slot]));
    s->made[slot / GROUP] &= ~(1ull << slot % GROUP);
    s->work[slot / GROUP] &= ~(1ull << slot % GROUP);
    s->dicts--;
    zmallocUntouched((ptrdiff_t)sizeof(slotOfKeys));
}

slotDicts *slotDictsCreate(const dictType *type) {
    slotDicts *s = zcalloc(1, sizeof(*s));
    s->type = type;
    s->slot = zmallocPages(ARRAY_BYTES);
    return s;
}

void slotDictsEmpty(slotDicts *s) {
    if (s->dicts == 0) return;
    for (int group = 0; group < GROUPS; group++)
        for (uint64_t bits = s->made[group]; bits; bits &= bits - 1) freeAt(s, group * GROUP + __builtin_ctzll(bits));
    zdropPages(s->slot, ARRAY_BYTES);
    memset(s->in_group, 0, sizeof(s->in_group));
    memset(s->in_eight, 0, sizeof(s->in_eight));
    s->keys = 0;
}

void slotDictsRelease(slotDicts *s) {
    if (!s) return;
    slotDictsEmpty(s);
    zfreePages(s->slot, ARRAY_BYTES);
    zfree(s);
}

/* ---- Changes ---- */

static void noteWork(slotDicts *s, int slot) { s->work[slot / GROUP] |= 1ull << slot % GROUP; }

static void noteBytes(slotDicts *s, int slot) {
    slotOfKeys *at = &s->slot[slot];
    size_t bytes = dictMemTables(slotDictsAt(s, slot));
    s->tables_bytes += bytes - at->bytes;
    at->bytes = bytes;
}

/* Call when the dict may have got another size. A small one is moved to its new table at once, in 10 us: a bucket per
 * call would find nothing in the cache that the last call has prefetched, after calls for thousands of other slots, and
 * thousands of dicts would have two tables for a long time. */
static void noteSize(slotDicts *s, int slot) {
    dict *d = slotDictsAt(s, slot);
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
    s->in_eight[slot / EIGHT] += by;
    if (unlikely(dictSize(slotDictsAt(s, slot)) == 0)) noteWork(s, slot);
    noteSize(s, slot);
}

void slotDictsAddNew(slotDicts *s, void *entry, uint64_t hash) {
    int slot = keyHashSlotOf(hash);
    dictAddNew(makeAt(s, slot), entry, hash);
    count(s, slot, 1);
}

void *slotDictsAddUnread(slotDicts *s, void *entry, uint64_t hash) {
    int slot = keyHashSlotOf(hash);
    void *present = dictAddUnread(makeAt(s, slot), entry, hash);
    if (likely(!present)) count(s, slot, 1);
    return present;
}

void *slotDictsPop(slotDicts *s, slice key, uint64_t hash) {
    int slot = keyHashSlotOf(hash);
    void *entry = dictPop(slotDictsAt(s, slot), key, hash);
    if (entry) count(s, slot, (size_t)-1);
    return entry;
}

bool slotDictsPopEntry(slotDicts *s, const void *entry, uint64_t hash) {
    int slot = keyHashSlotOf(hash);
    bool found = dictPopEntry(slotDictsAt(s, slot), entry, hash);
    if (found) count(s, slot, (size_t)-1);
    return found;
}

bool slotDictsExpand(slotDicts *s, int slot, size_t n) {
    size_t percent = s->type->max_fill_percent ? s->type->max_fill_percent : FILL_PERCENT;
    bool done = dictExpand(makeAt(s, slot), n * FILL_PERCENT / percent);
    noteWork(s, slot);
    noteSize(s, slot);
    return done;
}

/* ---- Walks ---- */

const dict *slotDictsDraw(const slotDicts *s) {
    if (s->keys == 0) return slotDictsAt(s, 0);
    size_t nth = rngBelow(rngThread(), s->keys), in_slot;
    int group = 0;
    while (nth >= s->in_group[group]) nth -= s->in_group[group++];
    int eight = group * (GROUP / EIGHT);
    while (nth >= s->in_eight[eight]) nth -= s->in_eight[eight++];
    int slot = eight * EIGHT;
    for (; nth >= (in_slot = slotDictsSizeOf(s, slot)); slot++) nth -= in_slot;
    return slotDictsAt(s, slot);
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
    if (hasDict(s, slot)) {
        if (in_dict == 0) dictDefragTables(slotDictsAt(s, slot), move);
        noteBytes(s, slot);
    }
    return cursorAfter(s, slot, HASH_SLOTS - 1, in_dict);
}

/* ---- Cron ---- */

/* Gives back the pages that the group shares with others, if none of them has a dict. */
static void dropPages(slotDicts *s, int group) {
    size_t first = (size_t)group / GROUPS_OF_PAGES * GROUPS_OF_PAGES;
    for (size_t i = first; i < first + GROUPS_OF_PAGES; i++)
        if (s->made[i]) return;
    zdropPages(&s->slot[first * GROUP], ZMALLOC_PAGES);
}

static void freeEmpty(slotDicts *s) {
    int left = FREE_PER_TICK;
    for (int group = 0; group < GROUPS && left; group++) {
        int before = left;
        for (uint64_t bits = s->work[group]; bits && left; bits &= bits - 1) {
            int slot = group * GROUP + __builtin_ctzll(bits);
            if (dictSize(slotDictsAt(s, slot))) continue;
            freeAt(s, slot);
            left--;
        }
        if (left < before && s->made[group] == 0) dropPages(s, group);
    }
}

void slotDictsTick(slotDicts *s) {
    freeEmpty(s);
    for (uint64_t bits = s->made[s->next_shrink]; bits; bits &= bits - 1) {
        int slot = s->next_shrink * GROUP + __builtin_ctzll(bits);
        if (dictShrinkIfNeeded(slotDictsAt(s, slot))) noteSize(s, slot);
    }
    s->next_shrink = (s->next_shrink + 1) % GROUPS;
}

/* Ends at the first rehash that may not go on, because a child shares the pages: the others would not either. */
bool slotDictsRehash(slotDicts *s, uint64_t us) {
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
            if (dictSize(d) && !dictIsRehashing(d)) s->work[group] &= ~(1ull << slot % GROUP);
        }
    }
    return any;
}

/* ---- Figures and invariants ---- */

slotDictsFigures slotDictsGetFigures(const slotDicts *s) {
    slotDictsFigures f = {
        .dicts = s->dicts, .own_bytes = sizeof(*s) + s->dicts * sizeof(slotOfKeys), .tables_bytes = s->tables_bytes};
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
    for (int group = 0; group < GROUPS; group++)
        for (uint64_t bits = s->made[group]; bits; bits &= bits - 1)
            slots += dictSlots(slotDictsAt(s, group * GROUP + __builtin_ctzll(bits)));
    return slots;
}

static void checkSlot(const slotDicts *s, int slot) {
    dict *d = slotDictsAt(s, slot);
    bool has_work = s->work[slot / GROUP] >> slot % GROUP & 1;
    serverAssert(dictGetType(d) == s->type);
    serverAssert(has_work || s->slot[slot].bytes == dictMemTables(d));
    dictCheck(d);
    serverAssert(has_work || (dictSize(d) > 0 && !dictIsRehashing(d)));
    dictIterator it;
    dictIterBegin(&it, d, false);
    for (const void *entry; (entry = dictIterNext(&it));)
        serverAssert(keyHashSlotOf(keyHash(dictGetType(d)->entryKey(entry))) == slot);
    dictIterEnd(&it);
}

void slotDictsCheck(const slotDicts *s) {
    size_t keys = 0, dicts = 0, bytes = 0;
    for (int group = 0; group < GROUPS; group++) {
        size_t in_eight[GROUP / EIGHT] = {0}, in_group = 0;
        serverAssert((s->work[group] & ~s->made[group]) == 0);
        for (uint64_t bits = s->made[group]; bits; bits &= bits - 1) {
            int nth = __builtin_ctzll(bits), slot = group * GROUP + nth;
            checkSlot(s, slot);
            in_eight[nth / EIGHT] += dictSize(slotDictsAt(s, slot));
            bytes += s->slot[slot].bytes;
            dicts++;
        }
        for (int i = 0; i < GROUP / EIGHT; i++) {
            serverAssert(in_eight[i] == s->in_eight[group * (GROUP / EIGHT) + i]);
            in_group += in_eight[i];
        }
        serverAssert(in_group == s->in_group[group]);
        keys += in_group;
    }
    serverAssert(keys == s->keys && dicts == s->dicts && bytes == s->tables_bytes);
}
