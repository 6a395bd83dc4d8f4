/* memory_prefetch.c -- find many keys in many dicts at once, so that their cache misses overlap.
 *
 * A lookup is a chain of dependent loads: bucket, entry, key, value. Lookups one after another pay each
 * miss in full; interleaving them, one load of each at a time, overlaps the misses.
 *
 * Not here    which commands make a batch (net/session/command_batch.c); the bucket and its tags (dict_internal.h).
 * Owns        nothing: lookups, dicts and key names are borrowed until dictPrefetch() returns.
 * Threads     any one thread that may read the dicts; in the server that is main.
 * Invariants  1. Prefetches never change a result: without them, all tests still pass.
 *             2. Nothing is allocated, no dict is changed, no rehash step is taken.
 *             3. A step reads only lines that an earlier round has prefetched.
 *             4. `entry` is what dictFind() would return.
 *
 *   BUCKET --candidate--> ENTRY --key elsewhere--> KEY --equal--> DONE, value prefetched
 *      ^ |                  |                       |
 *      | '--no candidate    '-------- not equal ----'--> the next candidate: ENTRY
 *      '--- overflow bucket, or the other table while rehashing; neither: DONE, a miss
 *
 * Cost        190 instructions per lookup if all is in the cache (dictFind: 95). Small dicts are not
 *             skipped: a hash of a hundred fields is as likely to be uncached as any other, and the caller
 *             needs `entry` in any case. docs/design/dict.md has nanoseconds per key.
 * Tests       tests/unit/ds/memory_prefetch_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dict.h"
#include "dict_internal.h"
#include "panic.h"

enum { LOOKUP_BUCKET, LOOKUP_ENTRY, LOOKUP_KEY, LOOKUP_DONE };

/* Prefetches the line in which an entry begins, and the one in which its key ends if the type bounds that distance. */
static void prefetchEntry(const dictType *type, const char *entry, size_t key_len) {
    prefetchRead(entry);
    if (type->key_within) prefetchRead(entry + type->key_within + key_len - 1);
}

static void enterBucket(dictLookup *l, const dictBucket *b) {
    prefetchRead(b);
    l->bucket = b;
    l->state = LOOKUP_BUCKET;
}

static void enterTable(dictLookup *l, int table) {
    const dictTable *t = &l->d->t[table];
    l->table = (uint8_t)table;
    enterBucket(l, &t->buckets[l->hash & t->mask]);
}

/* Moves to the next candidate of the bucket, or on to the next bucket that may have one. */
static void nextCandidate(dictLookup *l) {
    const dictBucket *b = l->bucket;
    if (likely(l->candidates)) {
        const char *entry = b->slot[__builtin_ctz(l->candidates)];
        prefetchEntry(l->d->type, entry, l->key.len);
        l->entry = entry;
        l->state = LOOKUP_ENTRY;
    } else if (bucketIsChained(b)) {
        enterBucket(l, bucketNext(b));
    } else if (l->table == 0 && l->d->rehashing) {
        enterTable(l, 1);
    } else {
        l->entry = NULL;
        l->state = LOOKUP_DONE;
    }
}

static void compareKey(dictLookup *l) {
    const dictType *type = l->d->type;
    if (likely(dictKeyMatches(type, l->entry, l->key))) {
        if (!l->skip_value && type->prefetchValue) type->prefetchValue(l->entry);
        l->state = LOOKUP_DONE;
        return;
    }
    l->candidates &= (uint8_t)(l->candidates - 1);
    nextCandidate(l);
}

static void stepLookup(dictLookup *l) {
    switch (l->state) {
    case LOOKUP_BUCKET:
        l->candidates = (uint8_t)bucketMatch(l->bucket, bucketTag(l->hash));
        nextCandidate(l);
        break;
    case LOOKUP_ENTRY: {
        const dictType *type = l->d->type;
        const void *key;
        if (!type->key_within && type->prefetchKey && (key = type->prefetchKey(l->entry)) != NULL) {
            prefetchRead(key);
            l->state = LOOKUP_KEY;
            break;
        }
        compareKey(l);
        break;
    }
    case LOOKUP_KEY: compareKey(l); break;
    case LOOKUP_DONE: break; /* not in the active list */
    }
}

/* A single lookup has nothing to overlap with: the rounds would only cost time. */
static void findAlone(dictLookup *l) {
    l->entry = l->d ? dictFind(l->d, l->key, l->hash) : NULL;
    l->state = LOOKUP_DONE;
    if (l->entry && !l->skip_value && l->d->type->prefetchValue) l->d->type->prefetchValue(l->entry);
}

void dictPrefetch(dictLookup *lookups, size_t n) {
    serverAssert(n <= DICT_PREFETCH_MAX);
    if (n == 1) {
        findAlone(lookups);
        return;
    }
    uint8_t active[DICT_PREFETCH_MAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        dictLookup *l = &lookups[i];
        l->entry = NULL;
        if (!l->d || !l->d->t[0].buckets) {
            l->state = LOOKUP_DONE;
            continue;
        }
        enterTable(l, dictFirstTable(l->d, l->hash));
        active[count++] = (uint8_t)i;
    }
    /* Each round steps all unfinished lookups and closes the gaps of finished ones. */
    while (count) {
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            dictLookup *l = &lookups[active[i]];
            stepLookup(l);
            active[kept] = active[i];
            kept += l->state != LOOKUP_DONE;
        }
        count = kept;
    }
}
