/* standard_tests.h -- the tests that run when no command is given, in their order.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_STANDARD_TESTS_H
#define BENCH_STANDARD_TESTS_H

#include "sds.h"
#include "suggest.h"

#define STANDARD_TEST_NAMES_MAX 5

typedef struct standardTest {
    const char *title;                          /* as it is printed */
    const char *names[STANDARD_TEST_NAMES_MAX]; /* what selects it with -t */
    const char *command;                        /* words separated by blanks, placeholders included */
    enum { TEST_COMMAND, TEST_INLINE, TEST_MULTI_KEY, TEST_FUNCTION_LOAD, TEST_FCALL } kind;
} standardTest;

#define STANDARD_TESTS 24
extern const standardTest standard_tests[STANDARD_TESTS];

/* Whether the comma-separated `selection` (NULL: all) names the test. Names are compared without case. */
bool standardTestSelected(const standardTest *test, const char *selection);
/* Whether some test has this name; if not, `guess` has considered all names. */
bool standardTestIsKnown(const char *name, suggestion *guess);
/* The words of the test's command, freed with sdsFreeSplitRes(). `random` tells whether -r was given, `functions` how
 * many functions FUNCTION LOAD loads, `fcall_keys` how many keys FCALL gets. */
sds *standardTestWords(const standardTest *test, bool random, int functions, int fcall_keys, int *count);
/* The library that FCALL's function is in: the words of the command that loads it. */
sds *standardTestFcallLibrary(int *count);

#endif
