/* expire.c -- the cycle that finds keys whose time is over before anybody asks for them.
 *
 * A key that is never read again would stay for ever. The cycle walks the dicts of keys with an expire, a few
 * buckets at a time, for as long as many of those it meets are over, and never longer than its share of the CPU.
 *
 *   scan some buckets --> pointers, each entry asked for --> look at the times --> drop those that are over
 *
 * Values whose elements have times of their own are met in the same way; what is over in each is known to the value.
 *
 * Looking comes a step after asking, so that the cache misses of a sample overlap instead of being paid one by one.
 *
 * Not here    whether one key counts as gone, and its deletion (db.c).
 * Owns        where the next call goes on, the estimate of stale keys.
 * Threads     main.
 * Invariants  1. Within one step nothing but the drops of this step changes a db: observers must not.
 *             2. A call lasts at most SLICE_US plus one step, and all calls of a tick its share of the tick (slow_us).
 * Cost        effort 1: 25 % of a tick, 20 keys a step. A step looks at the clock once; it drops 20 to 65 keys.
 * Tests       tests/unit/store/expire_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "expire.h"

#include "clock.h"
#include "db_internal.h"
#include "replica_expires.h"
#include "panic.h"
#include "store_latency.h"

#define TTL_COUNTED_MAX_MS (100ll * 365 * 24 * 3600 * 1000)
#define STEP_KEYS_MAX 96 /* a step's sample: 20 keys at effort 1, 65 at 10, and what the last bucket brings */
#define STEP_BUCKETS_PER_KEY 20
#define DBS_PER_CALL 16
#define CLOCK_EVERY_DBS 16
#define SLICE_US 1000         /* what clients may have to wait for */
#define OWN_KEYS_PER_TICK 256 /* of a writable replica's own */

/* What active-expire-effort 1..10 means. */
typedef struct effort {
    size_t step_keys;        /* entries to look at in one step */
    uint64_t fast_us;        /* length of a fast call if no slice were shorter, and half the distance of two */
    uint64_t slow_us;        /* share of a tick */
    double stale_acceptable; /* percent of keys that may be over before a db is left */
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

static void collect(void *arg, void **ref) {
    sample *s = arg;
    if (s->count == STEP_KEYS_MAX) return;
    prefetchRead(*ref);
    s->entries[s->count++] = *ref;
}

/* Fill the sample from where this db's cursor stands; false when the walk has come round. */
static bool fillSample(serverDb *db, sample *s, size_t want) {
    s->count = 0;
    for (size_t buckets = 0; s->count < want && buckets < want * STEP_BUCKETS_PER_KEY; buckets++) {
        db->expire_cursor = dictScan(db->expires, db->expire_cursor, collect, s);
        if (db->expire_cursor == 0) return false;
    }
    return true;
}

static stepResult expireSample(serverDb *db, const sample *s) {
    stepResult r = {.sampled = s->count};
    for (size_t i = 0; i < s->count; i++) {
        robj *entry = s->entries[i];
        int64_t left_ms = objectExpire(entry) - storeNowMs();
        if (!keyIsExpired(entry)) {
            /* A time to live may be near the type's end: what is above a century says nothing more. */
            r.ttl_sum_ms += left_ms < TTL_COUNTED_MAX_MS ? left_ms : TTL_COUNTED_MAX_MS;
            r.ttl_count++;
            continue;
        }
        slice name = objectKey(entry);
        bool dropped = dbDropExpired(db, entry, hashBytes(name.ptr, name.len));
        serverAssert(dropped);
        r.expired++;
    }
    return r;
}

/* A slow average, so that one odd step does not show. */
static void learnTtl(serverDb *db, const stepResult *r) {
    if (r->ttl_count == 0) return;
    long long avg_ms = r->ttl_sum_ms / (long long)r->ttl_count;
    if (avg_ms < 0) avg_ms = 0;
    db->avg_ttl_ms = db->avg_ttl_ms == 0 ? avg_ms : db->avg_ttl_ms / 50 * 49 + avg_ms / 50;
}

/* ---- Elements ---- */

#define ELEMENTS_AT_ONCE 64

/* Take elements out of one value, for as long as there are some that are over and the time is not up. */
static bool expireElementsOf(serverDb *db, robj *entry, uint64_t deadline_us, bool *any) {
    slice name = objectKey(entry);
    uint64_t hash = hashBytes(name.ptr, name.len);
    size_t dropped = dbExpireElements(db, entry, hash, ELEMENTS_AT_ONCE);
    *any = dropped > 0;
    while (dropped == ELEMENTS_AT_ONCE && clockMonotonicUs() < deadline_us &&
           dictHoldsEntry(db->volatile_items, entry, hash))
        dropped = dbExpireElements(db, entry, hash, ELEMENTS_AT_ONCE);
    return dropped == ELEMENTS_AT_ONCE && clockMonotonicUs() >= deadline_us;
}

/* As expireDb(), for keys whose elements have times. */
static bool expireElements(serverDb *db, const effort *e, uint64_t deadline_us, stepResult *total) {
    for (;;) {
        sample s = {.count = 0};
        size_t keys = dictSize(db->volatile_items), want = keys < e->step_keys ? keys : e->step_keys, stale = 0;
        bool more = true, any;
        if (keys == 0) return false;
        for (size_t buckets = 0; more && s.count < want && buckets < want * STEP_BUCKETS_PER_KEY; buckets++) {
            db->timed_cursor = dictScan(db->volatile_items, db->timed_cursor, collect, &s);
            more = db->timed_cursor != 0;
        }
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

/* Steps in one db until few of the keys met are over, or the walk has come round. True when the time is up. */
static bool expireDb(serverDb *db, const effort *e, uint64_t deadline_us, stepResult *total) {
    sample s;
    for (;;) {
        size_t keys = dictSize(db->expires);
        if (keys == 0) {
            db->avg_ttl_ms = 0;
            db->expire_cursor = 0;
            return false;
        }
        /* Under 1 % full a walk meets almost nothing; the table is about to be shrunk. */
        size_t places = dictSlots(db->expires);
        if (places > 64 && keys * 100 / places < 1) return false;
        bool more = fillSample(db, &s, keys < e->step_keys ? keys : e->step_keys);
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
    if (cycle.left_us) return false; /* the slow one is not done yet: a turn has one slice */
    if (!cycle.cut_short && store_stats.expired_stale_perc < e->stale_acceptable) return false;
    if (cycle.last_fast_us && now_us < cycle.last_fast_us + 2 * e->fast_us) return false;
    cycle.last_fast_us = now_us;
    return true;
}

/* How long this call may last; 0: it is not to do anything. */
static uint64_t callLength(expireCycleKind kind, const effort *e, uint64_t now_us) {
    if (kind == EXPIRE_CYCLE_SLOW) cycle.left_us = e->slow_us;
    uint64_t most_us = kind != EXPIRE_CYCLE_FAST ? cycle.left_us : fastCallIsDue(e, now_us) ? e->fast_us : 0;
    return most_us < SLICE_US ? most_us : SLICE_US;
}

/* Dbs in turn, until all have had theirs or the time is up (cut_short). */
static stepResult expireDbs(const effort *e, uint64_t deadline_us, stepResult *elements) {
    int count = dbCount();
    /* A call that ran out of time leaves work everywhere: then all dbs have their turn. */
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

/* Whether the key still has the time that one of this server's own clients gave it, and it is not over. */
static bool lookAtOwn(int dbid, slice name, int64_t when_ms) {
    serverDb *db = dbGet(dbid);
    uint64_t hash = hashBytes(name.ptr, name.len);
    robj *entry = db ? dictFind(db->keys, name, hash) : NULL;
    if (!entry || objectExpire(entry) != when_ms) return false;
    if (!keyIsExpired(entry)) return true;
    dbDropExpired(db, entry, hash);
    return false;
}

bool activeExpireCycle(expireCycleKind kind) {
    assertMainRole();
    if (kind == EXPIRE_CYCLE_SLOW) lazyfreeCollect();
    if (kind == EXPIRE_CYCLE_SLOW && !cycle.off && !storeStandsStill())
        replicaExpiresVisit(OWN_KEYS_PER_TICK, lookAtOwn);
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
    double stale_now = total.sampled ? (double)total.expired * 100 / (double)total.sampled : 0;
    store_stats.expired_stale_perc = stale_now * 0.05 + store_stats.expired_stale_perc * 0.95;
    stale_now = elements.sampled ? (double)elements.expired * 100 / (double)elements.sampled : 0;
    store_stats.elements_stale_perc = stale_now * 0.05 + store_stats.elements_stale_perc * 0.95;
    if (kind != EXPIRE_CYCLE_FAST) {
        bool more = cycle.cut_short && used_us < cycle.left_us;
        cycle.left_us = more ? cycle.left_us - used_us : 0;
        if (more) return true;
    }
    if (cycle.cut_short) store_stats.expired_time_cap_reached++;
    return false;
}
