/* defrag_test.c -- values of every type keep their contents while all their memory is moved.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "defrag.h"
#include "clock.h"
#include "db_internal.h"
#include "db_walk.h"
#include "digest.h"
#include "store_support.h"
#include "value_hash.h"
#include "value_list.h"
#include "value_set.h"
#include "value_stream.h"
#include "value_zset.h"
#include "zmalloc.h"

#include <stdio.h>

/* Makes every block move from now on, in slices as short as possible. */
static void moveEverything(void) {
    storeReset();
    objectTypesRegister();
    store_settings.activedefrag = store_settings.active_defrag_all = true;
    store_settings.active_defrag_cycle_us = 0;
    CHECK(defragTick());
    CHECK(!defragTick()); /* there is only one timer */
    CHECK(defragPercent() > 0);
}

static void stop(void) {
    store_settings.activedefrag = false;
    CHECK_EQ_INT(defragRun(), 0);
    CHECK_EQ_INT(defragPercent(), 0);
    CHECK_EQ_INT(defragNowMs(), 0);
    for (int id = 0; id < TEST_DBS; id++) dbCheck(dbGet(id));
    dbEmpty(-1, false);
}

static slice word(char buf[64], const char *kind, long i) {
    return sliceOf(buf, (size_t)snprintf(buf, 64, "%s:%ld", kind, i));
}

static void addElement(robj *o, slice name, slice value, long i) {
    uint64_t hash = hashBytes(name.ptr, name.len);
    double score;
    switch (o->type) {
    case OBJ_LIST: valueListPush(o, LIST_TAIL, &value, 1); break;
    case OBJ_SET: setAdd(o, name, hash); break;
    case OBJ_ZSET: zsetAdd(o, name, hash, (double)(i * 7919 % 1000), 0, &score); break;
    case OBJ_STREAM:
        CHECK(streamAppend(objectStructure(o), (streamId){1, (uint64_t)i + 1}, &(slice[]){name, value}[0], 2));
        break;
    default: hashSet(o, name, hash, value, i % 5 ? HASH_NO_TIME : 1 << 30);
    }
}

/* Returns a value of `n` elements of the type. */
static robj *valueOf(slice key, objectTypeId type, long n) {
    char a[64], b[64];
    robj *o = type == OBJ_LIST     ? valueListCreate(key)
              : type == OBJ_SET    ? setCreate(key, sliceStr("member"), 1)
              : type == OBJ_ZSET   ? zsetCreate(key, 1, 1)
              : type == OBJ_STREAM ? objectCreateTake(key, OBJ_STREAM, OBJ_ENC_STREAM, streamCreate())
                                   : hashCreate(key);
    for (long i = 0; i < n; i++) addElement(o, word(a, "element", i), word(b, "a value that is not so short", i), i);
    return o;
}

static const objectTypeId types[] = {OBJ_LIST, OBJ_SET, OBJ_HASH, OBJ_ZSET, OBJ_STREAM};

static void fill(int id) {
    for (long i = 0; i < 300; i++) {
        hashedKey key = keyN("key:", i);
        robj *o = i % 2 ? stringEntry(key, i, (size_t)i * 3 % 700)
                        : valueOf(key.name, types[i / 2 % 5], i % 50 == 0 ? 3000 : i % 40 + 1);
        if (i % 7 == 0) o = objectSetExpireTake(o, 1 << 30);
        dbAddTake(dbGet(id), o, key);
    }
}

static digest digestOf(int id, long i) {
    digest d = {{0}};
    const robj *o = lookupKeyRead(dbGet(id), keyN("key:", i));
    if (o) digestMixValue(&d, o);
    return d;
}

STORE_TEST(defrag_moves_everything_and_changes_nothing) {
    moveEverything();
    store_settings.active_defrag_max_scan_fields = 100;
    fill(0);
    fill(2);
    digest before[300];
    for (long i = 0; i < 300; i++) before[i] = digestOf(2, i);
    int modified = ears.modified, events = ears.events;
    /* A slice is limited by time, not by keys: under a sanitizer many more slices are needed. */
    bool round = false;
    for (int slice = 0; slice < 300 || (!round && slice < 100000); slice++) {
        CHECK(defragRun() > 0);
        if (slice % 20 == 0 && slice < 300) dbCheck(dbGet(2));
        round = store_stats.defrag_hits > 20000 && store_stats.defrag_key_hits >= 600;
    }
    CHECK(round);
    CHECK(defragTotalMs() >= defragNowMs() && defragNowMs() > 0);
    for (long i = 0; i < 300; i++) {
        digest d = digestOf(2, i);
        CHECK(memcmp(&d, &before[i], sizeof(d)) == 0);
    }
    CHECK_EQ_INT(ears.modified, modified);
    CHECK_EQ_INT(ears.events, events);
    stop();
}

STORE_TEST(defrag_leaves_what_replies_refer_to) {
    moveEverything();
    serverDb *db = dbGet(0);
    hashedKey key = keyOf("held");
    dbAddTake(db, stringEntry(key, 1, 600), key);
    robj *held = lookupKeyRead(db, key);
    const char *bytes = objectString(held, NULL).ptr;
    incrRefCount(held);
    for (int i = 0; i < 5; i++) defragRun();
    CHECK(lookupKeyRead(db, key) == held && objectString(held, NULL).ptr == bytes);
    objectDropBorrowed(held);
    for (int i = 0; i < 5; i++) defragRun();
    CHECK(lookupKeyRead(db, key) != NULL);
    CHECK(store_stats.defrag_key_hits > 0);
    stop();
}

/* Between two pieces a large value is deleted, replaced by another type, and its database is swapped. */
STORE_TEST(defrag_of_large_values_bears_changes) {
    moveEverything();
    store_settings.active_defrag_max_scan_fields = 1;
    uint64_t rng = unitRandomSeed();
    for (int i = 0; i < 1500; i++) {
        long n = (long)(unitRandom(&rng) % 6);
        serverDb *db = dbGet((int)(unitRandom(&rng) % 2));
        hashedKey key = keyN("large:", n);
        unsigned what = (unsigned)(unitRandom(&rng) % 20);
        if (what < 4) {
            dbDelete(db, key);
        } else if (what < 8 && !lookupKeyWrite(db, key)) {
            dbAddTake(db, valueOf(key.name, types[unitRandom(&rng) % 5], (long)(unitRandom(&rng) % 2000) + 1), key);
        } else if (what == 8) {
            CHECK(dbSwap(0, 1));
        } else if (what == 9) {
            dbEmpty(0, unitRandom(&rng) % 2);
        }
        CHECK(defragRun() > 0);
        if (i % 20) continue;
        dbCheck(dbGet(0));
        dbIterator it;
        dbIterBegin(&it, dbGet(0), false);
        for (robj *o; (o = dbIterNext(&it));) {
            digest d = {{0}};
            digestMixValue(&d, o);
        }
        dbIterEnd(&it);
    }
    stop();
}

/* A step for each piece: without pieces a slice would move the entry and little else. */
STORE_TEST(defrag_comes_to_every_piece_of_a_large_value) {
    enum { FIELDS = 20000, SLICES = 2000 };
    moveEverything();
    store_settings.active_defrag_max_scan_fields = 1;
    hashedKey key = keyOf("large");
    dbAddTake(dbGet(0), valueOf(key.name, OBJ_HASH, FIELDS), key);
    for (int slice = 0; slice < SLICES && store_stats.defrag_hits < FIELDS; slice++) CHECK(defragRun() > 0);
    CHECK(store_stats.defrag_hits >= FIELDS);
    stop();
}

STORE_TEST(defrag_rests_where_there_is_nothing_to_do) {
    storeReset();
    CHECK(!defragTick());
    CHECK_EQ_INT(defragRun(), 0);
    store_settings.activedefrag = true;
    store_settings.active_defrag_ignore_bytes = 1ll << 40;
    CHECK(!defragTick());
    stop();
    store_settings.activedefrag = true;
    store_settings.active_defrag_ignore_bytes = 1;
    store_settings.active_defrag_threshold_lower = 1000;
    CHECK(!defragTick());
    stop();
}

static size_t pagesInUse(void) {
    allocatorInfo info;
    zmallocAllocatorInfo(&info);
    return info.active;
}

/* The fragmented memory is not that of keys: a walk finds hardly anything to move, and is not repeated at once. */
STORE_TEST(defrag_rests_after_a_walk_without_fruit) {
    enum { KEYS = 10000, BLOCKS = 200000, BYTES = 48 };
    if (!zmallocCanMove()) return;
    storeReset();
    for (long i = 0; i < KEYS; i++) dbAddTake(dbGet(0), stringEntry(keyN("k", i), i, 300), keyN("k", i));
    void **blocks = zmalloc(BLOCKS * sizeof(*blocks));
    for (long i = 0; i < BLOCKS; i++) blocks[i] = zmalloc(BYTES);
    for (long i = 0; i < BLOCKS; i++)
        if (i % 5) zfree(blocks[i]);
    store_settings.activedefrag = true;
    store_settings.active_defrag_cycle_us = 0;
    store_settings.active_defrag_ignore_bytes = BLOCKS * BYTES / 2;
    store_settings.active_defrag_threshold_lower = 1;
    CHECK(defragTick());
    int slices = 0;
    while (defragRun() > 0 && CHECK(++slices < 20000)) {
    }
    CHECK_EQ_INT(defragPercent(), 0);
    CHECK(store_stats.defrag_misses > KEYS / 2);
    allocatorInfo info;
    zmallocAllocatorInfo(&info);
    CHECK(info.active - info.allocated > BLOCKS * BYTES / 2); /* enough fragmentation to begin a walk */
    stop();
    for (long i = 0; i < BLOCKS; i += 5) zfree(blocks[i]);
    zfree(blocks);
}

/* At three quarters of a processor, a slice is followed by a pause of a third of its time, plus rounding. The test's
 * clock measures longer than a slice, never shorter. */
STORE_TEST(defrag_pauses_as_long_as_it_may_not_work) {
    enum { MANY = 100000 };
    storeReset();
    for (long i = 0; i < MANY; i++) dbAddTake(dbGet(0), stringEntry(keyN("k", i), i, 60), keyN("k", i));
    store_settings.activedefrag = store_settings.active_defrag_all = true;
    store_settings.active_defrag_cycle_min = store_settings.active_defrag_cycle_max = 75;
    store_settings.active_defrag_cycle_us = 20000;
    CHECK(defragTick());
    CHECK_EQ_INT(defragPercent(), 75);
    for (int slice = 0; slice < 5; slice++) {
        uint64_t begin_us = clockMonotonicUs();
        long long pause_ms = defragRun(), most_us = (long long)(clockMonotonicUs() - begin_us) / 3;
        CHECK(pause_ms > 0 && pause_ms <= most_us / 1000 + 1);
    }
    stop();
}

/* Four fifths of the keys of a hundred bytes are deleted, and the rest is moved until the pages of the others are free.
 * Memory of earlier tests is left as it is. */
STORE_TEST(defrag_gets_pages_free) {
    enum { MANY = 100000 };
    if (!zmallocCanMove()) return;
    storeReset();
    for (long i = 0; i < MANY; i++) dbAddTake(dbGet(0), stringEntry(keyN("k", i), i, 60), keyN("k", i));
    uint64_t rng = unitRandomSeed();
    for (long i = 0; i < MANY; i++)
        if (unitRandom(&rng) % 10 < 8) dbDeleteSync(dbGet(0), keyN("k", i));
    store_settings.activedefrag = true;
    store_settings.active_defrag_ignore_bytes = 1;
    store_settings.active_defrag_threshold_lower = 30;
    size_t before = pagesInUse();
    CHECK(defragTick());
    int slices = 0;
    while (defragRun() > 0 && CHECK(++slices < 100000)) {
    }
    CHECK(before - pagesInUse() > (size_t)MANY * 40 && before > pagesInUse());
    CHECK(store_stats.defrag_key_hits > MANY / 20 && store_stats.defrag_misses > 0);
    CHECK_EQ_INT(defragPercent(), 0);
    stop();
}
