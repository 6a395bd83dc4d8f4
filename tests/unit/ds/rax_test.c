/* rax_test.c -- compares the radix tree with a sorted array of keys.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rax.h"
#include "unit.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- the model ---- */

typedef struct item {
    char *key; /* owns; exactly its bytes, so that a sanitizer detects a read beyond them */
    size_t len;
    void *value;
} item;

typedef struct model {
    rax *r;
    item *items; /* owns; in order */
    size_t count, cap;
    uint64_t rng;
} model;

static void modelInit(model *m) {
    memset(m, 0, sizeof(*m));
    m->r = raxCreate();
    m->rng = unitRandomSeed();
}

static size_t pick(model *m, size_t bound) { return (size_t)(unitRandom(&m->rng) % bound); }

static slice keyAt(const model *m, size_t i) { return sliceOf(m->items[i].key, m->items[i].len); }

/* Returns the number of smaller keys. */
static size_t rankOf(const model *m, slice key) {
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sliceCmp(keyAt(m, middle), key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool modelHas(const model *m, size_t rank, slice key) { return rank < m->count && sliceEq(keyAt(m, rank), key); }

static void *newValue(model *m) { return pick(m, 20) ? (void *)(uintptr_t)unitRandom(&m->rng) : NULL; }

static void modelAdd(model *m, slice key, bool replace) {
    size_t rank = rankOf(m, key);
    void *value = newValue(m), *old = &old;
    raxResult got = replace ? raxInsert(m->r, key, value, &old) : raxTryInsert(m->r, key, value, &old);
    if (modelHas(m, rank, key)) {
        CHECK(got == RAX_PRESENT && old == m->items[rank].value);
        if (replace) m->items[rank].value = value;
        return;
    }
    CHECK(got == RAX_ADDED && old == &old);
    if (m->count == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 16;
        m->items = zrealloc(m->items, m->cap * sizeof(item));
    }
    memmove(m->items + rank + 1, m->items + rank, (m->count - rank) * sizeof(item));
    char *copy = zmalloc(key.len);
    memcpy(copy, key.ptr, key.len);
    m->items[rank] = (item){copy, key.len, value};
    m->count++;
}

static void modelForget(model *m, size_t rank) {
    zfree(m->items[rank].key);
    m->count--;
    memmove(m->items + rank, m->items + rank + 1, (m->count - rank) * sizeof(item));
}

static void modelRemove(model *m, slice key) {
    size_t rank = rankOf(m, key);
    void *old = &old;
    bool had = modelHas(m, rank, key);
    CHECK(raxRemove(m->r, key, &old) == had);
    CHECK(old == (had ? m->items[rank].value : &old));
    if (had) modelForget(m, rank);
}

static void modelFind(model *m, slice key) {
    size_t rank = rankOf(m, key);
    bool has = modelHas(m, rank, key);
    void *value = &value;
    CHECK(raxFind(m->r, key, &value) == has);
    CHECK(value == (has ? m->items[rank].value : &value));
    void **ref = raxFindRef(m->r, key);
    CHECK((ref != NULL) == has);
    if (has && pick(m, 2)) *ref = m->items[rank].value = newValue(m);
}

/* The calls of raxEachPrefix(), in order. */
typedef struct prefixes {
    void *values[8192];
    size_t count;
} prefixes;
static void notePrefix(void *arg, void *value) {
    prefixes *p = arg;
    if (CHECK(p->count < array_len(p->values))) p->values[p->count++] = value;
}

/* Checks the keys that are prefixes of the text, by looking up each prefix. */
static void checkPrefixes(model *m, slice text) {
    static prefixes got;
    size_t want = 0;
    got.count = 0;
    raxEachPrefix(m->r, text, notePrefix, &got);
    for (size_t len = 0; len <= text.len; len++) {
        slice beginning = sliceOf(text.ptr, len);
        size_t rank = rankOf(m, beginning);
        if (!modelHas(m, rank, beginning)) continue;
        CHECK(want < got.count && got.values[want] == m->items[rank].value);
        want++;
    }
    CHECK_EQ_INT(got.count, want);
}

/* Checks that the iterator is on the element of that rank (count: on none). */
static bool standsAt(const model *m, const raxIterator *it, bool on, size_t rank) {
    if (!CHECK(on == (rank < m->count))) return false;
    if (!on) return true;
    return CHECK(sliceEq(raxIterKey(it), keyAt(m, rank))) && CHECK(raxIterValue(it) == m->items[rank].value);
}

/* Checks every seek operator with this key, and a step in each direction. */
static void checkSeeks(model *m, slice key) {
    size_t rank = rankOf(m, key), none = m->count;
    bool has = modelHas(m, rank, key);
    size_t above = rank + has, below = rank ? rank - 1 : none;
    const struct {
        raxSeekOp op;
        size_t rank;
    } want[] = {
        {RAX_SEEK_EQ, has ? rank : none},
        {RAX_SEEK_GE, rank},
        {RAX_SEEK_GT, above},
        {RAX_SEEK_LE, has ? rank : below},
        {RAX_SEEK_LT, below},
        {RAX_SEEK_FIRST, 0},
        {RAX_SEEK_LAST, m->count ? m->count - 1 : none},
    };
    raxIterator it;
    raxIterBegin(&it, m->r);
    for (size_t i = 0; i < array_len(want); i++) {
        bool on = raxIterSeek(&it, want[i].op, key);
        if (!standsAt(m, &it, on, want[i].rank)) printf("    op %d at rank %zu of %zu\n", want[i].op, rank, m->count);
        if (!on) continue;
        bool forward = pick(m, 2);
        size_t at = want[i].rank;
        for (size_t n = 0; on && n < 3; n++) {
            on = forward ? raxIterNext(&it) : raxIterPrev(&it);
            at = forward ? at + 1 : at ? at - 1 : none;
            standsAt(m, &it, on, at);
        }
        CHECK(on || !raxIterNext(&it));
    }
    raxIterEnd(&it);
}

/* Checks that exactly the keys of the model are present, in order. */
static void modelCheck(model *m) {
    raxCheck(m->r);
    CHECK_EQ_INT(raxSize(m->r), m->count);
    CHECK(raxMemUsage(m->r) > 0 && raxFreeEffort(m->r) > m->count);
    raxIterator it;
    raxIterBegin(&it, m->r);
    CHECK(!raxIterNext(&it) && !raxIterPrev(&it));
    bool on = raxIterSeek(&it, RAX_SEEK_FIRST, sliceStr(""));
    size_t i = 0;
    for (; on; on = raxIterNext(&it), i++) {
        if (!standsAt(m, &it, on, i)) break;
    }
    CHECK_EQ_INT(i, m->count);
    on = raxIterSeek(&it, RAX_SEEK_LAST, sliceStr(""));
    for (; on; on = raxIterPrev(&it), i--) {
        if (!standsAt(m, &it, on, i - 1)) break;
    }
    CHECK_EQ_INT(i, 0);
    raxIterEnd(&it);
}

/* A walk during which keys are added and removed, also the current one. */
static void walkAmidChanges(model *m, slice (*makeKey)(model *m)) {
    bool forward = pick(m, 2);
    raxIterator it;
    raxIterBegin(&it, m->r);
    bool on = raxIterSeek(&it, forward ? RAX_SEEK_FIRST : RAX_SEEK_LAST, sliceStr(""));
    while (on) {
        size_t rank = rankOf(m, raxIterKey(&it)), next;
        if (!standsAt(m, &it, on, rank)) break;
        if (pick(m, 4) == 0) raxIterSetValue(&it, m->r, m->items[rank].value = newValue(m));
        if (pick(m, 3) == 0) modelRemove(m, raxIterKey(&it));
        if (pick(m, 9) == 0) modelAdd(m, makeKey(m), true);
        if (pick(m, 9) == 0) modelRemove(m, makeKey(m));
        slice key = raxIterKey(&it);
        rank = rankOf(m, key);
        if (forward) next = rank + modelHas(m, rank, key);
        else next = rank ? rank - 1 : m->count;
        on = forward ? raxIterNext(&it) : raxIterPrev(&it);
        standsAt(m, &it, on, next);
        if (!on) break;
    }
    raxIterEnd(&it);
}

static size_t freed_values;
static void countFreed(void *value) {
    (void)value;
    freed_values++;
}

static void modelFree(model *m) {
    size_t count = m->count;
    while (m->count) modelForget(m, m->count - 1);
    freed_values = 0;
    if (pick(m, 2)) raxEmpty(m->r, countFreed), modelCheck(m);
    raxRelease(m->r, countFreed);
    CHECK_EQ_INT(freed_values, count);
    zfree(m->items);
}

/* ---- kinds of keys ---- */

static char key_bytes[8192];

/* Few letters, so that keys are prefixes of others; also the empty key. */
static slice shortKey(model *m) {
    size_t len = pick(m, 7);
    for (size_t i = 0; i < len; i++) key_bytes[i] = "ab"[pick(m, 2)];
    return sliceOf(key_bytes, len);
}
/* All bytes, many zeros, and nodes with up to 256 children. */
static slice binaryKey(model *m) {
    size_t len = 1 + pick(m, 3);
    for (size_t i = 0; i < len; i++) key_bytes[i] = (char)(pick(m, 3) ? (i ? pick(m, 8) * 36 : pick(m, 256)) : 0);
    return sliceOf(key_bytes, len);
}
/* Two bytes after sixteen equal ones: nodes change between all their layouts. */
static slice wideKey(model *m) {
    memset(key_bytes, 7, 16);
    key_bytes[13] = (char)pick(m, 4);
    key_bytes[15] = (char)pick(m, 256);
    return sliceOf(key_bytes, 16);
}
static slice idKey(model *m) {
    for (size_t i = 0; i < 16; i++) key_bytes[i] = 0;
    key_bytes[6] = (char)pick(m, 3);
    key_bytes[7] = (char)pick(m, 256);
    key_bytes[15] = (char)pick(m, 3);
    return sliceOf(key_bytes, 16);
}
/* Long runs of one byte that differ near the boundaries of segments. */
static slice longKey(model *m) {
    enum { S = RAX_SURE_KEY };
    static const size_t lens[] = {0,     1,         200,       S - 1,     S,         S + 1, S + 2, 300,
                                  2 * S, 2 * S + 1, 2 * S + 2, 2 * S + 3, 3 * S + 3, 1000,  3000,  8000};
    size_t len = lens[pick(m, array_len(lens))];
    memset(key_bytes, 'x', len);
    for (size_t n = pick(m, 3); n && len; n--) {
        size_t at = lens[pick(m, array_len(lens))] + pick(m, 3);
        if (at < len) key_bytes[at] = "wxyz"[pick(m, 4)];
    }
    if (len > 8 && pick(m, 2)) len -= pick(m, 4);
    return sliceOf(key_bytes, len);
}
static slice randomKey(model *m) {
    for (size_t i = 0; i < 16; i++) key_bytes[i] = (char)unitRandom(&m->rng);
    return sliceOf(key_bytes, 16);
}

/* Operations in waves: mostly inserting up to a random size, then mostly removing. */
static void runModel(slice (*makeKey)(model *m), int operations, size_t most) {
    model m;
    modelInit(&m);
    bool up = true;
    size_t turn = 1 + pick(&m, most);
    for (int i = 0; i < operations; i++) {
        size_t dice = pick(&m, 100);
        if (dice < (up ? 60u : 10u)) modelAdd(&m, makeKey(&m), dice % 2);
        else if (dice < 80 && m.count && pick(&m, 2)) modelRemove(&m, keyAt(&m, pick(&m, m.count)));
        else if (dice < 80) modelRemove(&m, makeKey(&m));
        else if (dice < 90) modelFind(&m, makeKey(&m)), checkPrefixes(&m, makeKey(&m));
        else checkSeeks(&m, makeKey(&m));
        if (i % 499 == 0) walkAmidChanges(&m, makeKey);
        if (m.count < 100 || i % 37 == 0) raxCheck(m.r);
        if (i % 97 == 0) modelCheck(&m);
        if (up ? m.count >= turn || pick(&m, most * 5) == 0 : m.count <= turn) {
            up = !up;
            turn = up ? m.count + pick(&m, most) : pick(&m, m.count + 1) / (1 + pick(&m, 20));
        }
    }
    for (size_t i = 0; i < m.count; i++) checkSeeks(&m, keyAt(&m, i));
    modelCheck(&m);
    if (pick(&m, 2)) {
        while (m.count) {
            modelRemove(&m, keyAt(&m, pick(&m, m.count)));
            raxCheck(m.r);
        }
        modelCheck(&m);
    }
    modelFree(&m);
}

TEST(rax_random_operations_keys_that_are_prefixes) {
    for (int i = 0; i < 10; i++) runModel(shortKey, 2000, 100);
}
TEST(rax_random_operations_binary_keys) {
    for (int i = 0; i < 6; i++) runModel(binaryKey, 6000, 2000);
}
TEST(rax_random_operations_wide_nodes) {
    for (int i = 0; i < 6; i++) runModel(wideKey, 6000, 1000);
}
TEST(rax_random_operations_ids) {
    for (int i = 0; i < 4; i++) runModel(idKey, 6000, 1500);
}
TEST(rax_random_operations_long_keys) {
    for (int i = 0; i < 10; i++) runModel(longKey, 1500, 120);
}
TEST(rax_random_operations_random_keys) {
    for (int i = 0; i < 2; i++) runModel(randomKey, 6000, 3000);
}

/* ---- what a stream does ---- */

static slice idOf(char *out, uint64_t ms, uint64_t seq) {
    for (int i = 0; i < 8; i++) {
        out[i] = (char)(ms >> (56 - 8 * i));
        out[8 + i] = (char)(seq >> (56 - 8 * i));
    }
    return sliceOf(out, 16);
}

/* Keys are added at the end and removed at the front, many times over. */
TEST(rax_ids_come_at_the_end_and_go_at_the_front) {
    enum { IDS = 200000, WINDOW = 5000 };
    char bytes[16];
    rax *r = raxCreate();
    raxIterator it;
    raxIterBegin(&it, r);
    for (uintptr_t i = 0; i < IDS; i++) {
        CHECK(raxInsert(r, idOf(bytes, 1700000000000 + i / 3, i % 3), (void *)i, NULL) == RAX_ADDED);
        if (i < WINDOW) continue;
        void *old;
        if (!CHECK(raxIterSeek(&it, RAX_SEEK_FIRST, sliceStr(""))) || !CHECK(raxIterValue(&it) == (void *)(i - WINDOW)))
            break;
        CHECK(raxRemove(r, raxIterKey(&it), &old) && old == (void *)(i - WINDOW));
        if (i % 10007 == 0) raxCheck(r);
    }
    CHECK_EQ_INT(raxSize(r), WINDOW);
    size_t left = WINDOW;
    bool on = raxIterSeek(&it, RAX_SEEK_LAST, sliceStr(""));
    for (; on; on = raxIterPrev(&it)) {
        left--;
        CHECK(raxRemove(r, raxIterKey(&it), NULL));
    }
    CHECK_EQ_INT(left, 0);
    raxIterEnd(&it);
    raxCheck(r);
    raxRelease(r, NULL);
}

TEST(rax_memory_of_ids_stays_small) {
    enum { IDS = 100000 };
    char bytes[16];
    rax *r = raxCreate();
    size_t empty = raxMemUsage(r);
    for (uintptr_t i = 0; i < IDS; i++) raxInsert(r, idOf(bytes, 1700000000000 + i, 0), NULL, NULL);
    CHECK(raxMemUsage(r) / IDS < 28);
    raxEmpty(r, NULL);
    CHECK_EQ_INT(raxMemUsage(r), empty);
    for (uintptr_t i = 0; i < IDS; i++) raxInsert(r, idOf(bytes, 1700000000000, i), NULL, NULL);
    CHECK(raxMemUsage(r) / IDS < 13);
    raxRelease(r, NULL);
}

/* ---- edges ---- */

TEST(rax_empty_key) {
    rax *r = raxCreate();
    slice empty = sliceStr("");
    void *value;
    raxIterator it;
    raxIterBegin(&it, r);
    CHECK(!raxFind(r, empty, NULL) && !raxRemove(r, empty, NULL) && !raxFindRef(r, empty));
    CHECK(!raxIterSeek(&it, RAX_SEEK_GE, empty));
    CHECK(raxInsert(r, empty, r, NULL) == RAX_ADDED);
    CHECK(raxFind(r, empty, &value) && value == r);
    CHECK(raxIterSeek(&it, RAX_SEEK_LE, sliceStr("a")) && raxIterKey(&it).len == 0 && raxIterValue(&it) == r);
    CHECK(!raxIterSeek(&it, RAX_SEEK_GT, empty) && !raxIterSeek(&it, RAX_SEEK_LT, empty));
    CHECK(raxTryInsert(r, empty, NULL, &value) == RAX_PRESENT && value == r);
    CHECK(raxInsert(r, empty, NULL, &value) == RAX_PRESENT && value == r);
    CHECK(raxRemove(r, empty, &value) && value == NULL);
    raxCheck(r);
    raxIterEnd(&it);
    raxRelease(r, NULL);
}

TEST(rax_iterator_of_a_tree_that_is_emptied) {
    rax *r = raxCreate();
    raxIterator it;
    raxIterBegin(&it, r);
    for (int i = 0; i < 2; i++) {
        raxInsert(r, sliceStr("a"), NULL, NULL);
        raxInsert(r, sliceStr("b"), NULL, NULL);
        CHECK(raxIterSeek(&it, RAX_SEEK_FIRST, sliceStr("")));
        raxEmpty(r, NULL);
        if (i) raxInsert(r, sliceStr("c"), r, NULL);
        CHECK(raxIterNext(&it) == (i == 1) && (i == 0 || raxIterValue(&it) == r));
    }
    raxIterEnd(&it);
    raxRelease(r, NULL);
}

/* Each key is a prefix of the next: a tree as deep as it is large. */
TEST(rax_deep_tree) {
    enum { DEEP = 3000 };
    char bytes[DEEP];
    memset(bytes, 'a', DEEP);
    rax *r = raxCreate();
    for (size_t i = 0; i < DEEP; i++) CHECK(raxInsert(r, sliceOf(bytes, i), NULL, NULL) == RAX_ADDED);
    raxCheck(r);
    raxIterator it;
    raxIterBegin(&it, r);
    size_t n = 0;
    for (bool on = raxIterSeek(&it, RAX_SEEK_LAST, sliceStr("")); on; on = raxIterPrev(&it)) n++;
    CHECK_EQ_INT(n, DEEP);
    raxIterEnd(&it);
    for (size_t i = 0; i < DEEP; i += 2) CHECK(raxRemove(r, sliceOf(bytes, i), NULL));
    raxCheck(r);
    freed_values = 0;
    raxRelease(r, countFreed);
    CHECK_EQ_INT(freed_values, DEEP / 2);
}

/* ---- memory that fails ---- */

/* The insertion of a long key fails at each of its allocations, and changes nothing. */
static void insertFailing(rax *r, slice key) {
    size_t before = raxMemUsage(r), count = raxSize(r);
    long steps = 0;
    raxResult got;
    do {
        zmallocFailAfter(++steps);
        got = raxInsert(r, key, r, NULL);
        zmallocFailAfter(0);
        raxCheck(r);
        if (got != RAX_NO_MEMORY) break;
        CHECK(raxMemUsage(r) == before && raxSize(r) == count && !raxFind(r, key, NULL));
    } while (steps < 1000);
    CHECK(got == RAX_ADDED && raxFind(r, key, NULL));
    CHECK_EQ_INT(steps, 1 + (long)(key.len - 1) / (RAX_SURE_KEY + 1));
}

TEST(rax_long_keys_can_be_refused) {
    static char bytes[50000];
    memset(bytes, 'k', sizeof(bytes));
    rax *r = raxCreate();
    insertFailing(r, sliceOf(bytes, sizeof(bytes)));
    CHECK(raxRemove(r, sliceOf(bytes, sizeof(bytes)), NULL));
    raxInsert(r, sliceStr("other"), NULL, NULL);
    raxInsert(r, sliceStr(""), NULL, NULL);
    zmallocFailAfter(1);
    CHECK(raxInsert(r, sliceOf(bytes, RAX_SURE_KEY), NULL, NULL) == RAX_ADDED);
    zmallocFailAfter(0);
    raxRelease(r, NULL);
}

TEST(rax_long_ends_can_be_refused) {
    static char bytes[9000];
    memset(bytes, 'k', sizeof(bytes));
    rax *r = raxCreate();
    raxInsert(r, sliceOf(bytes, 300), NULL, NULL);
    bytes[250] = 'l'; /* within a leaf */
    zmallocFailAfter(1);
    CHECK(raxInsert(r, sliceOf(bytes, sizeof(bytes)), NULL, NULL) == RAX_NO_MEMORY);
    zmallocFailAfter(0);
    CHECK(raxInsert(r, sliceOf(bytes, sizeof(bytes)), NULL, NULL) == RAX_ADDED);
    bytes[100] = 'l'; /* within a prefix */
    zmallocFailAfter(5);
    CHECK(raxInsert(r, sliceOf(bytes, sizeof(bytes)), NULL, NULL) == RAX_NO_MEMORY);
    zmallocFailAfter(0);
    bytes[100] = 'k', bytes[250] = 'z'; /* one more child */
    zmallocFailAfter(5);
    CHECK(raxInsert(r, sliceOf(bytes, sizeof(bytes)), NULL, NULL) == RAX_NO_MEMORY);
    zmallocFailAfter(0);
    raxCheck(r);
    CHECK_EQ_INT(raxSize(r), 2);
    raxRelease(r, NULL);
}

/* A step without memory for a long key reports it, and a later seek continues. */
TEST(rax_iterator_without_memory) {
    static char bytes[4000];
    memset(bytes, 'k', sizeof(bytes));
    slice key = sliceOf(bytes, sizeof(bytes));
    rax *r = raxCreate();
    raxInsert(r, key, r, NULL);
    raxInsert(r, sliceStr("a"), NULL, NULL);
    static const raxSeekOp ops[] = {RAX_SEEK_EQ, RAX_SEEK_LAST, RAX_SEEK_GE, RAX_SEEK_LE};
    for (size_t i = 0; i < array_len(ops); i++) {
        long steps = 0;
        bool on;
        do {
            raxIterator it;
            raxIterBegin(&it, r);
            zmallocFailAfter(++steps);
            on = raxIterSeek(&it, ops[i], key);
            zmallocFailAfter(0);
            CHECK(it.failed == !on);
            CHECK(raxIterSeek(&it, RAX_SEEK_FIRST, key) && !it.failed);
            zmallocFailAfter(steps);
            bool next = raxIterNext(&it);
            zmallocFailAfter(0);
            CHECK(it.failed == !next);
            CHECK(raxIterSeek(&it, ops[i], key) && sliceEq(raxIterKey(&it), key) && raxIterValue(&it) == r);
            raxIterEnd(&it);
        } while (!on && steps < 100);
        CHECK(on && steps > 1);
    }
    raxRelease(r, NULL);
}
