/* memory_test.c -- --test-memory: writes patterns to memory and checks them.
 *
 * In each round, each pattern is written to the whole memory and then read back from its start. So the words come from
 * memory and not from a cache, if the tested memory is larger than that. Words are computed from their index: no copy
 * is needed for the comparison.
 *
 *     round:   fill pattern 0 | compare | fill pattern 1 | compare | ...
 *
 * On a terminal a line shows the progress and the estimated end; in a pipe only the result is printed. Ctrl-C ends the
 * test with the result so far.
 *
 * Threads     main, before there are others.
 * Cost        twelve passes through the memory in a round, fifty rounds: about two minutes for a gigabyte.
 * Tests       tests/unit/server/memory_test_test.c, tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_test.h"

#include "clock.h"
#include "numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 50
#define FAULTS_SHOWN 10
#define STRETCH (1u << 17) /* words between two checks of Ctrl-C and the clock: a megabyte */
#define SHOW_EVERY_MS 200
#define MEGABYTES_MAX (1LL << 30) /* the range of 50-bit addresses */

static volatile sig_atomic_t interrupted;

static void onInterrupt(int sig) {
    unused(sig);
    interrupted = 1;
}

/* ---- Patterns --------------------------------------------------------------------------------------------------- */

/* Returns bits that look random and differ for each number (the last step of Steele, Lea and Flood's SplitMix). */
static uint64_t memoryTestMix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t wordOf(memoryPattern pattern, size_t number, uint64_t seed) {
    switch (pattern) {
    case MEMORY_OWN_ADDRESS: return number;
    case MEMORY_INVERSE_ADDRESS: return ~(uint64_t)number;
    case MEMORY_CHECKERBOARD: return number & 1 ? 0xaaaaaaaaaaaaaaaau : 0x5555555555555555u;
    case MEMORY_INVERSE_BOARD: return number & 1 ? 0x5555555555555555u : 0xaaaaaaaaaaaaaaaau;
    case MEMORY_RANDOM: return memoryTestMix(number + seed);
    case MEMORY_INVERSE_RANDOM: return ~memoryTestMix(number + seed);
    case MEMORY_PATTERNS: break;
    }
    return 0;
}

static uint64_t seedOf(unsigned round) { return memoryTestMix(round + 1); }

/* Keeps the compiler from assuming what is in memory. */
static void forgetMemory(const uint64_t *words) { __asm__ volatile("" : : "r"(words) : "memory"); }

void memoryTestFill(uint64_t *words, size_t from, size_t to, memoryPattern pattern, unsigned round) {
    uint64_t seed = seedOf(round);
    for (size_t i = from; i < to; i++) words[i] = wordOf(pattern, i, seed);
    forgetMemory(words);
}

size_t memoryTestCompare(const uint64_t *words, size_t from, size_t to, memoryPattern pattern, unsigned round,
                         memoryFault *faults, size_t max) {
    uint64_t seed = seedOf(round);
    size_t count = 0;
    forgetMemory(words);
    for (size_t i = from; i < to; i++) {
        uint64_t expected = wordOf(pattern, i, seed), found = words[i];
        if (likely(found == expected)) continue;
        if (count < max) faults[count] = (memoryFault){i, expected, found};
        count++;
    }
    return count;
}

/* ---- The test --------------------------------------------------------------------------------------------------- */

typedef struct memoryTest {
    uint64_t *words; /* owns */
    size_t count;
    size_t faults; /* so far */
    bool terminal; /* stdout is one */
    uint64_t started_ms, shown_ms;
    uint64_t done, all; /* counted in stretches */
} memoryTest;

static void showProgress(memoryTest *t, unsigned round) {
    uint64_t now = clockMonotonicMs();
    if (!t->terminal || now - t->shown_ms < SHOW_EVERY_MS) return;
    t->shown_ms = now;
    uint64_t left_s = (now - t->started_ms) * (t->all - t->done) / (t->done + 1) / 1000;
    printf("\r\033[KRound %u of %d, %d %% of all", round + 1, ROUNDS, (int)(t->done * 100 / t->all));
    if (now - t->started_ms > 1000) printf(", about %" PRIu64 ":%02" PRIu64 " minutes left", left_s / 60, left_s % 60);
    fflush(stdout);
}

static void clearProgress(const memoryTest *t) {
    if (t->terminal) printf("\r\033[K");
}

static void printFault(const memoryTest *t, memoryFault f) {
    clearProgress(t);
    printf("At byte %zu: %016" PRIx64 " was written, %016" PRIx64 " is there (bits %016" PRIx64 ").\n", f.word * 8,
           f.expected, f.found, f.expected ^ f.found);
}

static void compareStretch(memoryTest *t, size_t from, size_t to, memoryPattern pattern, unsigned round) {
    memoryFault faults[FAULTS_SHOWN];
    size_t shown = t->faults < FAULTS_SHOWN ? FAULTS_SHOWN - t->faults : 0;
    size_t found = memoryTestCompare(t->words, from, to, pattern, round, faults, shown);
    for (size_t i = 0; i < found && i < shown; i++) printFault(t, faults[i]);
    t->faults += found;
}

/* Makes one pass through all words, or a part if Ctrl-C ends it. */
static void memoryTestPass(memoryTest *t, memoryPattern pattern, unsigned round, bool compare) {
    for (size_t from = 0; from < t->count && !interrupted; from += STRETCH) {
        size_t to = t->count - from < STRETCH ? t->count : from + STRETCH;
        if (compare) compareStretch(t, from, to, pattern, round);
        else memoryTestFill(t->words, from, to, pattern, round);
        t->done++;
        showProgress(t, round);
    }
}

static int conclude(const memoryTest *t, unsigned rounds) {
    clearProgress(t);
    if (t->faults) {
        printf("The memory is faulty: %zu words differed from what had been written. Do not use this machine for data "
               "until its memory has been replaced.\n",
               t->faults);
        return 1;
    }
    if (interrupted) {
        printf("Interrupted after %u of %d rounds. No fault was found so far.\n", rounds, ROUNDS);
        return 1;
    }
    printf("No fault was found in %d rounds. A program can test only the memory that the system gives it: to test all "
           "of it, boot memtest86+.\n",
           ROUNDS);
    return 0;
}

int memoryTestMain(int argc, char **argv) {
    long long megabytes;
    if (argc != 1 || !string2ll(argv[0], strlen(argv[0]), &megabytes) || megabytes < 1 || megabytes > MEGABYTES_MAX) {
        fprintf(stderr, "--test-memory takes one number, the megabytes to test, for example\n"
                        "  valkey-server --test-memory 4096\n");
        return 1;
    }
    memoryTest t = {.count = (size_t)megabytes << 17, .terminal = isatty(STDOUT_FILENO) == 1};
    t.words = mmap(NULL, t.count * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t.words == MAP_FAILED) {
        fprintf(stderr, "Cannot allocate %lld megabytes: %s\n", megabytes, strerror(errno));
        return 1;
    }
    struct sigaction act = {.sa_handler = onInterrupt};
    sigaction(SIGINT, &act, NULL);
    clockInit();
    t.started_ms = t.shown_ms = clockMonotonicMs();
    t.all = (uint64_t)ROUNDS * MEMORY_PATTERNS * 2 * ((t.count + STRETCH - 1) / STRETCH);
    unsigned round = 0;
    for (; round < ROUNDS && !interrupted && !t.faults; round++) {
        for (memoryPattern p = 0; p < MEMORY_PATTERNS && !interrupted; p++) {
            memoryTestPass(&t, p, round, false);
            memoryTestPass(&t, p, round, true);
        }
    }
    int exit_code = conclude(&t, interrupted ? round - 1 : round);
    munmap(t.words, t.count * 8);
    return exit_code;
}
