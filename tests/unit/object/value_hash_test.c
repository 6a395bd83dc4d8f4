/* value_hash_test.c -- compares hashes with a plain array, on both sides of each threshold, with field TTLs; RDB.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "defrag_support.h"
#include "hash.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "unit.h"
#include "value_hash.h"
#include "zmalloc.h"

#include <stdio.h>

#define NAMES 60
#define BYTES_MAX 400                        /* of a name, and of nearly all values */
#define VALUE_MAX (HASH_VALUE_OBJECT + 2000) /* both below and above the size of a separate string object */

typedef struct modelField {
    bool there;
    int64_t when_ms;
    size_t len;
    char value[VALUE_MAX];
} modelField;

static void ready(long long entries, long long value) {
    objectTypesRegister();
    object_settings.hash_max_listpack_entries = entries;
    object_settings.hash_max_listpack_value = value;
    object_expire_cutoff_ms = 1000;
}

static slice nameOf(unsigned i, char *buf) {
    /* Some names are integers, one is long, one longer than a length byte can tell. */
    size_t len = (size_t)snprintf(buf, BYTES_MAX, i % 3 ? "field:%u" : "%u", i);
    if (i == 7 || i == 8) {
        memset(buf, i == 7 ? 'x' : 'y', BYTES_MAX);
        len = i == 7 ? 127 : 300;
    }
    return sliceOf(buf, len);
}

static uint64_t hashOf(slice name) { return hashBytes(name.ptr, name.len); }

static void checkAgainst(const robj *o, const modelField *model) {
    char buf[BYTES_MAX];
    size_t there = 0, seen = 0;
    hashPair pair;
    for (unsigned i = 0; i < NAMES; i++) {
        slice name = nameOf(i, buf);
        bool live = model[i].there && !(model[i].when_ms != HASH_NO_TIME && model[i].when_ms < object_expire_cutoff_ms);
        there += model[i].there;
        if (!CHECK(hashFind(o, name, hashOf(name), &pair) == live) || !live) continue;
        CHECK(sliceEq(pair.value, sliceOf(model[i].value, model[i].len)));
        CHECK_EQ_INT(pair.when_ms, model[i].when_ms);
    }
    CHECK_EQ_INT(hashLength(o), there);
    hashIter it;
    hashIterBegin(&it, o);
    while (hashIterNext(&it)) seen++;
    hashIterEnd(&it);
    CHECK_EQ_INT(seen, there);
    hash_type_ops.check(objectStructure(o), o->encoding);
}

/* Returns a copy of the value written as RDB and read again. */
static robj *throughRdb(const robj *o) {
    sds bytes = rdbValueBytes(o, true);
    rdbReader r = {bytes, bytes + sdsLen(bytes)};
    robj *copy = rdbReadValue(&r, sliceStr("copy"), false);
    CHECK(copy && r.p == r.end);
    sdsFree(bytes);
    return copy;
}

/* Returns an expired time, one in the future, or one near the limits of six bytes. */
static int64_t drawTime(uint64_t *seed) {
    if (unitRandom(seed) % 8 == 0) return (int64_t)(((uint64_t)1 << 48) - 4 + unitRandom(seed) % 8);
    if (unitRandom(seed) % 8 == 0) return INT64_MAX - (int64_t)(unitRandom(seed) % 2);
    return unitRandom(seed) % 3 == 0 ? (int64_t)(unitRandom(seed) % 1000) : 2000 + (int64_t)(unitRandom(seed) % 1000);
}

static size_t drawValue(uint64_t *seed, char *value) {
    if (unitRandom(seed) % 16 == 0) {
        size_t len = HASH_VALUE_OBJECT - 2 + (unitRandom(seed) % 2 ? unitRandom(seed) % 4 : unitRandom(seed) % 2000);
        memset(value, (int)('a' + unitRandom(seed) % 26), len);
        return len;
    }
    if (unitRandom(seed) % 3 == 0) return (size_t)snprintf(value, BYTES_MAX, "%d", (int)(unitRandom(seed) % 100000));
    size_t len = unitRandom(seed) % 4 ? unitRandom(seed) % 20 : unitRandom(seed) % BYTES_MAX;
    memset(value, (int)('a' + unitRandom(seed) % 26), len);
    return len;
}

/* References to values that outlive changes of the hash, as replies have them. */
#define HELD_MAX 16
static struct {
    robj *object; /* counted; or NULL */
    size_t len;
    char byte;
} held[HELD_MAX];

static void letGo(unsigned i) {
    if (!held[i].object) return;
    slice value = objectRawString(held[i].object);
    CHECK_EQ_INT(value.len, held[i].len);
    CHECK(value.ptr[0] == held[i].byte && memcmp(value.ptr, value.ptr + 1, value.len - 1) == 0);
    if (objectIsShared(held[i].object)) objectDropBorrowed(held[i].object);
    else decrRefCount(held[i].object);
    held[i].object = NULL;
}

/* Replaces a reference by one to the value of a present field. */
static void holdValue(const robj *o, slice name, unsigned i) {
    hashPair pair;
    letGo(i);
    if (!hashFind(o, name, hashOf(name), &pair)) return;
    CHECK((pair.object != NULL) == (o->encoding == OBJ_ENC_HASHTABLE && pair.value.len >= HASH_VALUE_OBJECT));
    if (!pair.object) return;
    held[i].object = pair.object;
    held[i].len = pair.value.len;
    held[i].byte = pair.value.ptr[0];
    incrRefCount(pair.object);
}

/* With `give`, a large value is passed with its ownership and not copied. */
static hashSetResult setAnyWay(robj *o, slice name, slice value, int64_t when_ms, bool give) {
    if (!give || value.len < HASH_VALUE_OBJECT || !hashTable(o)) return hashSet(o, name, hashOf(name), value, when_ms);
    robj *object = objectCreateString(sliceOf(NULL, 0), value, false, object_main_owner);
    return hashSetObjectTake(o, name, hashOf(name), object, when_ms);
}

static void countGone(void *arg, slice name) {
    CHECK(name.len > 0);
    (*(size_t *)arg)++;
}

static void runModel(long long entries, long long value, bool times, size_t rounds) {
    static modelField model[NAMES];
    uint64_t seed = unitRandomSeed() + (uint64_t)entries;
    char buf[BYTES_MAX];
    defragCursor cursor = {0};
    ready(entries, value);
    memset(model, 0, sizeof(model));
    size_t used = zmallocUsed();
    robj *o = hashCreate(sliceStr("key"));
    for (size_t round = 0; round < rounds; round++) {
        unsigned i = (unsigned)(unitRandom(&seed) % NAMES);
        modelField *m = &model[i];
        slice name = nameOf(i, buf);
        unsigned what = (unsigned)(unitRandom(&seed) % 8);
        bool over = m->there && m->when_ms != HASH_NO_TIME && m->when_ms < object_expire_cutoff_ms;
        if (what < 4) {
            int64_t when_ms = !times || what < 2 ? HASH_NO_TIME : what == 2 ? HASH_KEEP_TIME : drawTime(&seed);
            m->len = drawValue(&seed, m->value);
            hashPrepare(o, 1, name.len > m->len ? name.len : m->len);
            hashSetResult want = !m->there ? HASH_ADDED : over ? HASH_REPLACED_EXPIRED : HASH_REPLACED;
            CHECK_EQ_INT(setAnyWay(o, name, sliceOf(m->value, m->len), when_ms, unitRandom(&seed) % 2), want);
            if (when_ms != HASH_KEEP_TIME) m->when_ms = when_ms;
            else if (!m->there || over) m->when_ms = HASH_NO_TIME;
            m->there = true;
        } else if (what < 6) {
            CHECK(hashDelete(o, name, hashOf(name)) == m->there);
            m->there = false;
        } else if (what == 6 && times && m->there) {
            m->when_ms = unitRandom(&seed) % 2 ? drawTime(&seed) : HASH_NO_TIME;
            hashSetTime(o, name, hashOf(name), m->when_ms);
        } else if (times && unitRandom(&seed) % 8 == 0 && objectHasTtls(o)) {
            int64_t before = (int64_t)(unitRandom(&seed) % 1000);
            bool empty, told = unitRandom(&seed) % 2;
            size_t gone = 0, due = 0,
                   dropped = objectExpireElements(o, before, 1000, &empty, told ? countGone : NULL, &gone);
            for (unsigned j = 0; j < NAMES; j++)
                if (model[j].there && model[j].when_ms != HASH_NO_TIME && model[j].when_ms < before)
                    model[j].there = false, due++;
            CHECK_EQ_INT(dropped, due);
            CHECK_EQ_INT(gone, told ? due : 0);
            CHECK(empty == (hashLength(o) == 0));
        }
        CHECK(o->encoding == OBJ_ENC_HASHTABLE || hashLength(o) <= (size_t)entries);
        if (round % 3 == 0) defragPiece(o, &cursor, &seed);
        holdValue(o, nameOf((unsigned)(unitRandom(&seed) % NAMES), buf), (unsigned)(unitRandom(&seed) % HELD_MAX));
        if (round % 50) continue;
        checkAgainst(o, model);
        if (hashLength(o) == 0) continue;
        robj *copy = throughRdb(o);
        checkAgainst(copy, model);
        decrRefCount(copy);
        copy = objectDup(o, sliceStr("dup"));
        hash_type_ops.check(objectStructure(copy), copy->encoding);
        decrRefCount(copy);
    }
    decrRefCount(o);
    for (unsigned i = 0; i < HELD_MAX; i++) letGo(i);
    CHECK_EQ_INT(zmallocUsed(), used);
}

TEST(hash_agrees_with_an_array) {
    runModel(512, 64, false, 4000);
    runModel(512, 100000, false, 4000);
    runModel(8, 64, false, 4000);
    runModel(0, 0, false, 3000);
    runModel(512, 64, true, 8000);
    runModel(0, 0, true, 8000);
}

/* Defragmentation covers fields, separate values, and leaves of the index. */
TEST(hash_defragmentation_meets_every_field) {
    enum { FIELDS = 3000 };
    char buf[BYTES_MAX], value[200];
    ready(0, 0);
    memset(value, 'v', sizeof(value));
    robj *o = hashCreate(sliceStr("key"));
    for (int i = 0; i < FIELDS; i++) {
        slice name = sliceOf(buf, (size_t)snprintf(buf, BYTES_MAX, "f%d", i));
        hashSet(o, name, hashOf(name), sliceOf(value, i % 2 ? 200 : 5), i % 3 ? 2000 + i : HASH_NO_TIME);
    }
    CHECK(defragWhole(o) >= FIELDS + FIELDS / 2 + FIELDS * 2 / 3 / 512);
    hash_type_ops.check(objectStructure(o), o->encoding);
    decrRefCount(o);
}

TEST(hash_field_is_small) {
    char name[] = "field:00", value[] = "abc";
    hashField *f = hashFieldCreate(sliceOf(name, 8), sliceOf(value, 3), HASH_NO_TIME);
    CHECK(hashFieldMemUsage(f) <= 16 || !strcmp(zmallocLibrary(), "libc"));
    f = hashFieldSetTimeTake(f, 77);
    CHECK_EQ_INT(hashFieldTime(f), 77);
    CHECK(sliceEq(hashFieldName(f), sliceOf(name, 8)) && sliceEq(hashFieldValue(f), sliceOf(value, 3)));
    f = hashFieldSetTimeTake(f, HASH_NO_TIME);
    CHECK_EQ_INT(hashFieldTime(f), HASH_NO_TIME);
    hashFieldFree(f);
}

TEST(hash_random_finds_the_few_that_are_not_over) {
    ready(0, 0);
    robj *o = hashCreate(sliceStr("key"));
    hashPair pair;
    char buf[BYTES_MAX];
    for (unsigned i = 0; i < 1000; i++) {
        slice name = sliceOf(buf, (size_t)snprintf(buf, sizeof(buf), "f%u", i));
        hashSet(o, name, hashOf(name), sliceStr("v"), i == 500 ? HASH_NO_TIME : 10);
    }
    for (int i = 0; i < 50; i++) CHECK(hashRandom(o, &pair) && sliceEq(pair.name, sliceStr("f500")));
    hashDelete(o, sliceStr("f500"), hashOf(sliceStr("f500")));
    CHECK(!hashRandom(o, &pair));
    decrRefCount(o);
}

/* ---- RDB ---- */

static robj *readHex(const char *hex, size_t *left) {
    static char bytes[4096];
    size_t n = 0;
    for (; hex[0] && hex[1]; hex += 2) {
        unsigned byte;
        CHECK(sscanf(hex, "%2x", &byte) == 1);
        bytes[n++] = (char)byte;
    }
    rdbReader r = {bytes, bytes + n};
    robj *o = rdbReadValue(&r, sliceStr("key"), false);
    if (left) *left = (size_t)(r.end - r.p);
    return o;
}

TEST(hash_reads_every_type_of_value) {
    ready(512, 64);
    static const struct {
        const char *hex, *encoding;
    } values[] = {
        {"0402016101620163", NULL}, /* wrong count */
        {"0401016101"
         "62",
         "listpack"},                                   /* type 4: a, b */
        {"0400", NULL},                                 /* empty */
        {"04020161016201610162", NULL},                 /* duplicate field */
        {"160101610162ffffffffffffffff", "hashtable"},  /* type 22, no TTL */
        {"160101610162e803000000000000", "hashtable"},  /* type 22, with a TTL */
        {"160101610162feffffffffffffff", NULL},         /* type 22, invalid time -2 */
        {"100d0d0000000200816102816202ff", "listpack"}, /* type 16: a, b */
        {"10070700000000"
         "00ff",
         NULL}, /* type 16: empty */
        {"100a0a000000010081"
         "6102ff",
         NULL}, /* type 16: a field without value */
        {"101313000000040081610281620281610281620"
         "2ff",
         NULL},                         /* type 16: duplicate field */
        {"090801016101006201ff", NULL}, /* type 9: wrong length */
    };
    for (size_t i = 0; i < array_len(values); i++) {
        robj *o = readHex(values[i].hex, NULL);
        if (!CHECK((o != NULL) == (values[i].encoding != NULL))) fprintf(stderr, "value %zu\n", i);
        if (!o) continue;
        CHECK_EQ_STR(objectEncodingName(o), values[i].encoding);
        hashPair pair;
        CHECK(hashFind(o, sliceStr("a"), hashOf(sliceStr("a")), &pair) && sliceEq(pair.value, sliceStr("b")));
        decrRefCount(o);
    }
}

/* A value that is cut off is rejected; one with changed bytes is rejected or valid. */
TEST(hash_survives_damaged_values) {
    uint64_t seed = unitRandomSeed();
    char buf[BYTES_MAX];
    for (int kind = 0; kind < 3; kind++) {
        ready(kind ? 0 : 512, 64);
        robj *o = hashCreate(sliceStr("key"));
        for (unsigned i = 0; i < 12; i++) {
            slice name = nameOf(i, buf);
            hashSet(o, name, hashOf(name), sliceStr(i % 2 ? "value" : "12345"), kind == 2 ? 5000 + i : HASH_NO_TIME);
        }
        sds bytes = rdbValueBytes(o, kind == 1);
        for (size_t cut = 1; cut < sdsLen(bytes); cut++) {
            rdbReader r = {bytes, bytes + cut};
            CHECK(!rdbReadValue(&r, sliceStr("cut"), false));
        }
        for (int round = 0; round < 3000; round++) {
            size_t at = 1 + unitRandom(&seed) % (sdsLen(bytes) - 1);
            char was = bytes[at];
            bytes[at] = (char)(was ^ (char)(1u << unitRandom(&seed) % 8));
            rdbReader r = {bytes, bytes + sdsLen(bytes)};
            robj *read = rdbReadValue(&r, sliceStr("flipped"), false);
            bytes[at] = was;
            if (!read) continue;
            hash_type_ops.check(objectStructure(read), read->encoding);
            decrRefCount(read);
        }
        sdsFree(bytes);
        decrRefCount(o);
    }
}
