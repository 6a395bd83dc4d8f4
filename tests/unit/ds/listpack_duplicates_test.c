/* listpack_duplicates_test.c -- duplicates in a listpack are found, compared with a comparison of all pairs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack.h"

#include "numbers.h"
#include "unit.h"
#include "zmalloc.h"

static bool comparedAll(const uint8_t *lp, unsigned step) {
    for (const uint8_t *at = listpackFirst(lp); at;) {
        char digits[LONG_STR_SIZE];
        slice text = listpackText(at, digits);
        const uint8_t *next = at;
        for (unsigned i = 0; next && i < step; i++) next = listpackNext(next);
        if (next && listpackFind(next, text, step - 1)) return true;
        at = next;
    }
    return false;
}

TEST(listpack_twice_agrees_with_comparing_all) {
    uint64_t random = unitRandomSeed();
    for (int round = 0; round < 2000; round++) {
        unsigned step = 1 + round % 2;
        size_t count = unitRandom(&random) % 40 * step;
        uint8_t *lp = listpackCreate(0);
        for (size_t i = 0; i < count; i++) {
            char text[LONG_STR_SIZE + 1];
            size_t len = ll2string(text, (long long)(unitRandom(&random) % 600));
            if (unitRandom(&random) % 2) text[len++] = 'x';
            lp = listpackAppend(lp, sliceOf(text, len));
        }
        CHECK_EQ_INT(listpackHasDuplicates(lp, count, step), comparedAll(lp, step));
        listpackFree(lp);
    }
}

TEST(listpack_twice_many) {
    uint8_t *lp = listpackCreate(0);
    char text[LONG_STR_SIZE];
    for (int i = 0; i < 5000; i++) lp = listpackAppend(lp, sliceOf(text, ll2string(text, i * 7)));
    CHECK(!listpackHasDuplicates(lp, 5000, 1));
    zmallocFailAfter(1);
    CHECK(listpackHasDuplicates(lp, 5000, 1)); /* more than the count field can tell */
    zmallocFailAfter(0);
    lp = listpackAppend(lp, sliceStr("70"));
    CHECK(listpackHasDuplicates(lp, 5001, 1));
    listpackFree(lp);
}
