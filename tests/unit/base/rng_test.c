/* rng_test.c -- random numbers: repeatable, in range, even.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rng.h"
#include "unit.h"

#include <ctype.h>
#include <string.h>

TEST(known_sequence) {
    rng r = {{1, 2, 3, 4}};
    CHECK(rngNext(&r) == 11520);
    CHECK(rngNext(&r) == 0);
    CHECK(rngNext(&r) == 1509978240);
    CHECK(rngNext(&r) == 1215971899390074240u);
}

TEST(same_seed_same_numbers) {
    rng a, b;
    rngSeed(&a, 0);
    rngSeed(&b, 0);
    for (int i = 0; i < 100; i++) CHECK(rngNext(&a) == rngNext(&b));
}

TEST(below_is_in_range_and_even) {
    rng r;
    rngSeed(&r, unitRandomSeed());
    int count[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t v = rngBelow(&r, 7);
        if (!CHECK(v < 7)) return;
        count[v]++;
    }
    for (int i = 0; i < 7; i++) CHECK(count[i] > 9400 && count[i] < 10600);
    CHECK(rngBelow(&r, 1) == 0);
    uint64_t big = ((uint64_t)1 << 63) + 1;
    for (int i = 0; i < 1000; i++) CHECK(rngBelow(&r, big) < big);
    for (int i = 0; i < 1000; i++) {
        double d = rngDouble(&r);
        CHECK(d >= 0 && d < 1);
    }
    CHECK(rngThread() == rngThread());
}

TEST(secure_bytes_differ) {
    uint8_t a[32] = {0}, b[32] = {0};
    char hex[301];
    rngSecure(a, sizeof(a));
    rngSecure(b, sizeof(b));
    CHECK(memcmp(a, b, sizeof(a)) != 0);
    memset(hex, '!', sizeof(hex));
    rngSecureHex(hex, 299);
    for (int i = 0; i < 299; i++) CHECK(strchr("0123456789abcdef", hex[i]) != NULL);
    CHECK(hex[299] == '!');
    CHECK(memcmp(hex, hex + 128, 64) != 0);
}
