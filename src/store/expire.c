/* expire.c -- the cycle that finds expired keys before they are looked up.
 *
 * A key that is never looked up again would stay for ever. The cycle takes keys from the index by time (due_keys.h)
 * when they are due. Without an index, and a little in any case (for the average TTL, and because a walk finds whatever
 * an index does not), it walks the dicts of keys with an expire, a few buckets at a time, as long as many of the keys
 * that it visits are expired. All that never takes longer than its share of the CPU.
 *
 *   take some hashes, or scan some buckets --> each entry prefetched --> read the expires --> delete the expired keys
 *
 * Values whose elements have a TTL are visited in the same way; each value has an index of its expired elements.
 *
 * An entry is read a step after its prefetch, so that the cache misses of a sample overlap.
 *
 * Not here    whether one key is expired, and its deletion (db.c).
 * Owns        the position of the next call, the estimate of stale keys, how late keys are deleted.
 * Threads     main.
 * Invariants  1. Within one step only the deletions of this step change a db: observers must not.
 *             2. A call lasts at most SLICE_US plus one step, and all calls of a tick its share of the tick (slow_us).
 * Cost        effort 1: 25 % of a tick, 20 keys a step. A step reads the clock once and deletes 20 to 65 keys, or
 *             DUE_AT_ONCE that the index has.
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
#define SLICE_US 1000 /* longest wait of clients */
#define DUE_AT_ONCE 32
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
    uint64_t due_us;  /* of this tick's time, for calls with DUE */
    bool off;         /* DEBUG SET-ACTIVE-EXPIRE 0 */
    uint64_t last_fast_us;
} cycle;

/* How late the latest key was, of those that the cycle deleted in this second and in the last one. */
static struct {
    int64_t second;
    long long now_ms, before_ms;
} lag;

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

/* ---- How late ---- */

static void lagSecond(void) {
    int64_t second = storeNowMs() / 1000;
    if (second == lag.second) return;
    lag.before_ms = second == lag.second + 1 ? lag.now_ms : 0;
    lag.now_ms = 0;
    lag.second = second;
}

static void lagNote(int64_t late_ms) {
    lagSecond();
    if (late_ms > lag.now_ms) lag.now_ms = late_ms;
}

long long expireLagMs(void) {
    lagSecond();
    return lag.now_ms > lag.before_ms ? lag.now_ms : lag.before_ms;
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
        lagNote(-left_ms);
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

/* ---- Elements of one value ---- */

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

/* ---- Keys of the index ---- */

static void prefetchDue(const serverDb *db, const dict *table, const uint64_t *hashes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        dictPrefetchAdd(table, hashes[i]);
        dictPrefetchAdd(dbDict(db, hashes[i]), hashes[i]);
    }
    for (size_t i = 0; i < n; i++) dictPrefetchByHash(table, hashes[i]);
}

/* Deletes keys that the index has as due. Returns true when the time is used up. */
static bool expireDue(serverDb *db, uint64_t deadline_us) {
    uint64_t hashes[DUE_AT_ONCE];
    size_t n;
    while ((n = dueKeysTake(&db->due, storeNowMs(), hashes, DUE_AT_ONCE)) > 0) {
        prefetchDue(db, db->expires, hashes, n);
        for (size_t i = 0; i < n; i++) {
            robj *entry = dictFindByHash(db->expires, hashes[i]);
            if (!entry) continue;
            if (!keyIsExpired(entry)) {
                dueKeysAgain(&db->due, entry, hashes[i]);
                continue;
            }
            lagNote(storeNowMs() - objectExpire(entry));
            serverAssert(dbDropExpired(db, entry, hashes[i]));
        }
        if (clockMonotonicUs() >= deadline_us) return true;
    }
    return false;
}

/* Removes elements that the index has as due. Once the time is used up, the rest of the values goes back as it is. */
static bool expireDueElements(serverDb *db, uint64_t deadline_us) {
    uint64_t hashes[DUE_AT_ONCE];
    size_t n;
    bool cut_short = false, any;
    while (!cut_short && (n = dueKeysTake(&db->due_items, storeNowMs(), hashes, DUE_AT_ONCE)) > 0) {
        prefetchDue(db, db->volatile_items, hashes, n);
        for (size_t i = 0; i < n; i++) {
            robj *entry = dictFindByHash(db->volatile_items, hashes[i]);
            if (!entry) continue;
            if (!cut_short) cut_short = expireElementsOf(db, entry, deadline_us, &any);
            if (dictHoldsEntry(db->volatile_items, entry, hashes[i])) dueKeysAgain(&db->due_items, entry, hashes[i]);
        }
        cut_short |= clockMonotonicUs() >= deadline_us;
    }
    return cut_short;
}

/* Deletes the due keys of all databases. The one after that which used up the time is the first of the next call. */
static bool expireAllDue(uint64_t deadline_us) {
    static int first;
    bool cut_short = false;
    int64_t earliest_ms = INT64_MAX;
    int count = dbCount(), begin = first;
    for (int i = 0; i < count; i++) {
        serverDb *db = dbGet((begin + i) % count);
        if (!cut_short && (expireDue(db, deadline_us) || expireDueElements(db, deadline_us))) {
            cut_short = true;
            first = (db->id + 1) % count;
        }
        int64_t next_ms = dueKeysNextMs(&db->due), elements_ms = dueKeysNextMs(&db->due_items);
        if (next_ms < earliest_ms) earliest_ms = next_ms;
        if (elements_ms < earliest_ms) earliest_ms = elements_ms;
    }
    due_keys_earliest_ms = earliest_ms;
    return cut_short;
}

int64_t expireNextDueMs(void) {
    return cycle.off || cycle.due_us == 0 || !expireDeletionAllowed() ? INT64_MAX : due_keys_earliest_ms;
}

static bool hasIndex(const serverDb *db) {
    return db->due.wheel || db->due.coming || db->due_items.wheel || db->due_items.coming;
}

/* Replicas have none: the primary deletes. */
static bool wantsIndex(const serverDb *db) {
    return !store_following.on && dueKeysWanted(dictSize(db->expires) + dictSize(db->volatile_items), hasIndex(db));
}

static void dropIndexes(void) {
    for (int i = 0; i < dbCount(); i++) {
        serverDb *db = dbGet(i);
        if (!hasIndex(db) || wantsIndex(db)) continue;
        dueKeysDrop(&db->due);
        dueKeysDrop(&db->due_items);
    }
}

/* Makes indexes for databases that have none. Returns true when the time is used up. */
static bool fillIndexes(uint64_t deadline_us) {
    for (int i = 0; i < dbCount(); i++) {
        serverDb *db = dbGet(i);
        if (!wantsIndex(db)) continue;
        if (dueKeysFill(&db->due, db->expires, storeNowMs(), deadline_us)) return true;
        if (dueKeysFill(&db->due_items, db->volatile_items, storeNowMs(), deadline_us)) return true;
    }
    return false;
}

/* ---- Elements ---- */

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
    uint64_t most_us = 0;
    switch (kind) {
    case EXPIRE_CYCLE_SLOW: most_us = cycle.left_us = cycle.due_us = e->slow_us; break;
    case EXPIRE_CYCLE_REST: most_us = cycle.left_us; break;
    case EXPIRE_CYCLE_FAST: most_us = fastCallIsDue(e, now_us) ? e->fast_us : 0; break;
    case EXPIRE_CYCLE_DUE: most_us = cycle.due_us; break;
    }
    return most_us < SLICE_US ? most_us : SLICE_US;
}

/* Runs the dbs in turn until all are done or the time is used up (cut_short). The walk has a quarter of the time in any
 * case, in which it also removes elements of large values. */
static stepResult expireDbs(const effort *e, uint64_t deadline_us, uint64_t length_us, stepResult *elements) {
    int count = dbCount();
    /* A call that ran out of time leaves work in all dbs: the next one includes all. */
    int dbs_now = cycle.cut_short || count < DBS_PER_CALL ? count : DBS_PER_CALL;
    stepResult total = {0};
    bool due_are_left = expireAllDue(deadline_us - length_us / 4);
    cycle.cut_short = false;
    for (int i = 0; i < dbs_now && !cycle.cut_short; i++) {
        serverDb *db = dbGet(cycle.next_db++ % count);
        if (dictSize(db->expires) > 0) cycle.cut_short = expireDb(db, e, deadline_us, &total);
        if (dictSize(db->volatile_items) > 0 && !cycle.cut_short)
            cycle.cut_short = expireElements(db, e, deadline_us, elements);
        if (i % CLOCK_EVERY_DBS == CLOCK_EVERY_DBS - 1 && clockMonotonicUs() >= deadline_us) cycle.cut_short = true;
    }
    cycle.next_db %= count;
    cycle.cut_short |= due_are_left;
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

static uint64_t usedSince(uint64_t start_us) {
    uint64_t used_us = clockMonotonicUs() - start_us;
    if (unlikely(store_latency_observer != NULL)) store_latency_observer("expire-cycle", used_us);
    store_stats.expire_cycle_cpu_us += (long long)used_us;
    cycle.due_us -= used_us < cycle.due_us ? used_us : cycle.due_us;
    return used_us;
}

static bool expireCycleRun(expireCycleKind kind) {
    if (kind == EXPIRE_CYCLE_SLOW) {
        lazyfreeCollect();
        dropIndexes();
        if (!cycle.off && !storeExpiryPaused()) replicaExpiresVisit(RECORDED_KEYS_PER_TICK, expireRecordedKey);
    }
    if (cycle.off || !expireDeletionAllowed()) {
        cycle.left_us = cycle.due_us = 0;
        return false;
    }
    effort e = effortOf();
    uint64_t start_us = clockMonotonicUs();
    uint64_t slice_us = callLength(kind, &e, start_us);
    if (slice_us == 0) return false;

    if (kind == EXPIRE_CYCLE_DUE) {
        bool more = expireAllDue(start_us + slice_us);
        usedSince(start_us);
        if (more && cycle.due_us == 0) store_stats.expired_time_cap_reached++;
        return more && cycle.due_us > 0;
    }
    bool filling = kind != EXPIRE_CYCLE_FAST && fillIndexes(start_us + slice_us / 2);
    stepResult elements = {0}, total = expireDbs(&e, start_us + slice_us, slice_us, &elements);
    uint64_t used_us = usedSince(start_us);
    learnStalePercent(&store_stats.expired_stale_perc, &total);
    learnStalePercent(&store_stats.elements_stale_perc, &elements);
    if (kind != EXPIRE_CYCLE_FAST) {
        bool more = (cycle.cut_short || filling) && used_us < cycle.left_us;
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
