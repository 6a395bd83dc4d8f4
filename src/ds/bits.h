/* bits.h -- counts, finds and combines bits in an array of bytes, and reads and writes them as integers.
 *
 * Bit 0 is the highest bit of the first byte, as for SETBIT. Positions are in bits, ends are exclusive.
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_BITS_H
#define DS_BITS_H

#include "slice.h"

/* Returns the number of set bits in from..to, which must lie within `bytes`. */
uint64_t bitsCount(const void *bytes, uint64_t from, uint64_t to);
/* Returns the position of the first bit in from..to that equals `bit`, -1 if there is none. */
int64_t bitsFind(const void *bytes, uint64_t from, uint64_t to, bool bit);

static inline bool bitsTest(const char *bytes, uint64_t at) {
    return ((unsigned char)bytes[at >> 3] >> (7 - (at & 7))) & 1;
}

typedef enum {
    BITS_AND,
    BITS_OR,
    BITS_XOR,
    BITS_NOT,
    BITS_DIFF,  /* in the first source, and in no other */
    BITS_DIFF1, /* not in the first source, but in another */
    BITS_ANDOR, /* in the first source, and in another */
    BITS_ONE,   /* in exactly one source */
} bitsOperation;
/* Combines `count` sources into `len` bytes at `out`, which overlaps no source. A source shorter than `len` is padded
 * with zeros. BITS_NOT takes one source; BITS_DIFF, BITS_DIFF1 and BITS_ANDOR take at least two. */
void bitsCombine(char *out, size_t len, bitsOperation operation, const slice *sources, size_t count);

/* Returns the unsigned integer of `width` bits (1..64) at bit `at`, highest bit first. Bits after the `len` bytes read
 * as zero. */
uint64_t bitsGetField(const char *bytes, size_t len, uint64_t at, unsigned width);
/* Writes the low `width` bits of `value` at bit `at`; the field must lie within the `len` bytes. */
void bitsSetField(char *bytes, size_t len, uint64_t at, unsigned width, uint64_t value);

#endif
