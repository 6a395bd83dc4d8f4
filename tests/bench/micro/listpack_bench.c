/* listpack_bench.c -- the cost of finding, walking, reading and changing the entries of a small collection.
 *
 *     listpack_bench [NAME [rounds]]
 *
 * With a name only that figure is measured: under callgrind, the difference between two numbers of rounds is its cost
 * without the start of the program.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "intset.h"
#include "listpack.h"
#include "micro.h"
#include "zmalloc.h"

enum { FIELDS = 100, SAMPLES = 9 };

static uint8_t *hash;    /* field000 value000 ... */
static uint8_t *numbers; /* member, score; integers of one to four bytes alternate with short texts */
static intset *set;
static slice fields[FIELDS];
static char field_text[FIELDS][16];

static void makeAll(void) {
    hash = listpackCreate(0);
    numbers = listpackCreate(0);
    set = intsetCreate();
    for (int i = 0; i < FIELDS; i++) {
        bool added;
        char value[32];
        fields[i] = sliceOf(field_text[i], (size_t)sprintf(field_text[i], "field%03d", i));
        hash = listpackAppend(hash, fields[i]);
        hash = listpackAppend(hash, sliceOf(value, (size_t)sprintf(value, "value%03d", i)));
        numbers = listpackAppendInteger(numbers, i % 3 ? i * 37 : i * 70001);
        numbers = i % 2 ? listpackAppend(numbers, sliceStr("text")) : listpackAppendInteger(numbers, i);
        set = intsetAdd(set, i * 3001, &added);
    }
}

static uint64_t find(void) {
    const uint8_t *first = listpackFirst(hash);
    uint64_t sum = 0;
    for (int i = 0; i < FIELDS; i++) sum += (uint64_t)(listpackFind(first, fields[i], 1) - hash);
    return sum;
}

static uint64_t findNumber(void) {
    const uint8_t *first = listpackFirst(numbers);
    return (uint64_t)(listpackFind(first, sliceStr("777777777"), 1) == NULL) +
           (uint64_t)(listpackFind(first, sliceStr("absent"), 1) == NULL);
}

static uint64_t walk(void) {
    uint64_t n = 0;
    for (const uint8_t *at = listpackFirst(numbers); at; at = listpackNext(at)) n++;
    return n;
}

static uint64_t walkBack(void) {
    uint64_t n = 0;
    for (const uint8_t *at = listpackLast(numbers); at; at = listpackPrev(numbers, at)) n++;
    return n;
}

static uint64_t iterate(void) {
    listpackIter it = listpackIterBegin(numbers, false);
    listpackValue v;
    uint64_t sum = 0;
    while (listpackIterNext(&it, &v, NULL)) sum += v.str ? v.len : (uint64_t)v.num;
    return sum;
}

static uint64_t validate(void) { return listpackValidate(hash, listpackBytes(hash), true, NULL, NULL); }

static uint64_t append(void) {
    uint8_t *lp = listpackCreate(0);
    for (int i = 0; i < FIELDS; i++) lp = listpackAppend(lp, fields[i]);
    uint64_t bytes = listpackBytes(lp);
    listpackFree(lp);
    return bytes;
}

static uint64_t queue(void) {
    static uint8_t *lp;
    if (!lp) lp = listpackDup(hash);
    for (int i = 0; i < FIELDS; i++) {
        lp = listpackDeleteRange(lp, 0, 1);
        lp = listpackAppend(lp, fields[i]);
    }
    return listpackBytes(lp);
}

static uint64_t findInSet(void) {
    uint64_t n = 0;
    for (int i = 0; i < FIELDS; i++) n += intsetFind(set, i * 2999);
    return n;
}

static const struct {
    const char *name;
    uint64_t (*run)(void);
    double count; /* operations per round, by which the figure is divided */
} figures[] = {
    {"find a field of 100 fields, text", find, FIELDS},
    {"find what is not there, each entry passed", findNumber, 2.0 * 2 * FIELDS},
    {"next, each entry", walk, 2.0 * FIELDS},
    {"prev, each entry", walkBack, 2.0 * FIELDS},
    {"iterate and get, each entry", iterate, 2.0 * FIELDS},
    {"validate, each entry", validate, 2.0 * FIELDS},
    {"append to an empty one, each entry", append, FIELDS},
    {"delete at the head and append, 200 entries", queue, FIELDS},
    {"intset: find in 100", findInSet, FIELDS},
};

int main(int argc, char **argv) {
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 2000;
    clockInit();
    makeAll();
    for (size_t f = 0; f < array_len(figures); f++) {
        if (argc > 1 && strcmp(argv[1], figures[f].name) != 0) continue;
        microSamples samples = {0};
        for (int i = 0; i < (argc > 2 ? 1 : SAMPLES); i++) {
            monotime start = clockTicks();
            for (long r = 0; r < rounds; r++) {
                uint64_t result = figures[f].run();
                microUse(&result);
            }
            microAdd(&samples, microNs(start) / ((double)rounds * figures[f].count));
        }
        microReport("listpack and intset", figures[f].name, microMedian(&samples), "ns");
    }
    return 0;
}
