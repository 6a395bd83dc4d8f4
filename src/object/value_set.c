/* value_set.c -- the set type: adding, finding and removing members in each encoding.
 *
 * A table's entry:
 *
 *   +---+--------------+            +------+--------------+--------------+
 *   | n | n bytes      |  n < 128   | 0x80 | length, 8 B  | bytes        |
 *   +---+--------------+            +------+--------------+--------------+
 *
 * A member of 12 bytes takes 13, which the allocator rounds to 16: with its share of the table less than 32 bytes.
 *
 * Not here    random members (value_set_random.c); operations of all types (value_set_type.c); commands
 *             (commands/set/t_set.c).
 * Owns        nothing but the structures of entries.
 * Threads     main; a set that only one thread knows belongs to it.
 * Invariants  1. No member is repeated, compared as text.
 *             2. A set exceeds the limit of its encoding only by becoming a table, or an intset by becoming a listpack.
 * Tests       tests/unit/object/value_set_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_set_internal.h"

#include "hash.h"
#include "intset.h"
#include "object_settings.h"
#include "panic.h"
#include "zmalloc.h"

#define SHORT_MEMBER 128 /* from this length on, the length takes eight more bytes */
#define LONG_HEADER (1 + sizeof(uint64_t))
#define INTSET_MEMBERS_MAX (1 << 30)

static uint64_t hashOf(slice member) { return hashBytes(member.ptr, member.len); }

/* ---- Entries of a table ---- */

static void *entryCreateFor(slice member) {
    size_t header = member.len < SHORT_MEMBER ? 1 : LONG_HEADER;
    uint8_t *e = zmalloc(header + member.len);
    if (header == 1) {
        e[0] = (uint8_t)member.len;
    } else {
        uint64_t len = member.len;
        e[0] = SHORT_MEMBER;
        memcpy(e + 1, &len, sizeof(len));
    }
    if (member.len) memcpy(e + header, member.ptr, member.len);
    return e;
}

slice setEntryText(const void *entry) {
    const uint8_t *e = entry;
    if (likely(e[0] < SHORT_MEMBER)) return sliceOf(e + 1, e[0]);
    uint64_t len;
    memcpy(&len, e + 1, sizeof(len));
    return sliceOf(e + LONG_HEADER, len);
}

void setEntryFree(void *entry) {
    slice text = setEntryText(entry);
    zfreeSized(entry, text.len + (text.len < SHORT_MEMBER ? 1 : LONG_HEADER));
}

/* key_within: for a long member, the prefetch may reach only the last line but one. */
static const dictType member_type = {.entryKey = setEntryText, .entryFree = setEntryFree, .key_within = 1};

dict *setTableCreate(void) { return dictCreate(&member_type); }

void setTableAdd(dict *d, slice member, uint64_t hash) { dictAddNew(d, entryCreateFor(member), hash); }

static bool tableAdd(dict *d, slice member, uint64_t hash) {
    if (dictFind(d, member, hash)) return false;
    setTableAdd(d, member, hash);
    return true;
}

bool setTableTryAdd(dict *d, slice member) { return tableAdd(d, member, hashOf(member)); }

/* ---- Limits ---- */

bool setFitsIntset(size_t count) {
    return count <= INTSET_MEMBERS_MAX && count <= (unsigned long long)object_settings.set_max_intset_entries;
}

bool setFitsListpack(size_t count, size_t longest) {
    return count <= (unsigned long long)object_settings.set_max_listpack_entries &&
           longest <= (unsigned long long)object_settings.set_max_listpack_value;
}

static size_t intsetLongest(const intset *s) {
    if (intsetLength(s) == 0) return 0;
    size_t low = sdigits10(intsetMin(s)), high = sdigits10(intsetMax(s));
    return low > high ? low : high;
}

/* ---- Creating ---- */

robj *setCreateCompact(slice key, int encoding) {
    void *structure = encoding == OBJ_ENC_INTSET ? (void *)intsetCreate() : listpackCreate(0);
    return objectCreateTake(key, OBJ_SET, encoding, structure);
}

robj *setCreate(slice key, slice first, size_t count) {
    long long number;
    if (setFitsIntset(count) && string2ll(first.ptr, first.len, &number)) return setCreateCompact(key, OBJ_ENC_INTSET);
    if (setFitsListpack(count, 0)) return setCreateCompact(key, OBJ_ENC_LISTPACK);
    robj *o = objectCreateTake(key, OBJ_SET, OBJ_ENC_HASHTABLE, setTableCreate());
    setReserve(o, count);
    return o;
}

void setReserve(robj *o, size_t count) {
    if (setIsTable(o)) dictExpand(setTable(o), count);
}

/* Converts a compact set to a table with capacity for `count` members. */
static void convertToTable(robj *o, size_t count) {
    dict *d = setTableCreate();
    setIterator it;
    setMember m;
    char buf[LONG_STR_SIZE];
    dictExpand(d, count);
    setIterBegin(&it, o);
    while (setIterNext(&it, &m)) {
        slice text = setMemberText(&m, buf);
        setTableAdd(d, text, hashOf(text));
    }
    setIterEnd(&it);
    zfree(objectStructure(o)); /* one block, in either encoding */
    objectSetStructure(o, OBJ_ENC_HASHTABLE, d);
}

/* Returns false if there is no memory for so large a listpack. */
static bool convertToListpack(robj *o) {
    const intset *s = objectStructure(o);
    size_t count = intsetLength(s);
    uint8_t *lp = listpackCreate(LISTPACK_BYTES_MIN + count * listpackEntryBytesMax(intsetLongest(s)));
    for (size_t i = 0; lp && i < count; i++) {
        uint8_t *longer = listpackAppendInteger(lp, intsetAt(s, i));
        if (!longer) listpackFree(lp);
        lp = longer;
    }
    if (!lp) return false;
    intsetFree(objectStructure(o));
    objectSetStructure(o, OBJ_ENC_LISTPACK, lp);
    return true;
}

void setExpect(robj *o, size_t count) {
    bool fits = o->encoding == OBJ_ENC_INTSET     ? setFitsIntset(count)
                : o->encoding == OBJ_ENC_LISTPACK ? setFitsListpack(count, 0)
                                                  : true;
    if (unlikely(!fits)) convertToTable(o, count);
}

void setSettle(robj *o) {
    if (o->encoding == OBJ_ENC_INTSET || setSize(o) == 0 || !setFitsIntset(setSize(o))) return;
    intset *s = intsetCreate();
    setIterator it;
    setMember m;
    bool all = true, added;
    char buf[LONG_STR_SIZE];
    setIterBegin(&it, o);
    while (all && setIterNext(&it, &m)) {
        slice text = setMemberText(&m, buf);
        long long number;
        intset *more = string2ll(text.ptr, text.len, &number) ? intsetAdd(s, number, &added) : NULL;
        if (more) s = more;
        else all = false;
    }
    setIterEnd(&it);
    if (!all) {
        intsetFree(s);
        return;
    }
    if (setIsTable(o)) dictRelease(setTable(o));
    else listpackFree(objectStructure(o));
    objectSetStructure(o, OBJ_ENC_INTSET, s);
}

robj *setExchange(robj *o, robj *from) {
    void *structure = objectStructure(o);
    int encoding = o->encoding;
    objectSetStructure(o, from->encoding, objectStructure(from));
    objectSetStructure(from, encoding, structure);
    return from;
}

/* ---- Reading ---- */

dict *setTable(const robj *o) { return setIsTable(o) ? objectStructure(o) : NULL; }

size_t setSize(const robj *o) {
    switch (o->encoding) {
    case OBJ_ENC_INTSET: return intsetLength(objectStructure(o));
    case OBJ_ENC_LISTPACK: return listpackCount(objectStructure(o));
    default: return dictSize(objectStructure(o));
    }
}

static const uint8_t *listpackPosition(const robj *o, slice member) {
    return listpackFind(listpackFirst(objectStructure(o)), member, 0);
}

bool setHas(const robj *o, slice member, uint64_t hash) {
    long long number;
    switch (o->encoding) {
    case OBJ_ENC_INTSET: return string2ll(member.ptr, member.len, &number) && intsetFind(objectStructure(o), number);
    case OBJ_ENC_LISTPACK: return listpackPosition(o, member) != NULL;
    default: return dictFind(objectStructure(o), member, hash) != NULL;
    }
}

void setHasIntegers(const robj *o, const int64_t *values, size_t n, bool *has) {
    debugAssert(o->encoding == OBJ_ENC_INTSET);
    intsetFindMany(objectStructure(o), values, n, has);
}

void setIterBegin(setIterator *it, const robj *o) {
    it->set = o;
    it->index = 0;
    if (o->encoding == OBJ_ENC_LISTPACK) it->listpack = listpackIterBegin(objectStructure(o), false);
    else if (setIsTable(o)) dictIterBegin(&it->table, objectStructure(o), false);
}

bool setIterNext(setIterator *it, setMember *out) {
    const void *entry;
    switch (it->set->encoding) {
    case OBJ_ENC_INTSET:
        if (it->index == intsetLength(objectStructure(it->set))) return false;
        *out = (setMember){.num = intsetAt(objectStructure(it->set), it->index++)};
        return true;
    case OBJ_ENC_LISTPACK: return listpackIterNext(&it->listpack, out, NULL);
    default:
        entry = dictIterNext(&it->table);
        if (entry) *out = setMemberOfEntry(entry);
        return entry != NULL;
    }
}

void setIterEnd(setIterator *it) {
    if (setIsTable(it->set)) dictIterEnd(&it->table);
}

/* ---- Changing ---- */

static bool toTableAndAdd(robj *o, slice member) {
    convertToTable(o, setSize(o) + 1);
    return setTableTryAdd(objectStructure(o), member);
}

static bool listpackAdd(robj *o, slice member) {
    uint8_t *lp = objectStructure(o);
    size_t count = listpackCount(lp);
    if (count && listpackPosition(o, member)) return false;
    if (setFitsListpack(count + 1, member.len) && (lp = listpackAppend(lp, member)) != NULL) {
        objectSetStructure(o, OBJ_ENC_LISTPACK, lp);
        return true;
    }
    return toTableAndAdd(o, member);
}

static bool intsetAddTo(robj *o, slice member) {
    long long number;
    bool added = false;
    intset *s = objectStructure(o);
    if (string2ll(member.ptr, member.len, &number)) {
        intset *wider = intsetAdd(s, number, &added);
        if (!wider) return toTableAndAdd(o, member);
        objectSetStructure(o, OBJ_ENC_INTSET, wider);
        if (added && !setFitsIntset(intsetLength(wider))) convertToTable(o, intsetLength(wider));
        return added;
    }
    size_t longest = intsetLongest(s);
    if (setFitsListpack(intsetLength(s) + 1, member.len > longest ? member.len : longest) && convertToListpack(o))
        return listpackAdd(o, member);
    return toTableAndAdd(o, member);
}

bool setAdd(robj *o, slice member, uint64_t hash) {
    switch (o->encoding) {
    case OBJ_ENC_INTSET: return intsetAddTo(o, member);
    case OBJ_ENC_LISTPACK: return listpackAdd(o, member);
    default: return tableAdd(objectStructure(o), member, hash);
    }
}

void setAddNew(robj *o, slice member, uint64_t hash) {
    if (setIsTable(o)) setTableAdd(objectStructure(o), member, hash);
    else setAdd(o, member, hash);
}

static bool intsetRemoveFrom(robj *o, int64_t number) {
    bool removed;
    objectSetStructure(o, OBJ_ENC_INTSET, intsetRemove(objectStructure(o), number, &removed));
    return removed;
}

bool setRemove(robj *o, slice member, uint64_t hash) {
    long long number;
    const uint8_t *at;
    switch (o->encoding) {
    case OBJ_ENC_INTSET: return string2ll(member.ptr, member.len, &number) && intsetRemoveFrom(o, number);
    case OBJ_ENC_LISTPACK:
        at = listpackPosition(o, member);
        if (!at) return false;
        objectSetStructure(o, OBJ_ENC_LISTPACK, listpackDelete(objectStructure(o), &at, 1));
        return true;
    default: return dictDelete(objectStructure(o), member, hash);
    }
}
