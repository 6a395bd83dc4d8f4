/* lazyfree_test.c -- which thread frees a value, and that nothing leaks.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "store_support.h"
#include "zmalloc.h"

#include <pthread.h>

static robj *offered;
static bool takeOffered(robj *dead) {
    offered = dead;
    return true;
}
static bool refuse(robj *dead) {
    offered = dead;
    return false;
}

/* While the gate is closed, the background thread is blocked in a job of the test: jobs given to it stay pending. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void passGate(void *arg) {
    unused(arg);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}
static void shutGate(void) {
    pthread_mutex_lock(&gate);
    bioSubmit(BIO_LAZY_FREE, passGate, NULL);
}
static void openGate(void) {
    pthread_mutex_unlock(&gate);
    bioDrain(BIO_LAZY_FREE);
}

static void setLazy(bool lazy) {
    store_settings.lazyfree_eviction = store_settings.lazyfree_expire = store_settings.lazyfree_server_del = lazy;
}

enum { LARGE = 1 << 20 };

TEST(lazyfree_large_strings_never_stop_main_and_count_as_nothing) {
    static void (*const release[])(robj * o) = {objectRelease, objectReleaseLazily, objectReleaseNow, lazyfreeObject,
                                                lazyfreeObjectNow};
    for (int lazy = 0; lazy < 2; lazy++) {
        for (size_t i = 0; i < array_len(release); i++) {
            storeReset();
            setLazy(lazy);
            size_t used = zmallocUsed();
            shutGate();
            release[i](stringEntry(keyOf("small"), 1, LARGE - 1));
            CHECK_EQ_INT(lazyfreePendingBytes(), 0);
            release[i](stringEntry(keyOf("large"), 1, LARGE));
            CHECK(lazyfreePendingBytes() >= LARGE);
            CHECK_EQ_INT(lazyfreePending(), 0);
            openGate();
            CHECK_EQ_INT(lazyfreePendingBytes(), 0);
            CHECK_EQ_INT(lazyfreeDone(), 0);
            CHECK(zmallocUsed() < used + 10000);
        }
    }
}

STORE_TEST(lazyfree_flush_of_large_strings_does_not_stop_main) {
    storeReset();
    dbAddTake(dbGet(0), stringEntry(keyOf("large"), 1, LARGE), keyOf("large"));
    shutGate();
    CHECK_EQ_INT(dbEmpty(0, false), 1);
    CHECK(lazyfreePendingBytes() >= LARGE);
    openGate();
    CHECK_EQ_INT(lazyfreePendingBytes(), 0);
    CHECK_EQ_INT(lazyfreeDone(), 0);
}

static void *freeBlocks(void *arg) {
    unused(arg);
    zmallocThreadInit();
    lazyfreeBlock(zmalloc(LARGE - 1), LARGE - 1);
    lazyfreeBlock(zmalloc(LARGE), LARGE);
    zmallocThreadExit();
    return NULL;
}

TEST(lazyfree_large_blocks_of_any_thread_go_to_the_background) {
    storeReset();
    size_t used = zmallocUsed();
    shutGate();
    pthread_t t;
    CHECK_EQ_INT(pthread_create(&t, NULL, freeBlocks, NULL), 0);
    pthread_join(t, NULL);
    CHECK_EQ_INT(lazyfreePendingBytes(), LARGE);
    CHECK_EQ_INT(lazyfreePending(), 0);
    openGate();
    CHECK_EQ_INT(lazyfreePendingBytes(), 0);
    CHECK(zmallocUsed() < used + 10000);
}

static size_t boxEffort(const void *structure) {
    unused(structure);
    return 65;
}
static void boxFree(void *structure) { zfree(structure); }
static robj *box(void) {
    static const objectTypeOps ops = {.free = boxFree, .freeEffort = boxEffort};
    objectRegisterType(OBJ_LIST, &ops);
    return objectCreateTake(sliceStr("box"), OBJ_LIST, OBJ_ENC_QUICKLIST, zmalloc(100));
}

TEST(lazyfree_structures_go_where_the_options_say) {
    storeReset();
    shutGate();
    objectRelease(box());
    CHECK_EQ_INT(lazyfreePending(), 1);
    objectReleaseLazily(box());
    CHECK_EQ_INT(lazyfreePending(), 2);
    size_t pending = lazyfreePendingBytes();
    objectReleaseNow(box());
    setLazy(false);
    objectRelease(box());
    CHECK_EQ_INT(lazyfreePending(), 2);
    CHECK_EQ_INT(lazyfreePendingBytes(), pending);
    objectReleaseLazily(box());
    CHECK_EQ_INT(lazyfreePending(), 3);
    openGate();
    CHECK_EQ_INT(lazyfreePending(), 0);
    CHECK_EQ_INT(lazyfreeDone(), 3);
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
    offered = NULL;
    theirs = stringEntry(keyOf("large"), 1, LARGE); /* their thread serves clients, too */
    theirs->owner = 2;
    objectRelease(theirs);
    CHECK(offered == NULL);
    bioDrain(BIO_LAZY_FREE);
    storeSetFreeSink(refuse);
    objectRelease(objectCreateString(sliceStr("k"), sliceStr("v"), false, 2));
    CHECK(offered != NULL);
}

static void dropElementOfBox(void *structure) {
    robj **elements = structure;
    for (; *elements; elements++) objectDropElement(*elements);
    zfree(structure);
}

static void boxesHaveElements(void) {
    static const objectTypeOps ops = {.free = dropElementOfBox, .freeEffort = boxEffort};
    bioDrain(BIO_LAZY_FREE);
    objectRegisterType(OBJ_LIST, &ops);
}

/* Returns a structure of `n` strings. */
static robj *boxOf(robj **elements, size_t n) {
    robj **structure = zcalloc(n + 1, sizeof(*structure));
    memcpy(structure, elements, n * sizeof(*structure));
    return objectCreateTake(sliceStr("box"), OBJ_LIST, OBJ_ENC_QUICKLIST, structure);
}

static robj *element(size_t len) {
    char text[1000] = "element";
    return objectCreateRawString(sliceOf(NULL, 0), sliceOf(text, len), object_main_owner);
}

/* Replies refer to elements of a structure that is freed: here, and in the background, where the references are
 * returned. */
TEST(lazyfree_leaves_elements_to_who_refers_to_them) {
    storeReset();
    boxesHaveElements();
    size_t used = zmallocUsed();
    for (int lazy = 0; lazy < 2; lazy++) {
        robj *elements[2] = {element(1000), element(1000)};
        robj *structure = boxOf(elements, 2);
        incrRefCount(elements[1]);
        if (lazy) objectReleaseLazily(structure);
        else objectReleaseNow(structure);
        bioDrain(BIO_LAZY_FREE);
        CHECK_EQ_INT(elements[1]->refcount, 1 + lazy);
        lazyfreeCollect();
        CHECK_EQ_INT(elements[1]->refcount, 1);
        CHECK_MEM(objectRawString(elements[1]).ptr, "element", 7);
        objectReleaseBorrowed(elements[1]);
        CHECK_EQ_INT(zmallocUsed(), used);
    }
}

/* A value that replies keep counts from when its key is deleted until the last reply is sent, in whatever way it is
 * deleted. */
TEST(lazyfree_counts_what_only_replies_keep) {
    storeReset();
    serverDb *db = dbGet(0);
    hashedKey key = keyOf("k");
    for (int way = 0; way < 5; way++) {
        size_t before = object_orphan_bytes;
        dbAddTake(db, stringEntry(key, 1, 5000), key);
        robj *held = lookupKeyRead(db, key);
        incrRefCount(held);
        incrRefCount(held);
        objectReleaseBorrowed(held); /* a reply is sent while the key lives */
        CHECK_EQ_INT(object_orphan_bytes, before);
        switch (way) {
        case 0: dbDelete(db, key); break;
        case 1: dbDeleteAsync(db, key); break;
        case 2: dbDeleteSync(db, key); break;
        case 3: setKeyTake(db, stringEntry(key, 2, 10), key, false); break;
        default:
            dbEmpty(0, true);
            bioDrain(BIO_LAZY_FREE);
            lazyfreeCollect();
            break;
        }
        CHECK_EQ_INT(object_orphan_bytes, before + objectMemUsage(held, 0));
        objectReleaseBorrowed(held);
        CHECK_EQ_INT(object_orphan_bytes, before);
        dbEmpty(0, false);
    }
}

TEST(lazyfree_of_a_structure_races_with_replies) {
    storeReset();
    boxesHaveElements();
    enum { ROUNDS = 30, ELEMENTS = 1000 };
    robj *elements[ELEMENTS];
    size_t used = zmallocUsed();
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < ELEMENTS; i++) elements[i] = element(i);
        for (size_t i = 0; i < ELEMENTS; i += 3) incrRefCount(elements[i]);
        objectReleaseLazily(boxOf(elements, ELEMENTS));
        for (size_t i = 0; i < ELEMENTS; i += 3) objectReleaseBorrowed(elements[i]);
        if (round % 2) lazyfreeCollect();
    }
    bioDrain(BIO_LAZY_FREE);
    lazyfreeCollect();
    CHECK_EQ_INT(zmallocUsed(), used);
}

/* References are released while the background frees the table of their values. */
STORE_TEST(lazyfree_flush_races_with_replies) {
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
            objectReleaseBorrowed(held[i]);
        }
        if (round % 2) lazyfreeCollect();
    }
    bioDrain(BIO_LAZY_FREE);
    lazyfreeCollect();
    CHECK_EQ_INT(lazyfreePending(), 0);
    CHECK_EQ_INT(lazyfreeDone(), ROUNDS * KEYS);
    CHECK(zmallocUsed() < used + 20000);
}
