/* time_wheel.c -- numbers by a time: rings of slots, of which the later ones are coarser.
 *
 *   level 0   a slot is 16 ms   [ ][x][ ][x] ...   the next 2 to 4 seconds
 *   level 1   2 s               [ ][x][x][x] ...   the next 4 to 9 minutes
 *   level 2   262 s             ...                9 to 18 hours
 *   level 3   9.3 hours         ...                50 to 99 days
 *   level 4   50 days           ...                17 years; later times wait in its last slot
 *                                 |
 *                                 slot: list of chunks of numbers, no order inside
 *
 * A slot of level 0 is taken when it has passed. A slot of another level is taken while the slot before it runs; its
 * numbers, which the caller adds again, then find a place in a lower level. So a number moves at most once per level,
 * and each move costs its caller a lookup of its time, since a slot stores numbers only: eight bytes each.
 *
 * Not here    whether a number still matters, and its exact time.
 * Owns        the chunks.
 * Threads     one owner at a time.
 * Invariants  (timeWheelCheck() asserts the last two)
 *             1. A number is in a slot that is taken when its time passes, or before. A slot is taken as a whole,
 *                before the first of its numbers is returned, so that what is added meanwhile is not returned at once.
 *             2. The slots of level l in use have numbers from next[l] to next[l] + SLOTS - 1: each has one position.
 *             3. `count` and `bytes` are those of all chunks.
 * Cost        add: one comparison per level and a store; 16 bytes of 4096 per full chunk. A level with a number has
 *             2 KiB for its ring.
 * Tests       tests/unit/ds/time_wheel_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "time_wheel.h"

#include "panic.h"
#include "zmalloc.h"

#define LEVELS 5
#define LEVEL_BITS 7            /* a slot has the time of 128 slots of the level below */
#define SLOTS (2 << LEVEL_BITS) /* the slots below one of the next level that runs, and one that was taken */
#define GRAIN_BITS 4
#define CHUNK_BYTES_MIN 64
#define CHUNK_BYTES_MAX 4096
#define NOTHING INT64_MAX

static_assert(1 << GRAIN_BITS == TIME_WHEEL_GRAIN_MS, "the grain is a slot of level 0");

typedef struct wheelChunk {
    struct wheelChunk *next; /* owns */
    uint32_t count, capacity;
    uint64_t numbers[];
} wheelChunk;

struct timeWheel {
    int64_t next[LEVELS];       /* number of the first slot that was not taken: its time in units of the level */
    wheelChunk **rings[LEVELS]; /* owns; SLOTS lists each, NULL: none so far */
    wheelChunk *taking;         /* owns; the rest of a slot that was taken */
    int64_t earliest;           /* at most the first slot of level 0 that has numbers; NOTHING */
    size_t count, bytes;
};

/* ---- Chunks ---- */

static size_t chunkBytes(uint32_t capacity) { return sizeof(wheelChunk) + capacity * sizeof(uint64_t); }

/* Returns a chunk to be put before `rest`: twice as large as that. */
static wheelChunk *chunkCreate(timeWheel *w, wheelChunk *rest) {
    size_t bytes = rest ? 2 * chunkBytes(rest->capacity) : CHUNK_BYTES_MIN;
    if (bytes > CHUNK_BYTES_MAX) bytes = CHUNK_BYTES_MAX;
    wheelChunk *chunk = zmalloc(bytes);
    chunk->next = rest;
    chunk->count = 0;
    chunk->capacity = (uint32_t)((bytes - sizeof(wheelChunk)) / sizeof(uint64_t));
    w->bytes += bytes;
    return chunk;
}

static wheelChunk *chunkFree(timeWheel *w, wheelChunk *chunk) {
    wheelChunk *next = chunk->next;
    w->bytes -= chunkBytes(chunk->capacity);
    zfree(chunk);
    return next;
}

/* ---- Slots ---- */

static int64_t slotOf(int64_t time_ms, int level) { return time_ms >> (GRAIN_BITS + LEVEL_BITS * level); }

static wheelChunk **ringOf(timeWheel *w, int level) {
    if (unlikely(!w->rings[level])) {
        w->rings[level] = zcalloc(SLOTS, sizeof(wheelChunk *));
        w->bytes += SLOTS * sizeof(wheelChunk *);
    }
    return w->rings[level];
}

/* Returns the first slot up to `last` that has numbers, and moves next[level] behind it. Without one it returns NULL,
 * and next[level] is behind `last`. All numbers of a level are within SLOTS slots: a clock that has stood still for
 * long costs no more than these. */
static wheelChunk **nextSlot(timeWheel *w, int level, int64_t last) {
    int64_t *next = &w->next[level], end = *next + SLOTS;
    while (w->rings[level] && *next <= last && *next < end) {
        wheelChunk **slot = &w->rings[level][(*next)++ % SLOTS];
        if (*slot) return slot;
    }
    if (*next <= last) *next = last + 1;
    return NULL;
}

/* Takes the next slot that has numbers and has passed, or will soon on upper levels. Returns false if there is none. */
static bool takeSlot(timeWheel *w, int64_t now_ms) {
    for (int level = 0; level < LEVELS; level++) {
        /* Level 0: slots that have passed. Others: the slot that runs, and the next one. */
        wheelChunk **slot = nextSlot(w, level, slotOf(now_ms, level) + (level == 0 ? -1 : 1));
        if (!slot) continue;
        w->taking = *slot;
        *slot = NULL;
        return true;
    }
    return false;
}

static void findEarliest(timeWheel *w) {
    if (w->earliest >= w->next[0]) return;
    w->earliest = NOTHING;
    if (w->count == 0 || !w->rings[0]) return;
    for (int64_t at = w->next[0]; at < w->next[0] + SLOTS; at++) {
        if (!w->rings[0][at % SLOTS]) continue;
        w->earliest = at;
        return;
    }
}

/* ---- The wheel ---- */

timeWheel *timeWheelCreate(int64_t now_ms) {
    timeWheel *w = zmalloc(sizeof(*w));
    if (now_ms < 0) now_ms = 0;
    *w = (timeWheel){.earliest = NOTHING, .bytes = sizeof(*w)};
    for (int level = 0; level < LEVELS; level++) w->next[level] = slotOf(now_ms, level) + (level == 0 ? 0 : 2);
    return w;
}

void timeWheelFree(timeWheel *w) {
    if (!w) return;
    while (w->taking) w->taking = chunkFree(w, w->taking);
    for (int level = 0; level < LEVELS; level++) {
        for (int i = 0; i < SLOTS && w->rings[level]; i++)
            while (w->rings[level][i]) w->rings[level][i] = chunkFree(w, w->rings[level][i]);
        zfree(w->rings[level]);
    }
    zfree(w);
}

size_t timeWheelSize(const timeWheel *w) { return w->count; }

size_t timeWheelMemUsage(const timeWheel *w) { return w->bytes; }

void timeWheelAdd(timeWheel *w, int64_t when_ms, uint64_t number) {
    int64_t at = when_ms >> GRAIN_BITS;
    int level = 0;
    while (level < LEVELS - 1 && at >> LEVEL_BITS >= w->next[level + 1]) {
        at >>= LEVEL_BITS;
        level++;
    }
    if (at < w->next[level]) at = w->next[level];
    else if (at >= w->next[level] + SLOTS) at = w->next[level] + SLOTS - 1; /* only on the last level */
    if (level == 0 && at < w->earliest) w->earliest = at;
    wheelChunk **slot = &ringOf(w, level)[at % SLOTS];
    if (!*slot || (*slot)->count == (*slot)->capacity) *slot = chunkCreate(w, *slot);
    (*slot)->numbers[(*slot)->count++] = number;
    w->count++;
}

size_t timeWheelTake(timeWheel *w, int64_t now_ms, uint64_t *out, size_t max) {
    size_t n = 0;
    while (n < max) {
        wheelChunk *chunk = w->taking;
        if (!chunk) {
            if (takeSlot(w, now_ms)) continue;
            findEarliest(w);
            break;
        }
        while (n < max && chunk->count > 0) out[n++] = chunk->numbers[--chunk->count];
        if (chunk->count == 0) w->taking = chunkFree(w, chunk);
    }
    w->count -= n;
    return n;
}

int64_t timeWheelNextMs(const timeWheel *w) {
    if (w->taking) return 0;
    return w->earliest == NOTHING ? INT64_MAX : (w->earliest + 1) << GRAIN_BITS;
}

int64_t timeWheelClockMs(const timeWheel *w) { return w->next[0] << GRAIN_BITS; }

/* ---- For tests ---- */

/* Calls `fn` for each chunk with the time of its slot: INT64_MIN if that is the next to be taken, which may have
 * earlier times as well. */
static void eachChunk(const timeWheel *w, void (*fn)(void *arg, const wheelChunk *chunk, int64_t from_ms), void *arg) {
    for (const wheelChunk *chunk = w->taking; chunk; chunk = chunk->next) fn(arg, chunk, INT64_MIN);
    for (int level = 0; level < LEVELS; level++) {
        for (int i = 0; i < SLOTS && w->rings[level]; i++) {
            int64_t at = w->next[level] + i;
            int64_t from_ms = i == 0 ? INT64_MIN : at << (GRAIN_BITS + LEVEL_BITS * level);
            for (const wheelChunk *chunk = w->rings[level][at % SLOTS]; chunk; chunk = chunk->next)
                fn(arg, chunk, from_ms);
        }
    }
}

typedef struct numbersTo {
    void (*fn)(void *arg, uint64_t number, int64_t from_ms);
    void *arg;
} numbersTo;

static void eachNumber(void *arg, const wheelChunk *chunk, int64_t from_ms) {
    const numbersTo *to = arg;
    for (uint32_t i = 0; i < chunk->count; i++) to->fn(to->arg, chunk->numbers[i], from_ms);
}

void timeWheelEach(const timeWheel *w, void (*fn)(void *arg, uint64_t number, int64_t from_ms), void *arg) {
    numbersTo to = {fn, arg};
    eachChunk(w, eachNumber, &to);
}

typedef struct wheelSums {
    size_t count, bytes;
} wheelSums;

static void addSums(void *arg, const wheelChunk *chunk, int64_t from_ms) {
    wheelSums *sums = arg;
    unused(from_ms);
    serverAssert(chunk->count > 0 && chunk->count <= chunk->capacity);
    sums->count += chunk->count;
    sums->bytes += chunkBytes(chunk->capacity);
}

void timeWheelCheck(const timeWheel *w) {
    wheelSums sums = {.bytes = sizeof(*w)};
    eachChunk(w, addSums, &sums);
    for (int level = 0; level < LEVELS; level++) {
        if (w->rings[level]) sums.bytes += SLOTS * sizeof(wheelChunk *);
        if (level > 0) serverAssert((w->next[level] << LEVEL_BITS) - w->next[level - 1] <= SLOTS);
    }
    serverAssert(sums.count == w->count && sums.bytes == w->bytes);
    for (int64_t at = w->next[0]; at < w->next[0] + SLOTS && w->rings[0]; at++)
        serverAssert(!w->rings[0][at % SLOTS] || w->earliest <= at);
}
