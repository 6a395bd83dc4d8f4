/* intset.c -- a sorted array of integers of one width.
 *
 *     0          4        8
 *     | encoding | length | member | member | ...        encoding: 2, 4, 8 bytes for each; all little endian
 *
 * A value too large for the present width is below or above all members: the array is widened once,
 * from its end, and the value goes to that side. It never becomes narrower.
 *
 * Not here    how many members a type lets it have.
 * Threads     one owner at a time.
 * Invariants  1. Members ascend, none twice.
 * Cost        find: log2(length) steps without mispredicted branches; changes: members after the position.
 * Tests       tests/unit/ds/intset_test.c, tests/fuzz/intset_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "intset.h"
#include "endian.h"
#include "panic.h"
#include "zmalloc.h"

enum { HEADER = 8 };
static_assert(offsetof(intset, members) == HEADER, "the header of the published layout");

/* Hides the requested size from the compiler, as all usable bytes of a block are used. */
static inline intset *unknownSize(void *p) {
    __asm__("" : "+r"(p));
    return p;
}

/* ---- Members ----------------------------------------------------------------------------------------------------- */

static inline int64_t intsetLoad(const uint8_t *members, size_t width, size_t i) {
    if (width == 2) return (int16_t)loadLe16(members + 2 * i);
    if (width == 4) return (int32_t)loadLe32(members + 4 * i);
    return (int64_t)loadLe64(members + 8 * i);
}

static inline void intsetStore(uint8_t *members, size_t width, size_t i, int64_t value) {
    if (width == 2) storeLe16(members + 2 * i, (uint16_t)value);
    else if (width == 4) storeLe32(members + 4 * i, (uint32_t)value);
    else storeLe64(members + 8 * i, (uint64_t)value);
}

static inline size_t widthFor(int64_t value) { return value == (int16_t)value ? 2 : value == (int32_t)value ? 4 : 8; }
static inline size_t widthOf(const intset *set) { return LE32(set->encoding); }

/* Returns how many of `n` members are below the value. The width is a constant where this is inlined. */
static inline __attribute__((always_inline)) size_t countBelow(const uint8_t *members, size_t n, size_t width,
                                                               int64_t value) {
    size_t from = 0;
    while (n > 1) {
        size_t half = n / 2;
        from += intsetLoad(members, width, from + half - 1) < value ? half : 0;
        n -= half;
    }
    return from + (n && intsetLoad(members, width, from) < value);
}

/* Returns whether the value is a member; *at becomes its index, or the one it would get. */
static bool intsetSearch(const intset *set, int64_t value, size_t *at) {
    size_t n = intsetLength(set), width = widthOf(set);
    if (widthFor(value) > width) {
        *at = value < 0 ? 0 : n;
        return false;
    }
    switch (width) {
    case 2: *at = countBelow(set->members, n, 2, value); break;
    case 4: *at = countBelow(set->members, n, 4, value); break;
    default: *at = countBelow(set->members, n, 8, value); break;
    }
    return *at < n && intsetLoad(set->members, width, *at) == value;
}

bool intsetFind(const intset *set, int64_t value) {
    size_t at;
    return intsetSearch(set, value, &at);
}

/* Doubles the step from the last position until a member is not below the value, and then searches between the last
 * two. */
static inline __attribute__((always_inline)) void findMany(const intset *set, size_t width, const int64_t *values,
                                                           size_t n, bool *has) {
    size_t at = 0, length = intsetLength(set);
    for (size_t i = 0; i < n; i++) {
        size_t step = 1;
        if (at < length && intsetLoad(set->members, width, at) < values[i]) {
            for (at++; at + step <= length && intsetLoad(set->members, width, at + step - 1) < values[i]; step *= 2)
                at += step;
            size_t left = length - at < step ? length - at : step;
            at += countBelow(set->members + at * width, left, width, values[i]);
        }
        has[i] = at < length && intsetLoad(set->members, width, at) == values[i];
    }
}

void intsetFindMany(const intset *set, const int64_t *values, size_t n, bool *has) {
    switch (widthOf(set)) {
    case 2: findMany(set, 2, values, n, has); break;
    case 4: findMany(set, 4, values, n, has); break;
    default: findMany(set, 8, values, n, has); break;
    }
}

int64_t intsetAt(const intset *set, size_t index) {
    debugAssert(index < intsetLength(set));
    return intsetLoad(set->members, widthOf(set), index);
}

int64_t intsetMin(const intset *set) { return intsetAt(set, 0); }
int64_t intsetMax(const intset *set) { return intsetAt(set, intsetLength(set) - 1); }

/* ---- The block --------------------------------------------------------------------------------------------------- */

intset *intsetCreate(void) {
    intset *set = unknownSize(zmalloc(HEADER));
    set->encoding = LE32(2u);
    set->length = 0;
    return set;
}

void intsetFree(intset *set) { zfree(set); }

intset *intsetDup(const void *bytes) {
    size_t size = HEADER + (size_t)loadLe32(bytes) * loadLe32((const uint8_t *)bytes + 4);
    intset *copy = unknownSize(ztrymalloc(size));
    if (copy) memcpy(copy, bytes, size);
    return copy;
}

size_t intsetLength(const intset *set) { return LE32(set->length); }
size_t intsetBytes(const intset *set) { return HEADER + widthOf(set) * intsetLength(set); }

static intset *intsetReserve(intset *set, size_t bytes) {
    if (bytes <= zmallocSize(set)) return set;
    return unknownSize(ztryrealloc(set, bytes));
}

/* Makes all members `width` bytes wide, with a free position at the front if `value` is negative. */
static void widen(intset *set, size_t width, int64_t value) {
    size_t old = widthOf(set), shift = value < 0;
    for (size_t i = intsetLength(set); i-- > 0;)
        intsetStore(set->members, width, i + shift, intsetLoad(set->members, old, i));
    set->encoding = LE32((uint32_t)width);
}

intset *intsetAdd(intset *set, int64_t value, bool *added) {
    size_t at, n = intsetLength(set), width = widthOf(set), need = widthFor(value);
    *added = false;
    if (intsetSearch(set, value, &at)) return set;
    if (need < width) need = width;
    if (n == UINT32_MAX || !(set = intsetReserve(set, HEADER + (n + 1) * need))) return NULL;
    if (need > width) widen(set, need, value);
    else memmove(set->members + (at + 1) * width, set->members + at * width, (n - at) * width);
    intsetStore(set->members, need, at, value);
    set->length = LE32((uint32_t)n + 1);
    *added = true;
    return set;
}

intset *intsetRemove(intset *set, int64_t value, bool *removed) {
    size_t at, n = intsetLength(set), width = widthOf(set);
    *removed = intsetSearch(set, value, &at);
    if (!*removed) return set;
    memmove(set->members + at * width, set->members + (at + 1) * width, (n - at - 1) * width);
    set->length = LE32((uint32_t)n - 1);
    /* A quarter may stay unused, so that adding and removing one member does not move the block each time. */
    size_t bytes = intsetBytes(set), capacity = zmallocSize(set);
    if (capacity > bytes + bytes / 3 && zmallocGoodSize(bytes) < capacity) {
        intset *smaller = unknownSize(ztryrealloc(set, bytes));
        if (smaller) set = smaller;
    }
    return set;
}

/* ---- Trust ------------------------------------------------------------------------------------------------------- */

bool intsetValidate(const void *bytes, size_t size, bool deep) {
    if (size < HEADER) return false;
    const uint8_t *members = (const uint8_t *)bytes + HEADER;
    size_t width = loadLe32(bytes), n = loadLe32((const uint8_t *)bytes + 4);
    if ((width != 2 && width != 4 && width != 8) || n == 0) return false;
    if ((size - HEADER) % width != 0 || (size - HEADER) / width != n) return false;
    for (size_t i = 1; deep && i < n; i++) {
        if (intsetLoad(members, width, i - 1) >= intsetLoad(members, width, i)) return false;
    }
    return true;
}
