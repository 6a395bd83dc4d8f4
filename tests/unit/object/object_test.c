/* object_test.c -- compares entries with a naive model: every way to create, change, rename, copy and share them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define MODEL_BYTES 80000

/* The expected state of the entry. */
typedef struct model {
    char key[MODEL_BYTES], value[MODEL_BYTES];
    size_t key_len, value_len;
    int64_t expire;
    uint32_t lru;
} model;

static const size_t key_lens[] = {0, 1, 16, 31, 32, 47, 100, 126, 127, 255, 256, 65534, 65535, 65536, 70000};
static model m;
static uint64_t state;

static size_t pick(size_t below) { return (size_t)(unitRandom(&state) % below); }

static void randomBytes(char *out, size_t len) {
    for (size_t i = 0; i < len; i++) out[i] = (char)(i % 8 == 0 ? unitRandom(&state) : (uint64_t)out[i - 1] * 31 + i);
}

static void pickKey(void) {
    m.key_len = key_lens[pick(array_len(key_lens))];
    randomBytes(m.key, m.key_len);
}

static void pickValue(void) {
    static const size_t limits[] = {4, 30, 130, 600, 5000, 70000};
    if (pick(4) == 0) {
        m.value_len = (size_t)snprintf(m.value, 32, "%lld", (long long)unitRandom(&state));
        return;
    }
    m.value_len = pick(limits[pick(array_len(limits))]);
    randomBytes(m.value, m.value_len);
}

static slice modelKey(void) { return sliceOf(m.key, m.key_len); }
static slice modelValue(void) { return sliceOf(m.value, m.value_len); }

static bool same(const robj *o) {
    char digits[LONG_STR_SIZE];
    int held = CHECK(sliceEq(objectKey(o), modelKey()));
    held += CHECK(sliceEq(objectString(o, digits), modelValue()));
    held += CHECK_EQ_INT(objectStringLen(o), m.value_len);
    held += CHECK_EQ_INT(objectExpire(o), m.expire);
    held += CHECK_EQ_INT(o->lru, m.lru);
    held += CHECK(sliceEq(objectEntryKey(o), modelKey()));
    return held == 6;
}

static robj *make(void) {
    pickKey();
    pickValue();
    m.expire = -1;
    m.lru = 0;
    long long number;
    switch (pick(5)) {
    case 0: return objectCreateString(modelKey(), modelValue(), true, 0);
    case 1: return objectCreateTextString(modelKey(), modelValue(), pick(2), 3);
    case 2: return objectCreateRawString(modelKey(), modelValue(), 0);
    case 3: {
        char *block = zmalloc(m.value_len + 1 + pick(50));
        memcpy(block, m.value, m.value_len);
        return objectCreateFromBlockTake(modelKey(), block, m.value_len, 1);
    }
    default:
        if (string2ll(m.value, m.value_len, &number)) return objectCreateInteger(modelKey(), number, false, 0);
        return objectCreateString(modelKey(), modelValue(), false, 0);
    }
}

static robj *change(robj *o) {
    switch (pick(8)) {
    case 0: {
        m.expire = (int64_t)(unitRandom(&state) >> 20);
        return objectSetExpireTake(o, m.expire);
    }
    case 1: m.expire = -1; return objectSetExpireTake(o, -1);
    case 2: { /* append */
        size_t extra = pick(300);
        if (m.value_len + extra > MODEL_BYTES) return o;
        randomBytes(m.value + m.value_len, extra);
        o = objectMakeWritableTake(o, m.value_len + extra);
        memcpy(objectWritableBytes(o) + m.value_len, m.value + m.value_len, extra);
        m.value_len += extra;
        objectSetStringLen(o, m.value_len);
        return o;
    }
    case 3: /* shorten */
        o = objectMakeWritableTake(o, m.value_len);
        m.value_len = pick(m.value_len + 1);
        objectSetStringLen(o, m.value_len);
        return o;
    case 4: {
        long long n = (long long)unitRandom(&state) >> pick(60);
        m.value_len = (size_t)snprintf(m.value, 32, "%lld", n);
        return objectSetIntegerTake(o, n);
    }
    case 5: pickKey(); return objectRenameTake(o, modelKey());
    case 6: {
        pickKey();
        robj *copy = objectDup(o, modelKey());
        decrRefCount(o);
        return copy;
    }
    default:
        m.lru = (uint32_t)pick(1 << 24);
        o->lru = m.lru & 0xffffff;
        return o;
    }
}

TEST(object_random_changes_match_a_model) {
    state = unitRandomSeed();
    size_t used = zmallocUsed();
    for (int round = 0; round < 600; round++) {
        robj *o = make();
        if (!same(o)) return;
        for (int i = 0; i < 25; i++) {
            o = change(o);
            if (!same(o)) return;
            (void)objectPrefetchKey(o);
            objectPrefetchValue(o);
        }
        CHECK_EQ_INT(o->refcount, 1);
        decrRefCount(o);
    }
    CHECK_EQ_INT(zmallocUsed(), used);
}

/* An unsent reply refers to the value: its bytes stay, whatever happens to the key. */
TEST(object_value_does_not_change_under_a_reference) {
    state = unitRandomSeed() + 1;
    size_t used = zmallocUsed();
    for (int round = 0; round < 3000; round++) {
        robj *o = make(), *held = o;
        char digits[LONG_STR_SIZE];
        slice seen = objectString(held, digits);
        char *copy = malloc(seen.len + 1);
        if (seen.len) memcpy(copy, seen.ptr, seen.len);
        incrRefCount(held);
        CHECK(objectIsShared(held));
        for (int i = 0; i < 4; i++) {
            o = change(o);
            if (!same(o)) return;
        }
        CHECK_MEM(seen.ptr, copy, seen.len);
        CHECK_EQ_INT(held->refcount, held == o ? 2 : 1);
        if (held == o) objectDropBorrowed(held);
        else decrRefCount(held);
        same(o);
        CHECK(!objectIsShared(o));
        decrRefCount(o);
        free(copy);
    }
    CHECK_EQ_INT(zmallocUsed(), used);
}

TEST(object_prefetch_key_names_the_line_that_lacks) {
    static const size_t lens[] = {0, 5, 20, 40, 64, 100};
    for (size_t i = 0; i < array_len(lens); i++) {
        char key[100];
        memset(key, 'k', sizeof(key));
        robj *o = objectCreateString(sliceOf(key, lens[i]), sliceStr("v"), false, 0);
        slice k = objectKey(o);
        const char *want = k.ptr + (k.len ? k.len - 1 : 0), *got = objectPrefetchKey(o);
        bool inside = (uintptr_t)o / CACHE_LINE == (uintptr_t)want / CACHE_LINE;
        CHECK(got == (inside ? NULL : want));
        decrRefCount(o);
    }
}

/* ---- A type with a structure ---- */

static int freed;
static void boxFree(void *structure) {
    freed++;
    zfree(structure);
}
static size_t boxEffort(const void *structure) {
    unused(structure);
    return 77;
}
static size_t boxUsage(const void *structure, size_t samples) {
    unused(structure);
    return 1000 + samples;
}
static void *boxDup(const void *structure) {
    int *copy = zmalloc(sizeof(int));
    *copy = *(const int *)structure;
    return copy;
}

TEST(object_structures_go_through_their_operations) {
    static const objectTypeOps ops = {.free = boxFree, .freeEffort = boxEffort, .memUsage = boxUsage, .dup = boxDup};
    objectRegisterType(OBJ_LIST, &ops);
    int *box = zmalloc(sizeof(int));
    *box = 42;
    robj *o = objectCreateTake(sliceStr("key"), OBJ_LIST, OBJ_ENC_QUICKLIST, box);
    CHECK_EQ_STR(objectTypeName(o), "list");
    CHECK_EQ_STR(objectEncodingName(o), "quicklist");
    CHECK(objectStructure(o) == box);
    CHECK_EQ_INT(objectFreeEffort(o), 77);
    CHECK_EQ_INT(objectMemUsage(o, 5), 1005 + zmallocSize(o));
    size_t without_expire = zmallocSize(o);
    o = objectSetExpireTake(o, 99); /* another allocation, with the same structure */
    CHECK(objectStructure(o) == box);
    CHECK(zmallocSize(o) >= without_expire);
    CHECK(objectSetExpireTake(o, 99) == o);
    robj *dup = objectDup(o, sliceStr("other"));
    CHECK_EQ_INT(objectExpire(dup), 99);
    CHECK(objectStructure(dup) != box && *(int *)objectStructure(dup) == 42);
    o = objectRenameTake(o, sliceStr("renamed"));
    CHECK(objectStructure(o) == box);
    CHECK(sliceEq(objectKey(o), sliceStr("renamed")));
    CHECK_EQ_INT(objectExpire(o), 99);
    decrRefCount(o);
    decrRefCount(dup);
    CHECK_EQ_INT(freed, 2);
}

TEST(object_a_structure_is_exchanged_where_the_entry_lies) {
    static const objectTypeOps ops = {.free = boxFree};
    objectRegisterType(OBJ_LIST, &ops);
    freed = 0;
    robj *o = objectCreateTake(sliceStr("key"), OBJ_LIST, OBJ_ENC_LISTPACK, zmalloc(sizeof(int)));
    int *other = zmalloc(sizeof(int));
    zfree(objectStructure(o));
    objectSetStructure(o, OBJ_ENC_QUICKLIST, other);
    CHECK(objectStructure(o) == other);
    CHECK_EQ_STR(objectEncodingName(o), "quicklist");
    CHECK(sliceEq(objectKey(o), sliceStr("key")));
    CHECK(objectElements(o) == NULL);
    decrRefCount(o);
    CHECK_EQ_INT(freed, 1);
}
