/* size_spread_test.c -- compares the histogram of sizes with sorted sizes; bars.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "size_spread.h"
#include "unit.h"
#include <stdlib.h>
#include <string.h>

static sizeSpread spread;

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Percentiles are at most a sixteenth above those of the sorted sizes. */
TEST(size_spread_is_right_to_a_sixteenth) {
    enum { COUNT = 3000 };
    static uint64_t sizes[COUNT];
    static const unsigned per_mille[] = {0, 1, 250, 500, 900, 999, 1000};
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 20; round++) {
        unsigned powers = 1 + (unsigned)(unitRandom(&seed) % 64);
        memset(&spread, 0, sizeof(spread));
        for (int i = 0; i < COUNT; i++) {
            sizes[i] = unitRandom(&seed) >> (64 - 1 - unitRandom(&seed) % powers);
            sizeSpreadAdd(&spread, sizes[i]);
        }
        qsort(sizes, COUNT, sizeof(sizes[0]), compare);
        for (size_t i = 0; i < array_len(per_mille); i++) {
            size_t at = (COUNT * per_mille[i] + 999) / 1000;
            uint64_t exact = sizes[at ? at - 1 : 0], told = sizeSpreadBelow(&spread, per_mille[i]);
            CHECK(told >= exact);
            CHECK(told - exact <= exact / 16);
        }
    }
}

TEST(size_spread_takes_all_sizes) {
    memset(&spread, 0, sizeof(spread));
    CHECK_EQ_INT(sizeSpreadBelow(&spread, 500), 0);
    sizeSpreadAdd(&spread, 0);
    CHECK_EQ_INT(sizeSpreadBelow(&spread, 1000), 0);
    sizeSpreadAdd(&spread, UINT64_MAX);
    CHECK(sizeSpreadBelow(&spread, 1000) == UINT64_MAX);
}

TEST(size_spread_draws_a_row_for_each_power_of_two) {
    memset(&spread, 0, sizeof(spread));
    sds drawn = sizeSpreadDraw(sdsEmpty(), &spread, 80, false);
    CHECK_EQ_STR(drawn, "");
    for (int i = 0; i < 30; i++) sizeSpreadAdd(&spread, 70);
    for (int i = 0; i < 10; i++) sizeSpreadAdd(&spread, 300);
    sdsClear(drawn);
    drawn = sizeSpreadDraw(drawn, &spread, 44, false);
    CHECK_EQ_STR(drawn, "  <     128B         30  75.00%  ##########\n"
                        "  <     256B          0   0.00%\n"
                        "  <     512B         10  25.00%  ####\n");
    sdsClear(drawn);
    drawn = sizeSpreadDraw(drawn, &spread, 44, true);
    CHECK(strstr(drawn, "25.00%  \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x8d\n") != NULL);
    sdsClear(drawn);
    drawn = sizeSpreadDraw(drawn, &spread, 20, true); /* no space for bars */
    CHECK(strstr(drawn, "25.00%\n") != NULL);
    sdsFree(drawn);
}

/* One of very many sizes is still visible, and no row is too long. */
TEST(size_spread_draws_within_the_columns) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 50; round++) {
        int columns = (int)(unitRandom(&seed) % 120);
        memset(&spread, 0, sizeof(spread));
        for (int i = 0; i < 100; i++)
            sizeSpreadAdd(&spread, unitRandom(&seed) % 100 < 98 ? 20 : unitRandom(&seed) % 1000);
        sds drawn = sizeSpreadDraw(sdsEmpty(), &spread, columns, false);
        for (const char *row = drawn; *row;) {
            size_t len = strcspn(row, "\n");
            CHECK(len < (size_t)(columns > 33 ? columns : 33));
            row += len + 1;
        }
        sdsFree(drawn);
    }
}
