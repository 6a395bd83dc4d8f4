/* memory_test.h -- --test-memory: writes patterns to memory and checks them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_MEMORY_TEST_H
#define SERVER_MEMORY_TEST_H

#include "platform.h"

typedef enum {
    MEMORY_OWN_ADDRESS,     /* each word is its index: finds address lines that are stuck */
    MEMORY_INVERSE_ADDRESS, /* the same with all bits inverted */
    MEMORY_CHECKERBOARD,    /* neighboring bits differ */
    MEMORY_INVERSE_BOARD,
    MEMORY_RANDOM, /* different bits in each round */
    MEMORY_INVERSE_RANDOM,
    MEMORY_PATTERNS
} memoryPattern;

typedef struct memoryFault {
    size_t word; /* its index */
    uint64_t expected, found;
} memoryFault;

/* Fill writes the pattern to the words [from, to). Compare returns how many of them differ from the pattern, and
 * describes the first `max` of these in `faults`. */
void memoryTestFill(uint64_t *words, size_t from, size_t to, memoryPattern pattern, unsigned round);
size_t memoryTestCompare(const uint64_t *words, size_t from, size_t to, memoryPattern pattern, unsigned round,
                         memoryFault *faults, size_t max);
/* Runs the program; `argv` has the arguments after --test-memory. Returns the exit code: 0 if all words kept their
 * patterns; 1 if not, or if the test could not be completed. */
int memoryTestMain(int argc, char **argv);

#endif
