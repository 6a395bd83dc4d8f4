/* bits.c -- counts, finds and combines bits in an array of bytes, and reads and writes them as integers.
 *
 * Counting adds neighbours within words (pairs, fours, bytes) and sums a word's bytes only when they are
 * nearly full. Four words form a vector, which the compiler maps to the processor's registers: two of 16
 * bytes on any x86-64, one of 32 in a second copy for those with AVX2. Combining works in pieces that stay in the L1
 * cache while all sources are applied to them.
 *
 * Not here    strings, keys, errors (commands/string/bitops.c, commands/string/bitfield.c).
 * Threads     any: functions use only their arguments.
 * Cost        a count takes 15 instructions for 32 bytes with AVX2, twice as many without.
 * Tests       tests/unit/ds/bits_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bits.h"

#include "endian.h"

#define PIECE_BYTES 4096

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

#define LANES 4
#define LANE_ROUNDS 31 /* a byte's sum grows by at most 8 per round */
#define BLOCK_BYTES ((size_t)LANES * 8)

typedef uint64_t lanes __attribute__((vector_size(BLOCK_BYTES)));

/* The number of set bits in each byte of `w`, which is a word or a vector of words. */
#define PAIRS(w) ((w) - (((w) >> 1) & 0x5555555555555555))
#define FOURS(w) (((w)&0x3333333333333333) + (((w) >> 2) & 0x3333333333333333))
#define EIGHTS(w) (((w) + ((w) >> 4)) & 0x0f0f0f0f0f0f0f0f)

static inline uint64_t onesInBytes(uint64_t w) {
    w = PAIRS(w);
    w = FOURS(w);
    return EIGHTS(w);
}

/* Returns the sum of a word's eight bytes. */
static inline uint64_t sumOfBytes(uint64_t w) {
    w = (w & 0x00ff00ff00ff00ff) + ((w >> 8) & 0x00ff00ff00ff00ff);
    return (w * 0x0001000100010001) >> 48;
}

static inline __attribute__((always_inline)) uint64_t countBlocks(const unsigned char *p, size_t blocks) {
    uint64_t total = 0;
    while (blocks) {
        size_t rounds = blocks < LANE_ROUNDS ? blocks : LANE_ROUNDS;
        lanes sums = {0};
        for (size_t i = 0; i < rounds; i++, p += BLOCK_BYTES) {
            lanes words;
            memcpy(&words, p, sizeof(words));
            words = PAIRS(words);
            words = FOURS(words);
            sums += EIGHTS(words);
        }
        for (int lane = 0; lane < LANES; lane++) total += sumOfBytes(sums[lane]);
        blocks -= rounds;
    }
    return total;
}

static uint64_t countBlocksAnywhere(const unsigned char *p, size_t blocks) { return countBlocks(p, blocks); }

#if defined(__x86_64__)
#define WIDE_BLOCKS 32 /* for fewer blocks, the test for AVX2 costs more than it saves */
__attribute__((target("avx2"))) static uint64_t countBlocksAvx2(const unsigned char *p, size_t blocks) {
    return countBlocks(p, blocks);
}

static uint64_t countManyBlocks(const unsigned char *p, size_t blocks) {
    if (blocks >= WIDE_BLOCKS && __builtin_cpu_supports("avx2")) return countBlocksAvx2(p, blocks);
    return countBlocksAnywhere(p, blocks);
}
#else
static uint64_t countManyBlocks(const unsigned char *p, size_t blocks) { return countBlocksAnywhere(p, blocks); }
#endif

static uint64_t countBytes(const unsigned char *p, size_t len) {
    uint64_t total = countManyBlocks(p, len / BLOCK_BYTES);
    size_t at = len - len % BLOCK_BYTES;
    for (; at + 8 <= len; at += 8) total += sumOfBytes(onesInBytes(loadLe64(p + at)));
    for (; at < len; at++) total += sumOfBytes(onesInBytes(p[at]));
    return total;
}

/* Returns the mask of the bits before bit `at` in its byte; 0 if the byte begins with bit `at`. */
static inline unsigned headMask(uint64_t at) { return 0xffu >> (at & 7); }

uint64_t bitsCount(const void *bytes, uint64_t from, uint64_t to) {
    if (from >= to) return 0;
    const unsigned char *p = bytes;
    size_t first = from >> 3, end = to >> 3; /* `end`: the first byte that does not belong to the range as a whole */
    uint64_t total = countBytes(p + first, end - first);
    if (to & 7) total += sumOfBytes(onesInBytes(p[end] & ~headMask(to) & 0xff));
    if (from & 7) total -= sumOfBytes(onesInBytes(p[first] & ~headMask(from) & 0xff));
    return total;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static inline uint64_t loadBe64(const unsigned char *p) { return __builtin_bswap64(loadLe64(p)); }

/* Returns how many bytes from `p` on equal `skip`, in steps of 8. */
static size_t skipEqual(const unsigned char *p, size_t len, uint64_t skip) {
    size_t at = 0;
    for (; at + 64 <= len; at += 64) {
        uint64_t words[8], differs = 0;
        memcpy(words, p + at, sizeof(words));
        for (int i = 0; i < 8; i++) differs |= words[i] ^ skip;
        if (differs) break;
    }
    while (at + 8 <= len && loadLe64(p + at) == skip) at += 8;
    return at;
}

int64_t bitsFind(const void *bytes, uint64_t from, uint64_t to, bool bit) {
    if (from >= to) return -1;
    const unsigned char *p = bytes;
    unsigned flip = bit ? 0 : 0xff;
    size_t at = from >> 3, last = (to - 1) >> 3;
    unsigned byte = (p[at] ^ flip) & headMask(from);
    if (!byte && at < last) {
        at++;
        at += skipEqual(p + at, last - at, bit ? 0 : UINT64_MAX);
        if (at + 8 <= last) at += (size_t)__builtin_clzll(loadBe64(p + at) ^ (bit ? 0 : UINT64_MAX)) >> 3;
        while (at < last && p[at] == flip) at++;
        byte = p[at] ^ flip;
    }
    if (!byte) return -1;
    uint64_t found = (uint64_t)at * 8 + (uint64_t)(__builtin_clz(byte) - 24);
    return found < to ? (int64_t)found : -1;
}

/* ---- Combining --------------------------------------------------------------------------------------------------- */

/* Applies `len` bytes of a source to as many bytes of the result. */
static void apply(char *restrict out, const char *restrict in, size_t len, bitsOperation operation) {
    switch (operation) {
    case BITS_AND:
        for (size_t i = 0; i < len; i++) out[i] &= in[i];
        break;
    case BITS_OR:
        for (size_t i = 0; i < len; i++) out[i] |= in[i];
        break;
    case BITS_XOR:
        for (size_t i = 0; i < len; i++) out[i] ^= in[i];
        break;
    case BITS_NOT:
        for (size_t i = 0; i < len; i++) out[i] = (char)~in[i];
        break;
    case BITS_DIFF:
        for (size_t i = 0; i < len; i++) out[i] = (char)(out[i] & ~in[i]);
        break;
    case BITS_DIFF1:
    case BITS_ANDOR:
    case BITS_ONE: break; /* of several steps */
    }
}

/* Returns how many of the `len` bytes from offset `at` the source has. */
static size_t partOf(slice source, size_t at, size_t len) {
    size_t left = source.len > at ? source.len - at : 0;
    return left < len ? left : len;
}

/* Combines a piece of all sources, from offset `at` on, each with the result of those before. */
static void combinePiece(char *out, size_t at, size_t len, bitsOperation operation, const slice *sources,
                         size_t count) {
    size_t part = partOf(sources[0], at, len);
    if (part && operation == BITS_NOT) apply(out, sources[0].ptr + at, part, operation);
    else if (part) memcpy(out, sources[0].ptr + at, part);
    memset(out + part, 0, len - part);
    for (size_t i = 1; i < count; i++) {
        part = partOf(sources[i], at, len);
        if (part) apply(out, sources[i].ptr + at, part, operation);
        if (operation == BITS_AND) memset(out + part, 0, len - part);
    }
}

/* Sets a piece to the bits that are in any source but the first, and are (BITS_ANDOR) or are not (BITS_DIFF1) in it. */
static void combineOthers(char *out, size_t at, size_t len, bitsOperation operation, const slice *sources,
                          size_t count) {
    size_t part = partOf(sources[0], at, len);
    combinePiece(out, at, len, BITS_OR, sources + 1, count - 1);
    if (part) apply(out, sources[0].ptr + at, part, operation == BITS_ANDOR ? BITS_AND : BITS_DIFF);
    if (operation == BITS_ANDOR) memset(out + part, 0, len - part);
}

/* Sets a piece to the bits that are in exactly one source. */
static void combineOne(char *restrict out, size_t at, size_t len, const slice *sources, size_t count) {
    char twice[PIECE_BYTES];
    memset(out, 0, len);
    memset(twice, 0, len);
    for (size_t n = 0; n < count; n++) {
        size_t part = partOf(sources[n], at, len);
        const char *restrict in = sources[n].ptr + at;
        for (size_t i = 0; i < part; i++) {
            twice[i] = (char)(twice[i] | (out[i] & in[i]));
            out[i] |= in[i];
        }
    }
    apply(out, twice, len, BITS_DIFF);
}

void bitsCombine(char *out, size_t len, bitsOperation operation, const slice *sources, size_t count) {
    bool others = operation == BITS_DIFF1 || operation == BITS_ANDOR;
    for (size_t at = 0; at < len; at += PIECE_BYTES) {
        size_t piece = len - at < PIECE_BYTES ? len - at : PIECE_BYTES;
        if (operation == BITS_ONE) combineOne(out + at, at, piece, sources, count);
        else if (others) combineOthers(out + at, at, piece, operation, sources, count);
        else combinePiece(out + at, at, piece, operation, sources, count);
    }
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

#define FIELD_BYTES 9 /* most bytes that 64 bits can touch */

/* Copies the bytes that a field at bit `at` may touch, padded with zeros after the end. Returns how many exist. */
static size_t openWindow(unsigned char window[FIELD_BYTES], const char *bytes, size_t len, uint64_t at) {
    size_t first = at >> 3, there = first < len ? len - first : 0;
    if (there > FIELD_BYTES) there = FIELD_BYTES;
    memset(window, 0, FIELD_BYTES);
    if (there) memcpy(window, bytes + first, there);
    return there;
}

uint64_t bitsGetField(const char *bytes, size_t len, uint64_t at, unsigned width) {
    unsigned char window[FIELD_BYTES];
    unsigned shift = at & 7;

    openWindow(window, bytes, len, at);
    uint64_t top = (loadBe64(window) << shift) | (uint64_t)(window[8] >> (8 - shift));
    return top >> (64 - width);
}

void bitsSetField(char *bytes, size_t len, uint64_t at, unsigned width, uint64_t value) {
    unsigned char window[FIELD_BYTES];
    unsigned shift = at & 7;
    size_t there = openWindow(window, bytes, len, at);
    uint64_t mask = (UINT64_MAX >> (64 - width)) << (64 - width); /* the field, at the top of the word */

    value <<= 64 - width;
    value &= mask;
    uint64_t word = (loadBe64(window) & ~(mask >> shift)) | (value >> shift);
    if (shift) {
        unsigned low_mask = (unsigned)(mask << (8 - shift)) & 0xff;
        window[8] = (unsigned char)((window[8] & ~low_mask) | ((unsigned)(value << (8 - shift)) & low_mask));
    }
    storeLe64(window, __builtin_bswap64(word));
    if (there) memcpy(bytes + (at >> 3), window, there);
}
