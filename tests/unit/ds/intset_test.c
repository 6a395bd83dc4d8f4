/* intset_test.c -- compares intsets with a sorted array.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "intset.h"
#include "unit.h"
#include "zmalloc.h"
#include <string.h>

static const int64_t edges[] = {
    INT64_MIN, INT64_MIN + 1, (int64_t)INT32_MIN - 1, INT32_MIN, INT16_MIN - 1,          INT16_MIN,     -1,       0,
    1,         INT16_MAX,     INT16_MAX + 1,          INT32_MAX, (int64_t)INT32_MAX + 1, INT64_MAX - 1, INT64_MAX};

TEST(intset_bytes_are_the_published_ones) {
    intset *set = intsetCreate();
    bool done;
    static const int64_t members[] = {3, 1, -5, 2};
    for (int i = 0; i < 4; i++) set = intsetAdd(set, members[i], &done);
    CHECK_EQ_INT(intsetBytes(set), 16);
    CHECK_MEM(set, "\2\0\0\0\4\0\0\0\xfb\xff\1\0\2\0\3\0", 16);
    set = intsetAdd(set, -100000, &done);
    CHECK_MEM(set, "\4\0\0\0\5\0\0\0\x60\x79\xfe\xff\xfb\xff\xff\xff\1\0\0\0\2\0\0\0\3\0\0\0", 28);
    set = intsetRemove(set, -100000, &done);
    CHECK(done && set->encoding == 4); /* the encoding never becomes narrower */
    intsetFree(set);
}

/* The first member that needs a wider encoding may be on either side of any limit. */
TEST(intset_widens_at_each_edge) {
    for (size_t i = 0; i < array_len(edges); i++) {
        for (size_t j = 0; j < array_len(edges); j++) {
            intset *set = intsetCreate();
            bool first, second, third;
            set = intsetAdd(set, edges[i], &first);
            set = intsetAdd(set, edges[j], &second);
            set = intsetAdd(set, edges[j], &third);
            CHECK(first && second == (i != j) && !third);
            CHECK_EQ_INT(intsetLength(set), 1 + (i != j));
            CHECK(intsetFind(set, edges[i]) && intsetFind(set, edges[j]));
            CHECK_EQ_INT(intsetMin(set), edges[i < j ? i : j]);
            CHECK_EQ_INT(intsetMax(set), edges[i < j ? j : i]);
            for (size_t k = 0; k < array_len(edges); k++) CHECK(intsetFind(set, edges[k]) == (k == i || k == j));
            CHECK(intsetValidate(set, intsetBytes(set), true));
            intsetFree(set);
        }
    }
}

/* ---- Model ---- */

enum { MODEL_MAX = 700 };
typedef struct model {
    intset *set;
    int64_t member[MODEL_MAX];
    size_t n;
    uint64_t rng;
} model;

static size_t place(const model *m, int64_t v) {
    size_t at = 0;
    while (at < m->n && m->member[at] < v) at++;
    return at;
}

/* A batch lookup gives the same results as single ones: members, their neighbors, and values beyond the ends. */
static void modelFindMany(model *m) {
    int64_t values[2 * MODEL_MAX + 2];
    bool has[array_len(values)];
    size_t n = 0, share = 1 + unitRandom(&m->rng) % 20;
    if (unitRandom(&m->rng) % 2) values[n++] = INT64_MIN;
    for (size_t i = 0; i < m->n; i++) {
        if (unitRandom(&m->rng) % share == 0 && (n == 0 || values[n - 1] < m->member[i])) values[n++] = m->member[i];
        if (unitRandom(&m->rng) % share == 0 && m->member[i] < INT64_MAX && (n == 0 || values[n - 1] <= m->member[i]))
            values[n++] = m->member[i] + 1;
    }
    intsetFindMany(m->set, values, n, has);
    for (size_t i = 0; i < n; i++) CHECK(has[i] == intsetFind(m->set, values[i]));
}

static void modelCheck(model *m) {
    CHECK_EQ_INT(intsetLength(m->set), m->n);
    CHECK(zmallocSize(m->set) >= intsetBytes(m->set));
    for (size_t i = 0; i < m->n; i++) {
        if (!CHECK_EQ_INT(intsetAt(m->set, i), m->member[i]) || !CHECK(intsetFind(m->set, m->member[i]))) return;
        int64_t next = m->member[i] < INT64_MAX ? m->member[i] + 1 : 0;
        CHECK(intsetFind(m->set, next) == (place(m, next) < m->n && m->member[place(m, next)] == next));
    }
    CHECK(intsetValidate(m->set, intsetBytes(m->set), true) == (m->n > 0));
    modelFindMany(m);
}

static void modelAdd(model *m, int64_t v) {
    size_t at = place(m, v);
    bool is_new = at == m->n || m->member[at] != v, added;
    if (is_new && unitRandom(&m->rng) % 8 == 0) {
        /* Without memory the set is unchanged, unless the block has enough capacity. */
        zmallocFailAfter(1);
        intset *same = intsetAdd(m->set, v, &added);
        zmallocFailAfter(0);
        if (!same) {
            CHECK(!added && !intsetFind(m->set, v) && intsetLength(m->set) == m->n);
            m->set = intsetAdd(m->set, v, &added);
        } else {
            m->set = same;
        }
    } else {
        m->set = intsetAdd(m->set, v, &added);
    }
    CHECK(added == is_new);
    if (!is_new) return;
    memmove(m->member + at + 1, m->member + at, (m->n - at) * sizeof(int64_t));
    m->member[at] = v;
    m->n++;
}

static void modelRemove(model *m, int64_t v) {
    size_t at = place(m, v);
    bool is_there = at < m->n && m->member[at] == v, removed;
    if (unitRandom(&m->rng) % 8 == 0) zmallocFailAfter(1); /* shrinking works without memory */
    m->set = intsetRemove(m->set, v, &removed);
    zmallocFailAfter(0);
    CHECK(removed == is_there);
    if (!is_there) return;
    memmove(m->member + at, m->member + at + 1, (m->n - at - 1) * sizeof(int64_t));
    m->n--;
}

TEST(intset_random_operations) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 12; round++) {
        model m = {.set = intsetCreate(), .rng = seed + (uint64_t)round};
        int widest = 12 + round * 52 / 11; /* bits of the values */
        for (int i = 0; i < 3000; i++) {
            int64_t v = (int64_t)unitRandom(&m.rng) >> (64 - widest);
            bool shrink = i / 700 % 2 == 1;
            if (unitRandom(&m.rng) % 8 < (shrink ? 2 : 6) && m.n < MODEL_MAX) modelAdd(&m, v);
            else modelRemove(&m, m.n && unitRandom(&m.rng) % 4 ? m.member[unitRandom(&m.rng) % m.n] : v);
            if (i % 16 == 0) modelCheck(&m);
        }
        intset *copy = intsetDup(m.set);
        CHECK(intsetBytes(copy) == intsetBytes(m.set) && memcmp(copy, m.set, intsetBytes(copy)) == 0);
        intsetFree(copy);
        while (m.n) modelRemove(&m, m.member[unitRandom(&m.rng) % m.n]);
        CHECK_EQ_INT(intsetBytes(m.set), 8);
        intsetFree(m.set);
    }
}

/* ---- Trust ---- */

/* Uses a block of exactly the right size, so that a sanitizer detects each access outside. */
static bool tryBytes(const void *bytes, size_t size, bool deep) {
    uint8_t *block = zmalloc(size + 1); /* at an odd address */
    memcpy(block + 1, bytes, size);
    bool good = intsetValidate(block + 1, size, deep);
    if (good) {
        intset *set = intsetDup(block + 1);
        for (size_t i = 0; i < intsetLength(set); i++) CHECK(intsetFind(set, intsetAt(set, i)) || !deep);
        intsetFree(set);
    }
    zfree(block);
    return good;
}

TEST(intset_validate) {
    static const uint8_t good[] = {2, 0, 0, 0, 3, 0, 0, 0, 0xfe, 0xff, 0, 0, 5, 0};
    CHECK(tryBytes(good, sizeof(good), true));
    for (size_t cut = 0; cut < sizeof(good); cut++) CHECK(!tryBytes(good, cut, true));
    for (size_t i = 0; i < sizeof(good); i++) {
        for (unsigned b = 0; b < 256; b++) {
            uint8_t bytes[sizeof(good)];
            memcpy(bytes, good, sizeof(good));
            bytes[i] = (uint8_t)b;
            bool same = b == good[i];
            if (i < 8) CHECK(tryBytes(bytes, sizeof(bytes), true) == same);
            else (void)tryBytes(bytes, sizeof(bytes), true), (void)tryBytes(bytes, sizeof(bytes), false);
        }
    }
    CHECK(!tryBytes("\2\0\0\0\2\0\0\0\1\0\1\0", 12, true)); /* a duplicate */
    CHECK(!tryBytes("\2\0\0\0\2\0\0\0\1\0\0\0", 12, true)); /* not ascending */
    CHECK(!tryBytes("\2\0\0\0\0\0\0\0", 8, true));          /* empty */
    CHECK(!tryBytes("\3\0\0\0\1\0\0\0\0\0\0", 11, true));   /* no such width */
    CHECK(!tryBytes("\0\0\0\0\1\0\0\0", 8, true));
    CHECK(tryBytes("\4\0\0\0\1\0\0\0\1\0\0\0", 12, true));    /* wider than necessary */
    CHECK(!tryBytes("\4\0\0\0\1\0\0\100\1\0\0\0", 12, true)); /* 2^32 bytes, which is 0 in 32 bits */
}
