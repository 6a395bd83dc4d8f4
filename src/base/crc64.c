/* crc64.c -- CRC-64/Jones by table, and by folding.
 *
 * By table: eight bytes per step, each by a load from one of eight tables (16 KiB).
 *
 * By folding: 128 bits of a message, A and B of 64 each, represent A x^64 + B and, D bits further on,
 * A x^(64+D) + B x^D. Modulo the polynomial the two powers are constants of 64 bits, so that two carry-less
 * multiplications move 16 bytes over any distance: four registers fold the message at a distance of 512 bits, then
 * are folded into one at 128, and the table handles the last 16 bytes. Bits are in reverse order, so a product of two
 * reflected numbers is that of the plain ones shifted by one: the constants are for a power that is less by one.
 *
 * Owns        the tables and constants, computed before main() and const from then on.
 * Threads     any.
 * Cost        docs/design/persistence.md
 * Tests       tests/unit/base/crc64_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"

#include "endian.h"

#ifdef __x86_64__
#include <immintrin.h>
#define HAS_FOLDING 1
#endif

/* 0xad93d23594c935a9 with its bits in reverse order, as the reflected form needs it. */
#define POLY_REFLECTED 0x95ac9329ac4bc9b5u
#define FOLD_MIN 128 /* bytes; below it the table is as fast */

static uint64_t table[8][256]; /* [k][b]: byte b followed by k zero bytes */

/* Returns the remainder times x. */
static inline uint64_t timesX(uint64_t r) { return (r >> 1) ^ (r & 1 ? POLY_REFLECTED : 0); }

static void makeTable(void) {
    for (unsigned b = 0; b < 256; b++) {
        uint64_t d = b;
        for (int bit = 0; bit < 8; bit++) d = timesX(d);
        table[0][b] = d;
    }
    for (int k = 1; k < 8; k++) {
        for (unsigned b = 0; b < 256; b++) {
            uint64_t d = table[k - 1][b];
            table[k][b] = (d >> 8) ^ table[0][d & 0xff];
        }
    }
}

uint64_t crc64ByTable(uint64_t crc, const void *p, size_t len) {
    const uint8_t *at = p;
    for (; len >= 8; len -= 8, at += 8) {
        uint64_t w = crc ^ loadLe64(at);
        crc = table[7][w & 0xff] ^ table[6][w >> 8 & 0xff] ^ table[5][w >> 16 & 0xff] ^ table[4][w >> 24 & 0xff] ^
              table[3][w >> 32 & 0xff] ^ table[2][w >> 40 & 0xff] ^ table[1][w >> 48 & 0xff] ^ table[0][w >> 56];
    }
    for (; len; len--) crc = (crc >> 8) ^ table[0][(crc ^ *at++) & 0xff];
    return crc;
}

#ifdef HAS_FOLDING

static struct {
    bool possible;
    uint64_t by_512[2], by_128[2]; /* for the low half (the first one) and the high half */
} folding;

/* Returns x^n modulo the polynomial. */
static uint64_t power(unsigned n) {
    uint64_t r = (uint64_t)1 << 63;
    while (n--) r = timesX(r);
    return r;
}

static void makeFolding(void) {
    __builtin_cpu_init();
    folding.possible = __builtin_cpu_supports("pclmul");
    folding.by_512[0] = power(64 + 512 - 1);
    folding.by_512[1] = power(512 - 1);
    folding.by_128[0] = power(64 + 128 - 1);
    folding.by_128[1] = power(128 - 1);
}

#define FOLDS __attribute__((target("pclmul")))

FOLDS static inline __m128i fold(__m128i x, __m128i by, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

FOLDS static inline __m128i load(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }

/* `len` is at least 64. */
FOLDS static uint64_t byFolding(uint64_t crc, const uint8_t *at, size_t len) {
    const __m128i far = load((const uint8_t *)folding.by_512), near = load((const uint8_t *)folding.by_128);
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi64_si128((long long)crc));
    __m128i b = load(at + 16), c = load(at + 32), d = load(at + 48);
    for (at += 64, len -= 64; len >= 64; at += 64, len -= 64) {
        a = fold(a, far, load(at));
        b = fold(b, far, load(at + 16));
        c = fold(c, far, load(at + 32));
        d = fold(d, far, load(at + 48));
    }
    a = fold(fold(fold(a, near, b), near, c), near, d);
    for (; len >= 16; at += 16, len -= 16) a = fold(a, near, load(at));
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)(void *)last, a);
    return crc64ByTable(crc64ByTable(0, last, sizeof(last)), at, len);
}

#endif

__attribute__((constructor)) static void makeConstants(void) {
    makeTable();
#ifdef HAS_FOLDING
    makeFolding();
#endif
}

uint64_t crc64(uint64_t crc, const void *p, size_t len) {
#ifdef HAS_FOLDING
    if (len >= FOLD_MIN && folding.possible) return byFolding(crc, p, len);
#endif
    return crc64ByTable(crc, p, len);
}
