/* heavy_hitters.c -- the keys with the most weight in a stream of keys with weights, in fixed memory.
 *
 * A list of HEAVY_KEYS keys that are counted exactly, and a count-min sketch for all others (G. Cormode,
 * S. Muthukrishnan, "An improved data stream summary: the count-min sketch and its applications", J. Algorithms 55,
 * 2005) with conservative update (C. Estan, G. Varghese, "New directions in traffic measurement and accounting",
 * SIGCOMM 2002). A key that becomes heavier in the sketch than the lightest of the list, by an eighth of its own
 * weight, replaces it; the weight of the replaced key goes into the sketch. (Without the eighth, many keys of similar
 * weight would keep replacing each other. A key with a hundredth of all weight gets in all the same: there cannot be
 * 128 keys above seven eighths of that.) So heavy keys neither add to the cells of others nor cost four writes
 * (P. Roy, A. Khan, G. Alonso, "Augmented sketch: faster and more accurate stream processing", SIGMOD 2016).
 *
 *     list    entries[128] -> | hash | weight | len | key |        cells   row 0 | 4096 weights |
 *             hashes[], weights[]: the writer's copies                     row 1 | 4096 weights |   one of each row
 *             heads[256], next[128]: index of a hash in the list           ...                      for a hash
 *
 * A key's estimate is its weight in the list, or the least of its cells. It is at most 1/1500 of the weight that went
 * through the sketch too large for 98 keys of 100 (e/4096 and e^-4 of the first paper); conservative update makes it
 * better than that.
 *
 * Another thread may read while the writer works. An entry's key never changes; it is freed only when no reader can
 * have found it: the reader sets `reading` and then loads entries[]; the writer stores another entry there and then
 * checks `reading`. All four are sequentially consistent, so one of the two sees the other's store. Until
 * then replaced entries are kept, RETIRED_MAX at most; when that is full, the list stays as it is.
 *
 * Not here    the weight of a key, and which keys are counted at all: the caller decides.
 * Owns        copies of the keys in the list.
 * Threads     a writer and a reader, as the header says.
 * Invariants  1. An estimate is never less than the truth.
 *             2. `entries`, `hashes` and `weights` agree at each index; heads[] leads to each index once.
 *             3. Cells are 0 until a key did not get into the list.
 * Cost        Add: some 25 instructions for a key in the list, 60 for another; a key that gets into the list costs an
 *             allocation and a search of all 128 weights.
 * Tests       tests/unit/ds/heavy_hitters_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "heavy_hitters.h"

#include "panic.h"
#include "zmalloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 4
#define ROW_BITS 12
#define ROW_CELLS (1u << ROW_BITS)
#define HEADS 256
#define RETIRED_MAX 64
#define MARGIN 8             /* a new key must be heavier than the one it replaces by an eighth of its own weight */
#define CANDIDATES_PER_KEY 4 /* examined per result: a key that is heavy in one list may be absent from others */

static_assert(HEAVY_KEYS < 256, "indexes, from 1 on, fit a byte");
static_assert(ROWS * ROW_BITS <= 56, "a row's bits, and those of heads[], are a part of the hash of its own");

typedef struct heavyEntry {
    uint64_t hash;           /* const */
    _Atomic uint64_t weight; /* atomic, relaxed: written by the writer */
    size_t len;              /* const */
    char key[];              /* const */
} heavyEntry;

struct heavyHitters {
    /* Used by the writer only. */
    unsigned count;
    unsigned least;       /* index of the entry that had the least weight at the last search */
    uint64_t least_bound; /* its weight then: weights only grow, so all are at least this */
    bool sketched;        /* some cell is not 0 */
    unsigned retired_count;
    uint64_t hashes[HEAVY_KEYS], weights[HEAVY_KEYS];
    uint8_t heads[HEADS], next[HEAVY_KEYS]; /* index + 1; 0: none */
    heavyEntry *retired[RETIRED_MAX];       /* owned; no longer in the list, but a reader may still use them */
    /* Atomic: written by the writer, read by the reader. */
    _Atomic uint64_t total;                    /* relaxed: all weight that was added */
    _Atomic size_t key_bytes;                  /* relaxed: of all entries, including retired ones */
    _Atomic(heavyEntry *) entries[HEAVY_KEYS]; /* owned; seq_cst */
    _Atomic uint64_t cells[ROWS][ROW_CELLS];   /* relaxed */
    /* Atomic, seq_cst: written by the reader. */
    alignas(CACHE_LINE) _Atomic int reading;
};

/* With a single writer, a load and a store are enough. */
static uint64_t getCounter(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void setCounter(_Atomic uint64_t *counter, uint64_t value) {
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

static void addKeyBytes(heavyHitters *h, size_t bytes) {
    size_t now = atomic_load_explicit(&h->key_bytes, memory_order_relaxed);
    atomic_store_explicit(&h->key_bytes, now + bytes, memory_order_relaxed);
}

heavyHitters *heavyHittersTryCreate(void) { return ztrycallocAligned(CACHE_LINE, sizeof(heavyHitters)); }

static void freeRetired(heavyHitters *h) {
    for (unsigned i = 0; i < h->retired_count; i++) {
        addKeyBytes(h, (size_t)0 - h->retired[i]->len);
        zfree(h->retired[i]);
    }
    h->retired_count = 0;
}

void heavyHittersFree(heavyHitters *h) {
    if (!h) return;
    serverAssert(!atomic_load(&h->reading));
    freeRetired(h);
    for (unsigned i = 0; i < h->count; i++) zfree(atomic_load_explicit(&h->entries[i], memory_order_relaxed));
    zfree(h);
}

size_t heavyHittersMemory(const heavyHitters *h) {
    return zmallocSize(h) + atomic_load_explicit(&h->key_bytes, memory_order_relaxed) + HEAVY_KEYS * sizeof(heavyEntry);
}

/* --- the sketch ------------------------------------------------------------------------------------ */

static size_t columnOf(uint64_t hash, unsigned row) { return hash >> (8 + row * ROW_BITS) & (ROW_CELLS - 1); }

static uint64_t heavyHittersEstimate(const heavyHitters *h, uint64_t hash) {
    uint64_t least = UINT64_MAX;
    for (unsigned row = 0; row < ROWS; row++) {
        uint64_t cell = getCounter(&h->cells[row][columnOf(hash, row)]);
        if (cell < least) least = cell;
    }
    return least;
}

/* Raises the key's cells to `weight`: none may be less. */
static void raiseCells(heavyHitters *h, uint64_t hash, uint64_t weight) {
    for (unsigned row = 0; row < ROWS; row++) {
        _Atomic uint64_t *cell = &h->cells[row][columnOf(hash, row)];
        if (getCounter(cell) < weight) setCounter(cell, weight);
    }
    h->sketched = true;
}

/* --- the list ---------------------------------------------------------------------------------------- */

static uint8_t *headOf(heavyHitters *h, uint64_t hash) { return &h->heads[hash % HEADS]; }

/* Returns the index of the hash + 1, or 0. */
static unsigned heavyHittersFind(const heavyHitters *h, uint64_t hash) {
    unsigned at = h->heads[hash % HEADS];
    while (at && h->hashes[at - 1] != hash) at = h->next[at - 1];
    return at;
}

static void unlinkIndex(heavyHitters *h, unsigned index) {
    uint8_t *link = headOf(h, h->hashes[index]);
    while (*link != index + 1) link = &h->next[*link - 1];
    *link = h->next[index];
}

static unsigned leastIndex(heavyHitters *h) {
    if (h->weights[h->least] == h->least_bound) return h->least;
    unsigned least = 0;
    for (unsigned i = 1; i < h->count; i++)
        if (h->weights[i] < h->weights[least]) least = i;
    h->least = least;
    h->least_bound = h->weights[least];
    return least;
}

static void addWeight(heavyHitters *h, unsigned index, uint64_t weight) {
    h->weights[index] += weight;
    heavyEntry *e = atomic_load_explicit(&h->entries[index], memory_order_relaxed);
    setCounter(&e->weight, h->weights[index]);
}

/* Returns whether one more entry can be retired; frees retired ones if there is no reader. */
static bool mayRetire(heavyHitters *h) {
    if (h->retired_count < RETIRED_MAX) return true;
    if (atomic_load(&h->reading)) return false;
    freeRetired(h);
    return true;
}

/* Puts the key at an index of the list. Returns false if it cannot be kept; nothing has changed then. */
static bool storeAt(heavyHitters *h, unsigned index, uint64_t hash, slice key, uint64_t weight) {
    if (key.len > HEAVY_KEY_LEN_MAX ||
        atomic_load_explicit(&h->key_bytes, memory_order_relaxed) + key.len > HEAVY_KEY_BYTES_MAX)
        return false;
    bool taken = index < h->count;
    if (taken && !mayRetire(h)) return false;
    heavyEntry *e = ztrymalloc(sizeof(*e) + key.len);
    if (!e) return false;
    e->hash = hash;
    e->len = key.len;
    atomic_init(&e->weight, weight);
    if (key.len) memcpy(e->key, key.ptr, key.len);
    addKeyBytes(h, key.len);
    if (taken) {
        /* First the sketch, then the list: a reader may look for the key at any time. */
        raiseCells(h, h->hashes[index], h->weights[index]);
        unlinkIndex(h, index);
        h->retired[h->retired_count++] = atomic_load_explicit(&h->entries[index], memory_order_relaxed);
    } else {
        h->count++;
    }
    atomic_store(&h->entries[index], e);
    h->hashes[index] = hash;
    h->weights[index] = weight;
    uint8_t *head = headOf(h, hash);
    h->next[index] = *head;
    *head = (uint8_t)(index + 1);
    return true;
}

/* A key outside the list has reached `weight`: puts it into the list if it is heavy enough, else into the sketch. */
static void admitKey(heavyHitters *h, uint64_t hash, slice key, uint64_t weight) {
    unsigned index = h->count;
    bool heavy = index < HEAVY_KEYS;
    uint64_t beats = weight - weight / MARGIN;
    if (!heavy && beats > h->least_bound) {
        index = leastIndex(h);
        heavy = beats > h->weights[index];
    }
    if (!heavy || !storeAt(h, index, hash, key, weight)) raiseCells(h, hash, weight);
}

uint64_t heavyHittersTotal(const heavyHitters *h) { return getCounter(&h->total); }

static void addKey(heavyHitters *h, uint64_t hash, slice key, uint64_t weight) {
    unsigned at = heavyHittersFind(h, hash);
    if (at) addWeight(h, at - 1, weight);
    else admitKey(h, hash, key, weight + (h->sketched ? heavyHittersEstimate(h, hash) : 0));
}

void heavyHittersAdd(heavyHitters *h, uint64_t hash, slice key, uint64_t weight) {
    setCounter(&h->total, getCounter(&h->total) + weight);
    addKey(h, hash, key, weight);
}

/* Each step preserves invariant 1: a key that is in only one list gets the other sketch's estimate added, and the cells
 * are added last, when all keys that were counted exactly are in the list or in the cells of `into`. */
void heavyHittersFold(heavyHitters *into, const heavyHitters *from) {
    for (unsigned i = 0; i < into->count && from->sketched; i++)
        if (!heavyHittersFind(from, into->hashes[i])) addWeight(into, i, heavyHittersEstimate(from, into->hashes[i]));
    for (unsigned i = 0; i < from->count; i++) {
        const heavyEntry *e = atomic_load_explicit(&from->entries[i], memory_order_relaxed);
        addKey(into, e->hash, sliceOf(e->key, e->len), from->weights[i]);
    }
    setCounter(&into->total, getCounter(&into->total) + getCounter(&from->total));
    if (!from->sketched) return;
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned i = 0; i < ROW_CELLS; i++)
            setCounter(&into->cells[row][i], getCounter(&into->cells[row][i]) + getCounter(&from->cells[row][i]));
    into->sketched = true;
}

/* --- reading ------------------------------------------------------------------------------------------ */

/* An entry of one of the lists. */
typedef struct foundEntry {
    const heavyEntry *entry;
    uint64_t hash, weight;
    size_t in; /* index of that list */
} foundEntry;

/* A key, and its entries in all lists that have it, which are adjacent. */
typedef struct foundKey {
    const foundEntry *first;
    size_t lists;
    uint64_t weight;
} foundKey;

static int byHash(const void *a, const void *b) {
    uint64_t x = ((const foundEntry *)a)->hash, y = ((const foundEntry *)b)->hash;
    return (x > y) - (x < y);
}

static int byWeight(const void *a, const void *b) {
    const foundKey *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    const heavyEntry *p = x->first->entry, *q = y->first->entry;
    int order = memcmp(p->key, q->key, p->len < q->len ? p->len : q->len);
    return order ? order : (p->len > q->len) - (p->len < q->len);
}

static size_t readEntries(heavyHitters *const *of, size_t n, foundEntry *out) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned index = 0; index < HEAVY_KEYS; index++) {
            const heavyEntry *e = atomic_load(&of[i]->entries[index]);
            if (!e) break; /* the list is filled in order */
            out[count++] = (foundEntry){e, e->hash, getCounter(&e->weight), i};
        }
    return count;
}

static size_t groupKeys(foundEntry *entries, size_t count, foundKey *out) {
    size_t keys = 0;
    qsort(entries, count, sizeof(*entries), byHash);
    for (size_t i = 0; i < count; i++) {
        if (keys && out[keys - 1].first->hash == entries[i].hash) {
            out[keys - 1].lists++;
            out[keys - 1].weight += entries[i].weight;
        } else {
            out[keys++] = (foundKey){&entries[i], 1, entries[i].weight};
        }
    }
    return keys;
}

/* Adds the estimates of the sketches whose lists do not have the key. */
static void addEstimates(heavyHitters *const *of, size_t n, foundKey *k) {
    const uint64_t hash = k->first->hash;
    for (size_t i = 0; i < n; i++) {
        bool listed = false;
        for (size_t j = 0; j < k->lists; j++) listed |= k->first[j].in == i;
        if (!listed) k->weight += heavyHittersEstimate(of[i], hash);
    }
}

static size_t readTop(heavyHitters *const *of, size_t n, heavyKey *out, size_t max, foundEntry *entries,
                      foundKey *keys) {
    size_t count = groupKeys(entries, readEntries(of, n, entries), keys);
    qsort(keys, count, sizeof(*keys), byWeight);
    if (count > CANDIDATES_PER_KEY * max) count = CANDIDATES_PER_KEY * max;
    if (n > 1) {
        for (size_t i = 0; i < count; i++) addEstimates(of, n, &keys[i]);
        qsort(keys, count, sizeof(*keys), byWeight);
    }
    if (count > max) count = max;
    for (size_t i = 0; i < count; i++) {
        const heavyEntry *e = keys[i].first->entry;
        out[i] = (heavyKey){sdsNewLen(e->key, e->len), keys[i].weight};
    }
    return count;
}

size_t heavyHittersTop(heavyHitters *const *of, size_t n, heavyKey *out, size_t max) {
    if (n == 0 || max == 0) return 0;
    foundEntry *entries = zmalloc(n * HEAVY_KEYS * sizeof(*entries));
    foundKey *keys = zmalloc(n * HEAVY_KEYS * sizeof(*keys));
    for (size_t i = 0; i < n; i++) atomic_store(&of[i]->reading, 1);
    size_t count = readTop(of, n, out, max, entries, keys);
    for (size_t i = 0; i < n; i++) atomic_store(&of[i]->reading, 0);
    zfree(entries);
    zfree(keys);
    return count;
}

void heavyKeysFree(heavyKey *keys, size_t n) {
    for (size_t i = 0; i < n; i++) sdsFree(keys[i].key);
}
