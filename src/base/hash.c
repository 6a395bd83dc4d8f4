/* hash.c -- SipHash-1-2 under one key, CRC-16, SHA-1 and SHA-256.
 *
 * Not here    CRC-64 (crc64.c), XXH3 (xxh3.c).
 * Owns        the hash key, the tables, and the function that hashes keys, const after startup.
 * Threads     any.
 * Cost        hashBytes(): one round per 8 bytes and three more; a 16-byte key takes about 10 ns.
 *             keyHash(): the slot of a key without '{' adds 25 instructions for 8 to 16 bytes, 51 for 17 to 32, 11 for
 *             each 16 more. One byte at a time, the sum alone would take 9 for each byte.
 *             sha1Hex(): each EVAL looks up its script by it, so it uses the processor's instructions for SHA-1.
 * Tests       tests/unit/base/hash_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "endian.h"
#include "panic.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

/* ---- SipHash-1-2 ------------------------------------------------------------------------------------------------- */

static uint64_t key0, key1;

void hashSetKey(const uint8_t key[16]) {
    key0 = loadLe64(key);
    key1 = loadLe64(key + 8);
}

static inline uint64_t rotl64(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

typedef struct sip {
    uint64_t v0, v1, v2, v3;
} sip;

static inline void sipRound(sip *s) {
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotl64(s->v1, 13) ^ s->v0;
    s->v3 = rotl64(s->v3, 16) ^ s->v2;
    s->v0 = rotl64(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotl64(s->v1, 17) ^ s->v2;
    s->v3 = rotl64(s->v3, 21) ^ s->v0;
    s->v2 = rotl64(s->v2, 32);
}

static inline void sipWord(sip *s, uint64_t m) {
    s->v3 ^= m;
    sipRound(s);
    s->v0 ^= m;
}

/* Returns the last 0..7 bytes as the low bytes of a word. */
static inline uint64_t tailWord(const uint8_t *p, size_t n) {
    uint64_t m = 0;
    switch (n) {
    case 7: m |= (uint64_t)p[6] << 48; /* fall through */
    case 6: m |= (uint64_t)p[5] << 40; /* fall through */
    case 5: m |= (uint64_t)p[4] << 32; /* fall through */
    case 4: return m | loadLe32(p);
    case 3: m |= (uint64_t)p[2] << 16; /* fall through */
    case 2: m |= (uint64_t)p[1] << 8;  /* fall through */
    case 1: m |= p[0];                 /* fall through */
    default: return m;
    }
}

/* Converts the ASCII capitals in eight bytes to lower case. A byte is one if its high bit is clear and it is in
 * 'A'..'Z': both sums stay below 0x100, so no byte carries into the next. */
static inline uint64_t lowerWord(uint64_t w) {
    const uint64_t ones = 0x0101010101010101u;
    uint64_t low7 = w & 0x7f * ones;
    uint64_t from_a = low7 + (0x80 - 'A') * ones;
    uint64_t above_z = low7 + (0x7f - 'Z') * ones;
    return w + (((from_a & ~above_z & ~w) & 0x80 * ones) >> 2);
}

/* Forced inline, so that each caller gets a loop without a test of `nocase`. */
__attribute__((always_inline)) static inline uint64_t siphash12(const uint8_t *p, size_t len, bool nocase) {
    sip s = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du, key0 ^ 0x6c7967656e657261u,
             key1 ^ 0x7465646279746573u};
    const uint8_t *end = p + (len & ~(size_t)7);
    for (; p < end; p += 8) sipWord(&s, nocase ? lowerWord(loadLe64(p)) : loadLe64(p));
    uint64_t tail = tailWord(p, len & 7);
    sipWord(&s, (nocase ? lowerWord(tail) : tail) | (uint64_t)len << 56);
    s.v2 ^= 0xff;
    sipRound(&s);
    sipRound(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t hashBytes(const void *p, size_t len) { return siphash12(p, len, false); }
uint64_t hashBytesNoCase(const void *p, size_t len) { return siphash12(p, len, true); }

/* ---- Cluster slots ----------------------------------------------------------------------------------------------- */

static uint16_t crc16_table[256];
static uint8_t crc16_index[256]; /* of the element of the table with this low byte; each has another one */

__attribute__((constructor)) static void makeTable(void) {
    for (unsigned b = 0; b < 256; b++) {
        uint16_t c = (uint16_t)(b << 8);
        for (int bit = 0; bit < 8; bit++) c = (uint16_t)((c << 1) ^ (c & 0x8000 ? 0x1021 : 0));
        crc16_table[b] = c;
        crc16_index[c & 0xff] = (uint8_t)b;
    }
}

static uint16_t crcByBytes(const uint8_t *p, size_t len) {
    uint16_t crc = 0;
    for (; len; len--) crc = (uint16_t)((crc << 8) ^ crc16_table[(crc >> 8) ^ *p++]);
    return crc;
}

#ifdef __x86_64__

static bool has_clmul; /* const after boot, as the tables are */

/* For multiplications without carry, by P = x^16 + x^12 + x^5 + 1: operands of instructions, hence aligned. */
static struct {
    alignas(16) uint64_t over_block[2]; /* x^128 and x^192 mod P: of the words of a block that another follows */
    alignas(16) uint64_t at_end[2];     /* x^80 and x^144 mod P: of the words of the last block */
    alignas(16) uint64_t inverse[2];    /* the number whose product with P is 1 mod x^64 */
    alignas(16) uint64_t divisor[2];    /* P */
} crc_factors = {.divisor = {0x11021}};

/* How the first and the last eight of 8 to 16 bytes become a block: a row for each length. */
static alignas(16) uint8_t crc_orders[9][16];

static void makeOrders(void) {
    memset(crc_orders, 0x80, sizeof(crc_orders));     /* zeros */
    for (uint8_t before = 0; before <= 8; before++) { /* bytes before the last eight */
        for (uint8_t i = 0; i < 8; i++) crc_orders[before][i] = 15 - i;
        for (uint8_t i = 0; i < before; i++) crc_orders[before][8 + i] = before - 1 - i;
    }
}

__attribute__((constructor)) static void makeFactors(void) {
    uint64_t power = 1; /* x^n mod P */
    for (int n = 1; n <= 192; n++) {
        power = (power << 1 ^ (power & 0x8000 ? 0x1021 : 0)) & 0xffff;
        if (n == 80) crc_factors.at_end[0] = power;
        if (n == 128) crc_factors.over_block[0] = power;
        if (n == 144) crc_factors.at_end[1] = power;
        if (n == 192) crc_factors.over_block[1] = power;
    }
    uint64_t rest = 1; /* of 1 by P, from the lowest power on */
    for (int n = 0; n < 64; n++) {
        crc_factors.inverse[0] |= (rest & 1) << n;
        rest = (rest ^ (rest & 1 ? crc_factors.divisor[0] : 0)) >> 1;
    }
    makeOrders();
    __builtin_cpu_init();
    has_clmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx");
}

/* AVX, since its instructions do not overwrite an operand. */
#define WITH_CLMUL __attribute__((target("pclmul,avx")))
#define FACTORS(name) (*(const __m128i *)crc_factors.name)

/* Returns fewer than eight bytes as a number of 128 bits whose highest byte is the first of them, below zeros. */
WITH_CLMUL static inline __m128i fewBytes(const uint8_t *p, size_t len) {
    return _mm_cvtsi64_si128((long long)(__builtin_bswap64(tailWord(p, len)) >> (-8 * len & 63)));
}

/* The same for 8 to 16 bytes. */
WITH_CLMUL static inline __m128i someBytes(const uint8_t *p, size_t len, __m128i *found) {
    __m128i bytes = _mm_set_epi64x((long long)loadLe64(p + len - 8), (long long)loadLe64(p));
    *found = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('{'));
    return _mm_shuffle_epi8(bytes, *(const __m128i *)crc_orders[len - 8]);
}

/* The same for the first 16 - `without` of sixteen bytes. */
WITH_CLMUL static inline __m128i blockOf(const uint8_t *p, size_t without) {
    static const uint8_t order[31] = {15,   14,   13,   12,   11,   10,   9,    8,    7,    6,    5,
                                      4,    3,    2,    1,    0,    0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    __m128i bytes = _mm_loadu_si128((const __m128i *)p);
    return _mm_shuffle_epi8(bytes, _mm_loadu_si128((const __m128i *)(order + without)));
}

/* Returns the remainder of block * x^16 by P. The first two products are 79 bits with the same remainder, multiplied by
 * x^64. The others are Montgomery's method, which divides by x^64: a multiple of P is added whose low 64 bits are
 * theirs, so that these become 0, and the 16 bits above them are the result. */
WITH_CLMUL static inline uint16_t crcOfBlock(__m128i block) {
    __m128i low = _mm_clmulepi64_si128(block, FACTORS(at_end), 0x00);
    __m128i sum = _mm_xor_si128(low, _mm_clmulepi64_si128(block, FACTORS(at_end), 0x11));
    __m128i multiple = _mm_clmulepi64_si128(sum, FACTORS(inverse), 0x00);
    sum = _mm_xor_si128(sum, _mm_clmulepi64_si128(multiple, FACTORS(divisor), 0x00));
    return (uint16_t)_mm_extract_epi16(sum, 4);
}

/* Returns the sum, and whether a byte is '{'. Zeros before the first byte do not change the sum, so that only the first
 * block may be short. */
WITH_CLMUL static inline uint16_t crcByBlocks(const uint8_t *p, size_t len, bool *brace) {
    const __m128i braces = _mm_set1_epi8('{');
    __m128i block, found;
    if (likely(len - 8 <= 8)) {
        block = someBytes(p, len, &found);
    } else if (len < 8) {
        block = fewBytes(p, len);
        found = _mm_cmpeq_epi8(block, braces);
    } else {
        size_t without = -len & 15; /* missing to the first block */
        block = blockOf(p, without);
        found = _mm_cmpeq_epi8(block, braces);
        for (const uint8_t *at = p + 16 - without, *end = p + len; at < end; at += 16) {
            __m128i next = blockOf(at, 0);
            found = _mm_or_si128(found, _mm_cmpeq_epi8(next, braces));
            __m128i low = _mm_clmulepi64_si128(block, FACTORS(over_block), 0x00);
            __m128i high = _mm_clmulepi64_si128(block, FACTORS(over_block), 0x11);
            block = _mm_xor_si128(next, _mm_xor_si128(low, high));
        }
    }
    *brace = !_mm_testz_si128(found, found);
    return crcOfBlock(block);
}

WITH_CLMUL static uint16_t crcByClmul(const uint8_t *p, size_t len) {
    bool brace;
    return crcByBlocks(p, len, &brace);
}

#else

#define has_clmul false
#define crcByClmul crcByBytes

#endif

uint16_t crc16(const void *p, size_t len) { return likely(has_clmul) ? crcByClmul(p, len) : crcByBytes(p, len); }

int keyHashSlot(const char *key, size_t len) {
    const char *open = len ? memchr(key, '{', len) : NULL;
    if (open) {
        const char *tag = open + 1;
        const char *close = memchr(tag, '}', len - (size_t)(tag - key));
        if (close && close > tag) return crc16(tag, (size_t)(close - tag)) & (HASH_SLOTS - 1);
    }
    return crc16(key, len) & (HASH_SLOTS - 1);
}

static const char tag_chars[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
#define TAG_CHARS ((int)sizeof(tag_chars) - 1)

/* Writes the prefix with this number: none, those of one character, those of two. Returns its length. */
static size_t tagPrefix(int number, uint8_t out[2]) {
    if (number == 0) return 0;
    if (number <= TAG_CHARS) {
        out[0] = (uint8_t)tag_chars[number - 1];
        return 1;
    }
    number -= 1 + TAG_CHARS;
    out[0] = (uint8_t)tag_chars[number / TAG_CHARS];
    out[1] = (uint8_t)tag_chars[number % TAG_CHARS];
    return 2;
}

void keySlotTag(int slot, char out[4]) {
    debugAssert(slot >= 0 && slot < HASH_SLOTS);
    /* After a prefix one character at most gives the low byte of the slot. */
    uint8_t index = crc16_index[slot & 0xff];
    for (int number = 0; number <= TAG_CHARS + TAG_CHARS * TAG_CHARS; number++) {
        uint8_t prefix[2];
        size_t len = tagPrefix(number, prefix);
        uint16_t crc = crcByBytes(prefix, len);
        if ((((crc << 8) ^ crc16_table[index]) & (HASH_SLOTS - 1)) != slot) continue;
        int last = index ^ crc >> 8;
        if (!memchr(tag_chars, last, TAG_CHARS)) continue;
        memcpy(out, prefix, len);
        out[len] = (char)last;
        out[len + 1] = '\0';
        return;
    }
    serverPanic("no text of three characters has slot %d", slot);
}

/* ---- Hashes of keys ---------------------------------------------------------------------------------------------- */

/* Returns the hash with the low 14 bits of `slot` at their place. The other bits stay those of hashBytes(). */
static inline uint64_t putSlot(uint64_t hash, uint64_t slot) {
    const uint64_t slot_bits = (uint64_t)(HASH_SLOTS - 1) << HASH_SLOT_SHIFT;
    return (hash & ~slot_bits) | (slot & (HASH_SLOTS - 1)) << HASH_SLOT_SHIFT;
}

/* Hashes any key. Not inlined, so that the other keys need no registers for it. */
static __attribute__((noinline)) uint64_t hashWithTag(slice key) {
    return putSlot(hashBytes(key.ptr, key.len), (uint64_t)keyHashSlot(key.ptr, key.len));
}

#ifdef __x86_64__
WITH_CLMUL static uint64_t hashByClmul(slice key) {
    bool brace;
    uint64_t sum = crcByBlocks((const uint8_t *)key.ptr, key.len, &brace);
    if (unlikely(brace)) return hashWithTag(key);
    return putSlot(siphash12((const uint8_t *)key.ptr, key.len, false), sum);
}
#else
#define hashByClmul hashWithTag
#endif

static uint64_t hashPlain(slice key) { return siphash12((const uint8_t *)key.ptr, key.len, false); }

uint64_t (*key_hash)(slice key) = hashPlain;

void keyHashSetSlots(bool on) { key_hash = !on ? hashPlain : has_clmul ? hashByClmul : hashWithTag; }

/* ---- SHA-1 and SHA-256 (FIPS 180-4) ------------------------------------------------------------------------------ */

static inline uint32_t rotl32(uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

static inline uint32_t loadBe32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Each twenty rounds share one function and one constant. The compiler unrolls them, so that no word is moved. */
#define SHA1_ROUNDS(from, f, k)                                   \
    for (int i = (from); i < (from) + 20; i++) {                  \
        uint32_t t = rotl32(a, 5) + (f) + e + UINT32_C(k) + w[i]; \
        e = d, d = c, c = rotl32(b, 30), b = a, a = t;            \
    }

static void sha1BlockPlain(uint32_t h[8], const uint8_t *p) {
    uint32_t w[80];
    for (int i = 0; i < 16; i++) w[i] = loadBe32(p + 4 * i);
    for (int i = 16; i < 80; i++) w[i] = rotl32(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    SHA1_ROUNDS(0, d ^ (b & (c ^ d)), 0x5a827999)
    SHA1_ROUNDS(20, b ^ c ^ d, 0x6ed9eba1)
    SHA1_ROUNDS(40, (b & c) | (d & (b | c)), 0x8f1bbcdc)
    SHA1_ROUNDS(60, b ^ c ^ d, 0xca62c1d6)
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

#ifdef __x86_64__
/* Does rounds 4 g to 4 g + 3 by the processor's own instructions. The function's number must be a constant. */
#define SHA1_GROUP(g, function)                                                                                       \
    do {                                                                                                              \
        if ((g) >= 4)                                                                                                 \
            w[(g) % 4] = _mm_sha1msg2_epu32(                                                                          \
                _mm_xor_si128(_mm_sha1msg1_epu32(w[(g) % 4], w[((g) + 1) % 4]), w[((g) + 2) % 4]), w[((g) + 3) % 4]); \
        __m128i with_e = (g) == 0 ? _mm_add_epi32(e, w[0]) : _mm_sha1nexte_epu32(e, w[(g) % 4]);                      \
        e = abcd;                                                                                                     \
        abcd = _mm_sha1rnds4_epu32(abcd, with_e, function);                                                           \
    } while (0)
#define SHA1_GROUPS(g, function)     \
    do {                             \
        SHA1_GROUP(g, function);     \
        SHA1_GROUP(g + 1, function); \
        SHA1_GROUP(g + 2, function); \
        SHA1_GROUP(g + 3, function); \
        SHA1_GROUP(g + 4, function); \
    } while (0)

__attribute__((target("sha,sse4.1"))) static void sha1BlockFast(uint32_t h[8], const uint8_t *p) {
    const __m128i big_endian = _mm_set_epi64x(0x0001020304050607, 0x08090a0b0c0d0e0f);
    __m128i w[4], abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)h), 0x1b);
    __m128i e = _mm_set_epi32((int)h[4], 0, 0, 0);
    const __m128i abcd_before = abcd, e_before = e;
    for (int i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), big_endian);
    SHA1_GROUPS(0, 0);
    SHA1_GROUPS(5, 1);
    SHA1_GROUPS(10, 2);
    SHA1_GROUPS(15, 3);
    e = _mm_sha1nexte_epu32(e, e_before);
    abcd = _mm_shuffle_epi32(_mm_add_epi32(abcd, abcd_before), 0x1b);
    _mm_storeu_si128((__m128i *)h, abcd);
    h[4] = (uint32_t)_mm_extract_epi32(e, 3);
}

static void (*sha1Block)(uint32_t h[8], const uint8_t *p) = sha1BlockPlain; /* const after start */

__attribute__((constructor)) static void chooseSha1(void) {
    unsigned eax, ebx, ecx, edx;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & bit_SHA)
        sha1Block = sha1BlockFast;
}
#else
#define sha1Block sha1BlockPlain
#endif

/* Fractional parts of the cube roots of the first 64 primes. */
static const uint32_t sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256Block(uint32_t h[8], const uint8_t *p) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++) w[i] = loadBe32(p + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotl32(w[i - 15], 25) ^ rotl32(w[i - 15], 14) ^ (w[i - 15] >> 3);
        uint32_t s1 = rotl32(w[i - 2], 15) ^ rotl32(w[i - 2], 13) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, h, sizeof(v));
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotl32(v[4], 26) ^ rotl32(v[4], 21) ^ rotl32(v[4], 7);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + sha256_k[i] + w[i];
        uint32_t s0 = rotl32(v[0], 30) ^ rotl32(v[0], 19) ^ rotl32(v[0], 10);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
    explicit_bzero(w, sizeof(w)); /* passwords are hashed by this function */
}

/* Pads the message for both: a one bit, zeros, and the length in bits as the last eight bytes of a block. */
static void shaHex(char *out, const uint8_t *p, size_t len, uint32_t *h, int words,
                   void (*block)(uint32_t h[8], const uint8_t *p)) {
    uint8_t last[128] = {0};
    size_t whole = len & ~(size_t)63, rest = len & 63;
    for (size_t i = 0; i < whole; i += 64) block(h, p + i);
    if (rest) memcpy(last, p + whole, rest);
    last[rest] = 0x80;
    size_t size = rest < 56 ? 64 : 128;
    uint64_t bits = (uint64_t)len * 8;
    for (size_t i = 0; i < 8; i++) last[size - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t i = 0; i < size; i += 64) block(h, last + i);
    explicit_bzero(last, size); /* leaves nothing of a password on the stack */
    for (int i = 0; i < words * 8; i++) out[i] = "0123456789abcdef"[h[i / 8] >> (28 - i % 8 * 4) & 15];
    out[words * 8] = '\0';
}

void sha1Hex(char out[41], const void *p, size_t len) {
    uint32_t h[8] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    shaHex(out, p, len, h, 5, sha1Block);
}

void sha256Hex(char out[65], const void *p, size_t len) {
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    shaHex(out, p, len, h, 8, sha256Block);
}
