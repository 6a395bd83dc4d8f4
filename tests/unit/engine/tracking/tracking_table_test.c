/* tracking_table_test.c -- compares the table of keys and their readers with a table of bits.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tracking_table.h"

#include <stdio.h>

#include "client/client_fixture.h"
#include "bio.h"
#include "rng.h"
#include "sds.h"
#include "unit.h"
#include "zmalloc.h"

#define KEYS 600
#define READERS 40

static bool ended[READERS + 1];

static bool exists(uint32_t reader) { return !ended[reader]; }

/* ---- Against a model ---- */

typedef struct model {
    trackingTable *t;
    rng r;
    uint64_t hashes[KEYS];
    enum { NOT, MAYBE, SURELY } has[KEYS][READERS + 1]; /* MAYBE: a client that has ended may be left out */
    bool there[KEYS], named[KEYS];
} model;

static void nameOf(char out[32], size_t key) { snprintf(out, 32, "name of %zu", key); }

static void add(model *m, size_t key) {
    uint32_t reader = 1 + (uint32_t)rngBelow(&m->r, READERS);
    if (ended[reader]) return;
    bool fresh = trackingTableAdd(m->t, m->hashes[key], reader);
    CHECK(fresh == !m->there[key]);
    m->there[key] = true;
    m->has[key][reader] = SURELY;
    if (!fresh || rngBelow(&m->r, 3)) return;
    char name[32];
    nameOf(name, key);
    trackingTableName(m->t, m->hashes[key], sliceStr(name));
    m->named[key] = true;
}

/* Checks that the removed key is as in the model, and removes it there. */
static void taken(model *m, size_t key, trackedKey *k) {
    bool seen[READERS + 1] = {false};
    uint32_t at = 0, reader;
    CHECK(m->there[key]);
    while ((reader = trackedKeyNext(k, &at)) != 0) {
        CHECK(reader <= READERS && m->has[key][reader] != NOT && !seen[reader]);
        seen[reader] = true;
    }
    for (reader = 1; reader <= READERS; reader++) CHECK(seen[reader] || m->has[key][reader] != SURELY);
    char name[32];
    nameOf(name, key);
    slice got = trackedKeyName(k);
    CHECK(m->named[key] ? sliceIs(got, name) : got.ptr == NULL);
    m->there[key] = m->named[key] = false;
    memset(m->has[key], 0, sizeof(m->has[key]));
    trackedKeyFree(k);
}

static void take(model *m, size_t key) {
    trackedKey k;
    bool there = trackingTableTake(m->t, m->hashes[key], &k);
    CHECK(there == m->there[key]);
    if (there) taken(m, key, &k);
}

static void takeAny(model *m) {
    trackedKey k;
    if (!trackingTableTakeAny(m->t, &k)) {
        CHECK_EQ_INT(trackingTableKeys(m->t), 0);
        return;
    }
    size_t key = 0;
    while (key < KEYS && m->hashes[key] != k.hash) key++;
    if (CHECK(key < KEYS)) taken(m, key, &k);
}

/* Makes readers end and begin. Numbers are reused only after a long time, which the test shortens. */
static void goOrCome(model *m) {
    uint32_t reader = 1 + (uint32_t)rngBelow(&m->r, READERS);
    ended[reader] = !ended[reader];
    for (size_t key = 0; key < KEYS; key++)
        if (m->has[key][reader] == SURELY) m->has[key][reader] = MAYBE;
}

static void empty(model *m) {
    trackingTableEmpty(m->t);
    memset(m->has, 0, sizeof(m->has));
    memset(m->there, 0, sizeof(m->there));
    memset(m->named, 0, sizeof(m->named));
    CHECK_EQ_INT(trackingTableMemory(m->t), 0);
}

static void check(const model *m) {
    size_t keys = 0, items = 0;
    trackingTableCheck(m->t);
    for (size_t k = 0; k < KEYS; k++) {
        keys += m->there[k];
        for (uint32_t i = 1; i <= READERS; i++) items += m->has[k][i] != NOT;
    }
    CHECK_EQ_INT(trackingTableKeys(m->t), keys);
    CHECK(trackingTableItems(m->t) <= items && trackingTableItems(m->t) >= keys);
}

/* Keys of few shards, of one bucket, and of any; in every other thousand steps more are removed than added. */
static void randomOperations(uint64_t hash_bits) {
    model *m = zcalloc(1, sizeof(*m));
    rngSeed(&m->r, unitRandomSeed());
    memset(ended, 0, sizeof(ended));
    m->t = trackingTableCreate(exists);
    for (size_t k = 0; k < KEYS; k++) m->hashes[k] = (rngNext(&m->r) & hash_bits) | (uint64_t)k << 32;
    for (int step = 0; step < 40000; step++) {
        size_t key = rngBelow(&m->r, KEYS);
        uint64_t what = rngBelow(&m->r, 1000);
        bool shrinking = step / 1000 % 2;
        if (what < 2) goOrCome(m);
        else if (what < 4 && step % 7 == 0) empty(m);
        else if (what < (shrinking ? 300u : 800u)) add(m, key);
        else if (what < 950) take(m, key);
        else takeAny(m);
        if (step % 500 == 0) check(m);
    }
    check(m);
    trackingTableRelease(m->t);
    zfree(m);
}

TEST(tracking_table_random_operations) { randomOperations(UINT64_MAX); }
TEST(tracking_table_random_operations_in_one_shard) { randomOperations(UINT64_C(0xffffffff)); }
TEST(tracking_table_random_operations_with_one_home_line) { randomOperations(0); }
TEST(tracking_table_random_operations_at_the_last_line) { randomOperations(UINT64_C(0xf00000000000000f)); }

/* ---- By itself ---- */

TEST(tracking_table_of_a_million_keys_takes_less_than_forty_bytes_each) {
    zmallocThreadInit();
    fixtureBackground();
    memset(ended, 0, sizeof(ended));
    trackingTable *t = trackingTableCreate(exists);
    size_t before = zmallocUsed();
    rng r;
    rngSeed(&r, 5);
    for (int i = 0; i < 1000000; i++) trackingTableAdd(t, rngNext(&r), 1);
    CHECK_EQ_INT(trackingTableKeys(t), 1000000);
    CHECK(trackingTableMemory(t) <= 40 * 1000000u);
    CHECK(zmallocUsed() - before <= 40 * 1000000u);
    trackingTableCheck(t);
    trackingTableEmpty(t);
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(trackingTableKeys(t), 0);
    trackingTableRelease(t);
}

/* A key that never changes is read by one short-lived client after another. */
TEST(tracking_table_leaves_out_ended_readers) {
    memset(ended, 0, sizeof(ended));
    trackingTable *t = trackingTableCreate(exists);
    size_t most = 0;
    for (int round = 0; round < 1000; round++) {
        uint32_t reader = 1 + (uint32_t)round % READERS;
        ended[reader] = false;
        trackingTableAdd(t, 77, reader);
        ended[reader] = true;
        if (trackingTableItems(t) > most) most = trackingTableItems(t);
    }
    CHECK(most <= 3);
    trackingTableCheck(t);
    trackingTableRelease(t);
}

/* The same, with staying clients at any position. */
TEST(tracking_table_leaves_out_ended_readers_among_others) {
    memset(ended, 0, sizeof(ended));
    trackingTable *t = trackingTableCreate(exists);
    size_t most = 0;
    for (uint32_t reader = 1; reader <= 5; reader++) trackingTableAdd(t, 77, reader);
    for (int round = 0; round < 1000; round++) {
        uint32_t reader = 6 + (uint32_t)round % (READERS - 6);
        ended[reader] = false;
        trackingTableAdd(t, 77, reader);
        ended[reader] = true;
        if (trackingTableItems(t) > most) most = trackingTableItems(t);
    }
    CHECK(most <= 16);
    trackingTableCheck(t);
    trackingTableRelease(t);
}

TEST(tracking_table_does_not_keep_long_names) {
    trackingTable *t = trackingTableCreate(exists);
    char name[TRACKING_NAME_MAX + 1];
    memset(name, 'n', sizeof(name));
    trackedKey k;
    for (size_t len = TRACKING_NAME_MAX; len <= TRACKING_NAME_MAX + 1; len++) {
        CHECK(trackingTableAdd(t, 1, 1));
        trackingTableName(t, 1, sliceOf(name, len));
        trackingTablePrefetch(t, 1);
        CHECK(trackingTableTake(t, 1, &k));
        CHECK_EQ_INT(trackedKeyName(&k).len, len > TRACKING_NAME_MAX ? 0 : len);
        trackedKeyFree(&k);
    }
    CHECK(!trackingTableTakeAny(t, &k));
    trackingTableRelease(t);
}
