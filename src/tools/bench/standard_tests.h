/* standard_tests.h -- the tests that run if no command is given, in this order.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_STANDARD_TESTS_H
#define BENCH_STANDARD_TESTS_H

#include "sds.h"
#include "suggest.h"

#define STANDARD_TEST_NAMES_MAX 5

typedef struct standardTest {
    const char *title;                          /* as printed */
    const char *names[STANDARD_TEST_NAMES_MAX]; /* that select it with -t */
    const char *command;                        /* words separated by blanks, placeholders included */
    enum { TEST_COMMAND, TEST_INLINE, TEST_MULTI_KEY, TEST_FUNCTION_LOAD, TEST_FCALL } kind;
} standardTest;

#define STANDARD_TESTS 24
extern const standardTest standard_tests[STANDARD_TESTS];

/* Returns whether the comma-separated `selection` (NULL: all) names the test. Case is ignored. */
bool standardTestSelected(const standardTest *test, const char *selection);
/* Returns whether a test has this name. If not, `guess` has considered all names. */
bool standardTestIsKnown(const char *name, suggestion *guess);
/* Returns the words of the test's command, freed with sdsFreeSplitRes(). `random` is true if -r was given, `functions`
 * is how many functions FUNCTION LOAD loads, `fcall_keys` how many keys FCALL gets. */
sds *standardTestWords(const standardTest *test, bool random, int functions, int fcall_keys, int *count);
/* Returns the words of the command that loads the function library that the FCALL test needs. */
sds *standardTestFcallLibrary(int *count);

#endif
