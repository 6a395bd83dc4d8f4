/* lzf_encode.c -- an LZF encoder that skips quickly over bytes that do not compress.
 *
 *   000nnnnn                    n + 1 literal bytes follow
 *   nnnddddd dddddddd           n = 1..6: n + 2 bytes, d + 1 back from here
 *   111ddddd nnnnnnnn dddddddd  n + 9 bytes, d + 1 back
 *
 * It differs from liblzf's in four things. Bytes are compared eight at a time. The table fits into the
 * L1 cache and is not cleared before a text: the positions in it keep counting from text to text, so that
 * an old one is before the text's beginning. A match has at least four bytes, since one of three among literal bytes
 * saves nothing. And after many positions without a match, some positions are skipped.
 *
 * Not here    decompressing (liblzf).
 * Owns        a table for each thread.
 * Threads     any.
 * Invariants  1. A position from the table is used only if it is within this text and its bytes are equal: whatever is
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
#define TABLE_BITS 13      /* 32 KiB */
#define PATIENCE_SHIFT 4   /* after 2^4 positions without a match only every second one is tried, and so on */

static _Thread_local uint32_t positions[1 << TABLE_BITS];
static _Thread_local uint32_t texts_end; /* the position after the last text; wraps */

static inline unsigned slotOf(uint32_t word) { return (word * 2654435761u) >> (32 - TABLE_BITS); }

#define COPY_BYTES LITERALS_MAX /* copied at once, if both sides have that many bytes */

static inline void copyBytes(uint8_t *to, const uint8_t *from, size_t n, bool may_overrun) {
    if (likely(may_overrun)) memcpy(to, from, COPY_BYTES);
    else memcpy(to, from, n);
}

/* Writes literal bytes up to `to`, and leaves space for a match after them. Returns the end of the output, NULL if it
 * does not fit. */
static inline uint8_t *putLiterals(uint8_t *out, const uint8_t *out_end, const uint8_t *from, const uint8_t *to,
                                   const uint8_t *end) {
    size_t n = (size_t)(to - from);
    if (n + (n + LITERALS_MAX - 1) / LITERALS_MAX > (size_t)(out_end - out)) return NULL;
    while (n) {
        size_t run = n < LITERALS_MAX ? n : LITERALS_MAX;
        *out++ = (uint8_t)(run - 1);
        copyBytes(out, from, run, end - from >= (ptrdiff_t)COPY_BYTES && out_end - out >= (ptrdiff_t)COPY_BYTES);
        out += run;
        from += run;
        n -= run;
    }
    return out;
}

static inline uint8_t *putMatch(uint8_t *out, const uint8_t *out_end, size_t distance, size_t len) {
    bool is_long = len > MATCH_SHORT_MAX;
    size_t back = distance - 1, n = is_long ? MATCH_SHORT_MAX + 1 : len;
    if (out_end - out < 2 + is_long) return NULL;
    out[0] = (uint8_t)((n - 2) << 5 | back >> 8);
    out[1] = (uint8_t)(len - 9); /* overwritten if the match is short */
    out += 1 + is_long;
    *out = (uint8_t)back;
    return out + 1;
}

/* Returns how many bytes from `at` on equal those from `ref` on, up to `end`. */
static inline size_t equalBytes(const uint8_t *at, const uint8_t *ref, const uint8_t *end) {
    const uint8_t *start = at;
    for (; end - at >= 8; at += 8, ref += 8) {
        uint64_t differ = loadLe64(at) ^ loadLe64(ref);
        if (differ) return (size_t)(at - start) + (size_t)__builtin_ctzll(differ) / 8;
    }
    while (at < end && *at == *ref) at++, ref++;
    return (size_t)(at - start);
}

/* Returns the next match from `at` on and its distance; NULL if there is none up to `last`, the last position with
 * MATCH_MIN bytes. One branch tests both whether the position is usable and whether its bytes are equal: the first test
 * alone would often be mispredicted. */
static inline const uint8_t *nextMatch(const uint8_t *in, const uint8_t *at, const uint8_t *last,
                                       uint32_t first_position, uint32_t *distance) {
    for (unsigned step = 1u << PATIENCE_SHIFT; at <= last; at += step++ >> PATIENCE_SHIFT) {
        uint32_t word = loadLe32(at), *position = &positions[slotOf(word)], offset = (uint32_t)(at - in);
        uint32_t reach = at - in < DISTANCE_MAX ? offset : DISTANCE_MAX;
        uint32_t back = first_position + offset - *position;
        *position = first_position + offset;
        bool within = back - 1 < reach;
        const uint8_t *ref = within ? at - back : at;
        if (within & (loadLe32(ref) == word)) {
            *distance = back;
            return at;
        }
    }
    return NULL;
}

size_t lzfEncode(const void *in_bytes, size_t len, void *out, size_t capacity) {
    const uint8_t *in = in_bytes, *end = in + len, *at = in, *literals = in;
    const uint8_t *last = len < MATCH_MIN ? NULL : end - MATCH_MIN, *out_end = (uint8_t *)out + capacity;
    uint8_t *to = out;
    uint32_t distance, first_position = texts_end;
    texts_end += (uint32_t)len;
    while (last && (at = nextMatch(in, at, last, first_position, &distance))) {
        const uint8_t *limit = end - at < (ptrdiff_t)MATCH_MAX ? end : at + MATCH_MAX;
        const uint8_t *match_end = at + MATCH_MIN + equalBytes(at + MATCH_MIN, at - distance + MATCH_MIN, limit);
        /* Bytes before it may match as well: positions may have been skipped. */
        while (at > literals && at - in > (ptrdiff_t)distance && match_end - at < (ptrdiff_t)MATCH_MAX &&
               at[-1] == at[-1 - (ptrdiff_t)distance])
            at--;
        to = putLiterals(to, out_end, literals, at, end);
        if (to) to = putMatch(to, out_end, distance, (size_t)(match_end - at));
        if (!to) return 0;
        at = literals = match_end;
        if (at <= last) /* enters one position within the match, so that a repetition of it is found */
            positions[slotOf(loadLe32(at - 2))] = first_position + (uint32_t)(at - 2 - in);
    }
    to = putLiterals(to, out_end, literals, end, end);
    return to ? (size_t)(to - (uint8_t *)out) : 0;
}
