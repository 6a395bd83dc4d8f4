/* lzf_encode.c -- an encoder of LZF that spends its time where there is something to find.
 *
 *   000nnnnn                    n + 1 bytes as they are follow
 *   nnnddddd dddddddd           n = 1..6: n + 2 bytes, d + 1 back from here
 *   111ddddd nnnnnnnn dddddddd  n + 9 bytes, d + 1 back
 *
 * It differs from liblzf's in four things. Bytes are compared eight at a time. The table is small enough for the
 * nearest cache, and nothing is cleared before a text: places in it are numbers that go on from text to text, so that
 * an old one is farther away than the text's beginning. A match has four bytes at least, since one of three among bytes
 * that are copied saves nothing. And where nothing has been found for a while not every place is looked at.
 *
 * Not here    decompressing (liblzf).
 * Owns        a table for each thread.
 * Threads     any.
 * Invariants  1. A place from the table is used only if it lies within this text and its bytes are equal: whatever is
 *                in the table, the output is right.
 * Tests       tests/unit/ds/lzf_encode_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lzf_encode.h"

#include "endian.h"

#include <string.h>

#define LITERALS_MAX 32u
#define DISTANCE_MAX 8192u
#define MATCH_MIN 4u
#define MATCH_MAX 264u
#define MATCH_SHORT_MAX 8u /* longer ones have a byte more */
#define TABLE_BITS 13
#define TABLE_BITS_SHORT 12 /* for texts up to SHORT_MAX */
#define SHORT_MAX 2048u
#define PATIENCE_SHIFT 5 /* after 2^5 places without a match every second one is looked at, and so on */

typedef struct encoder {
    const uint8_t *in, *end; /* borrowed */
    uint8_t *out, *out_end;  /* borrowed: next byte to write, end of the room */
} encoder;

static _Thread_local uint32_t places[1 << TABLE_BITS];
static _Thread_local uint32_t texts_end; /* the place after the last text; wraps */

static inline unsigned slotOf(uint32_t word, unsigned bits) {
    return (word * 2654435761u) >> (32 - bits);
}

/* Bytes as they are; false: no room. */
static bool putLiterals(encoder *e, const uint8_t *from, size_t n) {
    if (n + (n + LITERALS_MAX - 1) / LITERALS_MAX > (size_t)(e->out_end - e->out)) return false;
    while (n) {
        size_t run = n < LITERALS_MAX ? n : LITERALS_MAX;
        *e->out++ = (uint8_t)(run - 1);
        memcpy(e->out, from, run);
        e->out += run;
        from += run;
        n -= run;
    }
    return true;
}

static bool putMatch(encoder *e, size_t distance, size_t len) {
    if (e->out_end - e->out < (len <= MATCH_SHORT_MAX ? 2 : 3)) return false;
    size_t back = distance - 1;
    if (len <= MATCH_SHORT_MAX) {
        *e->out++ = (uint8_t)((len - 2) << 5 | back >> 8);
    } else {
        *e->out++ = (uint8_t)(7u << 5 | back >> 8);
        *e->out++ = (uint8_t)(len - 9);
    }
    *e->out++ = (uint8_t)back;
    return true;
}

/* How many bytes from `at` on equal those from `ref` on, up to `end`. */
static size_t equalBytes(const uint8_t *at, const uint8_t *ref, const uint8_t *end) {
    const uint8_t *start = at;
    for (; end - at >= 8; at += 8, ref += 8) {
        uint64_t differ = loadLe64(at) ^ loadLe64(ref);
        if (differ) return (size_t)(at - start) + (size_t)__builtin_ctzll(differ) / 8;
    }
    while (at < end && *at == *ref) at++, ref++;
    return (size_t)(at - start);
}

/* The match at `at`, `distance` back: what lies before it and after it belongs to it as well. Returns the byte behind
 * it, NULL when there is no room. */
static const uint8_t *takeMatch(encoder *e, const uint8_t *literals, const uint8_t *at, size_t distance) {
    const uint8_t *limit = (size_t)(e->end - at) < MATCH_MAX ? e->end : at + MATCH_MAX;
    const uint8_t *behind = at + MATCH_MIN + equalBytes(at + MATCH_MIN, at - distance + MATCH_MIN, limit);
    while (at > literals && (size_t)(at - e->in) > distance && (size_t)(behind - at) < MATCH_MAX &&
           at[-1] == at[-1 - (ptrdiff_t)distance])
        at--;
    if (!putLiterals(e, literals, (size_t)(at - literals))) return NULL;
    return putMatch(e, distance, (size_t)(behind - at)) ? behind : NULL;
}

static size_t encode(encoder *e, uint32_t first_place, unsigned bits) {
    const uint8_t *out_start = e->out, *at = e->in, *literals = e->in;
    unsigned misses = 0;
    while (e->end - at >= (ptrdiff_t)MATCH_MIN) { /* a step may lead behind the end */
        uint32_t word = loadLe32(at), *place = &places[slotOf(word, bits)];
        uint32_t here = first_place + (uint32_t)(at - e->in), distance = here - *place;
        *place = here;
        if (distance - 1 >= DISTANCE_MAX || distance > (size_t)(at - e->in) || loadLe32(at - distance) != word) {
            at += 1 + (misses++ >> PATIENCE_SHIFT);
            continue;
        }
        misses = 0;
        at = literals = takeMatch(e, literals, at, distance);
        if (!at) return 0;
        if ((size_t)(e->end - at) >= 2) /* one place within the match, so that what repeats it is found from there */
            places[slotOf(loadLe32(at - 2), bits)] = first_place + (uint32_t)(at - 2 - e->in);
    }
    if (!putLiterals(e, literals, (size_t)(e->end - literals))) return 0;
    return (size_t)(e->out - out_start);
}

size_t lzfEncode(const void *in, size_t len, void *out, size_t room) {
    encoder e = {in, (const uint8_t *)in + len, out, (uint8_t *)out + room};
    uint32_t first_place = texts_end;
    texts_end += (uint32_t)len;
    return encode(&e, first_place, len <= SHORT_MAX ? TABLE_BITS_SHORT : TABLE_BITS);
}
