/* hash_test.c -- compares hashes and checksums with published vectors and slow second implementations.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SipHash-c-d byte by byte, as in the paper. With c=2, d=4 it is checked against the paper's vector, and then serves as
 * the reference for c=1, d=2. */
static uint64_t slowSip(int c, int d, const uint8_t key[16], const uint8_t *p, size_t len) {
    uint64_t k[2] = {0, 0};
    for (int i = 0; i < 16; i++) k[i / 8] |= (uint64_t)key[i] << (i % 8 * 8);
    uint64_t v[4] = {k[0] ^ 0x736f6d6570736575u, k[1] ^ 0x646f72616e646f6du, k[0] ^ 0x6c7967656e657261u,
                     k[1] ^ 0x7465646279746573u};
#define ROT(x, n) ((x) << (n) | (x) >> (64 - (n)))
    for (size_t at = 0; at <= len / 8 + 1; at++) {
        uint64_t m = 0;
        bool final = at == len / 8 + 1;
        for (size_t i = at * 8; i < at * 8 + 8 && i < len; i++) m |= (uint64_t)p[i] << (i % 8 * 8);
        if (at == len / 8) m |= (uint64_t)len << 56;
        if (final) v[2] ^= 0xff;
        else v[3] ^= m;
        for (int i = 0; i < (final ? d : c); i++) {
            v[0] += v[1], v[1] = ROT(v[1], 13), v[1] ^= v[0], v[0] = ROT(v[0], 32);
            v[2] += v[3], v[3] = ROT(v[3], 16), v[3] ^= v[2];
            v[0] += v[3], v[3] = ROT(v[3], 21), v[3] ^= v[0];
            v[2] += v[1], v[1] = ROT(v[1], 17), v[1] ^= v[2], v[2] = ROT(v[2], 32);
        }
        if (!final) v[0] ^= m;
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

TEST(siphash_equals_the_paper_form) {
    uint8_t key[16], text[64];
    for (int i = 0; i < 16; i++) key[i] = (uint8_t)i;
    for (int i = 0; i < 64; i++) text[i] = (uint8_t)i;
    CHECK(slowSip(2, 4, key, text, 15) == 0xa129ca6149be45e5u);
    hashSetKey(key);
    for (size_t len = 0; len < 64; len++) CHECK(hashBytes(text, len) == slowSip(1, 2, key, text, len));

    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 2000; round++) {
        uint8_t buf[300];
        size_t len = unitRandom(&seed) % sizeof(buf);
        for (size_t i = 0; i < 16; i++) key[i] = (uint8_t)unitRandom(&seed);
        for (size_t i = 0; i < len; i++) buf[i] = (uint8_t)unitRandom(&seed);
        hashSetKey(key);
        if (!CHECK(hashBytes(buf, len) == slowSip(1, 2, key, buf, len))) return;
        uint8_t small[300];
        for (size_t i = 0; i < len; i++) small[i] = buf[i] >= 'A' && buf[i] <= 'Z' ? buf[i] + 32 : buf[i];
        if (!CHECK(hashBytesNoCase(buf, len) == hashBytes(small, len))) return;
    }
}

TEST(nocase_changes_capitals_only) {
    for (int c = 0; c < 256; c++) {
        uint8_t a[9], b[9];
        memset(a, c, sizeof(a));
        memset(b, c >= 'A' && c <= 'Z' ? c + 32 : c, sizeof(b));
        CHECK(hashBytesNoCase(a, sizeof(a)) == hashBytes(b, sizeof(b)));
    }
}

TEST(crc16_xmodem) {
    CHECK_EQ_INT(crc16("123456789", 9), 0x31c3);
    CHECK_EQ_INT(crc16("", 0), 0);
}

/* The sum bit by bit. */
static uint16_t slowCrc16(const uint8_t *p, size_t len) {
    unsigned crc = 0;
    for (; len; len--) {
        crc ^= (unsigned)*p++ << 8;
        for (int bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1;
    }
    return (uint16_t)crc;
}

static int slowSlot(const uint8_t *p, size_t len) {
    size_t open = 0, close;
    while (open < len && p[open] != '{') open++;
    for (close = open + 1; close < len && p[close] != '}';) close++;
    bool tag = close < len && close > open + 1;
    return (tag ? slowCrc16(p + open + 1, close - open - 1) : slowCrc16(p, len)) & 16383;
}

/* Any bytes of each length; and keys with many braces, which are found wherever they are. The bytes end where their
 * allocation ends. */
TEST(crc16_of_each_length_is_that_of_its_bits) {
    uint64_t seed = unitRandomSeed();
    for (size_t len = 0; len < 200; len++) {
        uint8_t *p = malloc(len + 1), *bytes = p + 1;
        for (int round = 0; round < 50; round++) {
            for (size_t i = 0; i < len; i++) bytes[i] = (uint8_t)unitRandom(&seed);
            CHECK_EQ_INT(crc16(bytes, len), slowCrc16(bytes, len));
            for (int braces = (int)(unitRandom(&seed) % 4); braces > 0 && len; braces--)
                bytes[unitRandom(&seed) % len] = unitRandom(&seed) % 2 ? '{' : '}';
            CHECK_EQ_INT(keyHashSlot((const char *)bytes, len), slowSlot(bytes, len));
        }
        free(p);
    }
}

TEST(key_slots) {
    CHECK_EQ_INT(keyHashSlot("foo", 3), 12182);
    CHECK_EQ_INT(keyHashSlot("a{foo}b", 7), 12182);
    CHECK_EQ_INT(keyHashSlot("{foo}{bar}", 10), 12182);
    CHECK_EQ_INT(keyHashSlot("foo{}{bar}", 10), crc16("foo{}{bar}", 10) & 16383);
    CHECK_EQ_INT(keyHashSlot("foo{{bar}}", 10), crc16("{bar", 4) & 16383);
    CHECK_EQ_INT(keyHashSlot("foo{bar", 7), crc16("foo{bar", 7) & 16383);
    CHECK_EQ_INT(keyHashSlot("}{", 2), crc16("}{", 2) & 16383);
    CHECK_EQ_INT(keyHashSlot("", 0), 0);
}

/* The tags were read from cursors of a server of Valkey 9.1. */
TEST(each_slot_has_a_tag) {
    static const struct {
        int slot;
        const char *tag;
    } known[] = {{0, "06S"},   {1, "Qi"},     {5, "460"},   {80, "avs"},
                 {493, "aeM"}, {7638, "4h3"}, {13907, "0"}, {16383, "6ZJ"}};
    char tag[4];
    for (int slot = 0; slot < HASH_SLOTS; slot++) {
        keySlotTag(slot, tag);
        if (!CHECK_EQ_INT(keyHashSlot(tag, strlen(tag)), slot) || !CHECK(strspn(tag, "{}-") == 0)) break;
    }
    for (size_t i = 0; i < array_len(known); i++) {
        keySlotTag(known[i].slot, tag);
        CHECK_EQ_STR(tag, known[i].tag);
    }
}

TEST(key_hash_contains_the_slot_if_slots_are_on) {
    static const char *const names[] = {
        "", "foo", "key:0001", "key:000000000001", "a{foo}b", "another key, which is longer than a word"};
    uint64_t slot_bits = (uint64_t)(HASH_SLOTS - 1) << HASH_SLOT_SHIFT;
    for (size_t i = 0; i < array_len(names); i++) {
        slice key = sliceStr(names[i]);
        uint64_t plain = hashBytes(key.ptr, key.len);
        CHECK(keyHash(key) == plain);
        keyHashSetSlots(true);
        uint64_t with_slot = keyHash(key);
        keyHashSetSlots(false);
        CHECK_EQ_INT(keyHashSlotOf(with_slot), keyHashSlot(key.ptr, key.len));
        CHECK((with_slot & ~slot_bits) == (plain & ~slot_bits));
    }
}

TEST(sha_vectors) {
    char hex[65];
    sha1Hex(hex, "abc", 3);
    CHECK_EQ_STR(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
    sha1Hex(hex, "", 0);
    CHECK_EQ_STR(hex, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    sha256Hex(hex, "abc", 3);
    CHECK_EQ_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256Hex(hex, "", 0);
    CHECK_EQ_STR(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    /* The two-block messages of FIPS, with lengths around the limit of the padding. */
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha1Hex(hex, two, strlen(two));
    CHECK_EQ_STR(hex, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    sha256Hex(hex, two, strlen(two));
    CHECK_EQ_STR(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    static char million[1000000];
    memset(million, 'a', sizeof(million));
    sha1Hex(hex, million, sizeof(million));
    CHECK_EQ_STR(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    sha256Hex(hex, million, sizeof(million));
    CHECK_EQ_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* SHA-1 as the standard defines it, word by word. */
static void slowSha1(char out[41], const uint8_t *p, size_t len) {
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    size_t padded = (len + 8) / 64 * 64 + 64;
    for (size_t block = 0; block < padded; block += 64) {
        uint32_t w[80] = {0}, v[5];
        for (size_t i = 0; i < 64; i++) {
            size_t at = block + i;
            uint8_t byte = at < len           ? p[at]
                           : at == len        ? 0x80
                           : at >= padded - 8 ? (uint8_t)(len * 8 >> (padded - 1 - at) * 8)
                                              : 0;
            w[i / 4] = w[i / 4] << 8 | byte;
        }
        memcpy(v, h, sizeof(v));
        for (int i = 0; i < 80; i++) {
            uint32_t x = i < 16 ? 0 : w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16];
            if (i >= 16) w[i] = x << 1 | x >> 31;
            uint32_t parity = v[1] ^ v[2] ^ v[3], choice = (v[1] & v[2]) | (~v[1] & v[3]);
            uint32_t majority = (v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3]);
            uint32_t f = i < 20 ? choice : i < 40 ? parity : i < 60 ? majority : parity;
            uint32_t next = (v[0] << 5 | v[0] >> 27) + f + v[4] + k[i / 20] + w[i];
            memmove(v + 1, v, 4 * sizeof(*v));
            v[2] = v[2] << 30 | v[2] >> 2;
            v[0] = next;
        }
        for (int i = 0; i < 5; i++) h[i] += v[i];
    }
    snprintf(out, 41, "%08x%08x%08x%08x%08x", h[0], h[1], h[2], h[3], h[4]);
}

TEST(sha1_of_each_length_is_what_the_standard_says) {
    uint8_t bytes[300];
    char got[41], want[41];
    for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)(i * 131 + 7);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        sha1Hex(got, bytes, len);
        slowSha1(want, bytes, len);
        CHECK_EQ_STR(got, want);
    }
}
