/* dict.c -- the one hash table of the tree: buckets of one cache line, incremental rehash.
 *
 * Most of the server's data is in dicts, and the cost of a find in a large one is its cache misses: one line
 * for the bucket, one for the entry. The bucket is drawn in dict_internal.h. A table is a power of
 * two of buckets, indexed by the low bits of the hash; a full bucket gives up its last slot for a
 * pointer to an overflow bucket.
 *
 * The first touch of a page costs microseconds, of a huge page up to some milliseconds, while the kernel clears
 * it; the first few hundred calls after doubling would each pay for that. So a large table is touched by a
 * background thread before it is used (see "coming tables"); until it is ready, the old table keeps added entries in
 * chains. The pages of the old table are given back to the system on the same thread.
 *
 * Not here    finding many keys at once (memory_prefetch.c).
 * Owns        tables and overflow buckets; entries belong to the caller, until entryFree is called.
 * Threads     one owner at a time; the resize policy is set by main and read relaxed by all. A coming table is
 *             handed over by its `state`.
 * Invariants  (dictCheck() asserts the first five)
 *             1. An entry is in exactly one slot: in t[1], or in t[0] in a bucket at or after rehash_idx.
 *             2. t[1].buckets is set exactly while `rehashing`, and rehash_idx is 0 otherwise. While
 *                `rehashing`, there is no coming table.
 *             3. A slot is empty exactly when its tag is 0; a chained bucket has tag 6 = 0.
 *             4. The low bits of a key's hash select the entry's bucket, the top byte is its tag.
 *             5. `used` counts the entries of a table, `chained` its overflow buckets.
 *             6. While rehashing is paused no entry moves and no bucket is freed, so an iterator stays valid.
 *                Holes that deletes leave in a chain are filled by later adds, deletes or the move.
 * Cost        doubles when 85 % of all slots are used, that is from 5.95 to 2.98 entries a bucket. Finding a
 *             present key reads 1.01 (after growing) to 1.14 (before) bucket lines. Bytes an entry, overflow
 *             buckets included: 13.5 just before growing, 17.5 at 3.8 a bucket, 22 just after.
 *             docs/design/dict.md has the measured curve.
 * Tests       tests/unit/ds/dict_test.c; tests/bench/micro/dict_bench.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dict_internal.h"
#include "clock.h"
#include "hash.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PAGE ((size_t)4096)
#define MAX_FILL_PERCENT 85        /* grow if fuller */
#define MIN_FILL_PERCENT 12        /* shrink if emptier */
#define AVOID_MAX_FILL_PERCENT 300 /* the same two limits while a child shares the pages */
#define AVOID_MIN_FILL_PERCENT 3
#define WAIT_MAX_FILL_PERCENT 170 /* if fuller, a coming table whose job has not begun is used untouched */
#define MAX_BUCKETS ((size_t)1 << 52)
#define EMPTY_VISITS_PER_STEP 16
#define DEBUG_CHECK_SLOTS_MAX 4096

static _Atomic dictResizePolicy resize_policy = DICT_RESIZE_ENABLE;

void dictSetResizePolicy(dictResizePolicy policy) {
    atomic_store_explicit(&resize_policy, policy, memory_order_relaxed);
}

static dictResizePolicy policyNow(void) { return atomic_load_explicit(&resize_policy, memory_order_relaxed); }

/* ---- one table ---- */

static size_t tableBuckets(const dictTable *t) { return t->buckets ? t->mask + 1 : 0; }
static size_t tableBytes(const dictTable *t) { return tableBuckets(t) * sizeof(dictBucket); }

/* Returns how many entries fit into `buckets` buckets before the table grows. A single bucket is filled to the last
 * slot: there is no uneven spread to leave space for. */
static size_t capacityOf(size_t buckets) {
    size_t slots = buckets * BUCKET_SLOTS;
    return buckets <= 1 ? slots : slots / 100 * MAX_FILL_PERCENT + slots % 100 * MAX_FILL_PERCENT / 100;
}

/* Returns the smallest power of two of buckets that `n` entries fit into, 0 if there is none. */
static size_t bucketsFor(size_t n) {
    size_t buckets = 1;
    while (buckets < MAX_BUCKETS && capacityOf(buckets) < n) buckets *= 2;
    return capacityOf(buckets) < n ? 0 : buckets;
}

/* Allocates a zeroed table. A large one asks for huge pages before its first byte is touched: a find in a table of 4
 * KiB pages misses the TLB each time. With `must`, lack of memory ends the process; otherwise it returns false. */
static bool tableInit(dictTable *t, size_t buckets, bool must) {
    size_t bytes = buckets * sizeof(dictBucket);
    bool huge = bytes >= HUGE_PAGE;
    void *p = ztrycallocAligned(huge ? HUGE_PAGE : CACHE_LINE, bytes);
    if (!p && must) {
        p = zmallocAligned(CACHE_LINE, bytes);
        memset(p, 0, bytes);
    }
    if (!p) return false;
#ifdef MADV_HUGEPAGE
    if (huge) (void)madvise(p, bytes, MADV_HUGEPAGE); /* a hint: without it everything works, only slower */
#endif
    *t = (dictTable){.buckets = p, .mask = buckets - 1};
    return true;
}

/* Gives the pages of a large table back to the system at once: the allocator would keep them for seconds, and no other
 * allocation of this size is likely. Works piece by piece, since each call holds a kernel lock that other threads want.
 * The request for huge pages is withdrawn as well: it applies to the addresses, and small blocks placed there later
 * would wait for the kernel to clear 2 MiB (6 ms here) at one first touch in 512. */
static void tableFree(dictTable *t) {
    size_t bytes = tableBytes(t);
    if (bytes >= HUGE_PAGE) {
#ifdef MADV_DONTNEED
        for (size_t at = 0; at < bytes; at += HUGE_PAGE)
            (void)madvise((char *)t->buckets + at, HUGE_PAGE, MADV_DONTNEED);
#endif
#ifdef MADV_NOHUGEPAGE
        (void)madvise(t->buckets, bytes, MADV_NOHUGEPAGE);
#endif
    }
    zfree(t->buckets);
    *t = (dictTable){0};
}

/* ---- coming tables ----
 *
 * A comingTable is shared by its dict and one background job. `state` says which of them may do what:
 *
 *   QUEUED --job begins--> TOUCHING --job ends--> READY      the dict takes the table, frees the comingTable
 *   QUEUED --dict needs it now--> TAKEN                      the dict uses the table; the job frees the comingTable
 *   QUEUED, TOUCHING --dict drops it---------> DROPPED      the job frees both
 */
enum { COMING_QUEUED, COMING_TOUCHING, COMING_READY, COMING_TAKEN, COMING_DROPPED };

struct comingTable {
    dictTable table; /* const until handed over; its bucket lines belong to the job while TOUCHING, then to the dict */
    atomic_uint state; /* atomic: each change is acq_rel and publishes the bucket lines */
};

static struct {
    void (*submit)(void (*job)(void *arg), void *arg); /* const after boot */
    size_t min_bytes;                                  /* const after boot */
} background;

void dictSetBackground(void (*submit)(void (*job)(void *arg), void *arg), size_t min_bytes) {
    background.submit = submit;
    background.min_bytes = min_bytes;
}

static bool worthBackground(size_t bytes) { return background.submit && bytes >= background.min_bytes; }

static void freeTableJob(void *arg) {
    dictTable *t = arg;
    tableFree(t);
    zfree(t);
}

/* Frees a table that holds no entry any more, in the background if it is large. */
static void tableFreeElsewhere(dictTable *t) {
    if (!worthBackground(tableBytes(t))) {
        tableFree(t);
        return;
    }
    dictTable *job = zmalloc(sizeof(*job));
    *job = *t;
    *t = (dictTable){0};
    background.submit(freeTableJob, job);
}

static bool comingMove(comingTable *c, unsigned from, unsigned to) {
    return atomic_compare_exchange_strong_explicit(&c->state, &from, to, memory_order_acq_rel, memory_order_acquire);
}

static void comingFree(comingTable *c) {
    tableFree(&c->table);
    zfree(c);
}

/* The background job: writes to each page once. */
static void touchTable(void *arg) {
    comingTable *c = arg;
    if (!comingMove(c, COMING_QUEUED, COMING_TOUCHING)) {
        if (atomic_load_explicit(&c->state, memory_order_acquire) == COMING_TAKEN) zfree(c);
        else comingFree(c);
        return;
    }
    size_t bytes = tableBytes(&c->table);
    for (size_t at = 0; at < bytes; at += SMALL_PAGE) {
        *((volatile char *)c->table.buckets + at) = 0;
        bool page_begins = at % HUGE_PAGE == 0;
        if (page_begins && atomic_load_explicit(&c->state, memory_order_relaxed) == COMING_DROPPED) break;
    }
    if (!comingMove(c, COMING_TOUCHING, COMING_READY)) comingFree(c);
}

static void comingDrop(dict *d) {
    comingTable *c = d->coming;
    if (!c) return;
    d->coming = NULL;
    if (atomic_exchange_explicit(&c->state, COMING_DROPPED, memory_order_acq_rel) != COMING_READY) return;
    tableFreeElsewhere(&c->table);
    zfree(c);
}

/* Takes the coming table if it is ready, or, with `now`, if its job has not begun. Returns whether it was taken. */
static bool comingTake(dict *d, bool now, dictTable *t) {
    comingTable *c = d->coming;
    *t = c->table;
    if (atomic_load_explicit(&c->state, memory_order_acquire) == COMING_READY) zfree(c);
    else if (!now || !comingMove(c, COMING_QUEUED, COMING_TAKEN)) return false;
    d->coming = NULL;
    return true;
}

/* ---- buckets ---- */

static unsigned occupiedMask(const dictBucket *b) { return ~bucketMatch(b, 0) & 0x7f; }
static unsigned emptyMask(const dictBucket *b) { return bucketMatch(b, 0) & (bucketIsChained(b) ? 0x3f : 0x7f); }

static void prefetchBucketEntries(const dictBucket *b) {
    for (unsigned m = occupiedMask(b); m; m &= m - 1) prefetchRead(b->slot[__builtin_ctz(m)]);
    if (bucketIsChained(b)) prefetchRead(b->slot[BUCKET_SLOTS - 1]);
}

/* Appends an empty bucket to the full bucket `b`, whose last entry moves into it. */
static dictBucket *chainBucket(dictTable *t, dictBucket *b) {
    dictBucket *next = zmallocAligned(CACHE_LINE, sizeof(*next));
    memset(next, 0, sizeof(*next));
    next->slot[0] = b->slot[BUCKET_SLOTS - 1];
    next->tag[0] = b->tag[BUCKET_SLOTS - 1];
    b->slot[BUCKET_SLOTS - 1] = next;
    b->tag[BUCKET_SLOTS - 1] = 0;
    b->flags |= BUCKET_CHAINED;
    t->chained++;
    return next;
}

#ifdef DEBUG_ASSERTIONS
static void countChange(dict *d) { d->changes++; }

uint64_t dictChanges(const dict *d) { return d->changes; }
#else
static inline void countChange(const dict *d) { unused(d); }
#endif

static void tableInsert(dictTable *t, size_t idx, void *entry, uint8_t tag) {
    dictBucket *b = &t->buckets[idx];
    unsigned empty;
    while ((empty = emptyMask(b)) == 0) b = bucketIsChained(b) ? bucketNext(b) : chainBucket(t, b);
    int pos = __builtin_ctz(empty);
    b->slot[pos] = entry;
    b->tag[pos] = tag;
    t->used++;
}

/* Unlinks the overflow bucket of `b`, which keeps `entry` (NULL: none) in its last slot. */
static void unchainBucket(dictTable *t, dictBucket *b, void *entry, uint8_t tag) {
    zfree(b->slot[BUCKET_SLOTS - 1]);
    b->slot[BUCKET_SLOTS - 1] = entry;
    b->tag[BUCKET_SLOTS - 1] = tag;
    b->flags &= (uint8_t)~BUCKET_CHAINED;
    t->chained--;
}

/* Fills the holes of a chain from its end, and frees the buckets at the end that become empty. */
static void compactChain(dictTable *t, dictBucket *head) {
    while (bucketIsChained(head)) {
        dictBucket *parent = head, *last = bucketNext(head);
        while (bucketIsChained(last)) {
            parent = last;
            last = bucketNext(last);
        }
        unsigned have = occupiedMask(last);
        for (dictBucket *b = head; b != last; b = bucketNext(b)) {
            for (unsigned holes = emptyMask(b); holes && have; holes &= holes - 1, have &= have - 1) {
                int to = __builtin_ctz(holes), from = __builtin_ctz(have);
                b->slot[to] = last->slot[from];
                b->tag[to] = last->tag[from];
                last->tag[from] = 0;
            }
        }
        if (have & (have - 1)) return; /* two or more entries: the last bucket stays */
        int pos = have ? __builtin_ctz(have) : 0;
        unchainBucket(t, parent, have ? last->slot[pos] : NULL, have ? last->tag[pos] : 0);
    }
}

/* ---- life and size ---- */

void dictInit(dict *d, const dictType *type) {
    serverAssert(type && type->entryKey);
    d->type = type;
}

dict *dictCreate(const dictType *type) {
    dict *d = zcalloc(1, sizeof(*d));
    dictInit(d, type);
    return d;
}

/* Frees a table, its overflow buckets and its entries (entryFree). Entries are scattered in memory, so those of the
 * next bucket are prefetched while those of this one are freed. */
static void tableDrop(dict *d, dictTable *t, void (*progress)(void)) {
    size_t buckets = tableBuckets(t);
    bool visit = t->chained || (t->used && d->type->entryFree);
    for (size_t i = 0; visit && i < buckets; i++) {
        if (progress && (i & 0xffff) == 0) progress();
        if (i + 1 < buckets) prefetchBucketEntries(&t->buckets[i + 1]);
        for (dictBucket *b = &t->buckets[i], *next; b; b = next) {
            next = bucketNext(b);
            for (unsigned m = occupiedMask(b); m && d->type->entryFree; m &= m - 1)
                d->type->entryFree(b->slot[__builtin_ctz(m)]);
            if (b != &t->buckets[i]) zfree(b);
        }
    }
    tableFree(t);
}

void dictEmpty(dict *d, void (*progress)(void)) {
    comingDrop(d);
    tableDrop(d, &d->t[0], progress);
    tableDrop(d, &d->t[1], progress);
    d->rehashing = false;
    d->rehash_idx = 0;
}

void dictRelease(dict *d) {
    if (!d) return;
    dictEmpty(d, NULL);
    zfree(d);
}

const dictType *dictGetType(const dict *d) { return d->type; }
size_t dictSize(const dict *d) { return d->t[0].used + d->t[1].used; }
size_t dictSlots(const dict *d) { return (tableBuckets(&d->t[0]) + tableBuckets(&d->t[1])) * BUCKET_SLOTS; }
size_t dictMemTables(const dict *d) {
    size_t chained = d->t[0].chained + d->t[1].chained;
    size_t coming = d->coming ? tableBytes(&d->coming->table) : 0;
    return tableBytes(&d->t[0]) + tableBytes(&d->t[1]) + coming + chained * sizeof(dictBucket);
}
size_t dictMemEmpty(void) { return sizeof(dict); }
size_t dictMemUsage(const dict *d) { return dictMemEmpty() + dictMemTables(d); }
size_t dictMemRehashing(const dict *d) { return d->rehashing ? tableBytes(&d->t[0]) : 0; }
bool dictIsRehashing(const dict *d) { return d->rehashing; }
uint64_t dictHash(const dict *d, slice key) { return d->type->hash ? d->type->hash(key) : hashBytes(key.ptr, key.len); }

/* ---- rehash ---- */

/* Checks small tables as a whole, in debug builds, whenever a rehash begins or ends. */
static void checkAtResize(const dict *d) {
#ifdef DEBUG_ASSERTIONS
    if (dictSlots(d) <= DEBUG_CHECK_SLOTS_MAX) dictCheck(d);
#else
    unused(d);
#endif
}

static void finishRehash(dict *d) {
    debugAssert(d->t[0].used == 0 && d->t[0].chained == 0);
    tableFreeElsewhere(&d->t[0]);
    d->t[0] = d->t[1];
    d->t[1] = (dictTable){0};
    d->rehashing = false;
    d->rehash_idx = 0;
    checkAtResize(d);
}

/* Prefetches what the next steps will touch. A step of a growing table reads, for bucket k: its line, the lines of its
 * entries (the key must be hashed again), perhaps the lines of the keys, and one bucket in each half of the new table.
 * Each is prefetched one step after the line that holds its address. A shrinking table needs no keys: the new index is
 * the low bits of the old one. */
static void prefetchRehash(const dict *d, size_t k) {
    const dictTable *from = &d->t[0], *to = &d->t[1];
    size_t last = from->mask;
    if (k + 4 <= last) prefetchWrite(&from->buckets[k + 4]);
    if (to->mask < from->mask) {
        if (k + 2 <= last) prefetchWrite(&to->buckets[(k + 2) & to->mask]);
        return;
    }
    if (k + 2 <= last) prefetchBucketEntries(&from->buckets[k + 2]);
    if (k + 1 > last) return;
    for (size_t idx = k + 1; idx <= to->mask && idx <= k + 1 + 3 * (last + 1); idx += last + 1)
        prefetchWrite(&to->buckets[idx]);
    const dictBucket *b = &from->buckets[k + 1];
    if (bucketIsChained(b)) prefetchBucketEntries(bucketNext(b));
    if (!d->type->prefetchKey) return;
    for (unsigned m = occupiedMask(b); m; m &= m - 1) {
        const void *key = d->type->prefetchKey(b->slot[__builtin_ctz(m)]);
        if (key) prefetchRead(key);
    }
}

/* Moves one bucket with its chain. Returns whether it held an entry. */
static bool moveBucket(dict *d) {
    countChange(d);
    dictTable *from = &d->t[0], *to = &d->t[1];
    size_t k = d->rehash_idx++;
    prefetchRehash(d, k);
    bool shrinks = to->mask < from->mask;
    dictBucket *head = &from->buckets[k];
    size_t moved = 0;
    for (dictBucket *b = head, *next; b; b = next) {
        next = bucketNext(b);
        for (unsigned m = occupiedMask(b); m; m &= m - 1) {
            int pos = __builtin_ctz(m);
            uint64_t low = shrinks ? k : dictHash(d, d->type->entryKey(b->slot[pos]));
            tableInsert(to, low & to->mask, b->slot[pos], b->tag[pos]);
            moved++;
        }
        if (b == head) continue;
        zfree(b);
        from->chained--;
    }
    bool had_any = moved || bucketIsChained(head);
    if (had_any) memset(head, 0, sizeof(*head));
    from->used -= moved;
    /* Overflow buckets that deletes during a pause have emptied are freed when their bucket is moved. */
    if (from->used == 0 && from->chained == 0) finishRehash(d);
    return had_any;
}

/* Returns whether the rehash in progress may continue. Under AVOID only if it changes the size by much: each page that
 * it writes is copied for the child. */
static bool rehashMayGoOn(const dict *d) {
    if (!d->rehashing || d->pause_rehash) return false;
    dictResizePolicy policy = policyNow();
    if (likely(policy == DICT_RESIZE_ENABLE)) return true;
    if (policy == DICT_RESIZE_FORBID) return false;
    size_t from = tableBuckets(&d->t[0]), to = tableBuckets(&d->t[1]);
    return to >= from * 4 || from >= to * 16;
}

/* The share of a mutating call: moves one bucket that holds entries, or several when the new table would fill up before
 * the move ends, or when the old table is much larger. */
static void rehashStep(dict *d) {
    if (likely(!d->rehashing) || !rehashMayGoOn(d)) return;
    int full = d->t[1].used > capacityOf(tableBuckets(&d->t[1])) ? 8 : 1;
    for (int empty = 0; d->rehashing && full && empty < EMPTY_VISITS_PER_STEP;) {
        if (moveBucket(d)) full--;
        else empty++;
    }
}

bool dictRehash(dict *d, size_t buckets) {
    if (!rehashMayGoOn(d)) return false;
    while (buckets-- && d->rehashing) moveBucket(d);
    return d->rehashing;
}

size_t dictRehashMicroseconds(dict *d, uint64_t us) {
    if (!rehashMayGoOn(d)) return 0;
    size_t moved = 0;
    monotime start = clockTicks();
    do {
        for (int i = 0; i < 64 && d->rehashing; i++, moved++) moveBucket(d);
    } while (d->rehashing && clockTicksToUs(clockTicks() - start) < us);
    return moved;
}

void dictPauseRehash(dict *d) { d->pause_rehash++; }
void dictResumeRehash(dict *d) {
    serverAssert(d->pause_rehash > 0);
    d->pause_rehash--;
}

static bool fillAbove(const dictTable *t, size_t percent) {
    return t->used * 100 > tableBuckets(t) * BUCKET_SLOTS * percent;
}

/* Begins to move to `fresh`. An empty table is replaced at once. */
static void beginRehash(dict *d, dictTable fresh) {
    dictTable *t = &d->t[0];
    if (t->used == 0 && t->chained == 0) {
        tableFreeElsewhere(t);
        *t = fresh;
        return;
    }
    d->t[1] = fresh;
    d->rehashing = true;
    d->rehash_idx = 0;
    checkAtResize(d);
}

/* Makes a new table, if the type allows it and there is memory. */
static bool makeTable(const dict *d, size_t buckets, dictTable *fresh) {
    const dictTable *t = &d->t[0];
    double fill = (double)t->used / (double)(tableBuckets(t) * BUCKET_SLOTS);
    if (d->type->resizeAllowed && !d->type->resizeAllowed(buckets * sizeof(dictBucket), fill)) return false;
    return tableInit(fresh, buckets, false);
}

/* Begins to move to a table of `buckets`, or has that table prepared in the background; later calls that find the table
 * too full, or too empty, come here again until it is ready. Returns whether the move has begun. */
static bool resizeTo(dict *d, size_t buckets) {
    dictTable fresh;
    if (d->coming) {
        bool still_wanted = (d->coming->table.mask > d->t[0].mask) == (buckets - 1 > d->t[0].mask);
        if (still_wanted) {
            if (!comingTake(d, fillAbove(&d->t[0], WAIT_MAX_FILL_PERCENT), &fresh)) return false;
            beginRehash(d, fresh);
            return true;
        }
        comingDrop(d);
    }
    if (!makeTable(d, buckets, &fresh)) return false;
    if (!worthBackground(tableBytes(&fresh))) {
        beginRehash(d, fresh);
        return true;
    }
    d->coming = zmalloc(sizeof(*d->coming));
    d->coming->table = fresh;
    atomic_init(&d->coming->state, COMING_QUEUED);
    background.submit(touchTable, d->coming);
    return false;
}

/* Called before an entry is added. Failure to grow is no error: the entries go to chains. */
static void growIfNeeded(dict *d) {
    dictTable *t = &d->t[0];
    if (unlikely(!t->buckets)) {
        tableInit(t, 1, true);
        return;
    }
    if (likely(t->used < capacityOf(t->mask + 1)) || d->rehashing || d->pause_rehash) return;
    if (d->type->max_fill_percent && !fillAbove(t, d->type->max_fill_percent)) return;
    dictResizePolicy policy = policyNow();
    if (policy == DICT_RESIZE_FORBID) return;
    if (policy == DICT_RESIZE_AVOID && !fillAbove(t, AVOID_MAX_FILL_PERCENT)) return;
    size_t buckets = bucketsFor(t->used + 1);
    if (buckets) resizeTo(d, buckets);
}

bool dictShrinkIfNeeded(dict *d) {
    dictTable *t = &d->t[0];
    if (likely(t->mask == 0) || d->rehashing || d->pause_rehash) return false;
    dictResizePolicy policy = policyNow();
    if (policy == DICT_RESIZE_FORBID) return false;
    size_t percent = policy == DICT_RESIZE_AVOID ? AVOID_MIN_FILL_PERCENT : MIN_FILL_PERCENT;
    if (likely(fillAbove(t, percent))) return false;
    /* Half as much capacity again as is used, so that it does not grow right away. */
    size_t buckets = bucketsFor(t->used + t->used / 2);
    return buckets < tableBuckets(t) && resizeTo(d, buckets);
}

bool dictExpand(dict *d, size_t n) {
    size_t buckets = bucketsFor(n);
    if (buckets == 0) return false;
    if (d->rehashing && buckets <= tableBuckets(&d->t[1])) return true;
    if (!d->rehashing && buckets <= tableBuckets(&d->t[0])) return true;
    if (!d->t[0].buckets) return tableInit(&d->t[0], buckets, false);
    if (d->pause_rehash || policyNow() == DICT_RESIZE_FORBID) return false;
    while (d->rehashing) moveBucket(d); /* there can be only two tables: the rehash in progress is ended first */
    comingDrop(d);
    dictTable fresh;
    if (!makeTable(d, buckets, &fresh)) return false;
    beginRehash(d, fresh);
    return true;
}

/* ---- find, add, remove ---- */

/* The slot in which an entry was found. */
typedef struct entrySlot {
    dictTable *table;
    dictBucket *head, *bucket;
    int pos;
} entrySlot;

/* The core of every search: the tags of a bucket select the entries to compare; almost always there is none or just the
 * right one (a wrong entry matches with a chance of 1/255). Forced inline: a call costs 17 of the 620 instructions of a
 * SET. */
static __attribute__((always_inline)) inline void **findSlot(const dict *d, slice key, uint64_t hash, entrySlot *at) {
    const dictType *type = d->type;
    uint8_t tag = bucketTag(hash);
    for (int i = dictFirstTable(d, hash); i <= d->rehashing; i++) {
        const dictTable *t = &d->t[i];
        if (unlikely(!t->buckets)) return NULL;
        dictBucket *head = &t->buckets[hash & t->mask];
        for (dictBucket *b = head; b; b = bucketNext(b)) {
            for (unsigned m = bucketMatch(b, tag); m; m &= m - 1) {
                int pos = __builtin_ctz(m);
                if (!dictKeyMatches(type, b->slot[pos], key)) continue;
                if (at) *at = (entrySlot){(dictTable *)(uintptr_t)t, head, b, pos};
                return &b->slot[pos];
            }
        }
    }
    return NULL;
}

void *dictFind(const dict *d, slice key, uint64_t hash) {
    void **ref = findSlot(d, key, hash, NULL);
    return ref ? *ref : NULL;
}

void *dictFindByHash(const dict *d, uint64_t hash) {
    for (int i = dictFirstTable(d, hash); i <= d->rehashing; i++) {
        const dictTable *t = &d->t[i];
        if (!t->buckets) return NULL;
        for (const dictBucket *b = &t->buckets[hash & t->mask]; b; b = bucketNext(b)) {
            for (unsigned m = bucketMatch(b, bucketTag(hash)); m; m &= m - 1) {
                void *entry = b->slot[__builtin_ctz(m)];
                if (dictHash(d, d->type->entryKey(entry)) == hash) return entry;
            }
        }
    }
    return NULL;
}

/* Reads the first bucket of each table only. */
void dictPrefetchByHash(const dict *d, uint64_t hash) {
    for (int i = dictFirstTable(d, hash); i <= d->rehashing; i++) {
        const dictTable *t = &d->t[i];
        if (!t->buckets) return;
        const dictBucket *b = &t->buckets[hash & t->mask];
        for (unsigned m = bucketMatch(b, bucketTag(hash)); m; m &= m - 1) prefetchRead(b->slot[__builtin_ctz(m)]);
    }
}

void **dictFindRef(dict *d, slice key, uint64_t hash) {
    rehashStep(d);
    return findSlot(d, key, hash, NULL);
}

static void dictAddEntry(dict *d, void *entry, uint64_t hash) {
    countChange(d);
    growIfNeeded(d);
    dictTable *t = &d->t[d->rehashing];
    tableInsert(t, hash & t->mask, entry, bucketTag(hash));
}

void dictAddNew(dict *d, void *entry, uint64_t hash) {
    debugAssert(entry != NULL);
    debugAssert(dictFind(d, d->type->entryKey(entry), hash) == NULL);
    rehashStep(d);
    dictAddEntry(d, entry, hash);
}

void *dictAdd(dict *d, void *entry, uint64_t hash) {
    debugAssert(entry != NULL);
    rehashStep(d);
    void **ref = findSlot(d, d->type->entryKey(entry), hash, NULL);
    if (ref) return *ref;
    dictAddEntry(d, entry, hash);
    return NULL;
}

/* Returns whether some entry may have that hash: its bucket has one with the same tag. */
static bool mayHaveHash(const dict *d, uint64_t hash) {
    for (int i = dictFirstTable(d, hash); i <= d->rehashing; i++) {
        const dictTable *t = &d->t[i];
        if (unlikely(!t->buckets)) continue;
        for (const dictBucket *b = &t->buckets[hash & t->mask]; b; b = bucketNext(b))
            if (unlikely(bucketMatch(b, bucketTag(hash)))) return true;
    }
    return false;
}

void *dictAddUnread(dict *d, void *entry, uint64_t hash) {
    rehashStep(d);
    if (unlikely(mayHaveHash(d, hash))) return dictAdd(d, entry, hash);
    dictAddEntry(d, entry, hash);
    return NULL;
}

void dictPrefetchAdd(const dict *d, uint64_t hash) {
    const dictTable *t = &d->t[d->rehashing];
    if (likely(t->buckets != NULL)) prefetchWrite(&t->buckets[hash & t->mask]);
}

/* Empties a slot. Compacts the chain, and may start to shrink the table, unless rehashing is paused. */
static void clearSlot(dict *d, const entrySlot *at) {
    countChange(d);
    at->bucket->tag[at->pos] = 0;
    at->table->used--;
    if (d->pause_rehash) return;
    if (unlikely(bucketIsChained(at->head))) compactChain(at->table, at->head);
    dictShrinkIfNeeded(d);
}

void *dictPop(dict *d, slice key, uint64_t hash) {
    rehashStep(d);
    entrySlot at;
    void **ref = findSlot(d, key, hash, &at);
    if (!ref) return NULL;
    void *entry = *ref;
    clearSlot(d, &at);
    return entry;
}

/* Finds the slot of exactly this entry: compares addresses and reads no key. */
static bool findEntry(const dict *d, const void *entry, uint64_t hash, entrySlot *at) {
    uint8_t tag = bucketTag(hash);
    for (int i = dictFirstTable(d, hash); i <= d->rehashing; i++) {
        const dictTable *t = &d->t[i];
        if (!t->buckets) return false;
        dictBucket *head = &t->buckets[hash & t->mask];
        for (dictBucket *b = head; b; b = bucketNext(b)) {
            for (unsigned m = bucketMatch(b, tag); m; m &= m - 1) {
                int pos = __builtin_ctz(m);
                if (b->slot[pos] != entry) continue;
                *at = (entrySlot){(dictTable *)(uintptr_t)t, head, b, pos};
                return true;
            }
        }
    }
    return false;
}

bool dictHoldsEntry(const dict *d, const void *entry, uint64_t hash) {
    entrySlot at;
    return findEntry(d, entry, hash, &at);
}

bool dictPopEntry(dict *d, const void *entry, uint64_t hash) {
    rehashStep(d);
    entrySlot at;
    if (!findEntry(d, entry, hash, &at)) return false;
    clearSlot(d, &at);
    return true;
}

bool dictDelete(dict *d, slice key, uint64_t hash) {
    void *entry = dictPop(d, key, hash);
    if (entry && d->type->entryFree) d->type->entryFree(entry);
    return entry != NULL;
}

/* ---- random entries ---- */

static size_t chainCount(const dictBucket *b) {
    size_t n = 0;
    for (; b; b = bucketNext(b)) n += (size_t)__builtin_popcount(occupiedMask(b));
    return n;
}

static void *chainEntryAt(const dictBucket *b, size_t n) {
    for (; b; b = bucketNext(b)) {
        unsigned m = occupiedMask(b);
        size_t here = (size_t)__builtin_popcount(m);
        if (n >= here) {
            n -= here;
            continue;
        }
        while (n--) m &= m - 1;
        return b->slot[__builtin_ctz(m)];
    }
    serverPanic("dict chain is shorter than its count");
}

/* Returns the number of buckets that can hold entries, numbered as one row: those of t[0] not yet moved, then t[1]. */
static size_t liveBuckets(const dict *d) { return tableBuckets(&d->t[0]) - d->rehash_idx + tableBuckets(&d->t[1]); }

static const dictBucket *liveBucket(const dict *d, size_t i) {
    size_t first = tableBuckets(&d->t[0]) - d->rehash_idx;
    return i < first ? &d->t[0].buckets[d->rehash_idx + i] : &d->t[1].buckets[i - first];
}

/* Rejection sampling: draws a bucket and a number below FAIR_COUNT until the bucket holds more entries than that
 * number, so that each entry has the same chance (in chains longer than FAIR_COUNT, about one bucket in a thousand, a
 * little less). Takes 2.4 draws in a full table, 17 in one about to shrink. In a table that is emptier still, because
 * it may not shrink, a walk from a random bucket ends the search. */
void *dictRandomEntry(const dict *d) {
    enum { FAIR_COUNT = 14, DRAWS_MAX = 100 };
    if (dictSize(d) == 0) return NULL;
    rng *r = rngThread();
    size_t buckets = liveBuckets(d);
    for (int i = 0; i < DRAWS_MAX; i++) {
        const dictBucket *b = liveBucket(d, buckets > 1 ? rngBelow(r, buckets) : 0);
        size_t n = chainCount(b);
        size_t pick = rngBelow(r, n > FAIR_COUNT || buckets == 1 ? (n ? n : 1) : FAIR_COUNT);
        if (pick < n) return chainEntryAt(b, pick);
    }
    for (size_t i = rngBelow(r, buckets);; i++) {
        const dictBucket *b = liveBucket(d, i % buckets);
        size_t n = chainCount(b);
        if (n) return chainEntryAt(b, rngBelow(r, n));
    }
}

/* Copies up to `max` entries of a chain, starting at a random one: otherwise the last slots would never be sampled. */
static size_t sampleChain(const dictBucket *head, void **out, size_t max, rng *r) {
    size_t have = chainCount(head), n = have < max ? have : max;
    size_t at = have > max ? rngBelow(r, have) : 0;
    for (size_t i = 0; i < n; i++) out[i] = chainEntryAt(head, (at + i) % have);
    return n;
}

/* Walks buckets from a random one on. A table about to shrink has 0.84 entries a bucket, so ten buckets per entry are
 * plenty; only if all of them were empty does it walk further. */
size_t dictSampleEntries(const dict *d, void **out, size_t n) {
    size_t size = dictSize(d);
    if (n > size) n = size;
    if (n == 0) return 0;
    rng *r = rngThread();
    size_t buckets = liveBuckets(d), found = 0, visits = n * 10 + 16;
    size_t i = rngBelow(r, buckets);
    for (size_t visited = 0; visited < buckets && found < n && (visited < visits || found == 0); visited++) {
        found += sampleChain(liveBucket(d, i), out + found, n - found, r);
        if (++i == buckets) i = 0;
    }
    return found;
}

/* ---- scan and iterate ---- */

/* Returns the bucket after `cursor` in scan order, which increments from the highest bit under `mask` towards the
 * lowest: the highest clear bit is set, and those above it, all set, are cleared. 0 after the last. */
static uint64_t cursorNext(uint64_t cursor, uint64_t mask) {
    uint64_t clear = ~cursor & mask;
    if (clear == 0) return 0;
    uint64_t bit = 1ULL << (63 - __builtin_clzll(clear));
    return (cursor & (bit - 1)) | bit;
}

typedef struct scanVisitor {
    void (*fn)(void *arg, void **ref);
    void *arg;
    blockMover *move; /* overflow buckets are offered to it; NULL: they are not */
} scanVisitor;

static void moveNextBucket(dictBucket *b, blockMover *move) {
    void *moved = bucketIsChained(b) ? move(b->slot[BUCKET_SLOTS - 1]) : NULL;
    if (moved) b->slot[BUCKET_SLOTS - 1] = moved;
}

static void scanBucket(dictBucket *head, const scanVisitor *v) {
    for (dictBucket *b = head; b; b = bucketNext(b)) {
        if (unlikely(v->move != NULL)) moveNextBucket(b, v->move);
        prefetchBucketEntries(b);
        for (unsigned m = occupiedMask(b); m; m &= m - 1) v->fn(v->arg, &b->slot[__builtin_ctz(m)]);
    }
}

/* Returns the mask that a walk uses: that of the smaller table. */
static size_t scanMask(const dict *d) {
    return d->rehashing && d->t[1].mask < d->t[0].mask ? d->t[1].mask : d->t[0].mask;
}

/* Visits all buckets of `t` that a bucket of a table with `mask` + 1 buckets splits into: just one if the tables are
 * equal. */
static void scanFamily(const dictTable *t, size_t idx, size_t mask, const scanVisitor *v) {
    for (; idx <= t->mask; idx += mask + 1) scanBucket(&t->buckets[idx], v);
}

/* Like scanFamily(), and fills the holes where `fn` has deleted entries. */
static void scanFamilyTidy(dict *d, dictTable *t, size_t idx, size_t mask, const scanVisitor *v) {
    for (; idx <= t->mask; idx += mask + 1) {
        dictBucket *head = &t->buckets[idx];
        scanBucket(head, v);
        if (likely(!bucketIsChained(head)) || d->pause_rehash > 1) continue;
        countChange(d);
        compactChain(t, head);
    }
}

/* When a table doubles, a bucket splits into two whose indexes differ in a new high bit: they are neighbours in scan
 * order, so that no visited entry is visited again and none is missed. When it halves, the two merge likewise. While
 * two tables exist, the walk follows the smaller one. */
static uint64_t scan(dict *d, uint64_t cursor, const scanVisitor *v) {
    if (dictSize(d) == 0) return 0;
    size_t mask = scanMask(d);
    dictPauseRehash(d); /* fn may delete: nothing may move during the walk */
    for (int i = 0; i <= (int)d->rehashing; i++) scanFamilyTidy(d, &d->t[i], cursor & mask, mask, v);
    dictResumeRehash(d);
    return cursorNext(cursor, mask);
}

uint64_t dictScan(dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg) {
    return scan(d, cursor, &(scanVisitor){.fn = fn, .arg = arg});
}

uint64_t dictScanRead(const dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg) {
    if (dictSize(d) == 0) return 0;
    size_t mask = scanMask(d);
    scanVisitor v = {.fn = fn, .arg = arg};
    for (int i = 0; i <= (int)d->rehashing; i++) scanFamily(&d->t[i], cursor & mask, mask, &v);
    return cursorNext(cursor, mask);
}

uint64_t dictScanDefrag(dict *d, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg, blockMover *move) {
    return scan(d, cursor, &(scanVisitor){.fn = fn, .arg = arg, .move = move});
}

/* A large table consists of whole pages, so moving it gains nothing. */
void dictDefragTables(dict *d, blockMover *move) {
    debugAssert(d->pause_rehash == 0);
    for (int i = 0; i < 2; i++) {
        dictTable *t = &d->t[i];
        void *moved = t->buckets && tableBytes(t) < HUGE_PAGE ? move(t->buckets) : NULL;
        if (moved) t->buckets = moved;
    }
}

dict *dictDefrag(dict *d, blockMover *move) {
    dictDefragTables(d, move);
    dict *moved = move(d);
    return moved ? moved : d;
}

void dictIterBegin(dictIterator *it, dict *d, bool safe) { *it = (dictIterator){.d = d, .safe = safe}; }

/* Steps to the next bucket of t[0], then t[1]. Returns false at the end. Prefetches the entries of the following
 * bucket; its own line comes by the processor's sequential prefetch. */
static bool iterNextBucket(dictIterator *it) {
    const dict *d = it->d;
    for (;;) {
        const dictTable *t = &d->t[it->table];
        if (it->index < tableBuckets(t)) {
            it->bucket = &t->buckets[it->index++];
            it->pos = 0;
            if (it->index < tableBuckets(t)) prefetchBucketEntries(&t->buckets[it->index]);
            return true;
        }
        if (it->table == 1 || !d->rehashing) return false;
        it->table = 1;
        it->index = 0;
    }
}

/* Moves to the first bucket if the walk has not started. Returns false at the end. */
static bool iterReady(dictIterator *it) {
    if (likely(it->started)) return it->bucket != NULL;
    it->started = true;
    it->index = it->d->rehash_idx;
    if (it->safe) dictPauseRehash(it->d);
    return iterNextBucket(it);
}

/* Continues after a bucket that has been read. */
static void iterLeaveBucket(dictIterator *it) {
    if (bucketIsChained(it->bucket)) {
        it->bucket = bucketNext(it->bucket);
        it->pos = 0;
    } else if (!iterNextBucket(it)) {
        it->bucket = NULL;
    }
}

void *dictIterNext(dictIterator *it) {
    if (!iterReady(it)) return NULL;
    while (it->bucket) {
        dictBucket *b = it->bucket;
        unsigned m = occupiedMask(b) >> it->pos;
        if (m) {
            int pos = it->pos + __builtin_ctz(m);
            it->pos = pos + 1;
            return b->slot[pos];
        }
        iterLeaveBucket(it);
    }
    return NULL;
}

size_t dictIterMany(dictIterator *it, size_t max, const void **entries, uint64_t *hashes, uint64_t *known) {
    size_t n = 0;
    *known = UINT64_MAX;
    if (!iterReady(it)) return 0;
    while (it->bucket && n < max) {
        const dictBucket *b = it->bucket;
        unsigned m = occupiedMask(b) >> it->pos << it->pos;
        for (; m && n < max; m &= m - 1) {
            int pos = __builtin_ctz(m);
            entries[n] = b->slot[pos];
            hashes[n++] = (uint64_t)b->tag[pos] << TAG_SHIFT | (it->index - 1);
            it->pos = pos + 1;
        }
        *known &= it->d->t[it->table].mask;
        if (!m) iterLeaveBucket(it);
    }
    return n;
}

uint64_t dictHashMask(const dict *d) { return d->t[0].mask | d->t[1].mask; }

void dictIterEnd(dictIterator *it) {
    if (it->started && it->safe) dictResumeRehash(it->d);
    it->started = false;
    it->bucket = NULL;
}

/* ---- invariants ---- */

/* Checks one bucket with its chain, and adds what it holds to `used` and `chained`. */
static void checkBucket(const dict *d, const dictTable *t, size_t idx, size_t *used, size_t *chained) {
    for (const dictBucket *b = &t->buckets[idx]; b; b = bucketNext(b)) {
        serverAssert((b->flags & ~BUCKET_CHAINED) == 0);
        serverAssert(!bucketIsChained(b) || (b->tag[BUCKET_SLOTS - 1] == 0 && bucketNext(b) != NULL));
        for (unsigned m = occupiedMask(b); m; m &= m - 1) {
            int pos = __builtin_ctz(m);
            serverAssert(b->slot[pos] != NULL);
            slice key = d->type->entryKey(b->slot[pos]);
            uint64_t hash = dictHash(d, key);
            serverAssert((hash & t->mask) == idx);
            serverAssert(b->tag[pos] == bucketTag(hash));
            serverAssert(findSlot(d, key, hash, NULL) == &b->slot[pos]);
            ++*used;
        }
        if (bucketIsChained(b)) ++*chained;
        serverAssert(*chained <= t->chained); /* ends the loop if the chain is circular */
    }
}

void dictCheck(const dict *d) {
    serverAssert(d->rehashing == (d->t[1].buckets != NULL));
    serverAssert(d->rehashing ? d->rehash_idx <= d->t[0].mask : d->rehash_idx == 0);
    serverAssert(!d->rehashing || !d->coming);
    for (int i = 0; i < 2; i++) {
        const dictTable *t = &d->t[i];
        size_t used = 0, chained = 0, buckets = tableBuckets(t);
        serverAssert((buckets & (buckets - 1)) == 0);
        for (size_t idx = 0; idx < buckets; idx++) {
            checkBucket(d, t, idx, &used, &chained);
            serverAssert(i == 1 || idx >= d->rehash_idx || used + chained == 0);
        }
        serverAssert(used == t->used);
        serverAssert(chained == t->chained);
    }
}

/* ---- statistics ---- */

/* Appends to `out` like snprintf() and returns the new length, at most size - 1. */
static size_t printf_like(4, 5) statsAppend(char *out, size_t size, size_t len, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(out + len, size - len, fmt, ap);
    va_end(ap);
    if (n < 0) return len;
    return len + ((size_t)n < size - len ? (size_t)n : size - len - 1);
}

static size_t statsTable(const dict *d, int which, char *out, size_t size, size_t len, bool full) {
    enum { LENGTHS = 50 };
    const dictTable *t = &d->t[which];
    size_t buckets = tableBuckets(t);
    len = statsAppend(out, size, len, "Hash table %d stats (%s):\n table size: %zu\n number of entries: %zu\n", which,
                      which ? "rehashing target" : "main hash table", buckets * BUCKET_SLOTS, t->used);
    long long idx = d->rehashing && which == 0 ? (long long)d->rehash_idx : -1;
    len = statsAppend(out, size, len, " rehashing index: %lld\n", idx);
    if (!full) return len;

    size_t histogram[LENGTHS] = {0}, longest = 0;
    for (size_t i = 0; i < buckets; i++) {
        size_t chain = 0;
        for (const dictBucket *b = bucketNext(&t->buckets[i]); b; b = bucketNext(b)) chain++;
        if (chain > longest) longest = chain;
        histogram[chain < LENGTHS ? chain : LENGTHS - 1]++;
    }
    len = statsAppend(out, size, len,
                      " top-level buckets: %zu\n child buckets: %zu\n max chain length: %zu\n avg chain length: %f\n"
                      " chain length distribution:\n",
                      buckets, t->chained, longest, buckets ? (double)t->chained / (double)buckets : 0.0);
    for (size_t i = 0; i < LENGTHS; i++) {
        if (histogram[i] == 0) continue;
        len = statsAppend(out, size, len, "   %zu: %zu (%.2f%%)\n", i, histogram[i],
                          100.0 * (double)histogram[i] / (double)buckets);
    }
    return len;
}

size_t dictStats(const dict *d, char *out, size_t size, bool full) {
    if (size == 0) return 0;
    out[0] = '\0';
    size_t len = statsTable(d, 0, out, size, 0, full);
    if (d->rehashing) len = statsTable(d, 1, out, size, len, full);
    return len;
}
