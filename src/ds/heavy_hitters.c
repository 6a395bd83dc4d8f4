/* heavy_hitters.c -- the keys with the most weight in a stream of keys with weights, in fixed memory.
 *
 * A list of HEAVY_KEYS keys that are counted exactly, and behind it a count-min sketch for all others (G. Cormode,
 * S. Muthukrishnan, "An improved data stream summary: the count-min sketch and its applications", J. Algorithms 55,
 * 2005) with conservative update (C. Estan, G. Varghese, "New directions in traffic measurement and accounting",
 * SIGCOMM 2002). A key that becomes heavier in the sketch than the lightest of the list, by an eighth of its own
 * weight, takes its place; that one's weight goes into the sketch. (Without the eighth, many keys of like weight would
 * drive each other out at each turn. A key with a hundredth of all weight gets in all the same: there is no room for
 * 128 keys above seven eighths of that.) So heavy keys neither make the cells of others dirty nor cost four of them
 * (P. Roy, A. Khan, G. Alonso, "Augmented sketch: faster and more accurate stream processing", SIGMOD 2016).
 *
 *     list    entries[128] -> | hash | weight | len | key |        cells   row 0 | 4096 weights |
 *             hashes[], weights[]: the writer's copies                     row 1 | 4096 weights |   one of each row
 *             heads[256], next[128]: where a hash is in the list           ...                      for a hash
 *
 * A key's estimate is its weight in the list, or the least of its cells. It is at most 1/1500 of the weight that went
 * through the sketch too large for 98 keys of 100 (e/4096 and e^-4 of the first paper); conservative update makes it
 * better than that.
 *
 * Another thread reads while the writer goes on. An entry's key never changes; it is freed only when no reader can have
 * found it: the reader says that it reads and then looks at entries[]; the writer stores another entry there and then
 * looks whether anybody reads. All four are sequentially consistent, so one of the two sees the other's store. Until
 * then what was dropped is kept, RETIRED_MAX at most; when there is no more room for it the list stays as it is.
 *
 * Not here    what is a key's weight, which of them are counted at all: the caller's.
 * Owns        copies of the keys in the list.
 * Threads     a writer and a reader, as the header says.
 * Invariants  1. An estimate is never less than the truth.
 *             2. `entries`, `hashes` and `weights` say the same of each place; heads[] leads to each place once.
 *             3. Cells are 0 until a key was refused a place in the list.
 * Cost        Add: some 25 instructions for a key in the list, 60 for another; a key that gets into the list costs an
 *             allocation and a look at all 128 weights.
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
#define MARGIN 8             /* a key is kept when it has so much of itself more than the one that gives way */
#define CANDIDATES_PER_KEY 4 /* what is heavy in one list need not be in all of them: so many are looked at for each */

static_assert(HEAVY_KEYS < 256, "places, from 1 on, fit a byte");
static_assert(ROWS * ROW_BITS <= 56, "a row's bits, and those of heads[], are a part of the hash of its own");

typedef struct heavyEntry {
    uint64_t hash;           /* const */
    _Atomic uint64_t weight; /* atomic, relaxed: written by the writer */
    size_t len;              /* const */
    char key[];              /* const */
} heavyEntry;

struct heavyHitters {
    /* The writer's. */
    unsigned count;
    unsigned least;       /* place that had the least weight when that was looked for */
    uint64_t least_bound; /* that weight: no place has less since, for weights grow */
    bool sketched;        /* some cell is not 0 */
    unsigned retired_count;
    uint64_t hashes[HEAVY_KEYS], weights[HEAVY_KEYS];
    uint8_t heads[HEADS], next[HEAVY_KEYS]; /* place + 1; 0: none */
    heavyEntry *retired[RETIRED_MAX];       /* own: not in the list any more; a reader may have them */
    /* atomic: written by the writer, read by the reader. */
    _Atomic uint64_t total;                    /* relaxed: all weight that was added */
    _Atomic size_t key_bytes;                  /* relaxed: of all entries, retired ones as well */
    _Atomic(heavyEntry *) entries[HEAVY_KEYS]; /* own; seq_cst */
    _Atomic uint64_t cells[ROWS][ROW_CELLS];   /* relaxed */
    /* atomic, seq_cst: written by the reader. */
    alignas(CACHE_LINE) _Atomic int reading;
};

/* One writer: a load and a store are enough. */
static uint64_t get(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void put(_Atomic uint64_t *counter, uint64_t value) {
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

static void addKeyBytes(heavyHitters *h, size_t bytes) {
    size_t now = atomic_load_explicit(&h->key_bytes, memory_order_relaxed);
    atomic_store_explicit(&h->key_bytes, now + bytes, memory_order_relaxed);
}

heavyHitters *heavyHittersTryCreate(void) {
    heavyHitters *h = ztrycallocAligned(CACHE_LINE, sizeof(*h));
    return h;
}

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

static size_t columnOf(uint64_t hash, unsigned row) {
    return hash >> (8 + row * ROW_BITS) & (ROW_CELLS - 1);
}

static uint64_t estimate(const heavyHitters *h, uint64_t hash) {
    uint64_t least = UINT64_MAX;
    for (unsigned row = 0; row < ROWS; row++) {
        uint64_t cell = get(&h->cells[row][columnOf(hash, row)]);
        if (cell < least) least = cell;
    }
    return least;
}

/* The key's weight is so much, at most: no cell of it may say less. */
static void raiseCells(heavyHitters *h, uint64_t hash, uint64_t weight) {
    for (unsigned row = 0; row < ROWS; row++) {
        _Atomic uint64_t *cell = &h->cells[row][columnOf(hash, row)];
        if (get(cell) < weight) put(cell, weight);
    }
    h->sketched = true;
}

/* --- the list ---------------------------------------------------------------------------------------- */

static uint8_t *headOf(heavyHitters *h, uint64_t hash) {
    return &h->heads[hash % HEADS];
}

/* Place + 1, or 0. */
static unsigned find(const heavyHitters *h, uint64_t hash) {
    unsigned at = h->heads[hash % HEADS];
    while (at && h->hashes[at - 1] != hash) at = h->next[at - 1];
    return at;
}

static void unlinkPlace(heavyHitters *h, unsigned place) {
    uint8_t *link = headOf(h, h->hashes[place]);
    while (*link != place + 1) link = &h->next[*link - 1];
    *link = h->next[place];
}

static unsigned leastPlace(heavyHitters *h) {
    if (h->weights[h->least] == h->least_bound) return h->least;
    unsigned least = 0;
    for (unsigned i = 1; i < h->count; i++)
        if (h->weights[i] < h->weights[least]) least = i;
    h->least = least;
    h->least_bound = h->weights[least];
    return least;
}

static void addWeight(heavyHitters *h, unsigned place, uint64_t weight) {
    h->weights[place] += weight;
    heavyEntry *e = atomic_load_explicit(&h->entries[place], memory_order_relaxed);
    put(&e->weight, h->weights[place]);
}

/* Room for one more that is dropped. */
static bool mayRetire(heavyHitters *h) {
    if (h->retired_count < RETIRED_MAX) return true;
    if (atomic_load(&h->reading)) return false;
    freeRetired(h);
    return true;
}

/* The key takes the place. False: it cannot be kept, nothing has changed. */
static bool takePlace(heavyHitters *h, unsigned place, uint64_t hash, slice key, uint64_t weight) {
    if (key.len > HEAVY_KEY_LEN_MAX ||
        atomic_load_explicit(&h->key_bytes, memory_order_relaxed) + key.len > HEAVY_KEY_BYTES_MAX)
        return false;
    bool taken = place < h->count;
    if (taken && !mayRetire(h)) return false;
    heavyEntry *e = ztrymalloc(sizeof(*e) + key.len);
    if (!e) return false;
    e->hash = hash;
    e->len = key.len;
    atomic_init(&e->weight, weight);
    if (key.len) memcpy(e->key, key.ptr, key.len);
    addKeyBytes(h, key.len);
    if (taken) {
        /* Before it is gone from the list: a reader may look for it. */
        raiseCells(h, h->hashes[place], h->weights[place]);
        unlinkPlace(h, place);
        h->retired[h->retired_count++] = atomic_load_explicit(&h->entries[place], memory_order_relaxed);
    } else {
        h->count++;
    }
    atomic_store(&h->entries[place], e);
    h->hashes[place] = hash;
    h->weights[place] = weight;
    uint8_t *head = headOf(h, hash);
    h->next[place] = *head;
    *head = (uint8_t)(place + 1);
    return true;
}

/* A key that is not in the list has come to that weight. */
static void settle(heavyHitters *h, uint64_t hash, slice key, uint64_t weight) {
    unsigned place = h->count;
    bool heavy = place < HEAVY_KEYS;
    uint64_t beats = weight - weight / MARGIN;
    if (!heavy && beats > h->least_bound) {
        place = leastPlace(h);
        heavy = beats > h->weights[place];
    }
    if (!heavy || !takePlace(h, place, hash, key, weight)) raiseCells(h, hash, weight);
}

uint64_t heavyHittersTotal(const heavyHitters *h) {
    return get(&h->total);
}

static void add(heavyHitters *h, uint64_t hash, slice key, uint64_t weight) {
    unsigned at = find(h, hash);
    if (at) addWeight(h, at - 1, weight);
    else settle(h, hash, key, weight + (h->sketched ? estimate(h, hash) : 0));
}

void heavyHittersAdd(heavyHitters *h, uint64_t hash, slice key, uint64_t weight) {
    put(&h->total, get(&h->total) + weight);
    add(h, hash, key, weight);
}

/* Each step keeps invariant 1: a key that is in one list only has what the other's sketch says of it added, and cells
 * of both are added up last, when all keys that were counted exactly have their place or are in the cells of `into`. */
void heavyHittersFold(heavyHitters *into, const heavyHitters *from) {
    for (unsigned i = 0; i < into->count && from->sketched; i++)
        if (!find(from, into->hashes[i])) addWeight(into, i, estimate(from, into->hashes[i]));
    for (unsigned i = 0; i < from->count; i++) {
        const heavyEntry *e = atomic_load_explicit(&from->entries[i], memory_order_relaxed);
        add(into, e->hash, sliceOf(e->key, e->len), from->weights[i]);
    }
    put(&into->total, get(&into->total) + get(&from->total));
    if (!from->sketched) return;
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned i = 0; i < ROW_CELLS; i++)
            put(&into->cells[row][i], get(&into->cells[row][i]) + get(&from->cells[row][i]));
    into->sketched = true;
}

/* --- reading ------------------------------------------------------------------------------------------ */

/* A place in one of the lists. */
typedef struct seenEntry {
    const heavyEntry *entry;
    uint64_t hash, weight;
    size_t in; /* which list */
} seenEntry;

/* A key, in as many lists as it is in: they stand one behind the other. */
typedef struct seenKey {
    const seenEntry *first;
    size_t lists;
    uint64_t weight;
} seenKey;

static int byHash(const void *a, const void *b) {
    uint64_t x = ((const seenEntry *)a)->hash, y = ((const seenEntry *)b)->hash;
    return (x > y) - (x < y);
}

static int byWeight(const void *a, const void *b) {
    const seenKey *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    const heavyEntry *p = x->first->entry, *q = y->first->entry;
    int order = memcmp(p->key, q->key, p->len < q->len ? p->len : q->len);
    return order ? order : (p->len > q->len) - (p->len < q->len);
}

static size_t seeEntries(heavyHitters *const *of, size_t n, seenEntry *out) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned place = 0; place < HEAVY_KEYS; place++) {
            const heavyEntry *e = atomic_load(&of[i]->entries[place]);
            if (!e) break; /* places are taken in order */
            out[count++] = (seenEntry){e, e->hash, get(&e->weight), i};
        }
    return count;
}

static size_t groupKeys(seenEntry *entries, size_t count, seenKey *out) {
    size_t keys = 0;
    qsort(entries, count, sizeof(*entries), byHash);
    for (size_t i = 0; i < count; i++) {
        if (keys && out[keys - 1].first->hash == entries[i].hash) {
            out[keys - 1].lists++;
            out[keys - 1].weight += entries[i].weight;
        } else {
            out[keys++] = (seenKey){&entries[i], 1, entries[i].weight};
        }
    }
    return keys;
}

/* What the sketches say of a key whose list it is not in. */
static void addEstimates(heavyHitters *const *of, size_t n, seenKey *k) {
    const uint64_t hash = k->first->hash;
    for (size_t i = 0; i < n; i++) {
        bool listed = false;
        for (size_t j = 0; j < k->lists; j++) listed |= k->first[j].in == i;
        if (!listed) k->weight += estimate(of[i], hash);
    }
}

static size_t readTop(heavyHitters *const *of, size_t n, heavyKey *out, size_t max, seenEntry *entries, seenKey *keys) {
    size_t count = groupKeys(entries, seeEntries(of, n, entries), keys);
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
    seenEntry *entries = zmalloc(n * HEAVY_KEYS * sizeof(*entries));
    seenKey *keys = zmalloc(n * HEAVY_KEYS * sizeof(*keys));
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
