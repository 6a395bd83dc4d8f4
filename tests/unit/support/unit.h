/* unit.h -- the harness of the unit tests: defines tests and checks.
 *
 *     TEST(dict_finds_what_was_added) {
 *         CHECK(dictFind(d, key) != NULL);
 *         CHECK_EQ_INT(dictSize(d), 1);
 *     }
 *
 * A program is made of any number of such files and unit.c, which has main(). Tests run in the order of files and
 * lines. A failed check prints file, line and both values; its test goes on, and counts as failed. Arguments are words:
 * a test runs if its name contains one of them. --list names the tests. The last line is "N passed, M failed"; the exit
 * code is 0, 1 if one failed, 3 if none ran. SIGUSR2 ends the program, which prints the name of the running test.
 *
 * Threads     any thread of a test may check.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct unitTest {
    const char *name, *file;
    int line;
    void (*run)(void);
    struct unitTest *next;
} unitTest;
void unitRegister(unitTest *test);

#define TEST(name_)                                                                  \
    static void unit_run_##name_(void);                                              \
    __attribute__((constructor)) static void unit_add_##name_(void) {                \
        static unitTest test = {#name_, __FILE__, __LINE__, unit_run_##name_, NULL}; \
        unitRegister(&test);                                                         \
    }                                                                                \
    static void unit_run_##name_(void)

/* Each returns whether the check held, so that a test can return: if (!CHECK(p)) return; */
#define CHECK(cond) unitCheck(!!(cond), #cond, __FILE__, __LINE__)
#define CHECK_EQ_INT(got, want) unitCheckInt((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_EQ_STR(got, want) unitCheckStr((got), (want), #got, __FILE__, __LINE__)
#define CHECK_EQ_DOUBLE(got, want) unitCheckDouble((got), (want), #got, __FILE__, __LINE__)
/* Checks that `len` bytes are equal. */
#define CHECK_MEM(got, want, len) unitCheckMem((got), (want), (len), #got, __FILE__, __LINE__)

bool unitCheck(bool held, const char *what, const char *file, int line);
bool unitCheckInt(long long got, long long want, const char *what, const char *file, int line);
bool unitCheckStr(const char *got, const char *want, const char *what, const char *file, int line);
bool unitCheckDouble(double got, double want, const char *what, const char *file, int line);
bool unitCheckMem(const void *got, const void *want, size_t len, const char *what, const char *file, int line);

/* Returns the seed of this run and prints it once: the environment variable UNIT_SEED, or the clock. */
uint64_t unitRandomSeed(void);
/* Returns the next number of a generator whose state the test owns and initializes with unitRandomSeed(). */
uint64_t unitRandom(uint64_t *state);

/* A limit of time. Time for which the threads of this process are runnable but not run does not count, so that a limit
 * measures the program and not the load of the machine; twenty times the limit is too long in any case. Where the
 * kernel does not report that time, all time counts. */
typedef struct unitLimit {
    uint64_t began_ms, length_ms, waited_ms;
} unitLimit;
unitLimit unitLimitStart(uint64_t ms);
bool unitLimitOver(const unitLimit *limit);

/* Runs `body(arg)` in a child process. Returns its wait status, and up to size-1 bytes of its stdout and stderr in
 * `output`. For code that ends the process. */
int unitInChild(void (*body)(void *arg), void *arg, char *output, size_t size);

/* Limits the address space of this process (a child) to `more` bytes above what it uses now. Returns false if that is
 * not possible. */
bool unitLittleMemory(size_t more);

#endif
