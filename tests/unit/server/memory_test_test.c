/* memory_test_test.c -- the memory test in good memory, and in simulated faulty memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_test.h"
#include "unit.h"
#include "zmalloc.h"

#define WORDS 4096

TEST(memory_test_finds_nothing_where_nothing_is) {
    uint64_t *words = zmalloc(WORDS * sizeof(uint64_t));
    for (memoryPattern p = 0; p < MEMORY_PATTERNS; p++) {
        memoryTestFill(words, 0, 1000, p, 3);
        memoryTestFill(words, 1000, WORDS, p, 3);
        CHECK_EQ_INT(memoryTestCompare(words, 0, WORDS, p, 3, NULL, 0), 0);
    }
    zfree(words);
}

TEST(memory_test_tells_each_bit) {
    uint64_t *words = zmalloc(WORDS * sizeof(uint64_t));
    memoryFault faults[2];
    for (memoryPattern p = 0; p < MEMORY_PATTERNS; p++) {
        memoryTestFill(words, 0, WORDS, p, 0);
        for (int bit = 0; bit < 64; bit++) words[bit * 7 + 5] ^= (uint64_t)1 << bit;
        CHECK_EQ_INT(memoryTestCompare(words, 0, WORDS, p, 0, faults, 2), 64);
        CHECK_EQ_INT(faults[1].word, 12);
        CHECK_EQ_INT(faults[1].expected ^ faults[1].found, 2);
        CHECK_EQ_INT(memoryTestCompare(words, 6, 12, p, 0, faults, 2), 0);
    }
    zfree(words);
}

/* An address line that is always 0 maps two words to one. At least one pattern must notice it. */
TEST(memory_test_sees_lines_of_the_address_that_stick) {
    uint64_t *words = zmalloc(WORDS * sizeof(uint64_t));
    for (size_t line = 1; line < WORDS; line *= 2) {
        size_t found = 0;
        for (memoryPattern p = 0; p < MEMORY_PATTERNS; p++) {
            memoryTestFill(words, 0, WORDS, p, 0);
            for (size_t i = 0; i < WORDS; i++) words[i & ~line] = words[i];
            for (size_t i = 0; i < WORDS; i++) words[i] = words[i & ~line];
            found += memoryTestCompare(words, 0, WORDS, p, 0, NULL, 0);
        }
        CHECK(found > 0);
    }
    zfree(words);
}

/* Over all patterns, each bit of each word is once set and once cleared. */
TEST(memory_test_sets_and_clears_each_bit) {
    uint64_t set[64] = {0}, clear[64] = {0}, words[64];
    for (memoryPattern p = 0; p < MEMORY_PATTERNS; p++) {
        memoryTestFill(words, 0, 64, p, 0);
        for (int i = 0; i < 64; i++) set[i] |= words[i], clear[i] |= ~words[i];
    }
    for (int i = 0; i < 64; i++) CHECK(set[i] == UINT64_MAX && clear[i] == UINT64_MAX);
}

TEST(memory_test_takes_one_number) {
    static char *bad[][2] = {{"x", NULL}, {"0", NULL}, {"-1", NULL}, {"1.5", NULL}, {"1", "2"}, {"99999999999", NULL}};
    for (size_t i = 0; i < array_len(bad); i++) CHECK_EQ_INT(memoryTestMain(bad[i][1] ? 2 : 1, bad[i]), 1);
    CHECK_EQ_INT(memoryTestMain(0, NULL), 1);
}
