/* xxh3_test.c -- compares XXH3 with the digests of another implementation, for lengths at each border of the algorithm.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "unit.h"

/* The bytes of which each prefix has been hashed by Redis 8.6. */
static void fill(uint8_t *buf, size_t len) {
    uint64_t state = 1;
    for (size_t i = 0; i < len; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        buf[i] = (uint8_t)(state >> 56);
    }
}

TEST(xxh3_equals_that_of_redis) {
    static const struct {
        size_t len;
        uint64_t hash;
    } known[] = {
        {0, 0x2d06800538d394c2u},    {1, 0xc00f9d4f580c0c3au},    {2, 0xb248061fb52bd64cu},
        {3, 0xe92112d1e602af4au},    {4, 0x9008de7e100606d1u},    {5, 0xaba4062f24845bdcu},
        {8, 0xcca6ee6f8e080c52u},    {9, 0x568f9d2e69ad8bd0u},    {16, 0x600a07a4f5a9911cu},
        {17, 0xdeab0265f35dfc24u},   {32, 0xd04581c566616653u},   {33, 0xe2f96cd271e72881u},
        {64, 0xad0685dabb3ce66bu},   {65, 0x7d4e3da065c21b2du},   {96, 0xbf9a1938301428cau},
        {97, 0xae7c260494b7847cu},   {128, 0x410bd3b4d8d84f51u},  {129, 0x55964eec39625032u},
        {144, 0x827fbbc03ec48dd7u},  {160, 0x94b04a6be24be84bu},  {239, 0xf5e234500a1f2b94u},
        {240, 0x977b659bdc81fdb1u},  {241, 0x2cb1ed4a30c8bdedu},  {256, 0x7fd97c6450f19383u},
        {257, 0x42c723a93a4c46b9u},  {320, 0x98fae8bdeca76e58u},  {1024, 0x5ec111a1e5a293aeu},
        {1025, 0x5ea0264528a903fcu}, {1088, 0x5caa733531330766u}, {2048, 0x82651c64d545e737u},
        {2049, 0x35fa9759e87c7270u}, {4096, 0xa76570548864595eu}, {100001, 0xad75413be40b90e4u},
    };
    static uint8_t buf[100001];

    fill(buf, sizeof(buf));
    for (size_t i = 0; i < array_len(known); i++) CHECK(xxh3(buf, known[i].len) == known[i].hash);
}
