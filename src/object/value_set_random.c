/* value_set_random.c -- chooses random members of a set, to read or to remove them.
 *
 * Many different members are chosen in one of two ways. A walk over all members takes each with the chance (still
 * to choose / still to visit), which makes every choice equally likely, in a time that grows with the set. If only a
 * few members of a large table are to be chosen, that is done one by one, and a small table of addresses detects
 * repetitions.
 *
 * Not here    what SPOP and SRANDMEMBER reply (commands/set/t_set.c).
 * Owns        nothing.
 * Threads     main; by rngThread().
 * Invariants  1. Choosing members to read writes nothing.
 *             2. No loop depends on chance without a bound: at most a third of a table is chosen one by one.
 * Cost        choosing a member of a table reads 2.4 buckets on average (dict.c).
 * Tests       tests/unit/object/value_set_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_set_internal.h"

#include "hash.h"
#include "intset.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"

#define PICK_ONE_BY_ONE 4 /* up to this many members of a compact set are found one by one */
#define WALK_SHARE 3      /* a table is walked if more than a third of it is wanted */

/* ---- Reading ---- */

static setMember memberAt(const robj *o, size_t index) {
    if (o->encoding == OBJ_ENC_INTSET) return (setMember){.num = intsetAt(objectStructure(o), index)};
    return listpackGet(listpackIndex(objectStructure(o), (long)index));
}

setMember setRandom(const robj *o) {
    if (setIsTable(o)) return setMemberOfEntry(dictRandomEntry(objectStructure(o)));
    return memberAt(o, rngBelow(rngThread(), setSize(o)));
}

/* Returns the position of each entry of a listpack; NULL if there is no memory. */
static const uint8_t **listpackPositions(const uint8_t *lp, size_t count) {
    const uint8_t **positions = ztrymalloc(count * sizeof(*positions));
    const uint8_t *at = listpackFirst(lp);
    for (size_t i = 0; positions && i < count; i++, at = listpackNext(at)) positions[i] = at;
    return positions;
}

void setRandomRepeating(const robj *o, uint64_t count, setVisit *visit, void *arg) {
    size_t size = setSize(o);
    const uint8_t **positions = NULL;
    if (o->encoding == OBJ_ENC_LISTPACK && count > PICK_ONE_BY_ONE)
        positions = listpackPositions(objectStructure(o), size);
    for (bool more = true; more && count; count--) {
        setMember m = positions ? listpackGet(positions[rngBelow(rngThread(), size)]) : setRandom(o);
        more = visit(arg, &m);
    }
    zfree(positions);
}

static void pickByWalk(const robj *o, size_t count, setVisit *visit, void *arg) {
    size_t left = setSize(o);
    bool more = true;
    setIterator it;
    setMember m;
    setIterBegin(&it, o);
    for (; more && count && setIterNext(&it, &m); left--) {
        if (rngBelow(rngThread(), left) >= count) continue;
        count--;
        more = visit(arg, &m);
    }
    setIterEnd(&it);
}

/* The addresses chosen so far: open addressing, less than half full. */
typedef struct pickedTable {
    const void **slots; /* owned */
    size_t mask;
} pickedTable;

static bool pickedAdd(pickedTable *p, const void *entry) {
    uint64_t bits = (uint64_t)(uintptr_t)entry * 0x9e3779b97f4a7c15ULL;
    size_t i = (size_t)(bits >> 32) & p->mask;
    while (p->slots[i] && p->slots[i] != entry) i = (i + 1) & p->mask;
    bool is_new = p->slots[i] == NULL;
    p->slots[i] = entry;
    return is_new;
}

/* Returns false if there is no memory; no member was visited. */
static bool pickOneByOne(const dict *d, size_t count, setVisit *visit, void *arg) {
    pickedTable picked = {.mask = 1};
    while (picked.mask < 2 * count) picked.mask = picked.mask * 2 + 1;
    picked.slots = ztrycalloc(picked.mask + 1, sizeof(*picked.slots));
    if (!picked.slots) return false;
    for (bool more = true; more && count;) {
        const void *entry = dictRandomEntry(d);
        if (!pickedAdd(&picked, entry)) continue;
        setMember m = setMemberOfEntry(entry);
        more = visit(arg, &m);
        count--;
    }
    zfree(picked.slots);
    return true;
}

void setRandomDifferent(const robj *o, size_t count, setVisit *visit, void *arg) {
    size_t size = setSize(o);
    debugAssert(count <= size);
    bool few = setIsTable(o) && count < size / WALK_SHARE;
    if (!few || !pickOneByOne(objectStructure(o), count, visit, arg)) pickByWalk(o, count, visit, arg);
}

/* ---- Removing -- ---- */

static void popFromTable(dict *d, setTaken *taken, void *arg) {
    void *entry = dictRandomEntry(d);
    setMember m = setMemberOfEntry(entry);
    taken(arg, &m);
    serverAssert(dictPopEntry(d, entry, hashBytes(m.str, m.len)));
    setEntryFree(entry);
}

void setPop(robj *o, setTaken *taken, void *arg) {
    if (setIsTable(o)) {
        popFromTable(objectStructure(o), taken, arg);
        return;
    }
    size_t index = rngBelow(rngThread(), setSize(o));
    if (o->encoding == OBJ_ENC_INTSET) {
        bool removed;
        setMember m = memberAt(o, index);
        taken(arg, &m);
        objectSetStructure(o, OBJ_ENC_INTSET, intsetRemove(objectStructure(o), m.num, &removed));
    } else {
        const uint8_t *at = listpackIndex(objectStructure(o), (long)index);
        setMember m = listpackGet(at);
        taken(arg, &m);
        objectSetStructure(o, OBJ_ENC_LISTPACK, listpackDelete(objectStructure(o), &at, 1));
    }
}

/* Returns a set of the remaining members of a compact set; NULL if there is no memory. */
static robj *buildRest(const robj *o, const bool *leaves) {
    robj *rest = setCreateCompact(sliceOf(NULL, 0), o->encoding);
    bool ok = true, added;
    setIterator it;
    setMember m;
    setIterBegin(&it, o);
    for (size_t i = 0; ok && setIterNext(&it, &m); i++) {
        if (leaves[i]) continue;
        void *structure = objectStructure(rest);
        if (o->encoding == OBJ_ENC_INTSET) structure = intsetAdd(structure, m.num, &added);
        else if (m.str) structure = listpackAppend(structure, sliceOf(m.str, m.len));
        else structure = listpackAppendInteger(structure, m.num);
        ok = structure != NULL;
        if (ok) objectSetStructure(rest, o->encoding, structure);
    }
    setIterEnd(&it);
    if (ok) return rest;
    objectFree(rest);
    return NULL;
}

/* Removes many members of a compact set in one walk. Returns false if there is no memory; nothing has changed. */
static bool popByWalk(robj *o, size_t count, setTaken *taken, void *arg) {
    size_t size = setSize(o);
    bool *leaves = ztrycalloc(size, sizeof(*leaves));
    if (!leaves) return false;
    for (size_t i = 0; i < size && count; i++) {
        leaves[i] = rngBelow(rngThread(), size - i) < count;
        count -= leaves[i];
    }
    robj *rest = buildRest(o, leaves);
    if (rest) {
        setIterator it;
        setMember m;
        setIterBegin(&it, o);
        for (size_t i = 0; setIterNext(&it, &m); i++)
            if (leaves[i]) taken(arg, &m);
        setIterEnd(&it);
        objectFree(setExchange(o, rest));
    }
    zfree(leaves);
    return rest != NULL;
}

void setPopMany(robj *o, size_t count, setTaken *taken, void *arg) {
    debugAssert(count < setSize(o));
    if (!setIsTable(o) && count > PICK_ONE_BY_ONE && popByWalk(o, count, taken, arg)) return;
    while (count--) setPop(o, taken, arg);
}
