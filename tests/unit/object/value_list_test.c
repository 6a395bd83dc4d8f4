/* value_list_test.c -- compares lists with an array of texts, on both sides of the limits; RDB.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "defrag_support.h"
#include "value_list.h"

#include "digest.h"
#include "object_internal.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "unit.h"
#include "zmalloc.h"

enum { MODEL_MAX = 600, TEXT_MAX = 9000 };

typedef struct model {
    robj *o;
    char *text[MODEL_MAX]; /* own */
    size_t len[MODEL_MAX];
    size_t n;
    uint64_t rng;
} model;

static size_t pick(model *m, size_t n) { return (size_t)(unitRandom(&m->rng) % n); }

static slice modelAt(const model *m, size_t i) { return sliceOf(m->text[i], m->len[i]); }

static void modelPut(model *m, size_t at, slice value) {
    memmove(m->text + at + 1, m->text + at, (m->n - at) * sizeof(char *));
    memmove(m->len + at + 1, m->len + at, (m->n - at) * sizeof(size_t));
    m->text[at] = zmalloc(value.len + 1);
    memcpy(m->text[at], value.ptr, value.len);
    m->len[at] = value.len;
    m->n++;
}

static void modelTake(model *m, size_t at, size_t n) {
    for (size_t i = at; i < at + n; i++) zfree(m->text[i]);
    memmove(m->text + at, m->text + at + n, (m->n - at - n) * sizeof(char *));
    memmove(m->len + at, m->len + at + n, (m->n - at - n) * sizeof(size_t));
    m->n -= n;
}

static slice randomValue(model *m, char *buf) {
    size_t kind = pick(m, 30), len = kind < 24 ? 1 + pick(m, 3) : kind < 29 ? 60 + pick(m, 70) : 4000 + pick(m, 4300);
    if (kind < 12) return sliceOf(buf, ll2string(buf, (int64_t)unitRandom(&m->rng) >> pick(m, 64)));
    memset(buf, (int)('a' + pick(m, 3)), len);
    return sliceOf(buf, len);
}

static bool valueIs(const listpackValue *v, slice want) {
    char digits[LONG_STR_SIZE];
    return sliceEq(v->str ? sliceOf(v->str, v->len) : sliceOf(digits, ll2string(digits, v->num)), want);
}

static void checkContent(const robj *o, const model *m) {
    const objectTypeOps *ops = objectOps(OBJ_LIST);
    valueListIter it;
    listpackValue v;
    size_t n = 0;
    ops->check(objectStructure(o), o->encoding);
    if (!CHECK_EQ_INT(valueListCount(o), m->n)) return;
    valueListIterBegin(&it, o, 0, false);
    for (; valueListIterNext(&it, &v); n++)
        if (!CHECK(n < m->n && valueIs(&v, modelAt(m, n)))) break;
    CHECK_EQ_INT(n, m->n);
    valueListIterEnd(&it);
}

/* Reading runs gives the same elements as single steps. */
static void checkRuns(model *m) {
    valueListIter it;
    const uint8_t *lp, *at;
    slice plain;
    bool backward = pick(m, 2);
    size_t number = pick(m, m->n), left = backward ? number + 1 : m->n - number;
    valueListIterBegin(&it, m->o, (long)number, backward);
    for (size_t n; left && (n = valueListIterRun(&it, left, &lp, &at, &plain)); left -= n) {
        if (!at) CHECK(sliceEq(plain, modelAt(m, number)));
        for (size_t i = 0; i < n; i++, number += backward ? SIZE_MAX : 1) {
            if (!at) continue;
            CHECK(listpackEquals(at, modelAt(m, number)));
            at = backward ? listpackPrev(lp, at) : listpackNext(at);
        }
    }
    CHECK_EQ_INT(left, 0);
    valueListIterEnd(&it);
}

static digest digestOf(const robj *o) {
    digest d = {{0}};
    digestMixValue(&d, o);
    return d;
}

/* A copy, and a list written and read again, are equal; the test continues with one of them. */
static void roundTrip(model *m) {
    sds bytes = rdbValueBytes(m->o, pick(m, 2));
    rdbReader r = {bytes, bytes + sdsLen(bytes)};
    robj *read = rdbReadValue(&r, sliceStr("key"), false), *copy = objectDup(m->o, sliceStr("key"));
    if (CHECK(read != NULL) && CHECK(r.p == r.end)) {
        digest d = digestOf(m->o), of_read = digestOf(read), of_copy = digestOf(copy);
        CHECK_MEM(of_read.bytes, d.bytes, DIGEST_BYTES);
        CHECK_MEM(of_copy.bytes, d.bytes, DIGEST_BYTES);
        CHECK_EQ_INT(copy->encoding, m->o->encoding);
        decrRefCount(copy);
        decrRefCount(m->o);
        m->o = read;
    }
    sdsFree(bytes);
}

static void opPush(model *m, char *buf) {
    slice values[8];
    listEnd end = pick(m, 2) ? LIST_HEAD : LIST_TAIL;
    size_t n = 1 + pick(m, 8), used = 0;
    if (m->n + n > MODEL_MAX) return;
    for (size_t i = 0; i < n; i++) {
        values[i] = randomValue(m, buf + used);
        used += values[i].len;
        if (used > TEXT_MAX) n = i + 1;
    }
    valueListPush(m->o, end, values, n);
    for (size_t i = 0; i < n; i++) modelPut(m, end == LIST_HEAD ? 0 : m->n, values[i]);
}

static void opDrop(model *m) {
    listEnd end = pick(m, 2) ? LIST_HEAD : LIST_TAIL;
    size_t n = pick(m, pick(m, 8) ? 5 : 60);
    valueListDrop(m->o, end, n);
    if (n > m->n) n = m->n;
    modelTake(m, end == LIST_HEAD ? 0 : m->n - n, n);
}

static void opPut(model *m, char *buf) {
    if (m->n == 0 || m->n == MODEL_MAX) return;
    size_t at = pick(m, m->n);
    listpackWhere where = (listpackWhere)pick(m, 3);
    slice value = randomValue(m, buf);
    valueListIter it;
    listpackValue v;
    valueListGrow(m->o, value);
    valueListIterBegin(&it, m->o, pick(m, 2) ? (long)at : (long)at - (long)m->n, false);
    CHECK(valueListIterNext(&it, &v) && valueIs(&v, modelAt(m, at)));
    valueListPut(m->o, &it, where, value);
    if (where == LISTPACK_REPLACE) modelTake(m, at, 1);
    modelPut(m, at + (where == LISTPACK_AFTER), value);
}

static void opDeleteEqual(model *m, char *buf) {
    if (m->n == 0) return;
    slice of = modelAt(m, pick(m, m->n)), value = sliceOf(buf, of.len);
    memcpy(buf, of.ptr, of.len);
    size_t max = pick(m, 3) ? 1 + pick(m, 3) : SIZE_MAX, gone = 0;
    bool from_tail = pick(m, 2);
    for (size_t i = 0, n = m->n; i < n && gone < max; i++) {
        size_t at = from_tail ? n - 1 - i : i - gone;
        if (!sliceEq(modelAt(m, at), value)) continue;
        modelTake(m, at, 1);
        gone++;
    }
    CHECK_EQ_INT(valueListDeleteEqual(m->o, value, from_tail ? LIST_TAIL : LIST_HEAD, max), gone);
}

static void modelRun(uint64_t seed) {
    static model m;
    static char buf[3 * TEXT_MAX];
    m = (model){.o = valueListCreate(sliceStr("key")), .rng = seed};
    defragCursor cursor = {0};
    for (int i = 0; i < 1500; i++) {
        size_t op = pick(&m, 12);
        if (op < 4) opPush(&m, buf);
        else if (op < 8) opDrop(&m);
        else if (op < 10) opPut(&m, buf);
        else if (op < 11) opDeleteEqual(&m, buf);
        else if (m.n) roundTrip(&m);
        valueListShrink(m.o);
        if (i % 2) defragPiece(m.o, &cursor, &m.rng);
        checkContent(m.o, &m);
        if (m.n == 0) continue;
        char digits[LONG_STR_SIZE];
        CHECK(sliceEq(valueListEnd(m.o, LIST_HEAD, digits), modelAt(&m, 0)));
        CHECK(sliceEq(valueListEnd(m.o, LIST_TAIL, digits), modelAt(&m, m.n - 1)));
        checkRuns(&m);
    }
    CHECK(objectMemUsage(m.o, 0) >= sizeof(robj) && objectFreeEffort(m.o) >= 1);
    decrRefCount(m.o);
    modelTake(&m, 0, m.n);
}

TEST(list_random_operations) {
    static const int sizes[] = {-1, -2, -5, 0, 1, 2, 5, 128, 1000000};
    objectSettings saved = object_settings;
    objectTypesRegister();
    uint64_t seed = unitRandomSeed();
    for (size_t i = 0; i < array_len(sizes); i++) {
        object_settings.list_max_listpack_size = sizes[i];
        object_settings.list_compress_depth = (long long)i % 3;
        modelRun(seed + i);
    }
    object_settings = saved;
}

/* ---- RDB --------------------------------------------------------------------------------------------------------- */

static robj *readBytes(const void *bytes, size_t size) {
    char *block = zmalloc(size + 1); /* of exactly its size, at an odd address */
    memcpy(block + 1, bytes, size);
    rdbReader r = {block + 1, block + 1 + size};
    robj *o = rdbReadValue(&r, sliceStr("key"), false);
    zfree(block);
    return o;
}

static void checkRead(const void *bytes, size_t size, const char *encoding, const char *elements) {
    robj *o = readBytes(bytes, size);
    char got[200] = "", digits[LONG_STR_SIZE];
    if (!CHECK(o != NULL)) return;
    CHECK_EQ_STR(objectEncodingName(o), encoding);
    valueListIter it;
    listpackValue v;
    valueListIterBegin(&it, o, 0, false);
    while (valueListIterNext(&it, &v)) {
        slice text = v.str ? sliceOf(v.str, v.len) : sliceOf(digits, ll2string(digits, v.num));
        strncat(got, text.ptr, text.len);
        strcat(got, " ");
    }
    valueListIterEnd(&it);
    CHECK_EQ_STR(got, elements);
    decrRefCount(o);
}

/* Each RDB type, old ones too, with the values of the published examples. */
static const struct {
    const char *bytes;
    size_t size;
    const char *encoding, *elements;
} readable[] = {
#define ROW(bytes_, encoding_, elements_) \
    { bytes_, sizeof(bytes_) - 1, encoding_, elements_ }
    ROW("\x12\1\2\x10\x10\0\0\0\3\0\x81"
        "a\2\x81"
        "b\2\x81"
        "c\2\xff",
        "listpack", "a b c "),
    ROW("\x12\2\1\5plain\2\x0b\x0b\0\0\0\2\0\1\1\2\1\xff", "quicklist", "plain 1 2 "),
    ROW("\x01\3\1a\xc0\5\1c", "listpack", "a 5 c "),
    ROW("\x0a\x0f\x0f\0\0\0\x0c\0\0\0\2\0\0\xf3\2\xf6\xff", "quicklist", "2 5 "),
    ROW("\x0e\1\x0f\x0f\0\0\0\x0c\0\0\0\2\0\0\xf3\2\xf6\xff", "listpack", "2 5 "),
    ROW("\x0e\2\x0f\x0f\0\0\0\x0c\0\0\0\2\0\0\xf3\2\xf6\xff\x0f\x0f\0\0\0\x0c\0\0\0\2\0\0\xf3\2\xf6\xff", "quicklist",
        "2 5 2 5 "),
};

TEST(list_reads_every_type_that_rdb_has_had) {
    objectTypesRegister();
    for (size_t i = 0; i < array_len(readable); i++)
        checkRead(readable[i].bytes, readable[i].size, readable[i].encoding, readable[i].elements);
}

TEST(list_without_elements_or_with_odd_nodes_is_refused) {
    objectTypesRegister();
    CHECK(!readBytes("\x12\0", 2));
    CHECK(!readBytes("\x12\1\2\7\7\0\0\0\0\0\xff", 11)); /* only an empty listpack */
    CHECK(!readBytes("\x12\1\3\1a", 5));                 /* unknown kind of node */
    CHECK(!readBytes("\x12\1\1\0", 4));                  /* an empty element as a node */
    CHECK(!readBytes("\x12\1\2\7\7\0\0\0\2\0\xff", 11)); /* wrong count */
    CHECK(!readBytes("\x01\0", 2) && !readBytes("\x0e\0", 2));
    CHECK(!readBytes("\x0a\x0b\x0b\0\0\0\x0a\0\0\0\0\0\xff", 13));
    CHECK(!readBytes("\x12\x81\xff\xff\xff\xff\xff\xff\xff\xff", 10)); /* more nodes than bytes */
}

/* Checks that the bytes are rejected, or give a valid value that can be changed. */
static void tryBroken(const char *bytes, size_t size) {
    robj *o = readBytes(bytes, size);
    if (!o) return;
    if (o->type == OBJ_LIST) {
        slice value = sliceStr("one more");
        objectOps(OBJ_LIST)->check(objectStructure(o), o->encoding);
        valueListPush(o, LIST_HEAD, &value, 1);
        valueListPush(o, LIST_TAIL, &value, 1);
        CHECK(valueListDeleteEqual(o, value, LIST_HEAD, SIZE_MAX) >= 2);
        valueListDrop(o, LIST_TAIL, 2);
        objectOps(OBJ_LIST)->check(objectStructure(o), o->encoding);
    }
    decrRefCount(o);
}

TEST(list_every_cut_and_changed_byte_is_refused_or_harmless) {
    objectTypesRegister();
    for (size_t i = 0; i < array_len(readable); i++) {
        for (size_t cut = 1; cut < readable[i].size; cut++) CHECK(!readBytes(readable[i].bytes, cut));
        for (size_t at = 1; at < readable[i].size; at++) {
            char bytes[200];
            for (unsigned b = 0; b < 256; b++) {
                memcpy(bytes, readable[i].bytes, readable[i].size);
                bytes[at] = (char)b;
                tryBroken(bytes, readable[i].size);
            }
        }
    }
}

TEST(list_nodes_beyond_todays_bounds_are_kept) {
    objectSettings saved = object_settings;
    objectTypesRegister();
    robj *o = valueListCreate(sliceStr("key"));
    char text[3000];
    memset(text, 'x', sizeof(text));
    object_settings.list_max_listpack_size = -5;
    for (int i = 0; i < 15; i++) valueListPush(o, LIST_TAIL, &(slice){text, sizeof(text)}, 1);
    CHECK_EQ_STR(objectEncodingName(o), "listpack");
    sds bytes = rdbValueBytes(o, false);
    object_settings.list_max_listpack_size = -1;
    robj *read = readBytes(bytes, sdsLen(bytes));
    if (CHECK(read != NULL)) {
        CHECK_EQ_STR(objectEncodingName(read), "quicklist");
        sds again = rdbValueBytes(read, false);
        CHECK(sdsLen(again) == sdsLen(bytes) && memcmp(again, bytes, sdsLen(bytes)) == 0);
        sdsFree(again);
        decrRefCount(read);
    }
    sdsFree(bytes);
    decrRefCount(o);
    object_settings = saved;
}
