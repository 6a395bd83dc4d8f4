/* expire.c -- the cycle that finds expired keys before they are looked up.
 *
 * A key that is never looked up again would stay for ever. The cycle walks the dicts of keys with an expire, a few
 * buckets at a time, as long as many of the keys that it visits are expired, and never longer than its share of the
 * CPU.
 *
 *   scan some buckets --> pointers, each entry prefetched --> read the expires --> delete the expired keys
 *
 * Values whose elements have a TTL are visited in the same way; each value has an index of its expired elements.
 *
 * An entry is read a step after its prefetch, so that the cache misses of a sample overlap.
 *
 * Not here    whether one key is expired, and its deletion (db.c).
 * Owns        the position of the next call, the estimate of stale keys.
 * Threads     main.
 * Invariants  1. Within one step only the deletions of this step change a db: observers must not.
 *             2. A call lasts at most SLICE_US plus one step, and all calls of a tick its share of the tick (slow_us).
 * Cost        effort 1: 25 % of a tick, 20 keys a step. A step reads the clock once and deletes 20 to 65 keys.
 * Tests       tests/unit/store/expire_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "expire.h"
#include "keyspace_events_internal.h"

#include "clock.h"
#include "db_internal.h"
#include "replica_expires.h"
#include "panic.h"
#include "store_latency.h"

#define TTL_COUNTED_MAX_MS (100ll * 365 * 24 * 3600 * 1000)
#define STEP_KEYS_MAX 96 /* a step's sample: 20 keys at effort 1, 65 at 10, plus the rest of the last bucket */
#define STEP_BUCKETS_PER_KEY 20
#define DBS_PER_CALL 16
#define CLOCK_EVERY_DBS 16
#define SLICE_US 1000              /* longest wait of clients */
#define RECORDED_KEYS_PER_TICK 256 /* of a writable replica's own keys */

/* The parameters of active-expire-effort 1..10. */
typedef struct effort {
    size_t step_keys;        /* entries to read in one step */
    uint64_t fast_us;        /* length of a fast call if slices were longer, and half the interval between two */
    uint64_t slow_us;        /* share of a tick */
    double stale_acceptable; /* a database with a lower percentage of expired keys is left */
} effort;

typedef struct sample {
    robj *entries[STEP_KEYS_MAX];
    size_t count;
} sample;

typedef struct stepResult {
    size_t sampled, expired, ttl_count;
    long long ttl_sum_ms;
} stepResult;

static struct {
    int next_db;
    bool cut_short;   /* the last call ran out of time */
    uint64_t left_us; /* of this tick's time, for calls with REST */
    bool off;         /* DEBUG SET-ACTIVE-EXPIRE 0 */
    uint64_t last_fast_us;
} cycle;

void expireSetActive(bool on) {
    assertMainRole();
    cycle.off = !on;
}

static effort effortOf(void) {
    uint64_t more = (uint64_t)store_settings.active_expire_effort - 1;
    uint64_t hz = store_settings.hz > 0 ? (uint64_t)store_settings.hz : 10;
    return (effort){.step_keys = 20 + 5 * more,
                    .fast_us = 1000 + 250 * more,
                    .slow_us = (25 + 2 * more) * 10000 / hz,
                    .stale_acceptable = 10.0 - (double)more};
}

/* ---- One step ---- */

static void expireCollect(void *arg, void **ref) {
    sample *s = arg;
    if (s->count == STEP_KEYS_MAX) return;
    prefetchRead(*ref);
    s->entries[s->count++] = *ref;
}

/* Fills the sample from a table, from its cursor on. Returns false when the walk is complete. */
static bool fillSample(dict *d, uint64_t *cursor, sample *s, size_t want) {
    s->count = 0;
    for (size_t buckets = 0; s->count < want && buckets < want * STEP_BUCKETS_PER_KEY; buckets++) {
        *cursor = dictScan(d, *cursor, expireCollect, s);
        if (*cursor == 0) return false;
    }
    return true;
}

static stepResult expireSample(serverDb *db, const sample *s) {
    stepResult r = {.sampled = s->count};
    for (size_t i = 0; i < s->count; i++) {
        robj *entry = s->entries[i];
        int64_t left_ms = objectExpire(entry) - storeNowMs();
        if (!keyIsExpired(entry)) {
            /* A TTL may be near the limit of the type: a century is the most that counts. */
            r.ttl_sum_ms += left_ms < TTL_COUNTED_MAX_MS ? left_ms : TTL_COUNTED_MAX_MS;
            r.ttl_count++;
            continue;
        }
        serverAssert(dbDropExpired(db, entry, entryHash(entry)));
        r.expired++;
    }
    return r;
}

/* Updates a slow average, so that a single unusual step hardly changes it. */
static void learnTtl(serverDb *db, const stepResult *r) {
    if (r->ttl_count == 0) return;
    long long avg_ms = r->ttl_sum_ms / (long long)r->ttl_count;
    if (avg_ms < 0) avg_ms = 0;
    db->avg_ttl_ms = db->avg_ttl_ms == 0 ? avg_ms : db->avg_ttl_ms / 50 * 49 + avg_ms / 50;
}

static void learnStalePercent(double *percent, const stepResult *r) {
    double now = r->sampled ? (double)r->expired * 100 / (double)r->sampled : 0;
    *percent = now * 0.05 + *percent * 0.95;
}

/* ---- Elements ---- */

#define ELEMENTS_AT_ONCE 64

/* Removes expired elements of one value while there are some and time is left. */
static bool expireElementsOf(serverDb *db, robj *entry, uint64_t deadline_us, bool *any) {
    uint64_t hash = entryHash(entry);
    size_t dropped = dbExpireElements(db, entry, hash, ELEMENTS_AT_ONCE);
    *any = dropped > 0;
    while (dropped == ELEMENTS_AT_ONCE && clockMonotonicUs() < deadline_us &&
           dictHoldsEntry(db->volatile_items, entry, hash))
        dropped = dbExpireElements(db, entry, hash, ELEMENTS_AT_ONCE);
    return dropped == ELEMENTS_AT_ONCE && clockMonotonicUs() >= deadline_us;
}

/* Like expireDb(), for keys whose elements have a TTL. */
static bool expireElements(serverDb *db, const effort *e, uint64_t deadline_us, stepResult *total) {
    for (;;) {
        sample s;
        size_t keys = dictSize(db->volatile_items), stale = 0;
        bool any;
        if (keys == 0) return false;
        bool more = fillSample(db->volatile_items, &db->ttls_cursor, &s, keys < e->step_keys ? keys : e->step_keys);
        for (size_t i = 0; i < s.count; i++) {
            bool cut_short = expireElementsOf(db, s.entries[i], deadline_us, &any);
            stale += any;
            if (cut_short) return true;
        }
        total->sampled += s.count;
        total->expired += stale;
        bool many_stale = s.count == 0 || (double)stale * 100 > e->stale_acceptable * (double)s.count;
        if (!more || !many_stale) return false;
        if (clockMonotonicUs() >= deadline_us) return true;
    }
}

/* ---- The cycle ---- */

/* Does steps in one db until few of the visited keys are expired, or the walk is complete. Returns true when the time
 * is used up. */
static bool expireDb(serverDb *db, const effort *e, uint64_t deadline_us, stepResult *total) {
    sample s;
    for (;;) {
        size_t keys = dictSize(db->expires);
        if (keys == 0) {
            db->avg_ttl_ms = 0;
            db->expire_cursor = 0;
            return false;
        }
        /* Below 1 % fill a walk visits almost nothing; the table will be shrunk. */
        size_t slots = dictSlots(db->expires);
        if (slots > 64 && keys * 100 / slots < 1) return false;
        bool more = fillSample(db->expires, &db->expire_cursor, &s, keys < e->step_keys ? keys : e->step_keys);
        stepResult r = expireSample(db, &s);
        learnTtl(db, &r);
        total->sampled += r.sampled;
        total->expired += r.expired;
        bool many_stale = r.sampled == 0 || (double)r.expired * 100 > e->stale_acceptable * (double)r.sampled;
        if (!more || !many_stale) return false;
        if (clockMonotonicUs() >= deadline_us) return true;
    }
}

static bool fastCallIsDue(const effort *e, uint64_t now_us) {
    if (cycle.left_us) return false; /* the slow cycle is not finished: one slice per loop iteration */
    if (!cycle.cut_short && store_stats.expired_stale_perc < e->stale_acceptable) return false;
    if (cycle.last_fast_us && now_us < cycle.last_fast_us + 2 * e->fast_us) return false;
    cycle.last_fast_us = now_us;
    return true;
}

/* Returns how long this call may last; 0: it does nothing. */
static uint64_t callLength(expireCycleKind kind, const effort *e, uint64_t now_us) {
    if (kind == EXPIRE_CYCLE_SLOW) cycle.left_us = e->slow_us;
    uint64_t most_us = kind != EXPIRE_CYCLE_FAST ? cycle.left_us : fastCallIsDue(e, now_us) ? e->fast_us : 0;
    return most_us < SLICE_US ? most_us : SLICE_US;
}

/* Runs the dbs in turn until all are done or the time is used up (cut_short). */
static stepResult expireDbs(const effort *e, uint64_t deadline_us, stepResult *elements) {
    int count = dbCount();
    /* A call that ran out of time leaves work in all dbs: the next one includes all. */
    int dbs_now = cycle.cut_short || count < DBS_PER_CALL ? count : DBS_PER_CALL;
    stepResult total = {0};
    cycle.cut_short = false;
    for (int i = 0; i < dbs_now && !cycle.cut_short; i++) {
        serverDb *db = dbGet(cycle.next_db++ % count);
        if (dictSize(db->expires) > 0) cycle.cut_short = expireDb(db, e, deadline_us, &total);
        if (dictSize(db->volatile_items) > 0 && !cycle.cut_short)
            cycle.cut_short = expireElements(db, e, deadline_us, elements);
        if (i % CLOCK_EVERY_DBS == CLOCK_EVERY_DBS - 1 && clockMonotonicUs() >= deadline_us) cycle.cut_short = true;
    }
    cycle.next_db %= count;
    return total;
}

/* Returns whether the key still has the expire that a client of this server has set, and is not expired. */
static bool expireRecordedKey(int dbid, slice name, int64_t when_ms) {
    serverDb *db = dbGet(dbid);
    uint64_t hash = keyHash(name);
    robj *entry = db ? dictFind(dbDict(db, hash), name, hash) : NULL;
    if (!entry || objectExpire(entry) != when_ms) return false;
    if (!keyIsExpired(entry)) return true;
    dbDropExpired(db, entry, hash);
    return false;
}

static bool expireCycleRun(expireCycleKind kind) {
    if (kind == EXPIRE_CYCLE_SLOW) lazyfreeCollect();
    if (kind == EXPIRE_CYCLE_SLOW && !cycle.off && !storeExpiryPaused())
        replicaExpiresVisit(RECORDED_KEYS_PER_TICK, expireRecordedKey);
    if (cycle.off || !expireDeletionAllowed()) {
        cycle.left_us = 0;
        return false;
    }
    effort e = effortOf();
    uint64_t start_us = clockMonotonicUs();
    uint64_t slice_us = callLength(kind, &e, start_us);
    if (slice_us == 0) return false;

    stepResult elements = {0}, total = expireDbs(&e, start_us + slice_us, &elements);
    uint64_t used_us = clockMonotonicUs() - start_us;
    if (unlikely(store_latency_observer != NULL)) store_latency_observer("expire-cycle", used_us);
    store_stats.expire_cycle_cpu_us += (long long)used_us;
    learnStalePercent(&store_stats.expired_stale_perc, &total);
    learnStalePercent(&store_stats.elements_stale_perc, &elements);
    if (kind != EXPIRE_CYCLE_FAST) {
        bool more = cycle.cut_short && used_us < cycle.left_us;
        cycle.left_us = more ? cycle.left_us - used_us : 0;
        if (more) return true;
    }
    if (cycle.cut_short) store_stats.expired_time_cap_reached++;
    return false;
}

bool activeExpireCycle(expireCycleKind kind) {
    assertMainRole();
    bool more = expireCycleRun(kind);
    keyspaceSettled();
    return more;
}
