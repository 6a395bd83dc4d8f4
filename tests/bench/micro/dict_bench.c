/* dict_bench.c -- nanoseconds per key of dictFind() one at a time and of dictPrefetch() in batches.
 *
 *     dict_bench [keys = 1000000] [small | huge]
 *
 * Entries are blocks of 32 bytes with keys of 12, in pages of 4 KiB or 2 MiB; tables use the pages that dict.c
 * requests. Keys are looked up in random order; their names are in the L2 cache, as those of requests just read would
 * be.
 *
 *     find tight      dictFind() in a loop. The processor predicts the branches and runs ahead into the next lookups,
 *     so their misses overlap by themselves. No server has this loop: its lookups are a whole command apart. find in
 *     order   the next key depends on the data that the last find has read, so that lookups cannot overlap, as in a
 *     server that executes commands one after another. The baseline. batch N         dictPrefetch() of N keys, then the
 *     same N finds in the same order, with the same dependence:
 *                     the total cost in a server that prefetches.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dict.h"
#include "micro.h"
#include "rng.h"
#include "zmalloc.h"
#include <sys/mman.h>

enum { NAMES = 4096, KEY_LEN = 12, ROUNDS = 9, PASSES_PER_ROUND = 8 };

typedef struct benchEntry {
    uint64_t header;
    uint8_t key_len;
    char key[23];
} benchEntry;

static_assert(sizeof(benchEntry) == 32, "two entries share a line, as small ones do");

static slice entryKey(const void *entry) {
    const benchEntry *e = entry;
    return sliceOf(e->key, e->key_len);
}

static const dictType bench_type = {.entryKey = entryKey};

/* Writes "k" and eleven digits. */
static void formatKey(char *out, size_t number) {
    out[0] = 'k';
    for (int i = KEY_LEN - 1; i > 0; i--, number /= 10) out[i] = (char)('0' + number % 10);
}

static benchEntry *makeEntries(size_t keys, bool huge) {
    size_t bytes = (keys * sizeof(benchEntry) + ((size_t)2 << 20)) & ~(((size_t)2 << 20) - 1);
    benchEntry *e = zmallocAligned((size_t)2 << 20, bytes);
    (void)madvise(e, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (size_t i = 0; i < keys; i++) {
        e[i].header = i;
        e[i].key_len = KEY_LEN;
        formatKey(e[i].key, i);
    }
    return e;
}

/* Makes a dict of entries added in the order of their numbers, as if loaded from a file. */
static dict *makeDict(benchEntry *entries, size_t keys) {
    dict *d = dictCreate(&bench_type);
    (void)dictExpand(d, keys);
    for (size_t i = 0; i < keys; i++) dictAddNew(d, &entries[i], dictHash(d, entryKey(&entries[i])));
    return d;
}

static char names[NAMES][16];
static dictLookup asked[NAMES];

static void askForRandomKeys(dict *d, size_t keys, rng *r) {
    for (size_t i = 0; i < NAMES; i++) {
        formatKey(names[i], rngBelow(r, keys));
        slice key = sliceOf(names[i], KEY_LEN);
        asked[i] = (dictLookup){.d = d, .key = key, .hash = dictHash(d, key)};
    }
}

static uint64_t findTight(const dict *d) {
    uint64_t sum = 0;
    for (size_t i = 0; i < NAMES; i++) {
        const benchEntry *e = dictFind(d, asked[i].key, asked[i].hash);
        sum += e->header;
    }
    return sum;
}

/* Headers are small, so `header >> 63` is 0: but it is known only after the header was read. */
static uint64_t findInOrder(const dict *d, size_t batch) {
    size_t i = 0;
    while (i < NAMES) {
        if (batch) dictPrefetch(&asked[i], batch);
        for (size_t end = i + (batch ? batch : 1); i < end;) {
            const benchEntry *e = dictFind(d, asked[i].key, asked[i].hash);
            uint64_t behind = e->header >> 63;
            microUse(&behind);
            i += 1 + behind;
        }
    }
    return i;
}

int main(int argc, char **argv) {
    size_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    const char *pages = argc > 2 ? argv[2] : "small";
    if (keys == 0 || (strcmp(pages, "small") != 0 && strcmp(pages, "huge") != 0)) {
        fprintf(stderr, "dict_bench [keys] [small | huge]\n");
        return 1;
    }
    clockInit();
    dict *d = makeDict(makeEntries(keys, strcmp(pages, "huge") == 0), keys);

    static const size_t batches[] = {1, 2, 4, 8, 16, 32, 64};
    enum { TIGHT = array_len(batches), IN_ORDER, MODES };
    microSamples samples[MODES] = {0};
    rng r;
    rngSeed(&r, 42);
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t mode = 0; mode < MODES; mode++) {
            double ns = 0;
            for (int pass = 0; pass < PASSES_PER_ROUND; pass++) {
                askForRandomKeys(d, keys, &r);
                monotime start = clockTicks();
                if (mode == TIGHT) sum += findTight(d);
                else sum += findInOrder(d, mode == IN_ORDER ? 0 : batches[mode]);
                ns += microNs(start);
            }
            microAdd(&samples[mode], ns / (NAMES * PASSES_PER_ROUND));
        }
    }
    microUse(&sum);

    char name[64], parameter[64];
    snprintf(name, sizeof(name), "dict %zu keys %s pages", keys, pages);
    double in_order = microMedian(&samples[IN_ORDER]);
    microReport(name, "find tight", microMedian(&samples[TIGHT]), "ns/key");
    microReport(name, "find in order", in_order, "ns/key");
    for (size_t b = 0; b < array_len(batches); b++) {
        double ns = microMedian(&samples[b]);
        snprintf(parameter, sizeof(parameter), "batch %zu", batches[b]);
        microReport(name, parameter, ns, "ns/key");
        snprintf(parameter, sizeof(parameter), "batch %zu against find in order", batches[b]);
        microReport(name, parameter, in_order / ns, "times faster");
    }
    return 0;
}
