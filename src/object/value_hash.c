/* value_hash.c -- the hash type: its encodings and operations.
 *
 *   listpack  field value field value ...              few and short, none with a TTL
 *        |
 *        |  too many, too long, or one gets a TTL      (and never back)
 *        v
 *   hashtable { dict of hashField, index by time }     the index exists while a field has a TTL
 *
 * The index holds the same addresses as the dict, so code that moves a field, or changes its time, removes it from the
 * index first and adds it again afterwards.
 *
 * Not here    the RDB format (value_hash_rdb.c); the layout of a field (hash_field.h).
 * Threads     main changes; see objectTypeOps.
 * Invariants  1. A listpack has no TTLs, no field twice, and an even number of entries.
 *             2. A field is in the index exactly when its time is not HASH_NO_TIME; an index is never empty.
 * Tests       tests/unit/object/value_hash_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_hash_internal.h"

#include "digest.h"
#include "listpack.h"
#include "long_loop.h"
#include "object_internal.h"
#include "object_settings.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"

#define RANDOM_TRIES 100
#define DROP_BATCH 64

/* ---- A dict of fields ---- */

static slice fieldKey(const void *entry) { return hashFieldName(entry); }

static void fieldFree(void *entry) { hashFieldFree(entry); }

static const void *fieldPrefetchKey(const void *entry) { return lastByteBeyond(entry, hashFieldName(entry)); }

/* Prefetches only the header of a string object: a reply refers to the rest. */
static void fieldPrefetchValue(const void *entry) {
    const robj *object = hashFieldObject(entry);
    if (unlikely(object)) {
        prefetchRead(object);
        return;
    }
    slice value = hashFieldValue(entry);
    prefetchRead(value.ptr);
    if (value.len > CACHE_LINE) prefetchRead(value.ptr + CACHE_LINE);
    prefetchRead(value.ptr + (value.len ? value.len - 1 : 0));
}

static const dictType fields_type = {
    .entryKey = fieldKey,
    .entryFree = fieldFree,
    .prefetchKey = fieldPrefetchKey,
    .key_within = HASH_FIELD_WITHIN,
    .prefetchValue = fieldPrefetchValue,
};

static int64_t timeOf(const void *entry) { return hashFieldTime(entry); }

/* ---- The root ---- */

hashTableRoot *hashRootCreate(size_t fields) {
    hashTableRoot *root = zmalloc(sizeof(*root));
    *root = (hashTableRoot){.fields = dictCreate(&fields_type)};
    if (fields > 1) (void)dictExpand(root->fields, fields);
    return root;
}

void hashRootFree(hashTableRoot *root) {
    timeIndexFree(root->times);
    dictRelease(root->fields);
    zfree(root);
}

static void indexAdd(hashTableRoot *root, const hashField *f) {
    if (!root->times) root->times = timeIndexCreate(timeOf);
    timeIndexAdd(root->times, f);
}

static void indexRemove(hashTableRoot *root, const hashField *f, int64_t when_ms) {
    timeIndexRemove(root->times, f, when_ms);
    if (timeIndexSize(root->times) > 0) return;
    timeIndexFree(root->times);
    root->times = NULL;
}

/* Updates the index: the field at `old` with time `old_ms` is now `f`. */
static void indexMove(hashTableRoot *root, const hashField *old, int64_t old_ms, const hashField *f) {
    int64_t when_ms = hashFieldTime(f);
    if (likely(old_ms == HASH_NO_TIME && when_ms == HASH_NO_TIME)) return;
    if (old == f && old_ms == when_ms) return;
    if (old_ms != HASH_NO_TIME) {
        if (when_ms != HASH_NO_TIME) timeIndexRemove(root->times, old, old_ms); /* the index does not stay empty */
        else indexRemove(root, old, old_ms);
    }
    if (when_ms != HASH_NO_TIME) indexAdd(root, f);
}

bool hashRootAdd(hashTableRoot *root, slice field, slice value, int64_t when_ms) {
    hashField *f = hashFieldCreate(field, value, when_ms);
    if (dictAdd(root->fields, f, dictHash(root->fields, field))) {
        hashFieldFree(f);
        return false;
    }
    if (when_ms != HASH_NO_TIME) indexAdd(root, f);
    return true;
}

hashTableRoot *hashRootOfListpack(const uint8_t *lp) {
    hashTableRoot *root = hashRootCreate(listpackCount(lp) / 2);
    char field_digits[LONG_STR_SIZE], value_digits[LONG_STR_SIZE];
    for (const uint8_t *at = listpackFirst(lp); at;) {
        slice field = listpackText(at, field_digits);
        at = listpackNext(at);
        if (!at || !hashRootAdd(root, field, listpackText(at, value_digits), HASH_NO_TIME)) {
            hashRootFree(root);
            return NULL;
        }
        at = listpackNext(at);
    }
    return root;
}

static hashTableRoot *rootOf(const robj *o) {
    debugAssert(o->encoding == OBJ_ENC_HASHTABLE);
    return objectStructure(o);
}

static uint8_t *listpackOf(const robj *o) {
    debugAssert(o->encoding == OBJ_ENC_LISTPACK);
    return objectStructure(o);
}

static void valueHashConvert(robj *o) {
    uint8_t *lp = listpackOf(o);
    hashTableRoot *root = hashRootOfListpack(lp);
    serverAssert(root);
    objectSetStructure(o, OBJ_ENC_HASHTABLE, root);
    listpackFree(lp);
}

/* ---- Creating, finding ---- */

robj *hashCreate(slice key) { return objectCreateTake(key, OBJ_HASH, OBJ_ENC_LISTPACK, listpackCreate(0)); }

size_t hashLength(const robj *o) {
    if (o->encoding == OBJ_ENC_LISTPACK) return listpackCount(listpackOf(o)) / 2;
    return dictSize(rootOf(o)->fields);
}

bool hashHasTtls(const robj *o) { return o->encoding == OBJ_ENC_HASHTABLE && rootOf(o)->times; }

const dict *hashTable(const robj *o) { return o->encoding == OBJ_ENC_HASHTABLE ? rootOf(o)->fields : NULL; }

static const uint8_t *findInListpack(const uint8_t *lp, slice field) {
    return listpackFind(listpackFirst(lp), field, 1);
}

/* Sets `out` to the value at this position of a listpack. */
static void setListpackValue(hashPair *out, const uint8_t *value) {
    out->value = listpackText(value, out->value_digits);
    out->object = NULL;
    out->when_ms = HASH_NO_TIME;
}

bool hashFind(const robj *o, slice field, uint64_t hash, hashPair *out) {
    if (o->encoding == OBJ_ENC_LISTPACK) {
        const uint8_t *at = findInListpack(listpackOf(o), field);
        if (!at) return false;
        setListpackValue(out, listpackNext(at));
        return true;
    }
    const hashField *f = dictFind(rootOf(o)->fields, field, hash);
    if (!f) return false;
    int64_t when_ms = hashFieldTime(f);
    if (hashTimeExpired(when_ms)) return false;
    slice value = hashFieldValue(f);
    out->object = hashFieldObject(f);
    out->value = value;
    out->when_ms = when_ms;
    return true;
}

/* ---- Changing ---- */

void hashPrepare(robj *o, size_t pairs, size_t longest) {
    if (o->encoding != OBJ_ENC_LISTPACK) return;
    if (longest > (size_t)object_settings.hash_max_listpack_value ||
        pairs > (size_t)object_settings.hash_max_listpack_entries)
        valueHashConvert(o);
}

#define FIELD_OVERHEAD 128 /* header, slot of the table, rounding up of short fields */

size_t hashSetBytes(slice field, slice value) {
    return FIELD_OVERHEAD + field.len + field.len / 4 + value.len + value.len / 4;
}

static inline void findSpot(robj *o, slice field, uint64_t hash, hashSpot *spot) {
    *spot = (hashSpot){.encoding = o->encoding};
    if (o->encoding == OBJ_ENC_LISTPACK) {
        const uint8_t *at = findInListpack(listpackOf(o), field);
        if (at) spot->value = listpackNext(at);
    } else {
        spot->field = dictFindRef(rootOf(o)->fields, field, hash);
    }
}

bool hashFindSpot(robj *o, slice field, uint64_t hash, hashPair *out, hashSpot *spot) {
    findSpot(o, field, hash, spot);
    if (spot->value) {
        setListpackValue(out, spot->value);
        return true;
    }
    if (!spot->field) return false;
    out->when_ms = hashFieldTime(*spot->field);
    if (hashTimeExpired(out->when_ms)) return false;
    out->value = hashFieldValue(*spot->field);
    out->object = hashFieldObject(*spot->field);
    return true;
}

/* Sets a field at `at`, or appends it if NULL. Returns false if the listpack cannot hold it: nothing has changed. */
static bool setInListpack(robj *o, const uint8_t *at, slice field, slice value, hashSetResult *result) {
    uint8_t *lp = listpackOf(o), *changed;
    slice pair[2] = {field, value};
    bool is_new = !at;
    if (is_new) changed = listpackAppendBatch(lp, pair, 2);
    else changed = listpackInsert(lp, &at, LISTPACK_REPLACE, value);
    if (!changed) return false;
    objectSetStructure(o, OBJ_ENC_LISTPACK, changed);
    if (is_new && hashLength(o) > (size_t)object_settings.hash_max_listpack_entries) valueHashConvert(o);
    *result = is_new ? HASH_ADDED : HASH_REPLACED;
    return true;
}

/* Sets the field at `ref`, or a new one if NULL, to `object`, which is taken, or to a copy of `value`. */
static inline hashSetResult setInTable(hashTableRoot *root, void **ref, slice field, uint64_t hash, slice value,
                                       robj *object, int64_t when_ms) {
    if (!ref) {
        if (when_ms == HASH_KEEP_TIME) when_ms = HASH_NO_TIME;
        hashField *f = object ? hashFieldCreateOfObject(field, object, when_ms)
                              : hashFieldCreate(field, value, when_ms);
        dictAddNew(root->fields, f, hash);
        if (unlikely(when_ms >= 0)) indexAdd(root, f);
        return HASH_ADDED;
    }
    hashField *old = *ref;
    int64_t old_ms = hashFieldTime(old);
    bool expired = hashTimeExpired(old_ms);
    if (unlikely(when_ms == HASH_KEEP_TIME)) when_ms = expired ? HASH_NO_TIME : old_ms;
    hashField *f = object ? hashFieldSetObjectTake(old, object, when_ms) : hashFieldSetTake(old, value, when_ms);
    *ref = f;
    indexMove(root, old, old_ms, f);
    return expired ? HASH_REPLACED_EXPIRED : HASH_REPLACED;
}

static inline hashSetResult setAt(robj *o, hashSpot spot, slice field, uint64_t hash, slice value, int64_t when_ms) {
    hashSetResult result;
    if (o->encoding == OBJ_ENC_LISTPACK) {
        if (when_ms < 0 && setInListpack(o, spot.value, field, value, &result)) return result;
        valueHashConvert(o);
        hash = dictHash(rootOf(o)->fields, field);
        findSpot(o, field, hash, &spot);
    }
    return setInTable(rootOf(o), spot.field, field, hash, value, NULL, when_ms);
}

hashSetResult hashSet(robj *o, slice field, uint64_t hash, slice value, int64_t when_ms) {
    hashSpot spot;
    findSpot(o, field, hash, &spot);
    return setAt(o, spot, field, hash, value, when_ms);
}

hashSetResult hashSetAt(robj *o, const hashSpot *spot, slice field, uint64_t hash, slice value, int64_t when_ms) {
    if (spot->encoding != o->encoding) return hashSet(o, field, hash, value, when_ms);
    return setAt(o, *spot, field, hash, value, when_ms);
}

hashSetResult hashSetObjectTake(robj *o, slice field, uint64_t hash, robj *value, int64_t when_ms) {
    hashTableRoot *root = rootOf(o);
    return setInTable(root, dictFindRef(root->fields, field, hash), field, hash, sliceOf(NULL, 0), value, when_ms);
}

bool hashDelete(robj *o, slice field, uint64_t hash) {
    if (o->encoding == OBJ_ENC_LISTPACK) {
        uint8_t *lp = listpackOf(o);
        const uint8_t *at = findInListpack(lp, field);
        if (!at) return false;
        objectSetStructure(o, OBJ_ENC_LISTPACK, listpackDelete(lp, &at, 2));
        return true;
    }
    hashTableRoot *root = rootOf(o);
    hashField *f = dictPop(root->fields, field, hash);
    if (!f) return false;
    int64_t when_ms = hashFieldTime(f);
    if (unlikely(when_ms != HASH_NO_TIME)) indexRemove(root, f, when_ms);
    hashFieldFree(f);
    (void)dictShrinkIfNeeded(root->fields);
    return true;
}

void hashSetTime(robj *o, slice field, uint64_t hash, int64_t when_ms) {
    if (o->encoding == OBJ_ENC_LISTPACK) {
        if (when_ms == HASH_NO_TIME) return;
        valueHashConvert(o);
        hash = dictHash(rootOf(o)->fields, field);
    }
    hashTableRoot *root = rootOf(o);
    void **ref = dictFindRef(root->fields, field, hash);
    serverAssert(ref);
    hashField *old = *ref;
    int64_t old_ms = hashFieldTime(old);
    hashField *f = hashFieldSetTimeTake(old, when_ms);
    *ref = f;
    indexMove(root, old, old_ms, f);
}

/* ---- Walking ---- */

void hashIterBegin(hashIter *it, const robj *o) {
    it->table = o->encoding == OBJ_ENC_HASHTABLE;
    it->next = it->count = 0;
    if (it->table) dictIterBegin(&it->fields, rootOf(o)->fields, false);
    else it->at = listpackFirst(listpackOf(o));
}

static bool prefetchAhead(hashIter *it) {
    it->next = it->count = 0;
    for (const hashField *f; it->count < HASH_ITER_AHEAD && (f = dictIterNext(&it->fields));) {
        prefetchRead(f);
        it->ahead[it->count++] = f;
    }
    return it->count > 0;
}

const hashPair *hashIterNext(hashIter *it) {
    hashPair *pair = &it->pair;
    if (it->table) {
        if (it->next == it->count && !prefetchAhead(it)) return NULL;
        hashPairOfField(pair, it->ahead[it->next++]);
        return pair;
    }
    if (!it->at) return NULL;
    const uint8_t *value = listpackNext(it->at);
    pair->name = listpackText(it->at, pair->name_digits);
    setListpackValue(pair, value);
    it->at = listpackNext(value);
    return pair;
}

void hashIterEnd(hashIter *it) {
    if (it->table) dictIterEnd(&it->fields);
}

/* Returns a random field that is not expired, if most are: each replaces the previous choice with a probability that
 * makes all equally likely. */
static const hashField *randomOfFew(const hashTableRoot *root) {
    const hashField *chosen = NULL;
    size_t seen = 0;
    dictIterator it;
    dictIterBegin(&it, root->fields, false);
    for (const hashField *f; (f = dictIterNext(&it));)
        if (!hashTimeExpired(hashFieldTime(f)) && rngBelow(rngThread(), ++seen) == 0) chosen = f;
    dictIterEnd(&it);
    return chosen;
}

static bool randomLive(const hashTableRoot *root, hashPair *out) {
    const hashField *f = NULL;
    for (int tries = 0; tries < RANDOM_TRIES; tries++) {
        f = dictRandomEntry(root->fields);
        if (!f) return false;
        if (!hashTimeExpired(hashFieldTime(f))) break;
        f = NULL;
    }
    if (!f) f = randomOfFew(root);
    if (!f) return false;
    hashPairOfField(out, f);
    return true;
}

bool hashRandom(const robj *o, hashPair *out) {
    if (o->encoding == OBJ_ENC_HASHTABLE) return randomLive(rootOf(o), out);
    const uint8_t *lp = listpackOf(o);
    size_t n = listpackCount(lp) / 2;
    if (n == 0) return false;
    const uint8_t *at = listpackIndex(lp, (long)(2 * rngBelow(rngThread(), n)));
    out->name = listpackText(at, out->name_digits);
    setListpackValue(out, listpackNext(at));
    return true;
}

/* ---- Operations of the type ---- */

static void opFree(void *structure) { hashRootFree(structure); }

static size_t opFreeEffort(const void *structure) { return dictSize(((const hashTableRoot *)structure)->fields); }

static size_t fieldMemUsage(const void *entry) { return hashFieldMemUsage(entry); }

static size_t opMemUsage(const void *structure, size_t samples) {
    const hashTableRoot *root = structure;
    size_t index_bytes = root->times ? timeIndexMemUsage(root->times) : 0;
    return zmallocSize(root) + index_bytes + objectDictMemUsage(root->fields, samples, fieldMemUsage);
}

/* Copies without expired fields, unless no field would be left. */
static void *opDup(const void *structure) {
    const hashTableRoot *root = structure;
    hashTableRoot *copy = hashRootCreate(dictSize(root->fields));
    for (int all = 0; all <= 1 && dictSize(copy->fields) == 0; all++) {
        dictIterator it;
        dictIterBegin(&it, root->fields, false);
        for (const hashField *f; (f = dictIterNext(&it));) {
            int64_t when_ms = hashFieldTime(f);
            if (all || !hashTimeExpired(when_ms)) hashRootAdd(copy, hashFieldName(f), hashFieldValue(f), when_ms);
            longLoopStep();
        }
        dictIterEnd(&it);
    }
    return copy;
}

static const dict *opElements(const void *structure) { return ((const hashTableRoot *)structure)->fields; }

static void digestPair(digest *d, slice name, slice value) {
    digest pair = {{0}};
    digestMix(&pair, name);
    digestMix(&pair, value);
    digestXor(d, sliceOf(pair.bytes, DIGEST_BYTES));
}

static void opDigest(const void *structure, int encoding, digest *d) {
    if (encoding == OBJ_ENC_LISTPACK) {
        char name_digits[LONG_STR_SIZE], value_digits[LONG_STR_SIZE];
        for (const uint8_t *at = listpackFirst(structure); at;) {
            const uint8_t *value = listpackNext(at);
            digestPair(d, listpackText(at, name_digits), listpackText(value, value_digits));
            at = listpackNext(value);
        }
        return;
    }
    dictIterator it;
    dictIterBegin(&it, ((const hashTableRoot *)structure)->fields, false);
    for (const hashField *f; (f = dictIterNext(&it));)
        if (!hashTimeExpired(hashFieldTime(f))) digestPair(d, hashFieldName(f), hashFieldValue(f));
    dictIterEnd(&it);
}

static void opCheck(const void *structure, int encoding) {
    if (encoding == OBJ_ENC_LISTPACK) {
        hashTableRoot *root = hashRootOfListpack(structure);
        serverAssert(root);
        hashRootFree(root);
        return;
    }
    const hashTableRoot *root = structure;
    dictCheck(root->fields);
    size_t with_time = 0;
    dictIterator it;
    dictIterBegin(&it, root->fields, false);
    for (const hashField *f; (f = dictIterNext(&it));) {
        hashFieldCheck(f);
        with_time += hashFieldTime(f) != HASH_NO_TIME;
    }
    dictIterEnd(&it);
    serverAssert(with_time == (root->times ? timeIndexSize(root->times) : 0));
    serverAssert(!root->times || with_time > 0);
    if (root->times) timeIndexCheck(root->times);
}

static bool opHasTtls(const void *structure) { return ((const hashTableRoot *)structure)->times; }

static int64_t opTtlBound(void *structure, int64_t **noted) {
    const hashTableRoot *root = structure;
    *noted = timeIndexNoted(root->times);
    return timeIndexBound(root->times);
}

static size_t opExpireElements(void *structure, int64_t before_ms, size_t max, bool *empty, elementExpiredFn *expired,
                               void *arg) {
    hashTableRoot *root = structure;
    void *due[DROP_BATCH];
    size_t dropped = 0, n = 1;
    while (root->times && dropped < max && n > 0) {
        n = timeIndexTakeBefore(root->times, before_ms, due, max - dropped < DROP_BATCH ? max - dropped : DROP_BATCH);
        for (size_t i = 0; i < n; i++) {
            serverAssert(dictPopEntry(root->fields, due[i], dictHash(root->fields, hashFieldName(due[i]))));
            if (expired) expired(arg, hashFieldName(due[i]));
            hashFieldFree(due[i]);
        }
        dropped += n;
        if (timeIndexSize(root->times) == 0) {
            timeIndexFree(root->times);
            root->times = NULL;
        }
    }
    if (dropped) (void)dictShrinkIfNeeded(root->fields);
    *empty = dictSize(root->fields) == 0;
    return dropped;
}

typedef struct fieldDefrag {
    hashTableRoot *root;
    blockMover *move;
} fieldDefrag;

static void defragField(void *arg, void **ref) {
    const fieldDefrag *d = arg;
    hashField *old = *ref, *f = hashFieldDefrag(old, d->move);
    int64_t when_ms = hashFieldTime(f);
    *ref = f;
    if (unlikely(when_ms != HASH_NO_TIME)) indexMove(d->root, old, when_ms, f);
}

enum { DEFRAG_FIELDS, DEFRAG_TIMES };

static bool opDefrag(void **structure, defragCursor *cursor, size_t budget, blockMover *move) {
    void *moved = cursor->phase == DEFRAG_FIELDS && cursor->at == 0 ? move(*structure) : NULL;
    if (moved) *structure = moved;
    hashTableRoot *root = *structure;
    if (cursor->phase == DEFRAG_FIELDS) {
        if (cursor->at == 0) root->fields = dictDefrag(root->fields, move);
        if (!objectDefragTable(root->fields, cursor, budget, defragField, &(fieldDefrag){root, move}, move))
            return false;
        cursor->phase = DEFRAG_TIMES;
        return root->times == NULL;
    }
    do cursor->at = root->times ? timeIndexDefrag(root->times, cursor->at, move) : 0;
    while (cursor->at && --budget);
    return cursor->at == 0;
}

const objectTypeOps hash_type_ops = {
    .free = opFree,
    .freeEffort = opFreeEffort,
    .memUsage = opMemUsage,
    .dup = opDup,
    .elements = opElements,
    .digest = opDigest,
    .rdbType = hashRdbType,
    .rdbWrite = hashRdbWrite,
    .rdbRead = hashRdbRead,
    .check = opCheck,
    .hasTtls = opHasTtls,
    .ttlBound = opTtlBound,
    .expireElements = opExpireElements,
    .defrag = opDefrag,
};
