/* tracking_table.c -- which client has read which key.
 *
 *   shards[hash >> 52]: { slots, lines, used }
 *                           |
 *            line  +--------+---------+--------+---------+- ... 4 keys of 16 bytes: one cache line
 *                  |  hash  | readers |  hash  | readers |
 *                  +--------+---------+--------+---------+- ...
 *
 *   readers:  0                      no key
 *             a (31) | b (31) | 01   one reader or two (b is 0: one)
 *             pointer                a readerSet: more, or a key with a name
 *
 * A shard is a hash table of its own: a key is in its home line or, if that is full, in the next line that has a free
 * slot. Shards grow by a quarter when three of four slots are used, each at its own time, so that no call ever moves
 * more than a few hundred keys of a million, and a million keys take 21 to 27 bytes each.
 *
 * Not here    what readers are, and how they are notified (tracking.c).
 * Owns        the shards and sets.
 * Threads     one owner at a time.
 * Invariants  (trackingTableCheck() asserts them)
 *             1. The used slots of a line precede its free ones. A key is in another line than its home line only if
 *                all lines from its home line up to the one before its own are full.
 *             2. A key is there once, and has a reader; a reader is in a key's set once.
 *             3. keys, items and bytes are the sums over the shards.
 * Cost        one line for a key, present or absent, rarely two; docs/design/tracking.md has figures.
 * Tests       tests/unit/engine/tracking/tracking_table_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tracking_table.h"

#include "bio.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"

#define SHARDS 4096
#define SHARD_SHIFT 52
#define LINE_KEYS 4
#define LINE_BYTES (LINE_KEYS * sizeof(trackedKey))
#define EMPTY_AT_ONCE 1024 /* up to this many keys are freed at once instead of in the background */
#define SWEEP_IN_PLACE 64  /* readers; a larger set is rebuilt, as small as possible, after a sweep */

static_assert(LINE_BYTES == CACHE_LINE, "a look-up is one line");

typedef struct shard {
    trackedKey *slots; /* owns; NULL if lines is 0 */
    uint32_t lines, used;
} shard;

struct trackingTable {
    shard *shards; /* owns; NULL until there is a key */
    size_t keys, items, bytes;
    bool (*exists)(uint32_t reader);
};

/* A hash set of readers, followed by the name of the key. */
typedef struct readerSet {
    uint32_t count;
    uint8_t log_capacity;
    bool named;
    uint16_t name_len;
    uint32_t ids[]; /* 1 << log_room slots; 0: free */
} readerSet;

/* ---- Readers of a key ---- */

#define TAG_PAIR 1u

static uint64_t pairOf(uint32_t a, uint32_t b) { return (uint64_t)a << 33 | (uint64_t)b << 2 | TAG_PAIR; }
static bool isPair(uint64_t readers) { return readers & TAG_PAIR; }
static uint32_t pairFirst(uint64_t readers) { return (uint32_t)(readers >> 33); }
static uint32_t pairSecond(uint64_t readers) { return (uint32_t)(readers >> 2) & TRACKING_READER_MAX; }
static readerSet *setOf(uint64_t readers) { return (readerSet *)(uintptr_t)readers; }
static uint64_t readersOf(const readerSet *s) { return (uint64_t)(uintptr_t)s; }

static uint32_t slotsOf(const readerSet *s) { return 1u << s->log_capacity; }

static size_t setBytes(unsigned log_capacity, size_t name_len) {
    return sizeof(readerSet) + (sizeof(uint32_t) << log_capacity) + name_len;
}

static char *nameOf(const readerSet *s) { return (char *)(s->ids + slotsOf(s)); }

/* Returns the most readers of a set: small sets may be full, larger ones keep a quarter free. */
static size_t setReadersMax(unsigned log_capacity) {
    return ((size_t)1 << log_capacity) - (log_capacity > 2 ? (size_t)1 << (log_capacity - 2) : 0);
}

/* Creates a set with capacity for at least `count` readers. */
static readerSet *setNew(trackingTable *t, size_t count, bool named, slice name) {
    unsigned log_capacity = 0;
    while (count > setReadersMax(log_capacity)) log_capacity++;
    size_t bytes = setBytes(log_capacity, name.len);
    readerSet *s = zmalloc(bytes);
    *s = (readerSet){.log_capacity = (uint8_t)log_capacity, .named = named, .name_len = (uint16_t)name.len};
    memset(s->ids, 0, sizeof(uint32_t) << log_capacity);
    if (name.len) memcpy(nameOf(s), name.ptr, name.len);
    t->bytes += zmallocGoodSize(bytes);
    return s;
}

static void setFree(trackingTable *t, readerSet *s) {
    t->bytes -= zmallocGoodSize(setBytes(s->log_capacity, s->name_len));
    zfree(s);
}

static bool setIsFull(const readerSet *s) { return s->count >= setReadersMax(s->log_capacity); }

/* Returns the slot of the reader, or the free slot for it; NULL if there is neither. */
static uint32_t *setSlot(readerSet *s, uint32_t reader) {
    uint32_t mask = slotsOf(s) - 1;
    uint32_t at = (uint32_t)(reader * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
    for (uint32_t i = 0; i <= mask; i++, at = (at + 1) & mask)
        if (s->ids[at] == reader || s->ids[at] == 0) return &s->ids[at];
    return NULL;
}

static void setInsert(readerSet *s, uint32_t reader) {
    uint32_t *slot = setSlot(s, reader);
    debugAssert(reader > 0 && slot && *slot == 0);
    *slot = reader;
    s->count++;
    debugAssert(s->count <= setReadersMax(s->log_capacity));
}

/* Removes the readers that do not exist any more. */
static void setSweep(trackingTable *t, readerSet *s) {
    uint32_t removed = 0;
    for (uint32_t i = 0; i < slotsOf(s); i++) {
        if (s->ids[i] == 0 || t->exists(s->ids[i])) continue;
        s->ids[i] = 0;
        removed++;
    }
    debugAssert(removed <= s->count && removed <= t->items);
    s->count -= removed;
    t->items -= removed;
}

/* Inserts all readers again: after a sweep their probe sequences are broken. */
static void setInsertAll(readerSet *s, const uint32_t *ids, uint32_t slots) {
    s->count = 0;
    for (uint32_t i = 0; i < slots; i++)
        if (ids[i]) setInsert(s, ids[i]);
}

/* Provides a free slot for one more reader, in this set or in a new one. Drops readers that do not exist any more, so
 * that the set of a key that many short-lived clients read does not grow. */
static readerSet *setReserve(trackingTable *t, readerSet *old) {
    uint32_t ids[SWEEP_IN_PLACE], slots = slotsOf(old);
    setSweep(t, old);
    if (slots <= SWEEP_IN_PLACE && !setIsFull(old)) {
        memcpy(ids, old->ids, slots * sizeof(*ids));
        memset(old->ids, 0, slots * sizeof(*ids));
        setInsertAll(old, ids, slots);
        return old;
    }
    readerSet *s = setNew(t, old->count + 1, old->named, sliceOf(nameOf(old), old->name_len));
    setInsertAll(s, old->ids, slots);
    setFree(t, old);
    return s;
}

static void addToSet(trackingTable *t, trackedKey *k, uint32_t reader) {
    readerSet *s = setOf(k->readers);
    uint32_t *slot = setSlot(s, reader);
    if (slot && *slot == reader) return;
    if (setIsFull(s)) {
        s = setReserve(t, s);
        k->readers = readersOf(s);
    }
    setInsert(s, reader);
    t->items++;
}

static void addReader(trackingTable *t, trackedKey *k, uint32_t reader) {
    if (unlikely(!isPair(k->readers))) {
        addToSet(t, k, reader);
        return;
    }
    uint32_t a = pairFirst(k->readers), b = pairSecond(k->readers);
    if (a == reader || b == reader) return;
    if (b == 0) {
        k->readers = pairOf(a, reader);
        t->items++;
    } else if (!t->exists(a)) {
        k->readers = pairOf(reader, b);
    } else if (!t->exists(b)) {
        k->readers = pairOf(a, reader);
    } else {
        readerSet *s = setNew(t, 3, false, sliceOf(NULL, 0));
        setInsert(s, a);
        setInsert(s, b);
        setInsert(s, reader);
        k->readers = readersOf(s);
        t->items++;
    }
}

static uint32_t readerCount(uint64_t readers) {
    if (!isPair(readers)) return setOf(readers)->count;
    return pairSecond(readers) ? 2 : 1;
}

/* ---- Shards ---- */

static uint32_t homeLine(const shard *s, uint64_t hash) { return (uint32_t)((hash & UINT32_MAX) * s->lines >> 32); }

static uint32_t lineAfter(const shard *s, uint32_t line) { return line + 1 == s->lines ? 0 : line + 1; }

static trackedKey *lineAt(const shard *s, uint32_t line) { return s->slots + (size_t)line * LINE_KEYS; }

static size_t shardBytes(uint32_t lines) { return (size_t)lines * LINE_BYTES; }

/* Returns the slot of the key, or the free slot for it. */
static trackedKey *findSlot(const shard *s, uint64_t hash) {
    for (uint32_t line = homeLine(s, hash);; line = lineAfter(s, line)) {
        trackedKey *k = lineAt(s, line);
        for (unsigned i = 0; i < LINE_KEYS; i++)
            if (k[i].hash == hash || k[i].readers == 0) return &k[i];
    }
}

static trackedKey *trackingTableFind(const shard *s, uint64_t hash) {
    if (s->lines == 0) return NULL;
    trackedKey *k = findSlot(s, hash);
    return k->readers ? k : NULL;
}

static void trackingTableResize(trackingTable *t, shard *s, uint32_t lines) {
    shard old = *s;
    s->lines = (uint32_t)(zmallocGoodSize(shardBytes(lines)) / LINE_BYTES);
    debugAssert(s->lines >= lines && old.used <= s->lines * (LINE_KEYS - 1)); /* a lookup ends at a free slot */
    s->slots = zmallocAligned(CACHE_LINE, shardBytes(s->lines));
    memset(s->slots, 0, shardBytes(s->lines));
    for (size_t i = 0; i < (size_t)old.lines * LINE_KEYS; i++)
        if (old.slots[i].readers) *findSlot(s, old.slots[i].hash) = old.slots[i];
    t->bytes += shardBytes(s->lines) - shardBytes(old.lines);
    zfree(old.slots);
}

static void growIfFull(trackingTable *t, shard *s) {
    if (s->used >= s->lines * (LINE_KEYS - 1)) trackingTableResize(t, s, s->lines + s->lines / 4 + 1);
}

static void shrinkIfSparse(trackingTable *t, shard *s) {
    if (s->used == 0) {
        t->bytes -= shardBytes(s->lines);
        zfree(s->slots);
        *s = (shard){NULL, 0, 0};
    } else if (s->lines > 4 && s->used < s->lines) {
        trackingTableResize(t, s, s->used / 2 + 1);
    }
}

static uint32_t distance(const shard *s, uint32_t from, uint32_t to) {
    return to >= from ? to - from : to + s->lines - from;
}

/* Finds a key to move into `line`, which was full and now has a free slot: the first key in the following lines, up to
 * the next one with a free slot, whose home line is `line` or precedes it. Returns NULL if there is none; otherwise
 * *found is its line. */
static trackedKey *findDisplaced(const shard *s, uint32_t line, uint32_t *found) {
    for (uint32_t from = lineAfter(s, line); from != line; from = lineAfter(s, from)) {
        trackedKey *k = lineAt(s, from);
        for (unsigned i = 0; i < LINE_KEYS && k[i].readers; i++) {
            if (distance(s, homeLine(s, k[i].hash), from) < distance(s, line, from)) continue;
            *found = from;
            return &k[i];
        }
        if (k[LINE_KEYS - 1].readers == 0) return NULL;
    }
    return NULL;
}

static void closeHole(const shard *s, trackedKey *hole) {
    uint32_t line = (uint32_t)((size_t)(hole - s->slots) / LINE_KEYS);
    while (hole) {
        trackedKey *k = lineAt(s, line);
        bool was_full = k[LINE_KEYS - 1].readers != 0;
        unsigned last = LINE_KEYS - 1;
        while (k[last].readers == 0) last--;
        *hole = k[last];
        k[last] = (trackedKey){0, 0};
        if (!was_full) return;
        hole = findDisplaced(s, line, &line);
        if (hole) k[last] = *hole;
    }
}

static shard *shardOf(const trackingTable *t, uint64_t hash) { return &t->shards[hash >> SHARD_SHIFT]; }

static void takeOut(trackingTable *t, shard *s, trackedKey *k, trackedKey *out) {
    debugAssert(k->readers && s->used > 0 && t->keys > 0 && t->items >= readerCount(k->readers));
    *out = *k;
    t->keys--;
    t->items -= readerCount(k->readers);
    if (!isPair(k->readers)) {
        const readerSet *set = setOf(k->readers);
        t->bytes -= zmallocGoodSize(setBytes(set->log_capacity, set->name_len));
    }
    s->used--;
    closeHole(s, k);
    debugAssert(trackingTableFind(s, out->hash) == NULL);
    shrinkIfSparse(t, s);
}

/* ---- The table ---- */

trackingTable *trackingTableCreate(bool (*exists)(uint32_t reader)) {
    trackingTable *t = zcalloc(1, sizeof(*t));
    t->exists = exists;
    return t;
}

static void freeShards(void *arg) {
    shard *shards = arg;
    for (size_t i = 0; i < SHARDS; i++) {
        for (size_t k = 0; k < (size_t)shards[i].lines * LINE_KEYS; k++) trackedKeyFree(&shards[i].slots[k]);
        zfree(shards[i].slots);
    }
    zfree(shards);
}

void trackingTableEmpty(trackingTable *t) {
    if (!t->shards) return;
    if (t->keys <= EMPTY_AT_ONCE) freeShards(t->shards);
    else bioSubmit(BIO_LAZY_FREE, freeShards, t->shards);
    t->shards = NULL;
    t->keys = t->items = t->bytes = 0;
}

void trackingTableRelease(trackingTable *t) {
    trackingTableEmpty(t);
    zfree(t);
}

static void makeShards(trackingTable *t) {
    t->shards = zcalloc(SHARDS, sizeof(shard));
    t->bytes = SHARDS * sizeof(shard);
}

bool trackingTableAdd(trackingTable *t, uint64_t hash, uint32_t reader) {
    debugAssert(reader > 0 && reader <= TRACKING_READER_MAX);
    if (unlikely(!t->shards)) makeShards(t);
    shard *s = shardOf(t, hash);
    trackedKey *k = trackingTableFind(s, hash);
    if (likely(k != NULL)) {
        addReader(t, k, reader);
        return false;
    }
    growIfFull(t, s);
    *findSlot(s, hash) = (trackedKey){hash, pairOf(reader, 0)};
    s->used++;
    t->keys++;
    t->items++;
    debugAssert(s->used <= s->lines * (LINE_KEYS - 1) && trackingTableFind(s, hash));
    return true;
}

void trackingTableName(trackingTable *t, uint64_t hash, slice name) {
    trackedKey *k = trackingTableFind(shardOf(t, hash), hash);
    debugAssert(k && isPair(k->readers) && pairSecond(k->readers) == 0);
    if (name.len > TRACKING_NAME_MAX) return;
    readerSet *s = setNew(t, 1, true, name);
    setInsert(s, pairFirst(k->readers));
    k->readers = readersOf(s);
}

void trackingTablePrefetch(const trackingTable *t, uint64_t hash) {
    if (!t->shards) return;
    const shard *s = shardOf(t, hash);
    if (s->lines) prefetchRead(lineAt(s, homeLine(s, hash)));
}

void trackingTablePrefetchReaders(const trackingTable *t, uint64_t hash) {
    if (t->items == t->keys || !t->shards) return; /* each key has one reader: no sets */
    const trackedKey *k = trackingTableFind(shardOf(t, hash), hash);
    if (k && !isPair(k->readers)) prefetchWrite(setOf(k->readers));
}

bool trackingTableTake(trackingTable *t, uint64_t hash, trackedKey *out) {
    if (t->keys == 0) return false;
    shard *s = shardOf(t, hash);
    trackedKey *k = trackingTableFind(s, hash);
    if (!k) return false;
    takeOut(t, s, k, out);
    return true;
}

bool trackingTableTakeAny(trackingTable *t, trackedKey *out) {
    debugAssert((t->keys == 0) == (t->items == 0));
    if (t->keys == 0) return false;
    uint64_t random = rngNext(rngThread());
    size_t at = random % SHARDS;
    while (t->shards[at].used == 0) at = (at + 1) % SHARDS;
    shard *s = &t->shards[at];
    uint32_t line = homeLine(s, random >> 32);
    while (lineAt(s, line)->readers == 0) line = lineAfter(s, line);
    trackedKey *k = lineAt(s, line);
    unsigned used = 1;
    while (used < LINE_KEYS && k[used].readers) used++;
    takeOut(t, s, &k[(random >> 16) % used], out);
    return true;
}

uint32_t trackedKeyNext(const trackedKey *k, uint32_t *at) {
    uint32_t i = *at;
    if (isPair(k->readers)) {
        *at = i + 1;
        return i == 0 ? pairFirst(k->readers) : i == 1 ? pairSecond(k->readers) : 0;
    }
    const readerSet *s = setOf(k->readers);
    while (i < slotsOf(s) && s->ids[i] == 0) i++;
    *at = i + 1;
    return i < slotsOf(s) ? s->ids[i] : 0;
}

slice trackedKeyName(const trackedKey *k) {
    if (isPair(k->readers) || !setOf(k->readers)->named) return sliceOf(NULL, 0);
    const readerSet *s = setOf(k->readers);
    return sliceOf(nameOf(s), s->name_len);
}

void trackedKeyFree(trackedKey *k) {
    if (k->readers && !isPair(k->readers)) zfree(setOf(k->readers));
    k->readers = 0;
}

size_t trackingTableKeys(const trackingTable *t) { return t->keys; }

size_t trackingTableItems(const trackingTable *t) { return t->items; }

size_t trackingTableMemory(const trackingTable *t) { return t->bytes; }

/* ---- Checks ---- */

static void checkReaders(const trackedKey *k) {
    uint32_t at = 0, count = 0;
    while (trackedKeyNext(k, &at)) count++;
    serverAssert(count > 0 && count == readerCount(k->readers));
    if (isPair(k->readers)) {
        serverAssert(pairFirst(k->readers) != pairSecond(k->readers));
        return;
    }
    readerSet *s = setOf(k->readers);
    for (uint32_t i = 0; i < slotsOf(s); i++) serverAssert(s->ids[i] == 0 || setSlot(s, s->ids[i]) == &s->ids[i]);
}

static size_t checkShard(const trackingTable *t, const shard *s, size_t *items) {
    size_t used = 0, bytes = shardBytes(s->lines);
    for (uint32_t line = 0; line < s->lines; line++) {
        const trackedKey *k = lineAt(s, line);
        for (unsigned i = 0; i < LINE_KEYS; i++) {
            if (k[i].readers == 0) continue;
            serverAssert(i == 0 || k[i - 1].readers);
            serverAssert(shardOf(t, k[i].hash) == s && trackingTableFind(s, k[i].hash) == &k[i]);
            checkReaders(&k[i]);
            *items += readerCount(k[i].readers);
            used++;
            const readerSet *set = isPair(k[i].readers) ? NULL : setOf(k[i].readers);
            if (set) bytes += zmallocGoodSize(setBytes(set->log_capacity, set->name_len));
        }
    }
    serverAssert(used == s->used);
    serverAssert(used <= (size_t)s->lines * (LINE_KEYS - 1));
    return bytes;
}

void trackingTableCheck(const trackingTable *t) {
    size_t keys = 0, items = 0, bytes = t->shards ? SHARDS * sizeof(shard) : 0;
    for (size_t i = 0; t->shards && i < SHARDS; i++) {
        bytes += checkShard(t, &t->shards[i], &items);
        keys += t->shards[i].used;
    }
    serverAssert(keys == t->keys && items == t->items && bytes == t->bytes);
}
