/* bits.h -- bits in a row of bytes: counted, found, combined, and read and written as integers.
 *
 * Bit 0 is the highest of the first byte, as clients of SETBIT know them. Positions are in bits, ends are exclusive.
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_BITS_H
#define DS_BITS_H

#include "slice.h"

/* How many of the bits from..to are 1. They must lie in `bytes`. */
uint64_t bitsCount(const void *bytes, uint64_t from, uint64_t to);
/* The first of the bits from..to that is `bit`; -1 where there is none. */
int64_t bitsFind(const void *bytes, uint64_t from, uint64_t to, bool bit);

static inline bool bitsTest(const char *bytes, uint64_t at) {
    return ((unsigned char)bytes[at >> 3] >> (7 - (at & 7))) & 1;
}

typedef enum { BITS_AND, BITS_OR, BITS_XOR, BITS_NOT } bitsOperation;
/* Combine `count` sources, of which those that are shorter than `len` go on with zeros, into `len` bytes at `out`,
 * which overlaps none of them. BITS_NOT has one source. */
void bitsCombine(char *out, size_t len, bitsOperation operation, const slice *sources, size_t count);

/* The integer of `width` bits (1..64) at bit `at`, its highest bit first, not extended; what lies behind `len` bytes is
 * zero. */
uint64_t bitsGetField(const char *bytes, size_t len, uint64_t at, unsigned width);
/* Write its low `width` bits; all of it must lie within `len` bytes. */
void bitsSetField(char *bytes, size_t len, uint64_t at, unsigned width, uint64_t value);

#endif
