/* bits_test.c -- counts, finds and combines bits and reads bit fields, compared with one bit at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bits.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>

enum { BYTES = 3000 };

/* Fills bytes so that long stretches are all zero or all one. */
static void fill(unsigned char *p, size_t len, uint64_t *rng) {
    size_t at = 0;
    while (at < len) {
        size_t run = 1 + unitRandom(rng) % 300;
        unsigned kind = unitRandom(rng) % 3;
        for (; run && at < len; run--, at++) {
            p[at] = kind == 0 ? 0 : kind == 1 ? 0xff : (unsigned char)unitRandom(rng);
        }
    }
}

TEST(bits_counted_and_found_one_by_one) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 400; round++) {
        size_t len = 1 + unitRandom(&rng) % (round % 4 ? 100 : BYTES);
        unsigned char *p = malloc(len);
        fill(p, len, &rng);
        uint64_t from = unitRandom(&rng) % (len * 8 + 1), to = unitRandom(&rng) % (len * 8 + 1), ones = 0;
        int64_t first[2] = {-1, -1};
        for (uint64_t i = from; i < to; i++) {
            bool bit = bitsTest((char *)p, i);
            CHECK(bit == ((p[i / 8] >> (7 - i % 8)) & 1));
            ones += bit;
            if (first[bit] == -1) first[bit] = (int64_t)i;
        }
        CHECK_EQ_INT(bitsCount(p, from, to), ones);
        CHECK_EQ_INT(bitsFind(p, from, to, false), first[0]);
        CHECK_EQ_INT(bitsFind(p, from, to, true), first[1]);
        free(p);
    }
}

TEST(bits_one_bit_at_each_place) {
    for (size_t len = 1; len < 200; len += 7) {
        unsigned char *p = malloc(len);
        for (size_t at = 0; at < len * 8; at++) {
            memset(p, 0, len);
            p[at / 8] = (unsigned char)(0x80 >> (at % 8));
            CHECK_EQ_INT(bitsFind(p, 0, len * 8, true), (long long)at);
            CHECK_EQ_INT(bitsFind(p, 0, at, true), -1);
            CHECK_EQ_INT(bitsFind(p, at + 1, len * 8, true), -1);
            for (size_t i = 0; i < len; i++) p[i] ^= 0xff;
            CHECK_EQ_INT(bitsFind(p, 0, len * 8, false), (long long)at);
            CHECK_EQ_INT(bitsCount(p, 0, len * 8), (long long)len * 8 - 1);
        }
        free(p);
    }
}

TEST(bits_combined_byte_by_byte) {
    uint64_t rng = unitRandomSeed();
    static unsigned char bytes[5][3 * BYTES], out[3 * BYTES];
    for (int round = 0; round < 200; round++) {
        bitsOperation operation = (bitsOperation)(unitRandom(&rng) % (BITS_ONE + 1));
        size_t least = operation >= BITS_DIFF && operation <= BITS_ANDOR ? 2 : 1;
        size_t count = operation == BITS_NOT ? 1 : least + unitRandom(&rng) % (6 - least), len = 0;
        slice sources[5];
        for (size_t i = 0; i < count; i++) {
            size_t n = unitRandom(&rng) % (round % 3 ? 50 : sizeof(out) + 1);
            fill(bytes[i], n, &rng);
            sources[i] = sliceOf((char *)bytes[i], n);
            if (n > len) len = n;
        }
        bitsCombine((char *)out, len, operation, sources, count);
        for (size_t at = 0; at < len; at++) {
            unsigned want = at < sources[0].len ? bytes[0][at] : 0, first = want, any = 0, twice = 0;
            if (operation == BITS_NOT) want = ~want & 0xff;
            for (size_t i = 1; i < count; i++) {
                unsigned b = at < sources[i].len ? bytes[i][at] : 0;
                want = operation == BITS_AND ? want & b : operation == BITS_OR ? want | b : want ^ b;
                twice |= b & (any | first);
                any |= b;
            }
            if (operation == BITS_DIFF) want = first & ~any;
            if (operation == BITS_DIFF1) want = any & ~first;
            if (operation == BITS_ANDOR) want = any & first;
            if (operation == BITS_ONE) want = (any | first) & ~twice;
            if (!CHECK_EQ_INT(out[at], want)) return;
        }
    }
}

TEST(bits_fields_bit_by_bit) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 20000; round++) {
        size_t len = 1 + unitRandom(&rng) % 24;
        char *p = malloc(len), *before = malloc(len);
        fill((unsigned char *)p, len, &rng);
        memcpy(before, p, len);
        unsigned width = 1 + (unsigned)(unitRandom(&rng) % 64);
        uint64_t at = unitRandom(&rng) % (len * 8 + 70), want = 0;
        for (unsigned i = 0; i < width; i++) want = (want << 1) | (at + i < len * 8 && bitsTest(p, at + i));
        CHECK(bitsGetField(p, len, at, width) == want);
        if (at + width <= len * 8) {
            uint64_t value = unitRandom(&rng);
            bitsSetField(p, len, at, width, value);
            CHECK(bitsGetField(p, len, at, width) == (value & (UINT64_MAX >> (64 - width))));
            for (uint64_t i = 0; i < len * 8; i++) {
                if (i < at || i >= at + width) CHECK(bitsTest(p, i) == bitsTest(before, i));
            }
        }
        free(p);
        free(before);
    }
}
