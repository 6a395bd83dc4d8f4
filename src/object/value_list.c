/* value_list.c -- the list type: its two structures, and the operations on both.
 *
 *              a push, LSET or LINSERT that might exceed list-max-listpack-size
 *   listpack ------------------------------------------------------------------> quicklist
 *            <------------------------------------------------------------------
 *              a single packed node is left, of at most half that size
 *
 * Not here    the RDB format (value_list_rdb.c).
 * Threads     main; readers of a const list any.
 * Invariants  1. A list in the keyspace is not empty.
 *             2. A quicklist keeps the limits it was created with; conversion to a listpack uses the current ones.
 * Tests       tests/unit/object/value_list_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_list.h"

#include "digest.h"
#include "object_settings.h"
#include "panic.h"
#include "value_list_internal.h"
#include "zmalloc.h"

static bool isListpack(const robj *o) { return o->encoding == OBJ_ENC_LISTPACK; }

static void setListpack(robj *o, uint8_t *lp) {
    serverAssert(lp);
    objectSetStructure(o, OBJ_ENC_LISTPACK, lp);
}

quicklist *valueListQuicklist(void) {
    return quicklistCreate((int)object_settings.list_max_listpack_size, (unsigned)object_settings.list_compress_depth);
}

/* ---- Conversion ---- */

robj *valueListCreate(slice key) {
    uint8_t *lp = listpackCreate(LISTPACK_BYTES_MIN);
    serverAssert(lp);
    return objectCreateTake(key, OBJ_LIST, OBJ_ENC_LISTPACK, lp);
}

/* Returns whether the listpack may exceed the current limits if these values are added. */
static bool mayExceed(const uint8_t *lp, const slice *values, size_t n) {
    int fill = (int)object_settings.list_max_listpack_size;
    size_t bytes = listpackBytes(lp);
    for (size_t i = 0; i < n; i++) bytes += values[i].len;
    return !quicklistFits(fill, bytes, listpackCount(lp) + n);
}

static void grow(robj *o, const slice *values, size_t n) {
    if (!isListpack(o) || likely(!mayExceed(objectStructure(o), values, n))) return;
    quicklist *q = valueListQuicklist();
    serverAssert(quicklistAppendListpackTake(q, objectStructure(o))); /* it is small */
    objectSetStructure(o, OBJ_ENC_QUICKLIST, q);
}

void valueListGrow(robj *o, slice value) { grow(o, &value, 1); }

void valueListShrink(robj *o) {
    if (isListpack(o)) return;
    uint8_t *lp = quicklistToListpackTake(objectStructure(o), (int)object_settings.list_max_listpack_size, true);
    if (lp) setListpack(o, lp);
}

size_t valueListCount(const robj *o) {
    return isListpack(o) ? listpackCount(objectStructure(o)) : quicklistCount(objectStructure(o));
}

/* ---- Ends ---- */

size_t valueListNeeds(const slice *values, size_t n) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) bytes += values[i].len;
    return bytes + bytes / 4;
}

static void pushToListpack(robj *o, listEnd end, const slice *values, size_t n) {
    uint8_t *lp = objectStructure(o);
    if (end == LIST_TAIL && n > 1) {
        lp = listpackAppendBatch(lp, values, n);
    } else {
        for (size_t i = 0; i < n; i++)
            lp = end == LIST_TAIL ? listpackAppend(lp, values[i]) : listpackPrepend(lp, values[i]);
    }
    setListpack(o, lp);
}

void valueListPush(robj *o, listEnd end, const slice *values, size_t n) {
    grow(o, values, n);
    if (isListpack(o)) {
        pushToListpack(o, end, values, n);
        return;
    }
    quicklist *q = objectStructure(o);
    for (size_t i = 0; i < n; i++) quicklistPush(q, end, values[i]);
}

static slice textOf(const listpackValue *v, char digits[LONG_STR_SIZE]) {
    return v->str ? sliceOf(v->str, v->len) : sliceOf(digits, ll2string(digits, v->num));
}

slice valueListEnd(const robj *o, listEnd end, char digits[LONG_STR_SIZE]) {
    if (isListpack(o)) {
        const uint8_t *lp = objectStructure(o);
        return listpackText(end == LIST_HEAD ? listpackFirst(lp) : listpackLast(lp), digits);
    }
    listpackValue v;
    serverAssert(quicklistEnd(objectStructure(o), end, &v));
    return textOf(&v, digits);
}

void valueListDrop(robj *o, listEnd end, size_t n) {
    if (!isListpack(o)) {
        quicklistDrop(objectStructure(o), end, n);
        return;
    }
    uint8_t *lp = objectStructure(o);
    size_t count = listpackCount(lp);
    if (n > count) n = count;
    setListpack(o, listpackDeleteRange(lp, end == LIST_HEAD ? 0 : -(long)n, n));
}

/* ---- Walking ---- */

void valueListIterBegin(valueListIter *it, const robj *o, long index, bool backward) {
    it->is_listpack = isListpack(o);
    if (!it->is_listpack) {
        quicklistIterBegin(&it->in_quicklist, objectStructure(o), index, backward);
        return;
    }
    const uint8_t *lp = objectStructure(o);
    it->in_listpack = (listpackIter){lp, listpackIndex(lp, index), backward};
    it->last = NULL;
    size_t count = listpackCount(lp), number = index < 0 ? (size_t)index + count : (size_t)index;
    it->left = !it->in_listpack.at ? 0 : backward ? number + 1 : count - number;
}

bool valueListIterNext(valueListIter *it, listpackValue *value) {
    if (!it->is_listpack) return quicklistIterNext(&it->in_quicklist, value);
    return listpackIterNext(&it->in_listpack, value, &it->last);
}

bool valueListIterUnpacked(const valueListIter *it) {
    return !it->is_listpack && quicklistIterUnpacked(&it->in_quicklist);
}

size_t valueListIterRun(valueListIter *it, size_t max, const uint8_t **lp, const uint8_t **at, slice *plain) {
    if (!it->is_listpack) return quicklistIterRun(&it->in_quicklist, max, lp, at, plain);
    size_t n = it->left < max ? it->left : max;
    *lp = it->in_listpack.lp;
    *at = it->in_listpack.at;
    it->left = 0; /* the list has a single run */
    return n;
}

void valueListIterEnd(valueListIter *it) {
    if (!it->is_listpack) quicklistIterEnd(&it->in_quicklist);
}

/* ---- Positions ---- */

void valueListPut(robj *o, valueListIter *it, listpackWhere where, slice value) {
    if (isListpack(o)) setListpack(o, listpackInsert(objectStructure(o), &it->last, where, value));
    else quicklistInsert(objectStructure(o), &it->in_quicklist, where, value);
    valueListIterEnd(it);
}

size_t valueListDeleteEqual(robj *o, slice value, listEnd from, size_t max) {
    if (!isListpack(o)) return quicklistDeleteEqual(objectStructure(o), value, from, max);
    uint8_t *lp = objectStructure(o);
    size_t there = listpackCountEqual(lp, value), removed;
    size_t skip = from == LIST_TAIL && there > max ? there - max : 0;
    if (there == 0) return 0;
    setListpack(o, listpackDeleteEqual(lp, value, skip, max, &removed));
    return removed;
}

/* ---- Operations of the type ---- */

static void freeList(void *structure) { quicklistFree(structure); }

static size_t freeEffort(const void *structure) { return 1 + quicklistNodeCount(structure); }

static size_t memUsage(const void *structure, size_t samples) { return quicklistMemory(structure, samples); }

static void *dupList(const void *structure) { return quicklistDup(structure); }

static void digestValue(digest *d, listpackValue v) {
    char digits[LONG_STR_SIZE];
    digestMix(d, textOf(&v, digits));
}

static void digestList(const void *structure, int encoding, digest *d) {
    listpackValue v;
    if (encoding == OBJ_ENC_LISTPACK) {
        listpackIter it = listpackIterBegin(structure, false);
        while (listpackIterNext(&it, &v, NULL)) digestValue(d, v);
        return;
    }
    quicklistIter it;
    quicklistIterBegin(&it, structure, 0, false);
    while (quicklistIterNext(&it, &v)) digestValue(d, v);
    quicklistIterEnd(&it);
}

static void valueListCheck(const void *structure, int encoding) {
    if (encoding == OBJ_ENC_LISTPACK)
        serverAssert(listpackValidate(structure, listpackBytes(structure), true, NULL, NULL));
    else quicklistCheck(structure);
}

/* A quicklist itself stores where to continue, and its header does not move. */
static bool defragList(void **structure, defragCursor *cursor, size_t budget, blockMover *move) {
    return quicklistDefrag(*structure, cursor->at++ == 0, budget, move);
}

const objectTypeOps list_type_ops = {
    .free = freeList,
    .freeEffort = freeEffort,
    .memUsage = memUsage,
    .dup = dupList,
    .digest = digestList,
    .rdbType = valueListRdbType,
    .rdbWrite = valueListRdbWrite,
    .rdbRead = valueListRdbRead,
    .check = valueListCheck,
    .defrag = defragList,
};
