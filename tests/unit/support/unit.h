/* unit.h -- the harness of the unit tests: name a test, check things in it.
 *
 *     TEST(dict_finds_what_was_added) {
 *         CHECK(dictFind(d, key) != NULL);
 *         CHECK_EQ_INT(dictSize(d), 1);
 *     }
 *
 * A program is made of any number of such files and unit.c, which has main(). Tests run in the order of files and
 * lines. A failed check prints file, line and both values; its test goes on, and counts as failed. Arguments are words:
 * a test runs if its name contains one of them. --list names the tests. The last line is "N passed, M failed"; the exit
 * code is 0, 1 if one failed, 3 if none ran. SIGUSR2 ends the program, which says in which test it was.
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

/* Each gives whether the check held, so that a test can leave: if (!CHECK(p)) return; */
#define CHECK(cond) unitCheck(!!(cond), #cond, __FILE__, __LINE__)
#define CHECK_EQ_INT(got, want) unitCheckInt((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
#define CHECK_EQ_STR(got, want) unitCheckStr((got), (want), #got, __FILE__, __LINE__)
#define CHECK_EQ_DOUBLE(got, want) unitCheckDouble((got), (want), #got, __FILE__, __LINE__)
/* `len` bytes are equal. */
#define CHECK_MEM(got, want, len) unitCheckMem((got), (want), (len), #got, __FILE__, __LINE__)

bool unitCheck(bool held, const char *what, const char *file, int line);
bool unitCheckInt(long long got, long long want, const char *what, const char *file, int line);
bool unitCheckStr(const char *got, const char *want, const char *what, const char *file, int line);
bool unitCheckDouble(double got, double want, const char *what, const char *file, int line);
bool unitCheckMem(const void *got, const void *want, size_t len, const char *what, const char *file, int line);

/* The seed of this run, printed once: from the environment's UNIT_SEED, else from the clock. */
uint64_t unitRandomSeed(void);
/* Next of a generator that a test owns and starts at unitRandomSeed(). */
uint64_t unitRandom(uint64_t *state);

/* How long something may take. Time that the threads of this process stood ready without being run does not count, so
 * that a limit says something about the program and not about what else the machine has to do; twenty times as long is
 * too long in any case. Where the kernel does not count that, time is time. */
typedef struct unitLimit {
    uint64_t began_ms, length_ms, waited_ms;
} unitLimit;
unitLimit unitLimitStart(uint64_t ms);
bool unitLimitOver(const unitLimit *limit);

/* Run `body(arg)` in a child process. Gives its wait status, and up to size-1 bytes of what it wrote to stdout and
 * stderr. For code that ends the process. */
int unitInChild(void (*body)(void *arg), void *arg, char *output, size_t size);

/* From here on this process, a child, gets `more` bytes of addresses and no more. False where that cannot be had. */
bool unitLittleMemory(size_t more);

#endif
