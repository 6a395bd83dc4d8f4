/* lazyfree.c -- frees objects without stopping main.
 *
 * A list of a million nodes or a flushed database takes seconds to free. A background thread does it as one
 * job. Small objects are freed immediately: a job would cost more. Whether a structure is freed in the background is
 * the user's choice (the lazyfree-* options, INFO's counters). A large string always is, and is not counted: to the
 * user it is one allocation, but giving its pages back to the system takes 40 us per MiB (20 ms for 512 MB; 0.4 ms at
 * worst below LARGE_STRING; a job 3 us).
 *
 * Not here    choosing keys to delete (db.c, expire.c, evict.c).
 * Owns        submitted objects; the list of entries that were returned.
 * Threads     main, except lazyfreeBlock() and lazyfreePrivate(), which any thread may call, and the jobs with
 *             lazyfreeDropEntry() and lazyfreeDropElement() inside them, which run on BIO_LAZY_FREE. They meet in the
 *             counters (atomic, relaxed: read for INFO and for the eviction's estimate) and in the list (lock).
 * Invariants  1. A single submitted object has a count of one and no other code refers to it.
 *             2. Replies may refer to a table's entries, and to elements of a structure: the background
 *                frees those whose count it sees at one (objectIsShared: they cannot be found any more, so that is
 *                final) and returns the others to main, which alone changes counts.
 * Tests       tests/unit/store/lazyfree_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lazyfree.h"

#include "bio.h"
#include "panic.h"
#include "store_state.h"
#include "zmalloc.h"

#include <pthread.h>
#include <stdatomic.h>

#define EFFORT_MIN 64                    /* at most this many allocations are freed immediately; more are worth a job */
#define LARGE_STRING ((uint64_t)1 << 20) /* bytes of a string from which on it is freed in the background */
#define MEM_SAMPLES 5

typedef struct freeJob {
    robj *object;         /* owned, or NULL */
    void *block;          /* owned, or NULL */
    dict *keys, *expires; /* owned, or NULL */
    slotDicts *slots;     /* owned, or NULL */
    size_t objects;       /* as counted in INFO: a large string counts as none */
    size_t bytes;
} freeJob;

typedef struct returnedEntry {
    robj *entry; /* an entry or element; the table's reference is still counted */
    struct returnedEntry *next;
} returnedEntry;

static bool (*free_sink)(robj *o); /* const after boot */
static atomic_size_t pending_objects, pending_bytes;
static _Atomic long long freed_objects;

static _Thread_local bool in_background;
static pthread_mutex_t returned_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf: no other lock is taken while it is held */
static returnedEntry *returned;                                   /* owned; under returned_lock */
static atomic_bool returned_any;                                  /* relaxed: a hint that spares main the lock */

/* ---- Jobs ---- */

static void runJob(void *arg) {
    freeJob *job = arg;
    in_background = true;
    if (job->object) objectFree(job->object);
    zfree(job->block);
    if (job->expires) dictRelease(job->expires);
    dictRelease(job->keys);
    slotDictsRelease(job->slots);
    in_background = false;
    atomic_fetch_sub_explicit(&pending_objects, job->objects, memory_order_relaxed);
    atomic_fetch_sub_explicit(&pending_bytes, job->bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&freed_objects, (long long)job->objects, memory_order_relaxed);
    zfree(job);
}

static void lazyfreeSubmit(freeJob init) {
    freeJob *job = zmalloc(sizeof(*job));
    *job = init;
    atomic_fetch_add_explicit(&pending_objects, job->objects, memory_order_relaxed);
    atomic_fetch_add_explicit(&pending_bytes, job->bytes, memory_order_relaxed);
    bioSubmit(BIO_LAZY_FREE, runJob, job);
}

/* ---- References ---- */

void storeSetFreeSink(bool (*sink)(robj *o)) { free_sink = sink; }

static bool isLargeString(const robj *o) { return o->type == OBJ_STRING && o->value_len >= LARGE_STRING; }

static void submitAlone(robj *o, size_t counted) {
    debugAssert(o->refcount <= 1);
    lazyfreeSubmit((freeJob){.object = o, .objects = counted, .bytes = objectMemUsage(o, MEM_SAMPLES)});
}

/* A large string is not sent to the thread that made it: that would delay its clients instead of main's. */
static inline bool offerToSink(robj *o) {
    return o->type == OBJ_STRING && o->owner != 0 && free_sink && likely(!isLargeString(o)) && free_sink(o);
}

static bool dropOrOffer(robj *o) {
    if (unlikely(objectIsKept(o))) {
        if (o->refcount > 1) {
            objectDropShared(o);
            return true;
        }
        objectOrphanEnds(o);
    }
    return offerToSink(o);
}

static inline void freeOfServer(robj *o) {
    if (store_settings.lazyfree_server_del) lazyfreeObject(o);
    else lazyfreeObjectNow(o);
}

void objectRelease(robj *o) {
    assertMainRole();
    if (!dropOrOffer(o)) freeOfServer(o);
}

void objectReleaseBorrowed(robj *o) {
    assertMainRole();
    if (o->refcount > 1) {
        objectDropBorrowed(o);
        return;
    }
    if (unlikely(o->orphaned)) objectOrphanEnds(o);
    if (!offerToSink(o)) freeOfServer(o);
}

void objectReleaseLazily(robj *o) {
    assertMainRole();
    if (!dropOrOffer(o)) lazyfreeObject(o);
}

void objectReleaseNow(robj *o) {
    assertMainRole();
    if (!dropOrOffer(o)) lazyfreeObjectNow(o);
}

/* ---- Objects without other references ---- */

void lazyfreePrivate(robj *o) {
    if (likely(!isLargeString(o))) objectFree(o);
    else submitAlone(o, 0);
}

void lazyfreeObjectNow(robj *o) {
    assertMainRole();
    lazyfreePrivate(o);
}

void lazyfreeObject(robj *o) {
    assertMainRole();
    if (o->type == OBJ_STRING) lazyfreeObjectNow(o);
    else if (objectFreeEffort(o) <= EFFORT_MIN) objectFree(o);
    else submitAlone(o, 1);
}

void lazyfreeDicts(dict *keys, slotDicts *slots, dict *expires, bool counted) {
    assertMainRole();
    lazyfreeCollect();
    size_t objects = keys ? dictSize(keys) : slotDictsSize(slots);
    lazyfreeSubmit((freeJob){.keys = keys, .slots = slots, .expires = expires, .objects = counted ? objects : 0});
}

void lazyfreeBlock(void *block, size_t bytes) {
    if (likely(bytes < LARGE_STRING)) zfree(block);
    else lazyfreeSubmit((freeJob){.block = block, .bytes = bytes});
}

/* ---- Entries of whole tables ---- */

static void lazyfreeGiveBack(robj *entry) {
    returnedEntry *r = zmalloc(sizeof(*r));
    r->entry = entry;
    pthread_mutex_lock(&returned_lock);
    r->next = returned;
    returned = r;
    atomic_store_explicit(&returned_any, true, memory_order_relaxed);
    pthread_mutex_unlock(&returned_lock);
}

void lazyfreeDropEntry(void *entry) {
    robj *o = entry;
    if (objectIsShared(o)) {
        if (in_background) lazyfreeGiveBack(o);
        else objectDropShared(o);
    } else if (in_background) {
        objectFree(o);
    } else {
        lazyfreeObjectNow(o);
    }
}

void lazyfreeDropElement(robj *o) {
    if (!in_background) objectReleaseNow(o);
    else if (objectIsShared(o)) lazyfreeGiveBack(o);
    else objectFree(o);
}

void lazyfreeCollect(void) {
    assertMainRole();
    if (likely(!atomic_load_explicit(&returned_any, memory_order_relaxed))) return;
    pthread_mutex_lock(&returned_lock);
    returnedEntry *r = returned;
    returned = NULL;
    atomic_store_explicit(&returned_any, false, memory_order_relaxed);
    pthread_mutex_unlock(&returned_lock);
    while (r) {
        returnedEntry *next = r->next;
        objectRelease(r->entry);
        zfree(r);
        r = next;
    }
}

/* ---- Counters ---- */

size_t lazyfreePending(void) { return atomic_load_explicit(&pending_objects, memory_order_relaxed); }

size_t lazyfreePendingBytes(void) { return atomic_load_explicit(&pending_bytes, memory_order_relaxed); }

long long lazyfreeDone(void) {
    store_stats.lazyfreed_objects = atomic_load_explicit(&freed_objects, memory_order_relaxed);
    return store_stats.lazyfreed_objects;
}

void lazyfreeResetStats(void) {
    atomic_store_explicit(&freed_objects, 0, memory_order_relaxed);
    store_stats.lazyfreed_objects = 0;
}
