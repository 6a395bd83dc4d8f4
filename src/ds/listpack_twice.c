/* listpack_twice.c -- whether something is in a listpack twice.
 *
 * A table of places, open addressing, found by the keyed hash: who makes the listpack cannot know which elements meet.
 * For as many as a compact value has it lies on the stack.
 *
 * Owns        nothing beyond the call.
 * Threads     any.
 * Cost        40 instructions and one hash per element; a text is compared when 32 bits of the hash are the same.
 * Tests       tests/unit/ds/listpack_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack_twice.h"

#include "hash.h"
#include "zmalloc.h"

#define PLACES_ON_STACK 1024

typedef struct place {
    uint32_t tag; /* part of the hash */
    uint32_t at;  /* offset of the element; 0: nothing here */
} place;

/* The element is entered, unless its text is there. */
static bool enter(place *places, size_t mask, const uint8_t *lp, const uint8_t *at) {
    char digits[LONG_STR_SIZE], other[LONG_STR_SIZE];
    slice text = listpackText(at, digits);
    uint64_t hash = hashBytes(text.ptr, text.len);
    uint32_t tag = (uint32_t)(hash >> 32);
    size_t i = hash & mask;
    for (; places[i].at; i = (i + 1) & mask)
        if (unlikely(places[i].tag == tag) && sliceEq(text, listpackText(lp + places[i].at, other))) return false;
    places[i] = (place){tag, (uint32_t)(at - lp)};
    return true;
}

bool listpackHasTwice(const uint8_t *lp, size_t count, unsigned step) {
    place few[PLACES_ON_STACK], *places = few;
    size_t slots = 16;
    while (slots < 2 * (count / step + 1)) slots *= 2;
    if (slots > PLACES_ON_STACK) places = ztrycalloc(slots, sizeof(*places));
    else memset(few, 0, slots * sizeof(*places));
    if (!places) return true;
    bool twice = false;
    for (const uint8_t *at = listpackFirst(lp); at && !twice;) {
        twice = !enter(places, slots - 1, lp, at);
        for (unsigned i = 0; at && i < step; i++) at = listpackNext(at);
    }
    if (places != few) zfree(places);
    return twice;
}
