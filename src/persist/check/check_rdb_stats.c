/* check_rdb_stats.c -- statistics of a snapshot: its keys by database and type, their sizes, and the largest keys.
 *
 * Up to SAMPLES_KEPT samples are stored exactly; then they move to a histogram whose steps are a thousandth of the
 * value, so that memory does not grow with the number of keys. Percentiles are always computed by a histogram, so their
 * precision does not depend on the number of samples.
 *
 * Not here    how figures are printed (check_rdb_report.c).
 * Owns        the statistics.
 * Threads     one at a time.
 * Invariants  1. Databases are in the order of their numbers.
 *             2. Memory is 1 KB for a type in a database, 380 KB once it has more than SAMPLES_KEPT keys or elements,
 *                and that for at most DATABASES_MAX databases.
 *             3. The largest keys are a heap with the smallest first, until they are sorted.
 * Cost        a key: a walk over its elements; one comparison if it is not among the largest.
 * Tests       tests/unit/persist/check/check_rdb_test.c, tests/persist/check_rdb.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_stats.h"

#include "check_rdb_text.h"
#include "heap.h"
#include "histogram.h"
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_stream_groups.h"
#include "value_zset.h"
#include "zmalloc.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES_KEPT 64
#define SAMPLE_MAX (INT64_C(1) << 32) /* in percentiles, larger values count as this one */
#define SAMPLE_DIGITS 3
#define DATABASES_MAX 256

struct checkRdbSamples {
    size_t count; /* of `kept`, while there is no histogram */
    int64_t kept[SAMPLES_KEPT];
    histogram *all; /* owns; NULL while there are few samples */
};

typedef struct dbStats {
    uint32_t db;
    checkRdbTypeStats types[OBJ_TYPES];
} dbStats;

struct checkRdbStats {
    dbStats **dbs; /* owns */
    size_t count, capacity;
    uint64_t left_out;
};

/* ---- Samples ---- */

/* Returns a histogram of the stored samples, with counters for values up to `highest`. */
static histogram *histogramOf(const checkRdbSamples *s, int64_t highest) {
    histogram *h = histogramCreate(1, highest, SAMPLE_DIGITS);
    for (size_t i = 0; i < s->count; i++) histogramRecord(h, s->kept[i]);
    return h;
}

static void addSample(checkRdbSamples **samples, uint64_t value) {
    if (!*samples) *samples = zcalloc(1, sizeof(**samples));
    checkRdbSamples *s = *samples;
    int64_t n = value < (uint64_t)SAMPLE_MAX ? (int64_t)value : SAMPLE_MAX;
    if (!s->all && s->count == SAMPLES_KEPT) s->all = histogramOf(s, SAMPLE_MAX);
    if (s->all) histogramRecord(s->all, n);
    else s->kept[s->count++] = n;
}

static void freeSamples(checkRdbSamples *s) {
    if (!s) return;
    histogramFree(s->all);
    zfree(s);
}

uint64_t checkRdbPercentile(const checkRdbSamples *s, double percentile) {
    if (!s) return 0;
    if (s->all) return (uint64_t)histogramPercentile(s->all, percentile);
    int64_t highest = 2;
    for (size_t i = 0; i < s->count; i++)
        if (s->kept[i] > highest) highest = s->kept[i];
    histogram *h = histogramOf(s, highest);
    uint64_t value = (uint64_t)histogramPercentile(h, percentile);
    histogramFree(h);
    return value;
}

/* ---- Databases ---- */

/* Returns the index of the first database whose number is not below `db`. */
static size_t indexOfDb(const checkRdbStats *s, uint32_t db) {
    size_t from = 0, to = s->count;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (s->dbs[mid]->db < db) from = mid + 1;
        else to = mid;
    }
    return from;
}

static dbStats *makeDb(checkRdbStats *s, uint32_t db) {
    size_t at = indexOfDb(s, db);
    if (at < s->count && s->dbs[at]->db == db) return s->dbs[at];
    if (s->count == DATABASES_MAX) return NULL;
    s->dbs = zgrowArray(s->dbs, s->count, &s->capacity, sizeof(*s->dbs));
    memmove(s->dbs + at + 1, s->dbs + at, (s->count - at) * sizeof(*s->dbs));
    s->count++;
    s->dbs[at] = zcalloc(1, sizeof(dbStats));
    s->dbs[at]->db = db;
    return s->dbs[at];
}

checkRdbStats *checkRdbStatsCreate(void) { return zcalloc(1, sizeof(checkRdbStats)); }

void checkRdbStatsFree(checkRdbStats *s) {
    if (!s) return;
    for (size_t i = 0; i < s->count; i++) {
        for (int type = 0; type < OBJ_TYPES; type++) {
            freeSamples(s->dbs[i]->types[type].counts);
            freeSamples(s->dbs[i]->types[type].sizes);
        }
        zfree(s->dbs[i]);
    }
    zfree(s->dbs);
    zfree(s);
}

bool checkRdbStatsNextDb(const checkRdbStats *s, size_t *next, uint32_t *db) {
    if (*next == s->count) return false;
    *db = s->dbs[(*next)++]->db;
    return true;
}

const checkRdbTypeStats *checkRdbStatsOf(const checkRdbStats *s, uint32_t db, objectTypeId type) {
    size_t at = indexOfDb(s, db);
    if (at == s->count || s->dbs[at]->db != db || s->dbs[at]->types[type].keys == 0) return NULL;
    return &s->dbs[at]->types[type];
}

uint64_t checkRdbStatsLeftOut(const checkRdbStats *s) { return s->left_out; }

/* ---- Keys ---- */

static void addElement(checkRdbTypeStats *t, size_t bytes) {
    t->elements++;
    t->value_bytes += bytes;
    if (bytes > t->element_max) t->element_max = bytes;
    addSample(&t->sizes, bytes);
}

static void addList(checkRdbTypeStats *t, const robj *o) {
    valueListIter it;
    listpackValue v;
    char digits[LONG_STR_SIZE];
    valueListIterBegin(&it, o, 0, false);
    while (valueListIterNext(&it, &v)) addElement(t, v.str ? v.len : ll2string(digits, v.num));
    valueListIterEnd(&it);
}

static void addSet(checkRdbTypeStats *t, const robj *o) {
    setIterator it;
    setMember m;
    char digits[LONG_STR_SIZE];
    setIterBegin(&it, o);
    while (setIterNext(&it, &m)) addElement(t, setMemberText(&m, digits).len);
    setIterEnd(&it);
}

/* The size of an element is that of the member plus the digits of its score. */
static void addZset(checkRdbTypeStats *t, const robj *o) {
    zsetIter it = zsetIterAt(o, 0, false);
    zsetElement e;
    char digits[DOUBLE_STR_SIZE];
    while (zsetIterNext(&it, &e)) addElement(t, e.member.len + d2shortest(digits, sizeof(digits), e.score));
}

static void addHash(checkRdbTypeStats *t, const robj *o) {
    hashIter it;
    hashIterBegin(&it, o);
    for (const hashPair *p; (p = hashIterNext(&it)) != NULL;) addElement(t, p->name.len + p->value.len);
    hashIterEnd(&it);
}

static void addStream(checkRdbTypeStats *t, const robj *o) {
    streamIterator it;
    streamId id;
    size_t fields;
    char field_digits[LONG_STR_SIZE], value_digits[LONG_STR_SIZE];
    streamIterBegin(&it, objectStructure(o), STREAM_ID_MIN, STREAM_ID_MAX, false);
    while (streamIterNext(&it, &id, &fields)) {
        size_t bytes = 0;
        for (size_t i = 0; i < fields; i++) {
            slice field, value;
            streamIterField(&it, &field, &value, field_digits, value_digits);
            bytes += field.len + value.len;
        }
        addElement(t, bytes);
    }
    streamIterEnd(&it);
}

static void addElements(checkRdbTypeStats *t, const checkRdbKey *key) {
    char digits[LONG_STR_SIZE];
    if (key->type == OBJ_MODULE) addElement(t, key->file_bytes);
    if (!key->value) return;
    switch (key->type) {
    case OBJ_STRING: addElement(t, objectString(key->value, digits).len); break;
    case OBJ_LIST: addList(t, key->value); break;
    case OBJ_SET: addSet(t, key->value); break;
    case OBJ_ZSET: addZset(t, key->value); break;
    case OBJ_HASH: addHash(t, key->value); break;
    case OBJ_STREAM: addStream(t, key->value); break;
    case OBJ_MODULE:
    case OBJ_TYPES: break;
    }
}

uint64_t checkRdbStatsAdd(checkRdbStats *s, const checkRdbKey *key) {
    dbStats *db = makeDb(s, key->db);
    if (!db) {
        s->left_out++;
        return 0;
    }
    checkRdbTypeStats *t = &db->types[key->type];
    uint64_t before = t->elements;
    t->keys++;
    t->expire_keys += key->has_expire;
    t->expired_keys += key->is_expired;
    t->key_bytes += key->name_bytes;
    addElements(t, key);
    uint64_t elements = t->elements - before;
    if (elements > t->elements_max) t->elements_max = elements;
    addSample(&t->counts, elements);
    return elements;
}

/* ---- The largest keys ---- */

/* Returns true if `a` has fewer bytes than `b`, or as many but comes after it in the file. */
static bool isSmaller(const void *a, const void *b) {
    const checkRdbBig *k = a, *l = b;
    return k->bytes != l->bytes ? k->bytes < l->bytes : k->offset > l->offset;
}

static const heapType big_type = {.size = sizeof(checkRdbBig), .before = isSmaller};

void checkRdbBiggestAdd(checkRdbBiggest *b, const checkRdbBig *big, slice name) {
    if (b->capacity == 0 || (b->count == b->capacity && !isSmaller(&b->keys[0], big))) return;
    if (!b->keys) b->keys = zcalloc(b->capacity, sizeof(*b->keys));
    heap keys = {.type = &big_type, .at = b->keys, .count = b->count, .capacity = b->capacity};
    checkRdbBig kept = *big;
    kept.name = checkRdbText(name);
    if (b->count < b->capacity) {
        heapAdd(&keys, &kept);
        b->count++;
    } else {
        sdsFree(b->keys[0].name);
        heapReplace(&keys, 0, &kept);
    }
}

static int largestFirst(const void *a, const void *b) {
    return isSmaller(a, b) ? 1 : -1; /* no two have the same offset */
}

void checkRdbBiggestSort(checkRdbBiggest *b) {
    if (b->count) qsort(b->keys, b->count, sizeof(*b->keys), largestFirst);
}

void checkRdbBiggestFree(checkRdbBiggest *b) {
    for (size_t i = 0; i < b->count; i++) sdsFree(b->keys[i].name);
    zfree(b->keys);
    *b = (checkRdbBiggest){0};
}
