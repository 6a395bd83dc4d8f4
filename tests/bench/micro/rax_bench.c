/* rax_bench.c -- memory and time of a rax with the keys of streams, and with others.
 *
 *     rax_bench [keys = 1000000]
 *
 * Bytes are those of all blocks in the allocator's sizes. "one a ms": IDs of one entry each millisecond; "ten a ms";
 * "one ms": IDs that differ only in the sequence number; "random": sixteen random bytes; "names": consumer-1 and so on,
 * in random order. "add" is in the given order, "append and trim" keeps a thousand keys, "find" is in random order,
 * each lookup after the end of the one before.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "endian.h"
#include "micro.h"
#include "rax.h"
#include "rng.h"
#include "zmalloc.h"

enum { ROUNDS = 5, KEY_MAX = 24, WINDOW = 1000 };

typedef struct keySet {
    char (*bytes)[KEY_MAX]; /* owns */
    uint8_t *lens;          /* owns */
    size_t count;
} keySet;

static slice keyAt(const keySet *k, size_t i) { return sliceOf(k->bytes[i], k->lens[i]); }

static void putId(char *out, uint64_t ms, uint64_t seq) {
    ms = __builtin_bswap64(LE64(ms)), seq = __builtin_bswap64(LE64(seq));
    memcpy(out, &ms, 8);
    memcpy(out + 8, &seq, 8);
}

static void makeKeys(keySet *k, const char *kind, rng *random) {
    const uint64_t start = 1700000000000;
    for (size_t i = 0; i < k->count; i++) {
        char *out = k->bytes[i];
        k->lens[i] = 16;
        if (!strcmp(kind, "one a ms")) putId(out, start + i, 0);
        else if (!strcmp(kind, "ten a ms")) putId(out, start + i / 10, i % 10);
        else if (!strcmp(kind, "one ms")) putId(out, start, i);
        else if (!strcmp(kind, "random")) putId(out, rngNext(random), rngNext(random));
        else k->lens[i] = (uint8_t)snprintf(out, KEY_MAX, "consumer-%zu", i);
    }
    if (strcmp(kind, "names")) return;
    for (size_t i = k->count; i > 1; i--) {
        size_t j = (size_t)rngBelow(random, i);
        char keep[KEY_MAX];
        uint8_t len = k->lens[j];
        memcpy(keep, k->bytes[j], KEY_MAX);
        memcpy(k->bytes[j], k->bytes[i - 1], KEY_MAX);
        memcpy(k->bytes[i - 1], keep, KEY_MAX);
        k->lens[j] = k->lens[i - 1], k->lens[i - 1] = len;
    }
}

enum { ADD, FIND, NEXT, SEEK, TRIM, REMOVE, TIMES };
static const char *const time_names[] = {"add", "find", "next", "seek >=", "append and trim", "remove"};

static uint64_t sumFinds(const rax *r, const keySet *k, rng *random) {
    uint64_t sum = 0;
    for (size_t i = 0; i < k->count; i++) {
        void *value = NULL;
        uint64_t any = rngNext(random) + (sum & 1);
        raxFind(r, keyAt(k, any % k->count), &value);
        sum += (uintptr_t)value;
    }
    return sum;
}

static uint64_t sumSeeks(raxIterator *it, const keySet *k, rng *random) {
    uint64_t sum = 0;
    for (size_t i = 0; i < k->count; i++) {
        uint64_t any = rngNext(random) + (sum & 1);
        raxIterSeek(it, RAX_SEEK_GE, keyAt(k, any % k->count));
        sum += (uintptr_t)raxIterValue(it);
    }
    return sum;
}

static void appendAndTrim(const keySet *k) {
    rax *r = raxCreate();
    raxIterator it;
    raxIterBegin(&it, r);
    for (size_t i = 0; i < k->count; i++) {
        raxInsert(r, keyAt(k, i), (void *)(uintptr_t)i, NULL);
        if (i < WINDOW) continue;
        raxIterSeek(&it, RAX_SEEK_FIRST, sliceOf(NULL, 0));
        raxRemove(r, raxIterKey(&it), NULL);
    }
    raxIterEnd(&it);
    raxRelease(r, NULL);
}

static void measure(keySet *k, const char *kind) {
    rng random;
    rngSeed(&random, 1);
    makeKeys(k, kind, &random);
    microSamples times[TIMES] = {0};
    double bytes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        rax *r = raxCreate();
        monotime at[TIMES + 1];
        at[ADD] = clockTicks();
        for (size_t i = 0; i < k->count; i++) raxInsert(r, keyAt(k, i), (void *)(uintptr_t)i, NULL);
        at[FIND] = clockTicks();
        bytes = (double)raxMemUsage(r) / (double)k->count;
        uint64_t sum = sumFinds(r, k, &random);
        raxIterator it;
        raxIterBegin(&it, r);
        at[NEXT] = clockTicks();
        for (bool on = raxIterSeek(&it, RAX_SEEK_FIRST, sliceOf(NULL, 0)); on; on = raxIterNext(&it))
            sum += (uintptr_t)raxIterValue(&it);
        at[SEEK] = clockTicks();
        sum += sumSeeks(&it, k, &random);
        raxIterEnd(&it);
        microUse(&sum);
        at[TRIM] = clockTicks();
        appendAndTrim(k);
        at[REMOVE] = clockTicks();
        for (size_t i = 0; i < k->count; i++) raxRemove(r, keyAt(k, i), NULL);
        at[TIMES] = clockTicks();
        for (int t = 0; t < TIMES; t++)
            microAdd(&times[t], (double)clockTicksToNs(at[t + 1] - at[t]) / (double)k->count);
        raxRelease(r, NULL);
    }
    char name[64];
    snprintf(name, sizeof(name), "rax of %zu keys %s", k->count, kind);
    microReport(name, "memory", bytes, "bytes/key");
    for (int t = 0; t < TIMES; t++) microReport(name, time_names[t], microMedian(&times[t]), "ns/key");
}

int main(int argc, char **argv) {
    size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    if (count <= WINDOW) return 1;
    clockInit();
    keySet k = {zmalloc(count * KEY_MAX), zmalloc(count), count};
    static const char *const kinds[] = {"one a ms", "ten a ms", "one ms", "random", "names"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) measure(&k, kinds[i]);
    zfree(k.bytes);
    zfree(k.lens);
    return 0;
}
