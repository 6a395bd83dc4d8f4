/* dict_bench.c -- nanoseconds per key of dictFind() one at a time and of dictPrefetch() in batches.
 *
 *     dict_bench [keys = 1000000] [lookups = 2000000] [key bytes = 16]
 *
 * Entries are blocks of 80 bytes, allocated in one order and looked up in a random one. "find" is dictFind() and
 * a read of the entry; "batch N" is dictPrefetch() of N keys, then the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "memory_prefetch.h"
#include "rng.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct benchEntry {
    uint64_t header;
    uint8_t key_len;
    char key[71];
} benchEntry;

static slice entryKey(const void *entry) {
    const benchEntry *e = entry;
    return sliceOf(e->key, e->key_len);
}

static const dictType bench_type = {.entryKey = entryKey};

static size_t formatKey(char *out, size_t number, int width) {
    return (size_t)snprintf(out, 71, "key:%0*zu", width - 4, number);
}

static double nsPerKey(monotime from, size_t n) {
    return (double)clockTicksToNs(clockTicks() - from) / (double)n;
}

static void fill(dict *d, size_t keys, int width) {
    monotime start = clockTicks();
    for (size_t i = 0; i < keys; i++) {
        benchEntry *e = zmalloc(sizeof(*e));
        e->header = i;
        e->key_len = (uint8_t)formatKey(e->key, i, width);
        slice key = entryKey(e);
        dictAddNew(d, e, dictHash(d, key));
    }
    printf("fill      %8.1f ns/key, alloc and format included\n", nsPerKey(start, keys));
}

static void reportMemory(const dict *d) {
    printf("memory    %8.1f bytes/entry now, %zu entries in %zu places\n",
           (double)dictMemUsage(d) / (double)dictSize(d), dictSize(d), dictSlots(d));
}

int main(int argc, char **argv) {
    size_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    size_t lookups = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000;
    int width = argc > 3 ? atoi(argv[3]) : 16;
    if (keys == 0 || width < 12 || width > 70) return 1;
    clockInit();
    dict *d = dictCreate(&bench_type);
    fill(d, keys, width);
    while (dictRehash(d, 1000)) {}
    reportMemory(d);
    char stats[4096];
    dictStats(d, stats, sizeof(stats), true);
    fputs(stats, stdout);

    /* Keys and hashes as a request would bring them: in a buffer that streams through the cache. */
    enum { RING = 1 << 14 };
    char(*names)[72] = zmalloc(sizeof(*names) * RING);
    dictLookup *asked = zcalloc(RING, sizeof(*asked));
    rng r;
    rngSeed(&r, 42);
    uint64_t sum = 0;
    size_t batches[] = {0, 1, 2, 4, 8, 16, 32, 64, 128};
    for (size_t b = 0; b < array_len(batches); b++) {
        uint64_t ns = 0;
        size_t done = 0;
        while (done < lookups) {
            for (size_t i = 0; i < RING; i++) {
                size_t len = formatKey(names[i], rngBelow(&r, keys), width);
                slice key = sliceOf(names[i], len);
                asked[i] = (dictLookup){.d = d, .key = key, .hash = dictHash(d, key)};
            }
            monotime start = clockTicks();
            for (size_t i = 0; i < RING; i += batches[b] ? batches[b] : 1) {
                size_t n = batches[b] ? batches[b] : 1;
                if (batches[b]) dictPrefetch(asked + i, n);
                for (size_t j = i; j < i + n; j++) {
                    benchEntry *e = dictFind(d, asked[j].key, asked[j].hash);
                    sum += e->header;
                }
            }
            ns += clockTicksToNs(clockTicks() - start);
            done += RING;
        }
        if (batches[b]) printf("batch %-3zu %8.1f ns/key\n", batches[b], (double)ns / (double)done);
        else printf("find      %8.1f ns/key\n", (double)ns / (double)done);
    }
    printf("(checksum %llu)\n", (unsigned long long)sum);
    return 0;
}
