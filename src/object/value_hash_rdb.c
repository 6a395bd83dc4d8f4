/* value_hash_rdb.c -- hashes in the RDB format.
 *
 *   listpack                        16: the block as a string
 *   hashtable, none with a TTL       4: count, then field and value of each
 *   hashtable, some with a TTL      22: the same, each with 8 bytes of time, -1 for none
 *
 * Redis writes hashes with field TTLs in its own forms, which are only read:
 *
 *   hashtable   24: 8 bytes of the smallest time; count, then distance, field and value of each: 0 for no TTL, or
 *                   the time minus the smallest one, plus 1
 *   listpack    25: 8 bytes of the smallest time; the block of field, value, time, ..., in which 0 is no TTL
 *   27, 23      the same without the smallest time; in 27 there are times in place of distances
 *
 * Threads     any: functions use only their arguments, and read the settings of encodings.
 * Tests       tests/unit/object/value_hash_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack.h"
#include "long_loop.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "value_hash_internal.h"

uint8_t hashRdbType(const void *structure, int encoding) {
    if (encoding == OBJ_ENC_LISTPACK) return RDB_TYPE_HASH_LISTPACK;
    return ((const hashTableRoot *)structure)->times ? RDB_TYPE_HASH_2 : RDB_TYPE_HASH;
}

void hashRdbWrite(rdbWriter *w, const void *structure, int encoding) {
    if (encoding == OBJ_ENC_LISTPACK) {
        rdbWriteString(w, sliceOf(structure, listpackBytes(structure)));
        return;
    }
    const hashTableRoot *root = structure;
    rdbWriteLength(w, dictSize(root->fields));
    dictIterator it;
    dictIterBegin(&it, root->fields, false);
    for (const hashField *f; (f = dictIterNext(&it));) {
        rdbWriteString(w, hashFieldName(f));
        rdbWriteString(w, hashFieldValue(f));
        if (root->times) rdbWriteMs(w, hashFieldTime(f));
        longLoopStep();
    }
    dictIterEnd(&it);
}

/* ---- Reading ---- */

#define EXPAND_AHEAD_MAX 4096 /* most fields for which capacity is reserved by an unverified count */

/* Where the times of a hash's fields are. */
typedef struct timeForm {
    enum { TIME_NONE, TIME_AFTER, TIME_BEFORE } place; /* of a pair: after it as 8 bytes, before it as a distance */
    int64_t smallest_ms;                               /* if BEFORE: the time of distance 1 */
} timeForm;

/* Reads the distance of a time from the smallest one. */
static bool readDistance(rdbReader *r, int64_t smallest_ms, int64_t *when_ms) {
    uint64_t distance;
    if (!rdbReadCount(r, &distance)) return false;
    if (distance == 0) return true;
    if (smallest_ms < 0 || distance - 1 > (uint64_t)(INT64_MAX - smallest_ms)) return false;
    *when_ms = smallest_ms + (int64_t)(distance - 1);
    return true;
}

static bool readPair(rdbReader *r, hashTableRoot *root, timeForm form, size_t *longest) {
    rdbText field, value;
    int64_t when_ms = HASH_NO_TIME;
    if (form.place == TIME_BEFORE && !readDistance(r, form.smallest_ms, &when_ms)) return false;
    if (!rdbReadText(r, &field)) return false;
    if (!rdbReadText(r, &value)) {
        rdbTextFree(&field);
        return false;
    }
    bool ok = form.place != TIME_AFTER || rdbReadMs(r, &when_ms);
    if (ok && when_ms < HASH_NO_TIME) ok = false;
    if (ok) ok = rdbReserveFor(field.text.len + value.text.len);
    if (ok) ok = hashRootAdd(root, field.text, value.text, when_ms);
    if (field.text.len > *longest) *longest = field.text.len;
    if (value.text.len > *longest) *longest = value.text.len;
    rdbTextFree(&field);
    rdbTextFree(&value);
    return ok;
}

/* Reads few and short pairs again from `r`, as a listpack, in their order. */
static uint8_t *readListpack(rdbReader *r, uint64_t count) {
    uint8_t *lp = listpackCreate(0);
    for (uint64_t i = 0; lp && i < 2 * count; i++) {
        rdbText part;
        uint8_t *longer = NULL;
        if (rdbReadText(r, &part)) {
            longer = listpackAppend(lp, part.text);
            rdbTextFree(&part);
        }
        if (!longer) listpackFree(lp);
        lp = longer;
    }
    return lp;
}

static void *readTable(rdbReader *r, timeForm form, int *encoding) {
    uint64_t count;
    if (!rdbReadCount(r, &count) || count == 0) return NULL;
    rdbReader start = *r;
    size_t longest = 0;
    hashTableRoot *root = hashRootCreate(count < EXPAND_AHEAD_MAX ? count : EXPAND_AHEAD_MAX);
    for (uint64_t i = 0; i < count; i++) {
        if (!readPair(r, root, form, &longest)) {
            hashRootFree(root);
            return NULL;
        }
        longLoopStep();
    }
    *encoding = OBJ_ENC_HASHTABLE;
    if (form.place != TIME_NONE || count > (uint64_t)object_settings.hash_max_listpack_entries ||
        longest > (size_t)object_settings.hash_max_listpack_value)
        return root;
    uint8_t *lp = readListpack(&start, count);
    if (!lp) return root;
    hashRootFree(root);
    *encoding = OBJ_ENC_LISTPACK;
    return lp;
}

/* Takes a listpack of pairs (NULL: none), and returns it or, if the hash must be a table, a table. Returns NULL if it
 * is no valid hash. */
static void *valueOfListpackTake(uint8_t *lp, bool check_lengths, int *encoding) {
    hashTableRoot *root = NULL;
    if (!lp) return NULL;
    size_t count = listpackRecount(lp);
    if (count == 0 || count % 2) {
        listpackFree(lp);
        return NULL;
    }
    bool large = count / 2 > (size_t)object_settings.hash_max_listpack_entries;
    for (const uint8_t *at = check_lengths ? listpackFirst(lp) : NULL; at && !large; at = listpackNext(at)) {
        char digits[LONG_STR_SIZE];
        large = listpackText(at, digits).len > (size_t)object_settings.hash_max_listpack_value;
    }
    *encoding = large ? OBJ_ENC_HASHTABLE : OBJ_ENC_LISTPACK;
    if (!large && !listpackHasDuplicates(lp, count, 2)) return lp;
    if (large) root = hashRootOfListpack(lp);
    listpackFree(lp);
    return root;
}

/* ---- Hashes of Redis with field TTLs ---- */

/* Adds the field, value and time that begin at *at, and moves *at after them. */
static bool addTriple(hashTableRoot *root, const uint8_t **at) {
    char field_digits[LONG_STR_SIZE], value_digits[LONG_STR_SIZE];
    int64_t when_ms;
    slice field = listpackText(*at, field_digits);
    const uint8_t *value_at = listpackNext(*at), *time_at = listpackNext(value_at);
    slice value = listpackText(value_at, value_digits);
    if (!listpackInteger(time_at, &when_ms) || when_ms < 0) return false;
    *at = listpackNext(time_at);
    return rdbReserveFor(field.len + value.len) && hashRootAdd(root, field, value, when_ms ? when_ms : HASH_NO_TIME);
}

/* Returns a table of a listpack of triples, which it takes (NULL: none); NULL if it is no valid hash. */
static void *tableOfTriplesTake(uint8_t *lp, int *encoding) {
    if (!lp) return NULL;
    hashTableRoot *root = NULL;
    size_t count = listpackRecount(lp);
    if (count && count % 3 == 0) root = hashRootCreate(count / 3);
    for (const uint8_t *at = listpackFirst(lp); root && at;) {
        if (addTriple(root, &at)) continue;
        hashRootFree(root);
        root = NULL;
    }
    listpackFree(lp);
    *encoding = OBJ_ENC_HASHTABLE;
    return root;
}

static void *readRedisTable(rdbReader *r, int *encoding) {
    timeForm form = {.place = TIME_BEFORE};
    return rdbReadMs(r, &form.smallest_ms) ? readTable(r, form, encoding) : NULL;
}

static void *readRedisListpack(rdbReader *r, int *encoding) {
    int64_t smallest_ms; /* the listpack has the times themselves */
    return rdbReadMs(r, &smallest_ms) ? tableOfTriplesTake(rdbReadListpack(r, NULL), encoding) : NULL;
}

void *hashRdbRead(rdbReader *r, unsigned rdb_type, int *encoding) {
    switch (rdb_type) {
    case RDB_TYPE_HASH: return readTable(r, (timeForm){.place = TIME_NONE}, encoding);
    case RDB_TYPE_HASH_2: return readTable(r, (timeForm){.place = TIME_AFTER}, encoding);
    case RDB_TYPE_REDIS_HASH: return readRedisTable(r, encoding);
    /* A time is the distance from 1 ms after 1970, plus 1. */
    case RDB_TYPE_REDIS_HASH_RC: return readTable(r, (timeForm){TIME_BEFORE, 1}, encoding);
    case RDB_TYPE_REDIS_HASH_LISTPACK: return readRedisListpack(r, encoding);
    case RDB_TYPE_REDIS_HASH_LISTPACK_RC: return tableOfTriplesTake(rdbReadListpack(r, NULL), encoding);
    case RDB_TYPE_HASH_ZIPMAP: return valueOfListpackTake(rdbReadListpack(r, zipmapToListpack), true, encoding);
    case RDB_TYPE_HASH_ZIPLIST: return valueOfListpackTake(rdbReadListpack(r, ziplistToListpack), false, encoding);
    default: return valueOfListpackTake(rdbReadListpack(r, NULL), false, encoding);
    }
}
