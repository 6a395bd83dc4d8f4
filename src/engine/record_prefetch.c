/* record_prefetch.c -- prefetches the keys of many commands, and the elements that they look up, all at once.
 *
 * Commands that run one after another, of many clients or of one transaction, would miss the cache one after another:
 * at the bucket, at the entry, and again in the value's own table. Here these misses overlap.
 *
 * Main reads the bytes of a request only to propagate them: they are in the cache of the thread that received them. So
 * while one command runs, the bytes of the next are prefetched.
 *
 * Not here    how a walk overlaps (ds/memory_prefetch.c); which commands run next (net/session/command_batch.c).
 * Owns        counters; the list of upcoming commands.
 * Threads     main.
 * Invariants  1. Prefetching never changes a reply: without it every command does the same.
 * Tests       tests/unit/net/session/command_batch_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "record_prefetch.h"

#include "command_table.h"
#include "dict.h"
#include "panic.h"
#include "tracking.h"

prefetchStats prefetch_stats;

/* The keys of a batch, each once: a hot key that many clients use is fetched for all of them. */
typedef struct keyBatch {
    dictLookup lookups[DICT_PREFETCH_MAX];
    size_t n;
    uint64_t seen; /* a bit for the top six bits of each hash */
} keyBatch;

/* Returns the lookup of a key that is in the batch already, or NULL. */
static __attribute__((noinline)) dictLookup *findKey(keyBatch *keys, const dict *d, uint64_t hash) {
    for (size_t i = 0; i < keys->n; i++)
        if (keys->lookups[i].hash == hash && keys->lookups[i].d == d) return &keys->lookups[i];
    return NULL;
}

/* Prefetches the header of the dict as well: with slots, each key has a dict of its own. */
static inline void addKey(keyBatch *keys, const serverDb *db, const parsedCommand *p, uint32_t nth, bool skip_value) {
    uint64_t hash = p->keys[nth].hash;
    slice name = p->argv[p->keys[nth].index];
    const dict *d = dbDict(db, hash);
    if (unlikely(keys->seen >> (hash >> 58) & 1) && findKey(keys, d, hash)) return;
    debugAssert(keys->n < DICT_PREFETCH_MAX);
    keys->seen |= 1ull << (hash >> 58);
    dictLookup *l = &keys->lookups[keys->n++];
    l->d = d;
    l->key = name;
    l->hash = hash;
    l->skip_value = skip_value;
    prefetchRead(d);
    prefetchRead(name.ptr);
}

/* Not inlined, so that commands with one key need fewer registers. */
static __attribute__((noinline)) void addKeys(keyBatch *keys, const serverDb *db, const parsedCommand *p,
                                              bool skip_value) {
    for (uint32_t k = 0; k < p->nkeys; k++) addKey(keys, db, p, k, skip_value);
}

/* A command whose elements are prefetched when its first key has been found. */
typedef struct insideItem {
    const parsedCommand *req;
    const dictLookup *key;
} insideItem;

/* Prefetches elements in the tables of the values found. The walk over the keys has fetched the lines that point to
 * these tables; the headers of all tables are prefetched before the first table is walked. */
static __attribute__((noinline)) void prefetchElements(const insideItem *items, size_t n, size_t max) {
    dictLookup lookups[DICT_PREFETCH_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const robj *o = items[i].key->entry;
        const dict *table = o ? objectElements(o) : NULL;
        if (!table) continue;
        prefetchRead(table);
        const requestKey *e = requestElements(items[i].req);
        uint32_t elements = requestElementCount(items[i].req);
        /* A command with more elements than the batch can hold fetches them itself. */
        if (elements > max - count) continue;
        for (uint32_t k = 0; k < elements; k++)
            lookups[count++] = (dictLookup){.d = table, .key = items[i].req->argv[e[k].index], .hash = e[k].hash};
    }
    if (count == 0) return;
    dictPrefetch(lookups, count);
    prefetch_stats.entries += (long long)count;
}

size_t recordsPrefetch(const recordItem *items, size_t n, size_t max_keys, recordSentElsewhere *sent_elsewhere) {
    assertMainRole();
    debugAssert(max_keys <= DICT_PREFETCH_MAX);
    keyBatch keys;
    insideItem inside[DICT_PREFETCH_MAX];
    keys.n = 0;
    keys.seen = 0;
    size_t covered = 0; /* keys of the batch, a hot one as often as it is named */
    size_t earlier = 0; /* keys of commands that an earlier batch has prefetched and that have not run */
    size_t inside_count = 0;
    const client *last = NULL;
    bool elsewhere = false;
    for (size_t i = 0; i < n; i++) prefetchRead(items[i].req->argv);
    for (size_t i = 0; i < n && keys.n < max_keys; i++) {
        parsedCommand *p = items[i].req;
        if (unlikely(p->flags & REQ_PREFETCHED)) {
            earlier += p->nkeys;
            continue;
        }
        if (p->nkeys == 0 || p->nkeys > max_keys - keys.n) continue;
        if (items[i].c != last) {
            last = items[i].c;
            elsewhere = sent_elsewhere && sent_elsewhere(last);
        }
        bool skip_value = elsewhere || p->cmd->flags & CMD_BUILDS_VALUE;
        if (likely(p->nkeys == 1)) addKey(&keys, last->db, p, 0, skip_value);
        else addKeys(&keys, last->db, p, skip_value);
        if (p->flags & REQ_ELEMENTS) {
            dictLookup *l = findKey(&keys, dbDict(items[i].c->db, p->keys[0].hash), p->keys[0].hash);
            l->skip_value = false;
            debugAssert(inside_count < DICT_PREFETCH_MAX);
            inside[inside_count++] = (insideItem){p, l};
        }
        covered += p->nkeys;
        p->flags |= REQ_PREFETCHED;
    }
    if (covered == 0) return 0;
    if (unlikely(tracking_has_keys))
        for (size_t i = 0; i < keys.n; i++) trackingPrefetch(keys.lookups[i].hash);
    if (keys.n > 1 || inside_count) { /* a single walk has nothing to overlap with */
        dictPrefetch(keys.lookups, keys.n);
        if (unlikely(tracking_has_keys))
            for (size_t i = 0; i < keys.n; i++) trackingPrefetchReaders(keys.lookups[i].hash);
    }
    prefetch_stats.batches++;
    prefetch_stats.entries += (long long)covered;
    if (inside_count) prefetchElements(inside, inside_count, DICT_PREFETCH_MAX);
    return covered + earlier;
}

/* ---- Bytes to propagate ---- */

static struct {
    const recordItem *items; /* borrowed */
    size_t n, at;            /* `at`: the first that has not begun to run */
} upcoming;

void recordsUpcoming(const recordItem *items, size_t n) {
    assertMainRole();
    upcoming.items = items;
    upcoming.n = n;
    upcoming.at = 0;
}

static void prefetchWire(const recordItem *next) {
    const parsedCommand *p = next->req;
    if (next->c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY)) return; /* then its block may be freed */
    if (p->flags & (REQ_INLINE | REQ_SCATTERED) || !p->cmd || !(p->cmd->flags & CMD_WRITE)) return;
    prefetchReadRun(p->wire, p->wire_len);
}

/* Commands of a transaction or a script are not in the list; nothing happens for them. */
void recordsExpectNext(const parsedCommand *running) {
    size_t i = upcoming.at;
    while (i < upcoming.n && upcoming.items[i].req != running) i++;
    if (i == upcoming.n) return;
    upcoming.at = i + 1;
    if (upcoming.at < upcoming.n) prefetchWire(&upcoming.items[upcoming.at]);
}
