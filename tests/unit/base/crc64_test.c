/* crc64_test.c -- CRC-64/Jones against its definition, bit by bit, for every length, offset and split.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "unit.h"

static uint64_t byBits(const uint8_t *p, size_t len) {
    uint64_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0x95ac9329ac4bc9b5u : 0);
    }
    return crc;
}

TEST(crc64_of_the_check_text) {
    CHECK(crc64(0, "123456789", 9) == 0xe9c6d914c4b8d9cau);
    CHECK(crc64ByTable(0, "123456789", 9) == 0xe9c6d914c4b8d9cau);
    CHECK(crc64(7, "", 0) == 7);
}

TEST(crc64_of_each_length) {
    uint64_t seed = unitRandomSeed();
    uint8_t buf[700];
    for (size_t i = 0; i < sizeof(buf); i++) buf[i] = (uint8_t)unitRandom(&seed);
    for (size_t len = 0; len < sizeof(buf) - 16; len++) {
        size_t from = unitRandom(&seed) % 16, cut = len ? unitRandom(&seed) % len : 0;
        uint64_t want = byBits(buf + from, len);
        if (!CHECK(crc64(0, buf + from, len) == want)) return;
        if (!CHECK(crc64ByTable(0, buf + from, len) == want)) return;
        if (!CHECK(crc64(crc64(0, buf + from, cut), buf + from + cut, len - cut) == want)) return;
    }
}
