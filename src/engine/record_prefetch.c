/* record_prefetch.c -- the keys of many commands, and what they look up in those keys' values, asked for at once.
 *
 * Commands that will run one after another, of many clients or of one transaction, would miss the cache one after
 * another: at the bucket, at the entry, and again in the value's own table. Here they do so together.
 *
 * The bytes of a request are read by main only to pass them on: they lie in the cache of the thread that received them.
 * So while one command runs, those of the next are asked for.
 *
 * Not here    how a walk overlaps (ds/memory_prefetch.c); which commands run next (net/session/command_batch.c).
 * Owns        counters; which commands are upcoming.
 * Threads     main.
 * Invariants  1. Hints never change a reply: without them every command does the same.
 * Tests       tests/unit/net/session/command_batch_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "record_prefetch.h"

#include "command_table.h"
#include "memory_prefetch.h"
#include "panic.h"
#include "tracking.h"

prefetchStats prefetch_stats;

/* The keys of a batch, each once: a hot key that many clients ask for is fetched for all of them. */
typedef struct keyBatch {
    dictLookup lookups[DICT_PREFETCH_MAX];
    size_t n;
    uint64_t seen; /* a bit for the top six bits of each hash */
} keyBatch;

/* The lookup of a key that is there already, or NULL. */
static dictLookup *findKey(keyBatch *keys, const dict *d, uint64_t hash) {
    if (likely(!(keys->seen & 1ull << (hash >> 58)))) return NULL;
    for (size_t i = 0; i < keys->n; i++)
        if (keys->lookups[i].hash == hash && keys->lookups[i].d == d) return &keys->lookups[i];
    return NULL;
}

static void addKey(keyBatch *keys, const dict *d, slice name, uint64_t hash, bool skip_value) {
    if (findKey(keys, d, hash)) return;
    debugAssert(keys->n < DICT_PREFETCH_MAX);
    keys->seen |= 1ull << (hash >> 58);
    dictLookup *l = &keys->lookups[keys->n++];
    l->d = d;
    l->key = name;
    l->hash = hash;
    l->skip_value = skip_value;
    prefetchRead(name.ptr);
}

/* A command whose elements are to be fetched when its first key has been found. */
typedef struct insideItem {
    const parsedCommand *req;
    const dictLookup *key;
} insideItem;

/* From the keys on into their values' own tables: the lines that the walk over the keys has asked for say which table
 * that is; those of all tables are asked for before the first is walked. */
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
        /* A command with more than the batch holds fetches them by itself. */
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
    size_t covered = 0; /* keys asked for, a hot one as often as it stands in the batch */
    size_t earlier = 0; /* keys of commands that an earlier batch has walked and not run */
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
        for (uint32_t k = 0; k < p->nkeys; k++)
            addKey(&keys, dbDict(items[i].c->db, p->slot), p->argv[p->keys[k].index], p->keys[k].hash, skip_value);
        if (p->flags & REQ_ELEMENTS) {
            dictLookup *l = findKey(&keys, dbDict(items[i].c->db, p->slot), p->keys[0].hash);
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
    if (keys.n > 1 || inside_count) { /* one walk has nothing to overlap with */
        dictPrefetch(keys.lookups, keys.n);
        if (unlikely(tracking_has_keys))
            for (size_t i = 0; i < keys.n; i++) trackingPrefetchReaders(keys.lookups[i].hash);
    }
    prefetch_stats.batches++;
    prefetch_stats.entries += (long long)covered;
    if (inside_count) prefetchElements(inside, inside_count, DICT_PREFETCH_MAX);
    return covered + earlier;
}

/* ---- What is passed on ---- */

static struct {
    const recordItem *items; /* borrowed */
    size_t n, at;            /* `at`: the first that has not been seen to run */
} upcoming;

void recordsUpcoming(const recordItem *items, size_t n) {
    assertMainRole();
    upcoming.items = items;
    upcoming.n = n;
    upcoming.at = 0;
}

static void expect(const recordItem *next) {
    const parsedCommand *p = next->req;
    if (next->c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY)) return; /* then its block may have gone */
    if (p->flags & (REQ_INLINE | REQ_SCATTERED) || !p->cmd || !(p->cmd->flags & CMD_WRITE)) return;
    prefetchReadRun(p->wire, p->wire_len);
}

/* Those of a transaction or a program are not among them. */
void recordsExpectNext(const parsedCommand *running) {
    size_t i = upcoming.at;
    while (i < upcoming.n && upcoming.items[i].req != running) i++;
    if (i == upcoming.n) return;
    upcoming.at = i + 1;
    if (upcoming.at < upcoming.n) expect(&upcoming.items[upcoming.at]);
}
