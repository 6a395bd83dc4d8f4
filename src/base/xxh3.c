/* xxh3.c -- XXH3 with 64 bits and without a seed, which DIGEST and the conditions IFDEQ and IFDNE show.
 *
 * The hash is part of the protocol: clients compute it as well. It has no key, so no table of this server relies on it.
 *
 * Threads     any.
 * Cost        one multiplication per 8 bytes beyond 240.
 * Tests       tests/unit/base/xxh3_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "endian.h"
#include "hash.h"

#define PRIME32_1 UINT64_C(0x9e3779b1)
#define PRIME32_2 UINT64_C(0x85ebca77)
#define PRIME32_3 UINT64_C(0xc2b2ae3d)
#define PRIME64_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME64_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME64_3 UINT64_C(0x165667b19e3779f9)
#define PRIME64_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME64_5 UINT64_C(0x27d4eb2f165667c5)
#define PRIME_MX1 UINT64_C(0x165667919e3779f9)
#define PRIME_MX2 UINT64_C(0x9fb21c651e98df25)

#define LANES 8
#define STRIPE_BYTES 64
#define SECRET_BYTES 192
#define STRIPE_SECRET 8 /* bytes of the secret by which one stripe is ahead of the previous one */
#define BLOCK_STRIPES ((SECRET_BYTES - STRIPE_BYTES) / STRIPE_SECRET)
#define BLOCK_BYTES (BLOCK_STRIPES * STRIPE_BYTES)

/* The secret that the algorithm defines. */
static const uint8_t secret[] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
    0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
    0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
    0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
    0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
    0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};
static_assert(sizeof(secret) == SECRET_BYTES, "192 bytes");

static inline uint64_t rotl64(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

__extension__ typedef unsigned __int128 wide;

static inline uint64_t foldProduct(uint64_t a, uint64_t b) {
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t avalanche(uint64_t h) {
    h ^= h >> 37;
    h *= PRIME_MX1;
    return h ^ h >> 32;
}

static inline uint64_t avalancheStrong(uint64_t h) {
    h ^= h >> 33;
    h *= PRIME64_2;
    h ^= h >> 29;
    h *= PRIME64_3;
    return h ^ h >> 32;
}

/* Returns the exclusive or of two adjacent words of the secret. */
static inline uint64_t secretPair(size_t at) { return loadLe64(secret + at) ^ loadLe64(secret + at + 8); }

static inline uint64_t mix16(const uint8_t *p, size_t secret_at) {
    return foldProduct(loadLe64(p) ^ loadLe64(secret + secret_at), loadLe64(p + 8) ^ loadLe64(secret + secret_at + 8));
}

static uint64_t hashTo16(const uint8_t *p, size_t len) {
    if (len > 8) {
        uint64_t low = loadLe64(p) ^ secretPair(24), high = loadLe64(p + len - 8) ^ secretPair(40);
        return avalanche(len + __builtin_bswap64(low) + high + foldProduct(low, high));
    }
    if (len >= 4) {
        uint64_t h = (((uint64_t)loadLe32(p) << 32) + loadLe32(p + len - 4)) ^ secretPair(8);
        h ^= rotl64(h, 49) ^ rotl64(h, 24);
        h *= PRIME_MX2;
        h ^= (h >> 35) + len;
        h *= PRIME_MX2;
        return h ^ h >> 28;
    }
    if (len == 0) return avalancheStrong(secretPair(56));
    uint32_t bytes = (uint32_t)p[0] << 16 | (uint32_t)p[len >> 1] << 24 | p[len - 1] | (uint32_t)len << 8;
    return avalancheStrong(bytes ^ loadLe32(secret) ^ loadLe32(secret + 4));
}

static uint64_t hashTo128(const uint8_t *p, size_t len) {
    uint64_t sum = len * PRIME64_1;
    for (size_t pair = (len - 1) / 32 + 1; pair-- > 0;) {
        sum += mix16(p + 16 * pair, 32 * pair);
        sum += mix16(p + len - 16 * (pair + 1), 32 * pair + 16);
    }
    return avalanche(sum);
}

static uint64_t hashTo240(const uint8_t *p, size_t len) {
    uint64_t sum = len * PRIME64_1;
    for (size_t i = 0; i < 8; i++) sum += mix16(p + 16 * i, 16 * i);
    sum = avalanche(sum);
    for (size_t i = 8; i < len / 16; i++) sum += mix16(p + 16 * i, 16 * (i - 8) + 3);
    return avalanche(sum + mix16(p + len - 16, 136 - 17));
}

static inline void addStripe(uint64_t sums[LANES], const uint8_t *p, const uint8_t *key) {
    for (int i = 0; i < LANES; i++) {
        uint64_t word = loadLe64(p + 8 * i), keyed = word ^ loadLe64(key + 8 * i);
        sums[i ^ 1] += word;
        sums[i] += (keyed & UINT32_MAX) * (keyed >> 32);
    }
}

static void addStripes(uint64_t sums[LANES], const uint8_t *p, size_t count) {
    for (size_t i = 0; i < count; i++) addStripe(sums, p + i * STRIPE_BYTES, secret + i * STRIPE_SECRET);
}

static void scramble(uint64_t sums[LANES]) {
    for (int i = 0; i < LANES; i++) {
        sums[i] ^= sums[i] >> 47;
        sums[i] ^= loadLe64(secret + SECRET_BYTES - STRIPE_BYTES + 8 * i);
        sums[i] *= PRIME32_1;
    }
}

/* The last block is never full, and the last stripe may overlap the one before it. */
static uint64_t hashLong(const uint8_t *p, size_t len) {
    uint64_t sums[LANES] = {PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1};
    const uint8_t *last = p + len - STRIPE_BYTES;
    size_t left = len - 1;
    for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, p += BLOCK_BYTES) {
        addStripes(sums, p, BLOCK_STRIPES);
        scramble(sums);
    }
    addStripes(sums, p, left / STRIPE_BYTES);
    addStripe(sums, last, secret + SECRET_BYTES - STRIPE_BYTES - 7);

    uint64_t h = len * PRIME64_1;
    for (int i = 0; i < LANES; i += 2)
        h += foldProduct(sums[i] ^ loadLe64(secret + 11 + 8 * i), sums[i + 1] ^ loadLe64(secret + 19 + 8 * i));
    return avalanche(h);
}

uint64_t xxh3(const void *p, size_t len) {
    if (len <= 16) return hashTo16(p, len);
    if (len <= 128) return hashTo128(p, len);
    if (len <= 240) return hashTo240(p, len);
    return hashLong(p, len);
}
