/* memory_test.h -- --test-memory: write patterns into memory and see whether they stay.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_MEMORY_TEST_H
#define SERVER_MEMORY_TEST_H

#include "platform.h"

typedef enum {
    MEMORY_OWN_ADDRESS,     /* each word its number: lines of the address that stick make two words one */
    MEMORY_INVERSE_ADDRESS, /* the same with each bit the other way */
    MEMORY_CHECKERBOARD,    /* neighbouring bits differ */
    MEMORY_INVERSE_BOARD,
    MEMORY_RANDOM, /* other bits in each round */
    MEMORY_INVERSE_RANDOM,
    MEMORY_PATTERNS
} memoryPattern;

typedef struct memoryFault {
    size_t word; /* its number */
    uint64_t wanted, found;
} memoryFault;

/* Write the pattern into words [from, to), and look whether it is there. Returns how many words differ; the first
 * `max` of them are told in `faults`. */
void memoryTestFill(uint64_t *words, size_t from, size_t to, memoryPattern pattern, unsigned round);
size_t memoryTestCompare(const uint64_t *words, size_t from, size_t to, memoryPattern pattern, unsigned round,
                         memoryFault *faults, size_t max);
/* The program: `argv` are the words behind --test-memory. Returns the exit code: 0 when all words kept what was
 * written, 1 when not, or when it could not be told. */
int memoryTestMain(int argc, char **argv);

#endif
