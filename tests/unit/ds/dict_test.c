/* dict_test.c -- compares the dict with an array that records which keys are present.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dict.h"
#include "hash.h"
#include "unit.h"
#include "zmalloc.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 4000 };

typedef struct item {
    uint32_t number, version;
} item;

static slice itemKey(const void *entry) { return sliceOf(&((const item *)entry)->number, sizeof(uint32_t)); }
static uint32_t numberOf(slice key) {
    uint32_t n;
    memcpy(&n, key.ptr, sizeof(n));
    return n;
}
/* Seven hashes for all keys, with three tags. */
static uint64_t badHash(slice key) {
    uint32_t n = numberOf(key);
    return ((uint64_t)(n % 3) << 56) | (n % 7);
}
/* One bucket and one tag for all keys: only a comparison of keys distinguishes entries. */
static uint64_t worstHash(slice key) { return key.len; }
static void itemFree(void *entry) { zfree(entry); }
static bool resize_allowed = true;
static bool askResize(size_t bytes, double fill) {
    CHECK(bytes % 64 == 0 && fill >= 0);
    return resize_allowed;
}

static const dictType good_type = {.entryKey = itemKey, .entryFree = itemFree};
static const dictType bad_type = {.entryKey = itemKey, .entryFree = itemFree, .hash = badHash};
static const dictType worst_type = {.entryKey = itemKey, .entryFree = itemFree, .hash = worstHash};
static const dictType crowded_type = {.entryKey = itemKey, .entryFree = itemFree, .max_fill_percent = 120};
static const dictType asking_type = {.entryKey = itemKey, .entryFree = itemFree, .resizeAllowed = askResize};

/* ---- the model ---- */

typedef struct model {
    dict *d;
    item *in[KEYS]; /* borrowed from the dict; NULL if absent */
    size_t count;
    uint64_t rng;
} model;

static void modelInit(model *m, const dictType *type) {
    memset(m, 0, sizeof(*m));
    m->d = dictCreate(type);
    m->rng = unitRandomSeed();
}

static uint32_t pick(model *m, uint32_t bound) { return (uint32_t)(unitRandom(&m->rng) % bound); }

static slice keyOf(const uint32_t *n) { return sliceOf(n, sizeof(*n)); }
static uint64_t hashOf(model *m, uint32_t n) { return dictHash(m->d, keyOf(&n)); }

static item *newItem(uint32_t n, uint32_t version) {
    item *it = zmalloc(sizeof(*it));
    *it = (item){n, version};
    return it;
}

static void modelAdd(model *m, uint32_t n) {
    item *it = newItem(n, pick(m, 1000));
    void *in_the_way = dictAdd(m->d, it, hashOf(m, n));
    CHECK(in_the_way == m->in[n]);
    if (in_the_way) {
        zfree(it);
        return;
    }
    m->in[n] = it;
    m->count++;
}

static void modelRemove(model *m, uint32_t n, uint32_t how) {
    item *want = m->in[n];
    if (how == 0) {
        void *got = dictPop(m->d, keyOf(&n), hashOf(m, n));
        CHECK(got == want);
        zfree(got);
    } else if (how == 1) {
        CHECK(dictDelete(m->d, keyOf(&n), hashOf(m, n)) == (want != NULL));
    } else if (want) {
        CHECK(dictPopEntry(m->d, want, hashOf(m, n)));
        CHECK(!dictPopEntry(m->d, want, hashOf(m, n)));
        zfree(want);
    }
    m->count -= want != NULL;
    m->in[n] = NULL;
}

static void modelReplace(model *m, uint32_t n) {
    const void *by_hash = dictFindByHash(m->d, hashOf(m, n));
    CHECK(by_hash ? dictHash(m->d, itemKey(by_hash)) == hashOf(m, n) : m->in[n] == NULL);
    void **ref = dictFindRef(m->d, keyOf(&n), hashOf(m, n));
    CHECK((ref ? *ref : NULL) == m->in[n]);
    if (!ref) return;
    zfree(*ref);
    *ref = m->in[n] = newItem(n, pick(m, 1000));
}

/* Checks an iteration in pieces of up to `MOST` entries, and the parts of hashes that slots tell. */
static void checkIterMany(model *m) {
    enum { MOST = 9 };
    uint8_t seen[KEYS] = {0};
    const void *entries[MOST];
    uint64_t hashes[MOST], known;
    size_t met = 0, got;
    dictIterator it;
    dictIterBegin(&it, m->d, false);
    while ((got = dictIterMany(&it, 1 + pick(m, MOST), entries, hashes, &known)) > 0) {
        bool enough = (dictHashMask(m->d) & ~known) == 0;
        for (size_t i = 0; i < got; i++, met++) {
            const item *e = entries[i];
            CHECK(e == m->in[e->number] && !seen[e->number]);
            seen[e->number] = 1;
            CHECK_EQ_INT((hashes[i] ^ hashOf(m, e->number)) & known, 0);
            if (enough) CHECK(dictFind(m->d, keyOf(&e->number), hashes[i]) == e);
        }
    }
    dictIterEnd(&it);
    CHECK_EQ_INT(met, m->count);
}

/* Checks that exactly the keys of the model are present. */
static void modelCheck(model *m) {
    dictCheck(m->d);
    CHECK_EQ_INT(dictSize(m->d), m->count);
    for (uint32_t n = 0; n < KEYS; n++) {
        if (dictFind(m->d, keyOf(&n), hashOf(m, n)) != m->in[n]) {
            CHECK_EQ_INT(n, -1);
            return;
        }
    }
    uint8_t seen[KEYS] = {0};
    size_t met = 0;
    dictIterator it;
    dictIterBegin(&it, m->d, false);
    for (item *e; (e = dictIterNext(&it)); met++) {
        if (!CHECK(e == m->in[e->number] && !seen[e->number])) break;
        seen[e->number] = 1;
    }
    dictIterEnd(&it);
    CHECK_EQ_INT(met, m->count);
    checkIterMany(m);
}

static void checkRandomPicks(model *m) {
    item *one = dictRandomEntry(m->d);
    CHECK((one == NULL) == (m->count == 0));
    if (one) CHECK(m->in[one->number] == one);
    void *out[40];
    size_t want = 1 + pick(m, 40), got = dictSampleEntries(m->d, out, want);
    CHECK(got <= want && got <= m->count && (got > 0 || m->count == 0));
    for (size_t i = 0; i < got; i++) {
        item *e = out[i];
        CHECK(m->in[e->number] == e);
        for (size_t j = 0; j < i; j++) CHECK(out[j] != e);
    }
}

static void modelFree(model *m) { dictRelease(m->d); }

/* Jobs that dicts give to the background thread, run when the test decides. */
typedef struct queuedJob {
    void (*run)(void *arg);
    void *arg;
} queuedJob;
static queuedJob queued[64];
static size_t queued_count;

static void queueJob(void (*run)(void *arg), void *arg) {
    if (!CHECK(queued_count < 64)) abort();
    queued[queued_count++] = (queuedJob){run, arg};
}
static void runQueued(size_t at) {
    queuedJob job = queued[at];
    queued[at] = queued[--queued_count];
    job.run(job.arg);
}
static void runAllQueued(void) {
    while (queued_count) runQueued(0);
}

static void moveItem(void *arg, void **ref) {
    model *m = arg;
    item *moved = zmallocMover(*ref);
    if (!CHECK(moved && m->in[moved->number] == *ref)) return;
    *ref = m->in[moved->number] = moved;
}

/* Defragments with every block moved, entries too. */
static void modelDefrag(model *m, bool paused) {
    zmallocMoveAll(true);
    if (!paused) m->d = dictDefrag(m->d, zmallocMover);
    uint64_t cursor = unitRandom(&m->rng);
    for (int i = 0; i < 5; i++) cursor = dictScanDefrag(m->d, cursor, moveItem, m, zmallocMover);
    zmallocMoveAll(false);
}

/* Operations in waves: mostly adding to a random size, then mostly removing. */
static void runModel(const dictType *type, int operations, uint32_t range) {
    static model m;
    modelInit(&m, type);
    bool up = true;
    int paused = 0;
    size_t turn = pick(&m, range);
    for (int i = 0; i < operations; i++) {
        uint32_t n = pick(&m, range), dice = pick(&m, 100);
        if (dice < (up ? 60u : 15u)) modelAdd(&m, n);
        else if (dice < 75) modelRemove(&m, n, pick(&m, 3));
        else if (dice < 85) modelReplace(&m, n);
        else if (dice < 90) checkRandomPicks(&m);
        else if (dice < 93) CHECK(dictFind(m.d, keyOf(&n), hashOf(&m, n)) == m.in[n]);
        else if (dice == 94 && pick(&m, 20) == 0) dictExpand(m.d, pick(&m, range * 2));
        else if (dice == 95) dictRehash(m.d, pick(&m, 50));
        else if (dice == 93) modelDefrag(&m, paused > 0);
        else if (dice == 96) dictShrinkIfNeeded(m.d);
        else if (dice == 97 && pick(&m, 10) == 0 && paused < 3) dictPauseRehash(m.d), paused++;
        else if (dice == 98 && paused) dictResumeRehash(m.d), paused--;
        else if (dice == 99 && queued_count && (queued_count > 20 || pick(&m, 4) == 0))
            runQueued(pick(&m, (uint32_t)queued_count));
        else if (dice == 99 && pick(&m, 10) == 0) dictSetResizePolicy((dictResizePolicy)pick(&m, 3));
        if (up ? m.count >= turn : m.count <= turn) {
            up = !up;
            uint32_t now = (uint32_t)m.count;
            turn = up ? now + pick(&m, range - now + 1) : pick(&m, now + 1) / (1 + pick(&m, 20));
        }
        if (m.count < 256 || i % 13 == 0) dictCheck(m.d);
        if (i % 997 == 0) modelCheck(&m);
    }
    while (paused--) dictResumeRehash(m.d);
    dictSetResizePolicy(DICT_RESIZE_ENABLE);
    modelCheck(&m);
    while (dictRehash(m.d, 10)) {
    }
    modelCheck(&m);
    CHECK(!dictIsRehashing(m.d));
    for (uint32_t n = 0; n < range; n++) modelRemove(&m, n, 0);
    CHECK_EQ_INT(dictSize(m.d), 0);
    CHECK(dictRandomEntry(m.d) == NULL);
    do {
        runAllQueued();
        dictRehash(m.d, 10);
    } while (dictShrinkIfNeeded(m.d) || dictIsRehashing(m.d) || queued_count);
    CHECK(dictMemUsage(m.d) <= 1024);
    modelFree(&m);
    runAllQueued();
}

TEST(dict_random_operations) { runModel(&good_type, 120000, KEYS); }
TEST(dict_random_operations_small) { runModel(&good_type, 30000, 20); }
TEST(dict_random_operations_crowded) { runModel(&crowded_type, 60000, 400); }
TEST(dict_random_operations_with_collisions) {
    runModel(&bad_type, 20000, 300);
    runModel(&worst_type, 10000, 100);
}

/* All tables of four buckets and more are prepared and freed by jobs, which run late and in any order. */
TEST(dict_random_operations_with_tables_to_come) {
    dictSetBackground(queueJob, 4 * 64);
    runModel(&good_type, 60000, KEYS);
    runModel(&good_type, 30000, 60);
    runModel(&bad_type, 10000, 300);
    dictSetBackground(NULL, 0);
}

/* ---- tables to come ---- */

static void modelFill(model *m, uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; n++) modelAdd(m, n);
}

TEST(dict_grows_when_the_table_to_come_is_ready) {
    static model m;
    dictSetBackground(queueJob, 4 * 64);
    modelInit(&m, &good_type);
    modelFill(&m, 0, 12); /* two buckets, filled beyond 85 %: a table of four is prepared */
    while (dictRehash(m.d, 10)) {
    }
    CHECK_EQ_INT(queued_count, 1);
    CHECK(!dictIsRehashing(m.d));
    CHECK_EQ_INT(dictSlots(m.d), 14);
    size_t waiting = dictMemUsage(m.d);
    CHECK(waiting >= 6 * 64);
    runAllQueued();
    CHECK(!dictIsRehashing(m.d)); /* rehashing begins at the next call that finds the table too full */
    modelAdd(&m, 12);
    CHECK(dictIsRehashing(m.d));
    while (dictRehash(m.d, 10)) {
    }
    CHECK_EQ_INT(dictSlots(m.d), 28);
    modelCheck(&m);
    modelFree(&m);
    runAllQueued();
    dictSetBackground(NULL, 0);
}

/* A busy background thread must not let chains grow without bound. */
TEST(dict_takes_a_table_to_come_that_nobody_has_begun_with) {
    static model m;
    dictSetBackground(queueJob, 4 * 64);
    modelInit(&m, &good_type);
    modelFill(&m, 0, 24); /* 170 % of 14 slots are 23.8 */
    CHECK_EQ_INT(queued_count, 1);
    CHECK(!dictIsRehashing(m.d));
    modelAdd(&m, 24);
    CHECK(dictIsRehashing(m.d));
    runAllQueued(); /* does not touch the table */
    modelCheck(&m);
    modelFree(&m);
    runAllQueued();
    dictSetBackground(NULL, 0);
}

TEST(dict_drops_a_table_to_come_that_is_not_wanted) {
    for (int ready = 0; ready < 2; ready++) {
        static model m;
        size_t used = zmallocUsed();
        dictSetBackground(queueJob, 4 * 64);
        modelInit(&m, &good_type);
        modelFill(&m, 0, 12);
        while (dictRehash(m.d, 10)) {
        }
        if (ready) runAllQueued();
        for (uint32_t n = 0; n < 12; n++) modelRemove(&m, n, 1);
        CHECK(dictMemUsage(m.d) < 6 * 64); /* shrinking needs another table */
        runAllQueued();
        modelFill(&m, 0, 12);
        if (ready) runAllQueued();
        modelFree(&m); /* with a prepared table, or while rehashing to it */
        runAllQueued();
        CHECK_EQ_INT(zmallocUsed(), used);
        dictSetBackground(NULL, 0);
    }
}

static pthread_t job_threads[1000];
static size_t job_threads_count;
typedef struct threadJob {
    void (*run)(void *arg);
    void *arg;
} threadJob;
static void *runThreadJob(void *arg) {
    threadJob job = *(threadJob *)arg;
    free(arg);
    job.run(job.arg);
    return NULL;
}
static void jobInThread(void (*run)(void *arg), void *arg) {
    threadJob *job = malloc(sizeof(*job));
    *job = (threadJob){run, arg};
    if (!CHECK(job_threads_count < 1000)) abort();
    pthread_create(&job_threads[job_threads_count++], NULL, runThreadJob, job);
}

/* For ThreadSanitizer: tables are prepared, used and dropped while the job is at any point. */
TEST(dict_background_is_another_thread) {
    static model m;
    dictSetBackground(jobInThread, 64 * 64);
    modelInit(&m, &good_type);
    for (int round = 0; round < 20; round++) {
        modelFill(&m, 0, 500 + pick(&m, KEYS - 500));
        if (round % 3 == 0) {
            dictEmpty(m.d, NULL);
            memset(m.in, 0, sizeof(m.in));
            m.count = 0;
        }
        for (uint32_t n = 0; n < KEYS; n++) modelRemove(&m, n, 1);
        dictCheck(m.d);
    }
    modelFree(&m);
    while (job_threads_count) pthread_join(job_threads[--job_threads_count], NULL);
    dictSetBackground(NULL, 0);
}

/* ---- sizes ---- */

TEST(dict_empty) {
    dict *d = dictCreate(&good_type);
    uint32_t n = 1;
    CHECK(dictFind(d, keyOf(&n), dictHash(d, keyOf(&n))) == NULL);
    CHECK(dictPop(d, keyOf(&n), dictHash(d, keyOf(&n))) == NULL);
    CHECK(dictFindRef(d, keyOf(&n), 7) == NULL);
    CHECK_EQ_INT(dictSlots(d), 0);
    CHECK_EQ_INT(dictScan(d, 0, NULL, NULL), 0);
    void *out[2];
    CHECK_EQ_INT(dictSampleEntries(d, out, 2), 0);
    dictIterator it;
    dictIterBegin(&it, d, true);
    CHECK(dictIterNext(&it) == NULL);
    dictIterEnd(&it);
    dictEmpty(d, NULL);
    dictRelease(d);
    dictRelease(NULL);
}

static void *keepInPlace(void *block) {
    CHECK(block != NULL);
    return NULL;
}

/* Zeroed bytes are an empty dict; dictInit() makes one to which entries can be added. */
TEST(dict_in_memory_of_the_caller) {
    static alignas(CACHE_LINE) char memory[2][DICT_BYTES];
    static const char zeros[DICT_BYTES];
    dict *d = (dict *)(void *)memory[1];
    uint32_t n = 1;
    uint64_t hash = hashBytes(&n, sizeof(n));
    void *out[2];
    CHECK(!dictFind(d, keyOf(&n), hash) && !dictFindByHash(d, hash) && !dictPop(d, keyOf(&n), hash));
    CHECK(!dictFindRef(d, keyOf(&n), hash) && !dictPopEntry(d, out, hash) && !dictHoldsEntry(d, out, hash));
    CHECK(!dictRandomEntry(d) && dictSampleEntries(d, out, 2) == 0 && dictScan(d, 0, NULL, NULL) == 0);
    CHECK(dictScanDefrag(d, 0, NULL, NULL, keepInPlace) == 0 && dictSlots(d) == 0 && dictMemTables(d) == 0);
    dictPrefetchAdd(d, hash);
    dictIterator it;
    dictIterBegin(&it, d, true);
    CHECK(dictIterNext(&it) == NULL);
    dictIterEnd(&it);
    CHECK(memcmp(d, zeros, sizeof(zeros)) == 0);
    dictInit(d, &good_type);
    for (n = 0; n < 500; n++) {
        item *e = zmalloc(sizeof(*e));
        *e = (item){n, 0};
        dictAddNew(d, e, dictHash(d, itemKey(e)));
    }
    dictDefragTables(d, keepInPlace);
    dictDefragTables(d, zmallocMover);
    dictCheck(d);
    CHECK_EQ_INT(dictSize(d), 500);
    dictEmpty(d, NULL);
    CHECK(dictSize(d) == 0 && dictMemTables(d) == 0 && memcmp(memory[0], zeros, sizeof(zeros)) == 0);
}

TEST(dict_grows_and_shrinks_by_steps) {
    static model m;
    modelInit(&m, &good_type);
    for (uint32_t n = 0; n < KEYS; n++) {
        modelAdd(&m, n);
        if (!dictIsRehashing(m.d)) CHECK(n < 7 || (n + 1) * 100 <= dictSlots(m.d) * 85 + 100);
        else CHECK(dictMemRehashing(m.d) > 0);
    }
    while (dictRehash(m.d, 1)) {
    }
    CHECK_EQ_INT(dictSlots(m.d), 7 * 1024);
    CHECK(dictMemUsage(m.d) / m.count < 24);
    for (uint32_t n = 40; n < KEYS; n++) modelRemove(&m, n, 0);
    dictRehashMicroseconds(m.d, 1000000);
    while (dictShrinkIfNeeded(m.d)) dictRehashMicroseconds(m.d, 1000000);
    CHECK(dictSlots(m.d) <= 7 * 32);
    modelCheck(&m);
    CHECK(dictExpand(m.d, 100000));
    CHECK(dictSlots(m.d) > 100000 && dictIsRehashing(m.d));
    CHECK(dictExpand(m.d, 300000)); /* finishes the first rehash */
    modelCheck(&m);
    modelFree(&m);
}

/* 32 buckets have 224 slots, of which 190 are used at 85 percent, 268 at 120. */
TEST(dict_of_a_crowded_type_grows_later) {
    model m;
    modelInit(&m, &crowded_type);
    for (uint32_t n = 0; n < 150; n++) modelAdd(&m, n);
    while (dictRehash(m.d, 100)) {
    }
    CHECK_EQ_INT(dictSlots(m.d), 224);
    for (uint32_t n = 150; n <= 268; n++) modelAdd(&m, n);
    CHECK_EQ_INT(dictSlots(m.d), 224);
    CHECK(dictMemTables(m.d) > 32 * 64); /* chains */
    for (uint32_t n = 269; n < 280; n++) modelAdd(&m, n);
    CHECK_EQ_INT(dictSlots(m.d), 224 + 448);
    modelCheck(&m);
    modelFree(&m);
}

TEST(dict_expand_that_cannot_be) {
    dict *d = dictCreate(&good_type);
    CHECK(!dictExpand(d, SIZE_MAX));
    zmallocFailAfter(1);
    CHECK(!dictExpand(d, 1000));
    zmallocFailAfter(0);
    CHECK(dictExpand(d, 1000));
    size_t slots = dictSlots(d);
    CHECK(dictExpand(d, 10));
    CHECK_EQ_INT(dictSlots(d), slots);
    dictPauseRehash(d);
    CHECK(!dictExpand(d, 100000));
    dictResumeRehash(d);
    dictSetResizePolicy(DICT_RESIZE_FORBID);
    CHECK(!dictExpand(d, 100000));
    dictSetResizePolicy(DICT_RESIZE_ENABLE);
    dictRelease(d);
}

/* An empty table needs no rehash: the larger one replaces it at once, and its memory is freed. */
TEST(dict_expand_of_an_empty_table_leaves_nothing_behind) {
    size_t used = zmallocUsed();
    dict *d = dictCreate(&good_type);
    CHECK(dictExpand(d, 100));
    CHECK(dictExpand(d, 1000));
    CHECK(!dictIsRehashing(d) && dictSlots(d) > 1000);
    dictRelease(d);
    CHECK_EQ_INT(zmallocUsed(), used);
}

TEST(dict_resize_policies) {
    static model m;
    modelInit(&m, &good_type);
    for (uint32_t n = 0; n < 7; n++) modelAdd(&m, n);
    dictSetResizePolicy(DICT_RESIZE_FORBID);
    for (uint32_t n = 7; n < 20; n++) modelAdd(&m, n);
    CHECK_EQ_INT(dictSlots(m.d), 7);
    dictSetResizePolicy(DICT_RESIZE_AVOID);
    modelAdd(&m, 20);
    CHECK_EQ_INT(dictSlots(m.d), 7);
    for (uint32_t n = 21; n < 30; n++) modelAdd(&m, n);
    CHECK(dictSlots(m.d) > 7);
    dictSetResizePolicy(DICT_RESIZE_ENABLE);
    modelCheck(&m);
    modelFree(&m);

    modelInit(&m, &asking_type);
    resize_allowed = false;
    for (uint32_t n = 0; n < 100; n++) modelAdd(&m, n);
    CHECK_EQ_INT(dictSlots(m.d), 7);
    CHECK(!dictExpand(m.d, 1000));
    resize_allowed = true;
    modelAdd(&m, 100);
    CHECK(dictIsRehashing(m.d));
    modelCheck(&m);
    modelFree(&m);
}

TEST(dict_grows_without_memory_by_chains) {
    static model m;
    modelInit(&m, &good_type);
    for (uint32_t n = 0; n < 7; n++) modelAdd(&m, n);
    for (uint32_t n = 7; n < 40; n++) {
        zmallocFailAfter(1);
        modelAdd(&m, n);
    }
    zmallocFailAfter(0);
    CHECK_EQ_INT(dictSlots(m.d), 7);
    modelCheck(&m);
    modelFree(&m);
}

/* ---- scan ---- */

typedef struct scanState {
    model *m;
    uint8_t seen[KEYS];
    bool exchanges;
} scanState;

static void scanVisit(void *arg, void **ref) {
    scanState *s = arg;
    item *e = *ref;
    CHECK(s->m->in[e->number] == e);
    s->seen[e->number] = 1;
    if (s->exchanges) {
        item *copy = newItem(e->number, e->version + 1);
        zfree(e);
        *ref = s->m->in[copy->number] = copy;
    }
}
static void scanDelete(void *arg, void **ref) {
    scanState *s = arg;
    item *e = *ref;
    s->seen[e->number] = 1;
    if (e->number % 2) modelRemove(s->m, e->number, 0);
}

/* Keys below `kept` stay; the others are added and deleted so that the table grows and shrinks during the scan. */
static void scanWhileResizing(const dictType *type, uint32_t kept, uint32_t range) {
    static model m;
    modelInit(&m, type);
    for (int round = 0; round < 15; round++) {
        static scanState s;
        memset(&s, 0, sizeof(s));
        s.m = &m;
        s.exchanges = round % 2;
        for (uint32_t n = 0; n < kept; n++) modelAdd(&m, n);
        uint32_t step = range / 3 + 1;
        uint64_t cursor = 0;
        size_t calls = 0;
        do {
            cursor = dictScan(m.d, cursor, scanVisit, &s);
            bool add = pick(&m, 2);
            for (uint32_t i = 0, many = pick(&m, step); i < many; i++) {
                uint32_t n = kept + pick(&m, range - kept);
                if (add) modelAdd(&m, n);
                else modelRemove(&m, n, 0);
            }
            if (pick(&m, 3) == 0) dictRehash(m.d, pick(&m, 30));
            if (pick(&m, 10) == 0) {
                for (uint32_t n = kept; n < range; n++) modelRemove(&m, n, 1);
            }
        } while (cursor && ++calls < 100000);
        CHECK_EQ_INT(cursor, 0);
        for (uint32_t n = 0; n < kept; n++) {
            if (!CHECK(s.seen[n])) break;
        }
    }
    modelFree(&m);
}

TEST(dict_scan_keeps_its_promise_under_resizing) {
    scanWhileResizing(&good_type, 30, 2500);
    scanWhileResizing(&good_type, 3, 200);
    scanWhileResizing(&bad_type, 20, 100);
}

static void scanCount(void *arg, void **ref) {
    scanState *s = arg;
    s->seen[((item *)*ref)->number]++;
}

/* In a table that is not rehashing each bucket is visited once, and each cursor is the next bucket with its bits
 * reversed. */
TEST(dict_scan_of_a_table_at_rest_meets_each_entry_once) {
    static model m;
    static scanState s;
    modelInit(&m, &good_type);
    for (uint32_t n = 0; n < 700; n++) modelAdd(&m, n);
    while (dictRehash(m.d, 100)) continue;
    memset(&s, 0, sizeof(s));
    size_t buckets = dictSlots(m.d) / 7, calls = 0;
    uint64_t cursor = 0;
    do {
        uint64_t backwards = 0;
        for (size_t bit = 1; bit < buckets; bit *= 2) backwards = backwards * 2 + ((calls & bit) != 0);
        CHECK_EQ_INT(cursor, backwards);
        cursor = dictScan(m.d, cursor, scanCount, &s);
    } while (cursor && ++calls < buckets);
    CHECK_EQ_INT(calls, buckets - 1);
    for (uint32_t n = 0; n < 700; n++) CHECK_EQ_INT(s.seen[n], 1);
    modelFree(&m);
}

/* A client may send any number as a cursor. */
TEST(dict_scan_ends_from_any_cursor) {
    static model m;
    static scanState s;
    modelInit(&m, &good_type);
    s.m = &m;
    for (uint32_t n = 0; n < 100; n++) modelAdd(&m, n);
    for (int round = 0; round < 200; round++) {
        uint64_t cursor = unitRandom(&m.rng);
        size_t calls = 0;
        do cursor = dictScan(m.d, cursor, scanCount, &s);
        while (cursor && ++calls < 1000);
        CHECK(cursor == 0);
        if (round == 100)
            for (uint32_t n = 100; n < 120; n++) modelAdd(&m, n); /* now it may be growing */
    }
    modelFree(&m);
}

static bool all(const uint8_t *seen, uint32_t n) {
    while (n--) {
        if (!seen[n]) return false;
    }
    return true;
}

TEST(dict_scan_may_delete_and_exchange) {
    const dictType *types[] = {&good_type, &bad_type};
    for (size_t t = 0; t < 2; t++) {
        static model m;
        static scanState s;
        modelInit(&m, types[t]);
        for (uint32_t n = 0; n < 500; n++) modelAdd(&m, n);
        memset(&s, 0, sizeof(s));
        s.m = &m;
        uint64_t cursor = 0;
        do cursor = dictScan(m.d, cursor, scanDelete, &s);
        while (cursor);
        CHECK(all(s.seen, 500));
        CHECK_EQ_INT(m.count, 250);
        modelCheck(&m);
        modelFree(&m);
    }
}

typedef struct placesSeen {
    void **at[600];
    size_t count;
} placesSeen;

static void keepPlace(void *arg, void **ref) {
    placesSeen *p = arg;
    if (p->count < array_len(p->at)) p->at[p->count] = ref;
    p->count++;
}

/* Chains with holes, as a safe iterator leaves them: each entry is visited and stays at its position. */
TEST(dict_scan_read_changes_nothing) {
    const dictType *types[] = {&good_type, &bad_type};
    for (size_t t = 0; t < 2; t++) {
        static model m;
        static placesSeen walks[2];
        modelInit(&m, types[t]);
        for (uint32_t n = 0; n < 500; n++) modelAdd(&m, n);
        dictPauseRehash(m.d);
        for (uint32_t n = 0; n < 500; n++)
            if (n % 4) modelRemove(&m, n, 0);
        dictResumeRehash(m.d);
        size_t bytes = dictMemUsage(m.d);
        memset(walks, 0, sizeof(walks));
        for (int walk = 0; walk < 2; walk++) {
            uint64_t cursor = 0;
            do cursor = dictScanRead(m.d, cursor, keepPlace, &walks[walk]);
            while (cursor);
            CHECK_EQ_INT(walks[walk].count, 125);
        }
        CHECK(memcmp(walks[0].at, walks[1].at, sizeof(walks[0].at)) == 0);
        CHECK_EQ_INT(dictMemUsage(m.d), bytes);
        modelCheck(&m);
        modelFree(&m);
    }
}

/* ---- iterate, random ---- */

TEST(dict_safe_iterator_allows_changes) {
    const dictType *types[] = {&good_type, &bad_type};
    for (size_t t = 0; t < 2; t++) {
        for (uint32_t size = 1; size < 300; size += 13) {
            static model m;
            uint8_t seen[KEYS] = {0};
            modelInit(&m, types[t]);
            for (uint32_t n = 0; n < size; n++) modelAdd(&m, n);
            dictIterator it;
            dictIterBegin(&it, m.d, true);
            uint32_t fresh = size;
            for (item *e; (e = dictIterNext(&it));) {
                uint32_t n = e->number;
                CHECK(!seen[n]);
                seen[n] = 1;
                if (n % 2 == 0) modelRemove(&m, n, n % 3);
                if (n < size && n % 5 == 0) modelAdd(&m, fresh++);
            }
            dictIterEnd(&it);
            CHECK(all(seen, size));
            modelCheck(&m);
            modelFree(&m);
        }
    }
}

/* Returns the chi-square statistic of draws, for equal probabilities. */
static double unfairness(const unsigned *hits, size_t n, double expected) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (hits[i] - expected) * (hits[i] - expected) / expected;
    return sum / (double)n;
}

TEST(dict_random_entry_is_fair) {
    enum { N = 200, DRAWS = 100 * N };
    static model m;
    modelInit(&m, &good_type);
    for (uint32_t n = 0; n < N; n++) modelAdd(&m, n);
    unsigned hits[N] = {0}, sampled[N] = {0};
    for (int i = 0; i < DRAWS; i++) {
        item *e = dictRandomEntry(m.d);
        hits[e->number]++;
        void *out[5];
        size_t got = dictSampleEntries(m.d, out, 5);
        CHECK_EQ_INT(got, 5);
        for (size_t j = 0; j < got; j++) sampled[((item *)out[j])->number]++;
    }
    CHECK(unfairness(hits, N, 100) < 2);
    /* 500 each if it were perfect. An entry after a gap in the table is sampled by one start in five: 100 times, and 40
     * are six standard deviations less. */
    for (int i = 0; i < N; i++) CHECK(sampled[i] > 40);
    modelFree(&m);
}

TEST(dict_random_entry_in_a_sparse_table_ends) {
    static model m;
    modelInit(&m, &good_type);
    dictExpand(m.d, 100000);
    modelAdd(&m, 1);
    modelAdd(&m, 2);
    unsigned ones = 0;
    for (int i = 0; i < 40; i++) {
        item *e = dictRandomEntry(m.d);
        ones += e->number == 1;
        checkRandomPicks(&m);
    }
    CHECK(ones > 0 && ones < 40); /* fails by chance once in 2^39 runs */
    modelFree(&m);
}

/* ---- dictCheck itself ---- */

typedef struct damage {
    const dictType *type;
    void (*make)(model *m);
    const char *expected;
} damage;

static void keyChangesInPlace(model *m) { m->in[3]->number = 100000; }
static void keyTwice(model *m) {
    uint32_t n = 3;
    *dictFindRef(m->d, keyOf(&n), hashOf(m, n)) = m->in[4];
}
static void noEntry(model *m) {
    uint32_t n = 3;
    *dictFindRef(m->d, keyOf(&n), hashOf(m, n)) = NULL;
}

static void checkDamaged(void *arg) {
    const damage *dmg = arg;
    static model m;
    modelInit(&m, dmg->type);
    for (uint32_t n = 0; n < 200; n++) modelAdd(&m, n);
    dictCheck(m.d);
    printf("sound\n");
    fflush(stdout);
    dmg->make(&m);
    dictCheck(m.d);
}

TEST(dict_check_finds_damage) {
    static damage kinds[] = {
        {&good_type, keyChangesInPlace, "hash"}, {&worst_type, keyTwice, "findSlot"}, {&good_type, noEntry, "NULL"}};
    for (size_t i = 0; i < 3; i++) {
        char out[4096];
        CHECK(unitInChild(checkDamaged, &kinds[i], out, sizeof(out)) != 0);
        CHECK(strstr(out, "sound\n") != NULL);
        if (!CHECK(strstr(out, kinds[i].expected) != NULL)) printf("%s", out);
    }
}

TEST(dict_stats_text) {
    static model m;
    modelInit(&m, &good_type);
    for (uint32_t n = 0; n < 7; n++) modelAdd(&m, n);
    char out[2048];
    size_t len = dictStats(m.d, out, sizeof(out), false);
    CHECK_EQ_INT(len, strlen(out));
    CHECK_EQ_STR(out, "Hash table 0 stats (main hash table):\n table size: 7\n number of entries: 7\n"
                      " rehashing index: -1\n");
    dictStats(m.d, out, sizeof(out), true);
    CHECK(strstr(out, " top-level buckets: 1\n child buckets: 0\n max chain length: 0\n avg chain length: 0.000000\n"
                      " chain length distribution:\n   0: 1 (100.00%)\n") != NULL);
    modelAdd(&m, 7);
    dictStats(m.d, out, sizeof(out), true);
    CHECK(dictIsRehashing(m.d) && strstr(out, "Hash table 1 stats (rehashing target):\n") != NULL);
    CHECK_EQ_INT(dictStats(m.d, out, 10, true), 9);
    CHECK_EQ_INT(strlen(out), 9);
    modelFree(&m);
}

TEST(dict_large_table_on_huge_pages) {
    static model m;
    modelInit(&m, &good_type);
    CHECK(dictExpand(m.d, 400000)); /* 8 MiB */
    for (uint32_t n = 0; n < KEYS; n++) modelAdd(&m, n);
    modelCheck(&m);
    dictEmpty(m.d, NULL);
    CHECK_EQ_INT(dictSlots(m.d), 0);
    modelFree(&m);
}
