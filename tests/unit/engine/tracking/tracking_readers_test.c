/* tracking_readers_test.c -- compares the numbers of readers with an array of all that were assigned.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tracking_table.h"

#include "client/client_fixture.h"
#include "rng.h"
#include "unit.h"
#include "zmalloc.h"

#define ROUNDS 60000
#define ALIVE_MOST 3000

/* Any address is good, as they are only stored. */
static struct trackingState *stateNumber(const char *base, size_t i) {
    return (struct trackingState *)(uintptr_t)(base + i);
}

TEST(tracking_readers_random_operations) {
    static uint32_t alive[ALIVE_MOST];
    static size_t state[ALIVE_MOST];
    uint64_t seed = unitRandomSeed();
    char *base = zmalloc(ROUNDS);
    size_t count = 0, most = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        if (count < ALIVE_MOST && unitRandom(&seed) % 4096 >= count) {
            uint32_t reader = readerNew(stateNumber(base, i));
            CHECK(reader > last);
            last = reader;
            alive[count] = reader;
            state[count++] = i;
        } else if (count) {
            size_t at = unitRandom(&seed) % count;
            CHECK(readerExists(alive[at]));
            readerForget(alive[at]);
            CHECK(!readerExists(alive[at]));
            CHECK(readerState(alive[at]) == NULL);
            alive[at] = alive[--count];
            state[at] = state[count];
        }
        if (count > most) most = count;
        if (!count) continue;
        size_t at = unitRandom(&seed) % count;
        CHECK(readerState(alive[at]) == stateNumber(base, state[at]));
    }
    CHECK(most > 1000);
    CHECK(!readerExists(0));
    CHECK(!readerExists(last + 1));
    CHECK(!readerExists(0x7fffffff));
    while (count) readerForget(alive[--count]);
    zfree(base);
}

/* Clients that come and go beside one that stays leave almost no memory. */
TEST(tracking_readers_that_go_cost_nothing) {
    static char one;
    uint32_t stays = readerNew(stateNumber(&one, 0));
    size_t before = zmallocUsed();
    for (int i = 0; i < 1000000; i++) readerForget(readerNew(stateNumber(&one, 0)));
    CHECK(zmallocUsed() - before < 40000);
    CHECK(readersMemory() < 60000);
    CHECK(readerState(stays) == stateNumber(&one, 0));
    readerForget(stays);
    CHECK(readersMemory() < 40000);
}
