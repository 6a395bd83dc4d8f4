/* due_keys.c -- the keys of a database by the time at which they expire.
 *
 * A number in the index is a key's hash. When its time has passed, expire.c looks the hash up in `expires` and finds
 * the key expired, or with a later time (it goes back into the index), or gone. So db.c only has to report keys that
 * get an expire, or an earlier one: a cache that sets its keys anew again and again, and a key that is deleted,
 * replaced, renamed away or moved by defragmentation, cost nothing. An entry's address would have to follow all of
 * that.
 *
 * Numbers that do not matter any more (of keys that were deleted or expire later, or a second one for a key whose time
 * went to and fro) leave at their time. If they outnumber the keys before that, the index is made again from
 * `expires`, as it is made at first: in slices, while the old one stays in use.
 *
 * A second index has the keys whose values have elements with a TTL, by a bound of the first such time, in the same
 * way.
 *
 * Not here    the deletion (expire.c); when each function is called (db.c).
 * Owns        the earliest time of all indexes.
 * Threads     main; large indexes are freed by a background job, which alone knows them then.
 * Invariants  1. Each key of the table has its hash in `wheel`, if there is one, at its time or before
 *                (dueKeysCheck()).
 *             2. The same holds for `coming`, for the keys that were visited or have changed since it was created.
 * Cost        8 bytes per key, 2 to 10 KiB per database. A key with a new expire: 25 instructions. A key that is
 *             deleted: one lookup; one more for each level of the wheel that it comes through (time_wheel.c): two for
 *             an expire of an hour.
 * Tests       tests/unit/store/due_keys_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "due_keys.h"

#include "bio.h"
#include "clock.h"
#include "keyspace_events.h"
#include "object.h"
#include "panic.h"
#include "store_settings.h"
#include "zmalloc.h"

#include <stdlib.h>

#define SPARE_NUMBERS 4096  /* numbers that do not matter, in addition to one for each key */
#define FREE_DIRECTLY 16384 /* numbers: 0.1 ms */
#define BATCH 128           /* entries that are prefetched together; the clock is read once per batch */
#define BACK_MS 100         /* a clock that is set back by more makes the index late by as much: it is made again */
#define BYTES_PER_KEY 8     /* of the index, for the limit of `auto` */
#define AUTO_SHARE 16       /* with `auto`, an index takes at most this part of maxmemory */

int64_t due_keys_earliest_ms = INT64_MAX;
static void (*report_earlier)(void); /* const after boot */

void dueKeysOnEarlier(void (*report)(void)) { report_earlier = report; }

static void noteEarliest(const timeWheel *w) {
    int64_t next_ms = timeWheelNextMs(w);
    if (likely(next_ms >= due_keys_earliest_ms)) return;
    due_keys_earliest_ms = next_ms;
    if (report_earlier) report_earlier();
}

int64_t dueKeysNextMs(const dueKeys *due) { return due->wheel ? timeWheelNextMs(due->wheel) : INT64_MAX; }

/* Returns the time of an entry. That of its elements is noted in the value: until there is an earlier one, the index
 * need not know. */
static int64_t noteTime(const dueKeys *due, const robj *entry) {
    if (!due->of_elements) return objectExpire(entry);
    int64_t *noted, bound_ms = objectTtlBound(entry, &noted);
    *noted = bound_ms;
    return bound_ms;
}

void dueKeysAgain(dueKeys *due, const robj *entry, uint64_t hash) {
    timeWheelAdd(due->wheel, noteTime(due, entry), hash);
}

void dueKeysAdd(dueKeys *due, uint64_t hash, int64_t when_ms) {
    assertMainRole();
    if (due->wheel) {
        timeWheelAdd(due->wheel, when_ms, hash);
        noteEarliest(due->wheel);
    }
    if (due->coming) timeWheelAdd(due->coming, when_ms, hash);
}

void dueKeysElements(dueKeys *due, const robj *entry, uint64_t hash, bool is_new) {
    int64_t *noted;
    if (!is_new && objectTtlBound(entry, &noted) >= *noted) return;
    int64_t bound_ms = noteTime(due, entry);
    if (due->wheel || due->coming) dueKeysAdd(due, hash, bound_ms);
}

size_t dueKeysTake(dueKeys *due, int64_t now_ms, uint64_t *hashes, size_t max) {
    assertMainRole();
    return due->wheel ? timeWheelTake(due->wheel, now_ms, hashes, max) : 0;
}

/* ---- On and off ---- */

static void freeJob(void *arg) { timeWheelFree(arg); }

static void dropWheel(timeWheel **w) {
    if (*w && timeWheelSize(*w) > FREE_DIRECTLY) bioSubmit(BIO_LAZY_FREE, freeJob, *w);
    else timeWheelFree(*w);
    *w = NULL;
}

void dueKeysDrop(dueKeys *due) {
    assertMainRole();
    dropWheel(&due->wheel);
    dropWheel(&due->coming);
    due->cursor = 0;
}

bool dueKeysWanted(size_t keys, bool has) {
    if (store_settings.expire_precise != EXPIRE_PRECISE_AUTO || store_settings.maxmemory == 0)
        return store_settings.expire_precise != EXPIRE_PRECISE_NO;
    unsigned long long limit = (unsigned long long)store_settings.maxmemory / AUTO_SHARE;
    return keys * BYTES_PER_KEY <= (has ? limit : limit / 2);
}

/* ---- Filling ---- */

typedef struct batch {
    const robj *entries[BATCH];
    size_t count;
    dueKeys *due;
} batch;

static void addBatch(batch *b) {
    for (size_t i = 0; i < b->count; i++) {
        const robj *o = b->entries[i];
        timeWheelAdd(b->due->coming, noteTime(b->due, o), hashedKeyOf(objectKey(o)).hash);
    }
    b->count = 0;
}

static void collect(void *arg, void **ref) {
    batch *b = arg;
    if (b->count == BATCH) addBatch(b);
    prefetchRead(*ref);
    b->entries[b->count++] = *ref;
}

/* Returns false if the time is used up. */
static bool fillComing(dueKeys *due, const dict *table, uint64_t deadline_us) {
    batch b = {.due = due};
    do {
        while (b.count < BATCH / 2) {
            due->cursor = dictScanRead(table, due->cursor, collect, &b);
            if (due->cursor == 0) break;
        }
        addBatch(&b);
        if (due->cursor == 0) return true;
    } while (clockMonotonicUs() < deadline_us);
    return false;
}

bool dueKeysFill(dueKeys *due, const dict *table, int64_t now_ms, uint64_t deadline_us) {
    assertMainRole();
    const timeWheel *newest = due->coming ? due->coming : due->wheel;
    if (newest && timeWheelClockMs(newest) > now_ms + BACK_MS) dueKeysDrop(due);
    if (!due->coming) {
        bool crowded = due->wheel && timeWheelSize(due->wheel) > 2 * dictSize(table) + SPARE_NUMBERS;
        if (due->wheel ? !crowded : dictSize(table) == 0) return false;
        due->coming = timeWheelCreate(now_ms);
        due->cursor = 0;
    }
    if (!fillComing(due, table, deadline_us)) return true;
    dropWheel(&due->wheel);
    due->wheel = due->coming;
    due->coming = NULL;
    noteEarliest(due->wheel);
    return false;
}

/* ---- Figures and invariants ---- */

size_t dueKeysSize(const dueKeys *due) { return due->wheel ? timeWheelSize(due->wheel) : 0; }

size_t dueKeysMemUsage(const dueKeys *due) {
    return (due->wheel ? timeWheelMemUsage(due->wheel) : 0) + (due->coming ? timeWheelMemUsage(due->coming) : 0);
}

typedef struct place {
    uint64_t hash;
    int64_t from_ms;
} place;

typedef struct places {
    place *at;
    size_t count;
} places;

static void notePlace(void *arg, uint64_t number, int64_t from_ms) {
    places *p = arg;
    p->at[p->count++] = (place){number, from_ms};
}

static int byHash(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms);
}

/* Asserts that the first place of the hash is not after `when_ms`. */
static void checkPlace(const places *p, uint64_t hash, int64_t when_ms) {
    size_t from = 0, to = p->count;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (p->at[mid].hash < hash) from = mid + 1;
        else to = mid;
    }
    serverAssert(from < p->count && p->at[from].hash == hash && p->at[from].from_ms <= when_ms);
}

void dueKeysCheck(const dueKeys *due, dict *table) {
    assertMainRole();
    if (due->coming) timeWheelCheck(due->coming);
    if (!due->wheel) return;
    timeWheelCheck(due->wheel);
    places p = {.at = zmalloc((timeWheelSize(due->wheel) + 1) * sizeof(*p.at))};
    timeWheelEach(due->wheel, notePlace, &p);
    qsort(p.at, p.count, sizeof(*p.at), byHash);
    dictIterator it;
    dictIterBegin(&it, table, false);
    for (const robj *o; (o = dictIterNext(&it));) {
        int64_t *noted;
        int64_t when_ms = due->of_elements ? objectTtlBound(o, &noted) : objectExpire(o);
        checkPlace(&p, hashedKeyOf(objectKey(o)).hash, when_ms);
    }
    dictIterEnd(&it);
    zfree(p.at);
}
