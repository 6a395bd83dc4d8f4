/* value_set_type.c -- the set type's operations for the keyspace: copies, memory, digest, RDB.
 *
 * Not here    single members (value_set.c).
 * Threads     a thread that alone knows the set, otherwise main.
 * Invariants  1. A set that setRead() returns has no repeated members and is not empty, whatever the bytes were.
 *             2. A length from outside allows no more iterations of a loop than there are bytes.
 * Tests       tests/unit/object/value_set_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "digest.h"
#include "hash.h"
#include "intset.h"
#include "listpack.h"
#include "long_loop.h"
#include "object_internal.h"
#include "panic.h"
#include "rdb_value.h"
#include "value_set_internal.h"
#include "zmalloc.h"

/* ---- Life, size ---- */

static void setFree(void *structure) { dictRelease(structure); }

static size_t setFreeEffort(const void *structure) { return dictSize(structure); }

static size_t setMemUsage(const void *structure, size_t samples) {
    return objectDictMemUsage(structure, samples, zmallocSize);
}

static void *setDup(const void *structure) {
    dict *copy = setTableCreate();
    dictIterator it;
    const void *entry;
    dictExpand(copy, dictSize(structure));
    dictIterBegin(&it, (dict *)(uintptr_t)structure, false);
    while ((entry = dictIterNext(&it))) {
        slice member = setEntryText(entry);
        setTableAdd(copy, member, hashBytes(member.ptr, member.len));
        longLoopStep();
    }
    dictIterEnd(&it);
    return copy;
}

static const dict *setElements(const void *structure) { return structure; }

/* ---- Defragmentation ---- */

static void defragMember(void *move, void **ref) {
    void *moved = (*(blockMover **)move)(*ref);
    if (moved) *ref = moved;
}

static bool setDefrag(void **structure, defragCursor *cursor, size_t budget, blockMover *move) {
    if (cursor->at == 0) *structure = dictDefrag(*structure, move);
    return objectDefragTable(*structure, cursor, budget, defragMember, &move, move);
}

/* ---- All members ---- */

static void eachMember(const void *structure, int encoding, void (*fn)(void *arg, slice member), void *arg) {
    char buf[LONG_STR_SIZE];
    if (encoding == OBJ_ENC_INTSET) {
        for (size_t i = 0; i < intsetLength(structure); i++)
            fn(arg, sliceOf(buf, ll2string(buf, intsetAt(structure, i))));
    } else if (encoding == OBJ_ENC_LISTPACK) {
        for (const uint8_t *at = listpackFirst(structure); at; at = listpackNext(at)) fn(arg, listpackText(at, buf));
    } else {
        dictIterator it;
        const void *entry;
        dictIterBegin(&it, (dict *)(uintptr_t)structure, false);
        while ((entry = dictIterNext(&it))) fn(arg, setEntryText(entry));
        dictIterEnd(&it);
    }
}

static void digestMember(void *arg, slice member) { digestXor(arg, member); }

static void setDigest(const void *structure, int encoding, digest *d) {
    eachMember(structure, encoding, digestMember, d);
}

/* ---- RDB, writing ---- */

static void writeMember(void *arg, slice member) {
    rdbWriteString(arg, member);
    longLoopStep();
}

static uint8_t setRdbType(const void *structure, int encoding) {
    unused(structure);
    switch (encoding) {
    case OBJ_ENC_INTSET: return RDB_TYPE_SET_INTSET;
    case OBJ_ENC_LISTPACK: return RDB_TYPE_SET_LISTPACK;
    default: return RDB_TYPE_SET;
    }
}

static void setRdbWrite(rdbWriter *w, const void *structure, int encoding) {
    switch (encoding) {
    case OBJ_ENC_INTSET: rdbWriteString(w, sliceOf(structure, intsetBytes(structure))); return;
    case OBJ_ENC_LISTPACK: rdbWriteString(w, sliceOf(structure, listpackBytes(structure))); return;
    default: rdbWriteLength(w, dictSize(structure)); eachMember(structure, encoding, writeMember, w);
    }
}

/* ---- RDB, reading ---- */

static bool addToTable(dict *d, slice member) { return rdbReserveFor(member.len) && setTableTryAdd(d, member); }

/* Returns a table of the members of a listpack; NULL if one is repeated, or there is no memory. */
static dict *tableOfListpack(const uint8_t *lp) {
    dict *d = setTableCreate();
    char buf[LONG_STR_SIZE];
    for (const uint8_t *at = listpackFirst(lp); at; at = listpackNext(at)) {
        if (addToTable(d, listpackText(at, buf))) continue;
        dictRelease(d);
        return NULL;
    }
    return d;
}

static void *readListpack(rdbReader *r, int *encoding) {
    uint8_t *lp = rdbReadListpack(r, NULL);
    if (!lp) return NULL;
    size_t count = listpackRecount(lp);
    void *result = NULL;
    if (count && !setFitsListpack(count, 0)) {
        *encoding = OBJ_ENC_HASHTABLE;
        result = tableOfListpack(lp);
    } else if (count && !listpackHasDuplicates(lp, count, 1)) {
        *encoding = OBJ_ENC_LISTPACK;
        return lp;
    }
    listpackFree(lp);
    return result;
}

static void *readIntset(slice bytes, int *encoding) {
    if (!intsetValidate(bytes.ptr, bytes.len, true)) return NULL;
    intset *s = intsetDup(bytes.ptr);
    if (!s) return NULL;
    *encoding = OBJ_ENC_INTSET;
    size_t count = intsetLength(s);
    if (setFitsIntset(count)) return s;
    char buf[LONG_STR_SIZE];
    dict *d = setTableCreate();
    *encoding = OBJ_ENC_HASHTABLE;
    for (size_t i = 0; i < count; i++) addToTable(d, sliceOf(buf, ll2string(buf, intsetAt(s, i))));
    intsetFree(s);
    return d;
}

/* Reads the members of a table: the set begins compact if their number allows it, and is converted as needed. A
 * repeated member makes the value malformed. */
static bool readMembers(rdbReader *r, robj *o, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        rdbText t;
        if (!rdbReadText(r, &t)) return false;
        bool added = rdbReserveFor(t.text.len) &&
                     setAdd(o, t.text, setIsTable(o) ? hashBytes(t.text.ptr, t.text.len) : 0);
        rdbTextFree(&t);
        if (!added) return false;
        longLoopStep();
    }
    return true;
}

static void *readTable(rdbReader *r, int *encoding) {
    uint64_t count;
    if (!rdbReadCount(r, &count) || count == 0 || count > (uint64_t)(r->end - r->p)) return NULL;
    robj *o = setFitsIntset(count) ? setCreateCompact(sliceOf(NULL, 0), OBJ_ENC_INTSET)
                                   : objectCreateTake(sliceOf(NULL, 0), OBJ_SET, OBJ_ENC_HASHTABLE, setTableCreate());
    setReserve(o, count);
    if (!readMembers(r, o, count)) {
        objectFree(o);
        return NULL;
    }
    /* Takes the structure out of the temporary entry. */
    void *structure = objectStructure(o);
    *encoding = o->encoding;
    objectSetStructure(o, OBJ_ENC_INTSET, intsetCreate());
    objectFree(o);
    return structure;
}

static void *setRead(rdbReader *r, unsigned rdb_type, int *encoding) {
    if (rdb_type == RDB_TYPE_SET) return readTable(r, encoding);
    if (rdb_type != RDB_TYPE_SET_INTSET) return readListpack(r, encoding);
    rdbText t;
    if (!rdbReadText(r, &t)) return NULL;
    void *structure = readIntset(t.text, encoding);
    rdbTextFree(&t);
    return structure;
}

/* ---- Invariants ---- */

static void setCheck(const void *structure, int encoding) {
    if (encoding == OBJ_ENC_INTSET) {
        serverAssert(intsetValidate(structure, intsetBytes(structure), true));
    } else if (encoding == OBJ_ENC_LISTPACK) {
        serverAssert(listpackValidate(structure, listpackBytes(structure), true, NULL, NULL));
        serverAssert(!listpackHasDuplicates(structure, listpackCount(structure), 1));
    } else {
        dictCheck(structure);
    }
}

const objectTypeOps set_type_ops = {
    .free = setFree,
    .freeEffort = setFreeEffort,
    .memUsage = setMemUsage,
    .dup = setDup,
    .elements = setElements,
    .digest = setDigest,
    .rdbType = setRdbType,
    .rdbWrite = setRdbWrite,
    .rdbRead = setRead,
    .check = setCheck,
    .defrag = setDefrag,
};
