/* time_index.c -- entries by their time: unsorted leaves under a sorted directory.
 *
 *   directory   low (time, address) | low ... | low ...      sorted
 *                 |                    |        |
 *   leaves      [e e e e e]          [e e]    [e e e e]      up to LEAF_MAX entries, unsorted
 *
 * Expiry needs the entries that are due, in any order, so only the leaves are sorted. Entries with the same time are
 * sorted by their address, so a million fields of the same millisecond are spread over many leaves, and searching one
 * leaf never takes long. An address takes six bytes, in two arrays; a search reads the four low bytes.
 *
 * Not here    the meaning of an entry.
 * Owns        the directory and the leaves.
 * Threads     one owner at a time.
 * Invariants  (timeIndexCheck() asserts them)
 *             1. An entry (time, address) of leaf i is not below low[i], and below low[i + 1].
 *             2. low[0] is a bound that may be far too low; no leaf is empty.
 *             3. `count` is the sum of the leaves' counts.
 * Cost        6 bytes per entry in a full leaf, up to a third more in one with free space; 24 per leaf in
 *             the directory. Add: a binary search; one in LEAF_MAX / 2 reads the times of a leaf. Remove: a search
 *             among LEAF_MAX numbers of 4 bytes.
 * Tests       tests/unit/ds/time_index_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "time_index.h"

#include "panic.h"
#include "zmalloc.h"
#include <string.h>

#define LEAF_MAX 512
#define LEAF_MERGE (LEAF_MAX / 4) /* two neighbours with at most this many entries together are merged */
#define LEAF_STEP 8

/* low[capacity] and high[capacity] follow. */
typedef struct timeLeaf {
    uint32_t count, capacity;
} timeLeaf;

typedef struct timeBound {
    int64_t time;
    uintptr_t address;
    timeLeaf *leaf; /* owns */
} timeBound;

struct timeIndex {
    timeBound *dir; /* owns */
    size_t leaves, capacity, count;
    timeIndexTimeOf *time_of;
    int64_t noted; /* of the caller */
};

/* ---- A leaf ---- */

static uint32_t *lowOf(const timeLeaf *leaf) { return (uint32_t *)(uintptr_t)(leaf + 1); }
static uint16_t *highOf(const timeLeaf *leaf) { return (uint16_t *)(uintptr_t)(lowOf(leaf) + leaf->capacity); }

static size_t leafBytes(uint32_t capacity) {
    return sizeof(timeLeaf) + (size_t)capacity * (sizeof(uint32_t) + sizeof(uint16_t));
}

static void *entryAt(const timeLeaf *leaf, uint32_t i) {
    return (void *)((uintptr_t)highOf(leaf)[i] << 32 | lowOf(leaf)[i]); /* the address that putEntry() took apart */
}

static void putEntry(timeLeaf *leaf, uint32_t i, uintptr_t address) {
    debugAssert((uint64_t)address >> 48 == 0);
    lowOf(leaf)[i] = (uint32_t)address;
    highOf(leaf)[i] = (uint16_t)((uint64_t)address >> 32);
}

static timeLeaf *leafCreate(uint32_t capacity) {
    size_t usable = zmallocGoodSize(leafBytes(capacity));
    capacity = (uint32_t)((usable - sizeof(timeLeaf)) / (sizeof(uint32_t) + sizeof(uint16_t)));
    if (capacity > LEAF_MAX) capacity = LEAF_MAX;
    timeLeaf *leaf = zmalloc(leafBytes(capacity));
    *leaf = (timeLeaf){.capacity = capacity};
    return leaf;
}

/* Returns a leaf with the same entries and a capacity of `capacity`. */
static timeLeaf *leafResize(timeLeaf *leaf, uint32_t capacity) {
    timeLeaf *fresh = leafCreate(capacity);
    memcpy(lowOf(fresh), lowOf(leaf), leaf->count * sizeof(uint32_t));
    memcpy(highOf(fresh), highOf(leaf), leaf->count * sizeof(uint16_t));
    fresh->count = leaf->count;
    zfree(leaf);
    return fresh;
}

static timeLeaf *leafAppend(timeLeaf *leaf, uintptr_t address) {
    if (leaf->count == leaf->capacity) {
        uint32_t capacity = leaf->count + (leaf->count / 8 > LEAF_STEP ? leaf->count / 8 : LEAF_STEP);
        leaf = leafResize(leaf, capacity < LEAF_MAX ? capacity : LEAF_MAX);
    }
    putEntry(leaf, leaf->count++, address);
    return leaf;
}

static void leafDrop(timeLeaf *leaf, uint32_t i) {
    uint32_t last = --leaf->count;
    lowOf(leaf)[i] = lowOf(leaf)[last];
    highOf(leaf)[i] = highOf(leaf)[last];
}

/* Returns the index of an address, count if it is absent. */
static uint32_t leafFind(const timeLeaf *leaf, uintptr_t address) {
    const uint32_t *low = lowOf(leaf);
    uint32_t low_bits = (uint32_t)address;
    uint16_t high = (uint16_t)((uint64_t)address >> 32);
    for (uint32_t i = 0; i < leaf->count; i++)
        if (unlikely(low[i] == low_bits) && highOf(leaf)[i] == high) return i;
    return leaf->count;
}

/* ---- The directory ---- */

static bool isBelow(int64_t time_a, uintptr_t a, int64_t time_b, uintptr_t b) {
    return time_a < time_b || (time_a == time_b && a < b);
}

/* Returns the leaf to which (time, address) belongs: the last whose bound is not above it, else the first. */
static size_t findLeaf(const timeIndex *t, int64_t time, uintptr_t address) {
    size_t from = 0, to = t->leaves;
    while (to - from > 1) {
        size_t mid = from + (to - from) / 2;
        if (isBelow(time, address, t->dir[mid].time, t->dir[mid].address)) to = mid;
        else from = mid;
    }
    return from;
}

static void insertLeaf(timeIndex *t, size_t at, timeBound bound) {
    if (t->leaves == t->capacity) {
        t->capacity = t->capacity ? t->capacity + t->capacity / 2 + 1 : 1;
        t->dir = zrealloc(t->dir, t->capacity * sizeof(*t->dir));
    }
    memmove(t->dir + at + 1, t->dir + at, (t->leaves - at) * sizeof(*t->dir));
    t->dir[at] = bound;
    t->leaves++;
}

/* Removes a leaf, whose entries were moved or that was freed, from the directory. */
static void removeLeaf(timeIndex *t, size_t at) {
    t->leaves--;
    memmove(t->dir + at, t->dir + at + 1, (t->leaves - at) * sizeof(*t->dir));
    if (t->capacity > 16 && t->leaves < t->capacity / 4) {
        t->capacity /= 2;
        t->dir = zrealloc(t->dir, t->capacity * sizeof(*t->dir));
    }
}

typedef struct sortKey {
    int64_t time;
    uintptr_t address;
} sortKey;

static void swapKeys(sortKey *a, sortKey *b) {
    sortKey was_a = *a;
    *a = *b;
    *b = was_a;
}

static bool keyIsBelow(const sortKey *a, const sortKey *b) { return isBelow(a->time, a->address, b->time, b->address); }

/* Moves the key that has index `nth` in sorted order there, with smaller ones before it (Hoare's selection). Keys
 * differ. */
static void selectKey(sortKey *keys, size_t n, size_t nth) {
    size_t from = 0, to = n - 1;
    while (from < to) {
        sortKey pivot = keys[from + (to - from) / 2];
        size_t i = from, j = to;
        for (;;) {
            while (keyIsBelow(&keys[i], &pivot)) i++;
            while (keyIsBelow(&pivot, &keys[j])) j--;
            if (i >= j) break;
            swapKeys(&keys[i++], &keys[j--]);
        }
        if (nth <= j) to = j;
        else from = j + 1;
    }
}

/* Splits a full leaf in halves. The last leaf, whose entries came in order, keeps most: later entries go to the new
 * one. */
static void splitLeaf(timeIndex *t, size_t at) {
    timeLeaf *leaf = t->dir[at].leaf;
    sortKey keys[LEAF_MAX];
    uint32_t n = leaf->count, keep = at + 1 == t->leaves ? n - n / 8 : n / 2;
    for (uint32_t i = 0; i < n; i++) prefetchRead(entryAt(leaf, i));
    for (uint32_t i = 0; i < n; i++) {
        void *entry = entryAt(leaf, i);
        keys[i] = (sortKey){t->time_of(entry), (uintptr_t)entry};
    }
    selectKey(keys, n, keep);
    timeLeaf *lower = leafCreate(keep), *upper = leafCreate(n - keep);
    for (uint32_t i = 0; i < keep; i++) putEntry(lower, i, keys[i].address);
    for (uint32_t i = keep; i < n; i++) putEntry(upper, i - keep, keys[i].address);
    lower->count = keep;
    upper->count = n - keep;
    zfree(leaf);
    t->dir[at].leaf = lower;
    insertLeaf(t, at + 1, (timeBound){keys[keep].time, keys[keep].address, upper});
}

/* Merges leaf `at` with the next one if both are small, and gives back what a leaf does not need. */
static void tidyLeaf(timeIndex *t, size_t at) {
    timeLeaf *leaf = t->dir[at].leaf;
    if (leaf->count == 0) {
        zfree(leaf);
        removeLeaf(t, at);
        return;
    }
    size_t first = at + 1 < t->leaves ? at : at - 1;
    if (t->leaves > 1 && t->dir[first].leaf->count + t->dir[first + 1].leaf->count <= LEAF_MERGE) {
        timeLeaf *from = t->dir[first + 1].leaf, *into = t->dir[first].leaf;
        for (uint32_t i = 0; i < from->count; i++) into = leafAppend(into, (uintptr_t)entryAt(from, i));
        t->dir[first].leaf = into;
        zfree(from);
        removeLeaf(t, first + 1);
    } else if (leaf->capacity > 2 * LEAF_STEP && leaf->count < leaf->capacity / 2) {
        t->dir[at].leaf = leafResize(leaf, leaf->count + LEAF_STEP);
    }
}

/* ---- The index ---- */

timeIndex *timeIndexCreate(timeIndexTimeOf *time_of) {
    timeIndex *t = zmalloc(sizeof(*t));
    *t = (timeIndex){.time_of = time_of, .noted = INT64_MAX};
    return t;
}

void timeIndexFree(timeIndex *t) {
    if (!t) return;
    for (size_t i = 0; i < t->leaves; i++) zfree(t->dir[i].leaf);
    zfree(t->dir);
    zfree(t);
}

size_t timeIndexSize(const timeIndex *t) { return t->count; }

int64_t timeIndexBound(const timeIndex *t) { return t->count > 0 ? t->dir[0].time : INT64_MAX; }

int64_t *timeIndexNoted(timeIndex *t) { return &t->noted; }

size_t timeIndexMemUsage(const timeIndex *t) {
    size_t bytes = zmallocSize(t) + (t->dir ? zmallocSize(t->dir) : 0);
    for (size_t i = 0; i < t->leaves; i++) bytes += zmallocSize(t->dir[i].leaf);
    return bytes;
}

void timeIndexAdd(timeIndex *t, const void *entry) {
    int64_t time = t->time_of(entry);
    uintptr_t address = (uintptr_t)entry;
    if (t->leaves == 0) insertLeaf(t, 0, (timeBound){time, address, leafCreate(LEAF_STEP)});
    size_t at = findLeaf(t, time, address);
    if (t->dir[at].leaf->count == LEAF_MAX) {
        splitLeaf(t, at);
        at = findLeaf(t, time, address);
    }
    timeBound *bound = &t->dir[at];
    if (isBelow(time, address, bound->time, bound->address)) { /* only in the first leaf */
        bound->time = time;
        bound->address = address;
    }
    debugAssert(leafFind(bound->leaf, address) == bound->leaf->count);
    bound->leaf = leafAppend(bound->leaf, address);
    t->count++;
}

void timeIndexRemove(timeIndex *t, const void *entry, int64_t time) {
    serverAssert(t->count > 0);
    size_t at = findLeaf(t, time, (uintptr_t)entry);
    timeLeaf *leaf = t->dir[at].leaf;
    uint32_t i = leafFind(leaf, (uintptr_t)entry);
    serverAssert(i < leaf->count);
    leafDrop(leaf, i);
    t->count--;
    tidyLeaf(t, at);
}

/* Takes entries from the first leaf. If it has looked at all of them, the rest gives the leaf an exact bound. */
static size_t takeFromFirst(timeIndex *t, int64_t time, void **out, size_t max) {
    timeLeaf *leaf = t->dir[0].leaf;
    bool all_due = t->leaves > 1 && t->dir[1].time < time;
    sortKey least = {INT64_MAX, UINTPTR_MAX};
    size_t n = 0;
    if (!all_due)
        for (uint32_t i = 0; i < leaf->count; i++) prefetchRead(entryAt(leaf, i));
    uint32_t i = leaf->count;
    while (i-- > 0) {
        if (n == max) return n;
        void *entry = entryAt(leaf, i);
        sortKey key = {all_due ? INT64_MIN : t->time_of(entry), (uintptr_t)entry};
        if (key.time < time) {
            out[n++] = entry;
            leafDrop(leaf, i);
        } else if (keyIsBelow(&key, &least)) {
            least = key;
        }
    }
    if (leaf->count) {
        t->dir[0].time = least.time;
        t->dir[0].address = least.address;
    }
    return n;
}

size_t timeIndexTakeBefore(timeIndex *t, int64_t time, void **out, size_t max) {
    size_t n = 0;
    while (n < max && t->count > 0 && t->dir[0].time < time) {
        size_t taken = takeFromFirst(t, time, out + n, max - n);
        t->count -= taken;
        n += taken;
        tidyLeaf(t, 0);
    }
    return n;
}

size_t timeIndexDefrag(timeIndex *t, size_t number, blockMover *move) {
    void *moved;
    if (number >= t->leaves) return 0;
    if (number == 0 && (moved = move(t->dir)) != NULL) t->dir = moved;
    if ((moved = move(t->dir[number].leaf)) != NULL) t->dir[number].leaf = moved;
    return number + 1 < t->leaves ? number + 1 : 0;
}

void timeIndexCheck(const timeIndex *t) {
    size_t count = 0;
    serverAssert(t->leaves <= t->capacity);
    for (size_t i = 0; i < t->leaves; i++) {
        const timeBound *low = &t->dir[i], *next = i + 1 < t->leaves ? low + 1 : NULL;
        const timeLeaf *leaf = low->leaf;
        serverAssert(leaf->count > 0 && leaf->count <= leaf->capacity && leaf->capacity <= LEAF_MAX);
        for (uint32_t j = 0; j < leaf->count; j++) {
            uintptr_t address = (uintptr_t)entryAt(leaf, j);
            int64_t time = t->time_of(entryAt(leaf, j));
            serverAssert(!isBelow(time, address, low->time, low->address));
            serverAssert(!next || isBelow(time, address, next->time, next->address));
        }
        count += leaf->count;
    }
    serverAssert(count == t->count);
}
