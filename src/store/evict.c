/* evict.c -- maxmemory: evicts the least useful keys until used memory is below the limit.
 *
 * An exact order of all keys would cost memory, and time at each use of a key. A few random keys are compared instead,
 * and the best candidates are kept for the next time, so that the choice is better than that of one sample.
 *
 *   sample --score--> pool of 16, ascending --best that still exists--> victim
 *
 * Not here    the meaning of the LRU/LFU bits (lru.c); freeing in the background (lazyfree.c).
 * Owns        the pool. Its entries are addresses, borrowed and possibly freed: they are compared, never followed,
 *             until the dict of the policy has confirmed that an entry is there, which may be that of another key by
 *             now.
 * Threads     main.
 * Invariants  1. Scores in the pool ascend; pool_count <= POOL_SIZE; no address is repeated.
 *             2. A volatile-* policy removes no key without an expire, noeviction removes none.
 *             3. One call lasts at most its time slice plus one deletion, plus one slice of waiting for the background.
 * Cost        a call: maxmemory-samples keys for each db and victim; their cache misses overlap.
 * Tests       tests/unit/store/evict_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "evict.h"

#include "bio.h"
#include "clock.h"
#include "db_internal.h"
#include "keyspace_events_internal.h"
#include "log.h"
#include "lru.h"
#include "panic.h"
#include "rss_limit.h"
#include "setting.h"
#include "store_latency.h"
#include "zmalloc.h"

#include <math.h>
#include <unistd.h>

#define POOL_SIZE 16
#define SAMPLES_MAX 64
#define MEM_SAMPLES 5
#define CHECK_EVERY_KEYS 16
#define SAMPLE_ROUNDS_MAX 64
#define SLOT_DRAWS_MAX 8
#define UNCOUNTED_MAX 8

typedef struct candidate {
    const void *entry; /* borrowed; possibly freed */
    uint64_t hash;
    uint64_t score; /* the highest is evicted first */
    int dbid;
} candidate;

static candidate pool[POOL_SIZE];
static size_t pool_count;
static int pool_policy;
static int next_db;                              /* random policies alternate between databases */
static size_t (*uncounted[UNCOUNTED_MAX])(void); /* const after boot */
static unsigned uncounted_count;                 /* const after boot */
static uint64_t exceeded_since_us;               /* 0: memory is below the limit */

void evictAddUncounted(size_t (*fn)(void)) {
    assertMainRole();
    serverAssert(uncounted_count < UNCOUNTED_MAX);
    uncounted[uncounted_count++] = fn;
}

size_t evictUncounted(void) {
    assertMainRole();
    size_t bytes = 0;
    for (unsigned i = 0; i < uncounted_count; i++) bytes += uncounted[i]();
    return bytes;
}

/* ---- Amounts ---- */

size_t evictLimit(void) {
    size_t limit = (size_t)store_settings.maxmemory, lowered = rssLimitBytes();
    if (store_following.on && store_following.all_memory) return 0;
    return limit <= lowered ? limit : lowered; /* 0: none */
}

/* Returns used memory that counts; exact only above the limit, where uncounted memory is computed. */
static size_t countedMemory(size_t limit) {
    size_t used = zmallocUsed();
    if (likely(used <= limit)) return used;
    size_t minus = lazyfreePendingBytes() + evictUncounted();
    return used > minus ? used - minus : 0;
}

bool evictOverLimit(size_t *over_bytes) {
    assertMainRole();
    if (over_bytes) *over_bytes = 0;
    size_t limit = evictLimit();
    if (limit == 0) return false;
    size_t used = countedMemory(limit);
    if (used <= limit) return false;
    if (over_bytes) *over_bytes = used - limit;
    return true;
}

size_t evictAvailable(void) {
    assertMainRole();
    size_t limit = evictLimit();
    if (limit == 0) return SIZE_MAX;
    size_t used = countedMemory(limit);
    return used < limit ? limit - used : 0;
}

/* Implements maxmemory-eviction-tenacity: 50 us for each step up to 10, then 15 % more for each, no limit at 100. */
static uint64_t timeSliceUs(void) {
    double tenacity = (double)store_settings.maxmemory_eviction_tenacity;
    if (tenacity <= 10) return (uint64_t)(50 * tenacity);
    if (tenacity < 100) return (uint64_t)(500 * pow(1.15, tenacity - 10));
    return UINT64_MAX;
}

long long evictExceededUs(void) { return exceeded_since_us ? (long long)(clockMonotonicUs() - exceeded_since_us) : 0; }

static void noteExceeded(evictResult result) {
    if (result != EVICT_OK) {
        if (!exceeded_since_us) exceeded_since_us = clockMonotonicUs();
    } else if (exceeded_since_us) {
        store_stats.eviction_exceeded_us += evictExceededUs();
        exceeded_since_us = 0;
    }
}

/* ---- The pool ---- */

static bool ofAllKeys(void) { return store_settings.maxmemory_policy & MAXMEMORY_FLAG_ALLKEYS; }

/* Returns the number of keys that the policy may evict. */
static size_t sizeOfPolicy(const serverDb *db) { return ofAllKeys() ? dbSize(db) : dictSize(db->expires); }

/* Returns a dict of these keys for drawing random ones. */
static const dict *drawOfPolicy(const serverDb *db) { return ofAllKeys() ? dbDrawDict(db) : db->expires; }

/* Returns the dict that has the key with that hash if the policy may evict it. */
static const dict *dictOfPolicy(const serverDb *db, uint64_t hash) {
    return ofAllKeys() ? dbDict(db, hash) : db->expires;
}

static uint64_t scoreOf(const robj *o) {
    int policy = store_settings.maxmemory_policy;
    if (policy == MAXMEMORY_VOLATILE_TTL) return UINT64_MAX - (uint64_t)objectExpire(o);
    if (policy & MAXMEMORY_FLAG_LFU) return 255 - lfuFrequency(o);
    return lruIdleMs(o);
}

static void poolRemove(size_t at) { memmove(&pool[at], &pool[at + 1], (--pool_count - at) * sizeof(pool[0])); }

/* Inserts the entry in order; the lowest score is dropped if the pool is full. */
static void poolInsert(const robj *o, int dbid) {
    uint64_t score = scoreOf(o);
    if (pool_count == POOL_SIZE && score <= pool[0].score) return;
    for (size_t i = 0; i < pool_count; i++) {
        if (pool[i].entry != o) continue;
        poolRemove(i); /* its score may have changed */
        break;
    }
    if (pool_count == POOL_SIZE) poolRemove(0);
    size_t at = pool_count;
    while (at > 0 && pool[at - 1].score > score) at--;
    memmove(&pool[at + 1], &pool[at], (pool_count - at) * sizeof(pool[0]));
    pool[at] = (candidate){.entry = o, .hash = entryHash(o), .score = score, .dbid = dbid};
    pool_count++;
}

/* A dict of few keys, as a slot may have, yields fewer than a sample: others are drawn as well. */
static void poolSample(const serverDb *db) {
    void *entries[SAMPLES_MAX];
    size_t want = (size_t)store_settings.maxmemory_samples, n = 0;
    if (want > SAMPLES_MAX) want = SAMPLES_MAX;
    for (int draws = 0; n < want && draws < (db->slots ? SLOT_DRAWS_MAX : 1); draws++)
        n += dictSampleEntries(drawOfPolicy(db), entries + n, want - n);
    for (size_t i = 0; i < n; i++) prefetchRead(entries[i]);
    for (size_t i = 0; i < n; i++) poolInsert(entries[i], db->id);
}

/* ---- The victim ---- */

typedef struct victim {
    serverDb *db;
    robj *entry; /* owned: it has been removed from the db */
} victim;

/* Removes the candidate from the db if it is still there and still the key that was scored. The dict of the policy
 * confirms the address, so that the entry may be read; only the hash of its present key proves that no other key has
 * got that address. Some bits of the hash are not enough: the two dicts of a database differ in size, so a bucket that
 * matches in one may differ in the other. */
static bool takeCandidate(const candidate *c, victim *v) {
    v->db = dbGet(c->dbid);
    if (!dictHoldsEntry(dictOfPolicy(v->db, c->hash), c->entry, c->hash)) return false;
    v->entry = (robj *)(uintptr_t)c->entry;
    if (entryHash(v->entry) != c->hash) return false;
    serverAssert(dbTakeEntry(v->db, v->entry, c->hash));
    return true;
}

static bool takeAtRandom(victim *v) {
    for (int i = 0; i < dbCount(); i++) {
        v->db = dbGet(next_db++ % dbCount());
        next_db %= dbCount();
        v->entry = dictRandomEntry(drawOfPolicy(v->db));
        if (!v->entry) continue;
        serverAssert(dbTakeEntry(v->db, v->entry, entryHash(v->entry)));
        return true;
    }
    return false;
}

static bool takeByScore(victim *v) {
    if (pool_policy != store_settings.maxmemory_policy) { /* scores of two policies are not comparable */
        pool_policy = store_settings.maxmemory_policy;
        pool_count = 0;
    }
    for (int round = 0; round < SAMPLE_ROUNDS_MAX; round++) {
        size_t keys = 0;
        for (int i = 0; i < dbCount(); i++) {
            serverDb *db = dbGet(i);
            size_t size = sizeOfPolicy(db);
            if (size) poolSample(db);
            keys += size;
        }
        if (keys == 0) return false;
        while (pool_count) {
            candidate best = pool[--pool_count];
            if (takeCandidate(&best, v)) return true;
        }
    }
    return takeAtRandom(v); /* tables so sparse that samples are empty */
}

static bool takeVictim(victim *v) {
    if (store_following.imports) return false;
    switch (store_settings.maxmemory_policy) {
    case MAXMEMORY_NO_EVICTION: return false;
    case MAXMEMORY_VOLATILE_RANDOM:
    case MAXMEMORY_ALLKEYS_RANDOM: return takeAtRandom(v);
    default: return takeByScore(v);
    }
}

/* Returns the bytes that are freed now or soon. Includes a value that a reply still refers to, and which is orphaned
 * from now on. */
static size_t dropVictim(const victim *v) {
    size_t bytes = objectMemUsage(v->entry, MEM_SAMPLES);
    uint64_t began_us = storeLatencyBegin();
    keyspaceNotifyEvicted(v->db, hashedKeyOf(objectKey(v->entry)));
    if (v->entry->refcount > 1) objectDropShared(v->entry);
    else if (store_settings.lazyfree_eviction) lazyfreeObject(v->entry);
    else lazyfreeObjectNow(v->entry); /* on this thread, whichever made it: used memory must fall now */
    storeLatencyEnd("eviction-del", began_us);
    return bytes;
}

/* ---- The call ---- */

/* Call if no more keys can be evicted: waits, as the background may free enough memory. */
static evictResult waitForBackground(uint64_t slice_us) {
    uint64_t start_us = clockMonotonicUs();
    useconds_t nap_us = slice_us < 1000 ? (useconds_t)slice_us : 1000;
    while (bioPending(BIO_LAZY_FREE) > 0 && clockMonotonicUs() - start_us < slice_us) {
        if (!evictOverLimit(NULL)) return EVICT_OK;
        usleep(nap_us);
    }
    return evictOverLimit(NULL) ? EVICT_FAIL : EVICT_OK;
}

static evictResult evictUntilBelow(size_t over_bytes) {
    uint64_t slice_us = timeSliceUs(), start_us = clockMonotonicUs();
    size_t freed_bytes = 0;
    victim v;
    for (unsigned keys = 1; freed_bytes < over_bytes; keys++) {
        if (!takeVictim(&v)) return waitForBackground(slice_us);
        freed_bytes += dropVictim(&v);
        if (keys % CHECK_EVERY_KEYS) continue;
        if (!evictOverLimit(NULL)) return EVICT_OK;
        if (clockMonotonicUs() - start_us > slice_us) return EVICT_RUNNING;
    }
    return EVICT_OK;
}

evictResult evictPerform(void) {
    assertMainRole();
    if (likely(store_settings.maxmemory == 0) && !exceeded_since_us) return EVICT_OK;
    size_t over_bytes;
    lazyfreeCollect();
    evictResult result = EVICT_OK;
    if (evictOverLimit(&over_bytes) && !storeExpiryPaused()) {
        uint64_t began_us = storeLatencyBegin();
        result = evictUntilBelow(over_bytes);
        storeLatencyEnd("eviction-cycle", began_us);
    }
    noteExceeded(result);
    keyspaceSettled();
    return result;
}

/* A new limit takes effect at once: the first time slice of eviction runs here, later commands go on. */
static bool applyMaxmemory(const char **err) {
    unused(err);
    size_t used = zmallocUsed();
    if (store_settings.maxmemory && (unsigned long long)store_settings.maxmemory < used)
        serverLog(
            LL_WARNING,
            "maxmemory is now %llu bytes, but %zu bytes are in use: keys will be evicted or writes refused, depending "
            "on maxmemory-policy.",
            (unsigned long long)store_settings.maxmemory, used);
    evictPerform();
    return true;
}

void evictInit(void) { settingOnApply("maxmemory", applyMaxmemory); }
