/* lazyfree_test.c -- who frees what, and that nothing is lost on the way.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "store_support.h"
#include "zmalloc.h"

static robj *offered;
static bool takeOffered(robj *dead) {
    offered = dead;
    return true;
}
static bool refuse(robj *dead) {
    offered = dead;
    return false;
}

TEST(lazyfree_large_values_go_to_the_background) {
    storeReset();
    objectRelease(stringEntry(keyOf("small"), 1, 100));
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(lazyfreeDone(), 0);
    objectRelease(stringEntry(keyOf("large"), 1, 100000));
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(lazyfreeDone(), 1);
    CHECK_EQ_INT(lazyfreePending(), 0);
    CHECK_EQ_INT(lazyfreePendingBytes(), 0);
    store_settings.lazyfree_server_del = false;
    objectRelease(stringEntry(keyOf("large"), 1, 100000));
    objectReleaseNow(stringEntry(keyOf("large"), 1, 100000));
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(lazyfreeDone(), 1);
    objectReleaseLazily(stringEntry(keyOf("large"), 1, 100000));
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(lazyfreeDone(), 2);
}

TEST(lazyfree_sink_gets_other_threads_objects_only) {
    storeReset();
    storeSetFreeSink(takeOffered);
    offered = NULL;
    objectRelease(stringEntry(keyOf("mine"), 1, 100));
    CHECK(offered == NULL);
    robj *theirs = objectCreateString(sliceStr("k"), sliceStr("v"), false, 2);
    incrRefCount(theirs);
    objectRelease(theirs);
    CHECK(offered == NULL);
    objectRelease(theirs);
    CHECK(offered == theirs);
    objectFree(theirs);
    storeSetFreeSink(refuse);
    objectRelease(objectCreateString(sliceStr("k"), sliceStr("v"), false, 2));
    CHECK(offered != NULL);
}

/* References are dropped while the background frees the table they came from. */
TEST(lazyfree_flush_races_with_replies) {
    storeReset();
    serverDb *db = dbGet(0);
    size_t used = zmallocUsed();
    enum { ROUNDS = 10, KEYS = 3000, HELD = 300 };
    robj *held[HELD];
    for (int round = 0; round < ROUNDS; round++) {
        for (long i = 0; i < KEYS; i++) dbAddTake(db, stringEntry(keyN("k", i), i, i % 50 * 20), keyN("k", i));
        for (long i = 0; i < HELD; i++) incrRefCount(held[i] = lookupKeyRead(db, keyN("k", i * 10)));
        dbEmpty(0, true);
        for (long i = 0; i < HELD; i++) {
            char digits[LONG_STR_SIZE];
            CHECK_MEM(objectString(held[i], digits).ptr, "value", 5);
            objectRelease(held[i]);
        }
        if (round % 2) lazyfreeCollect();
    }
    bioDrain(BIO_LAZY_FREE);
    lazyfreeCollect();
    CHECK_EQ_INT(lazyfreePending(), 0);
    CHECK_EQ_INT(lazyfreeDone(), ROUNDS * KEYS);
    CHECK(zmallocUsed() < used + 20000);
}
