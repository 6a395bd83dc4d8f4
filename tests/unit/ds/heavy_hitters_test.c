/* heavy_hitters_test.c -- random streams whose true weights are known, and a concurrent reader (run under TSan).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"
#include "heavy_hitters.h"
#include "unit.h"
#include "zmalloc.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 20000 };

/* Returns key number `n`: arbitrary bytes, sometimes empty or with zeros. */
static slice keyOf(char buf[32], unsigned n) {
    if (n == 0) return sliceOf("", 0);
    int len = snprintf(buf, 32, "%ckey:%u", n % 3 ? 'k' : 0, n);
    return sliceOf(buf, (size_t)len);
}

static unsigned numberOf(sds key) { return sdsLen(key) ? (unsigned)atoi(key + 5) : 0; }

static void add(heavyHitters *h, unsigned n, uint64_t weight) {
    char buf[32];
    slice key = keyOf(buf, n);
    heavyHittersAdd(h, hashBytes(key.ptr, key.len), key, weight);
}

/* Draws a key: few are heavy and many are light, with weights of about 1/n. */
static unsigned drawKey(uint64_t *rng) {
    double u = (double)(unitRandom(rng) >> 11) / (double)(1ull << 53);
    return (unsigned)pow(KEYS, u) - 1;
}

/* Checks the top list: weights never below the true ones and within the bounds that the .c file states, in order, and
 * with every key that has a hundredth of the total. */
static void checkTop(heavyHitters *const *of, size_t n, const uint64_t *true_weights) {
    heavyKey top[HEAVY_KEYS];
    uint64_t total = 0;
    size_t count = heavyHittersTop(of, n, top, HEAVY_KEYS), far = 0, share = 0, found = 0;
    for (unsigned i = 0; i < KEYS; i++) total += true_weights[i];
    for (unsigned i = 0; i < KEYS; i++) share += true_weights[i] * 100 >= total;
    uint64_t told = 0;
    for (size_t i = 0; i < n; i++) told += heavyHittersTotal(of[i]);
    CHECK_EQ_INT(told, total);
    CHECK_EQ_INT(count, HEAVY_KEYS);
    for (size_t i = 0; i < count; i++) {
        uint64_t is = true_weights[numberOf(top[i].key)];
        found += is * 100 >= total;
        CHECK(i == 0 || top[i - 1].weight >= top[i].weight);
        CHECK(top[i].weight >= is);
        CHECK(top[i].weight - is <= total * n * 16 / 4096);
        far += (double)(top[i].weight - is) > (double)total * 2.718 / 4096;
    }
    CHECK(share > 0);
    CHECK_EQ_INT(found, share);
    CHECK(far * 20 <= count);
    heavyKeysFree(top, count);
}

TEST(heavy_hitters_few_keys_are_exact) {
    uint64_t rng = unitRandomSeed(), want[HEAVY_KEYS] = {0};
    heavyHitters *h = heavyHittersTryCreate();
    heavyKey top[HEAVY_KEYS];
    CHECK_EQ_INT(heavyHittersTop(&h, 1, top, HEAVY_KEYS), 0);
    for (int i = 0; i < 20000; i++) {
        unsigned n = (unsigned)(unitRandom(&rng) % HEAVY_KEYS);
        uint64_t weight = unitRandom(&rng) % 1000000;
        add(h, n, weight);
        want[n] += weight;
    }
    size_t count = heavyHittersTop(&h, 1, top, HEAVY_KEYS);
    CHECK_EQ_INT(count, HEAVY_KEYS);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQ_INT(top[i].weight, want[numberOf(top[i].key)]);
        CHECK(i == 0 || top[i - 1].weight >= top[i].weight);
    }
    heavyKeysFree(top, count);
    CHECK_EQ_INT(heavyHittersTop(&h, 1, top, 3), 3);
    heavyKeysFree(top, 3);
    heavyHittersFree(h);
    heavyHittersFree(NULL);
}

TEST(heavy_hitters_equal_weights_come_in_the_order_of_bytes) {
    heavyHitters *h = heavyHittersTryCreate();
    heavyKey top[8];
    static const char *const names[] = {"b", "", "ab", "a", "c"};
    for (size_t i = 0; i < array_len(names); i++) {
        slice key = sliceOf(names[i], strlen(names[i]));
        heavyHittersAdd(h, hashBytes(key.ptr, key.len), key, 7);
    }
    size_t count = heavyHittersTop(&h, 1, top, 8);
    static const char *const want[] = {"", "a", "ab", "b", "c"};
    CHECK_EQ_INT(count, array_len(want));
    for (size_t i = 0; i < count; i++) CHECK_EQ_STR(top[i].key, want[i]);
    heavyKeysFree(top, count);
    heavyHittersFree(h);
}

TEST(heavy_hitters_many_keys_against_true_weights) {
    uint64_t rng = unitRandomSeed();
    uint64_t *want = zcalloc(KEYS, sizeof(*want));
    heavyHitters *h = heavyHittersTryCreate();
    for (int i = 0; i < 300000; i++) {
        unsigned n = drawKey(&rng);
        uint64_t weight = 1 + unitRandom(&rng) % 100;
        add(h, n, weight);
        want[n] += weight;
    }
    checkTop(&h, 1, want);
    /* Other keys become heavy: weights that were only in the sketch count. */
    for (int i = 0; i < 300000; i++) {
        unsigned n = KEYS - 1 - drawKey(&rng);
        add(h, n, 90);
        want[n] += 90;
    }
    checkTop(&h, 1, want);
    heavyHittersFree(h);
    zfree(want);
}

enum { STREAMS = 5 };

/* Fills streams that prefer different keys, like connections of different clients. */
static void fillStreams(heavyHitters **h, uint64_t *want) {
    uint64_t rng = unitRandomSeed() + 1;
    for (size_t s = 0; s < STREAMS; s++) h[s] = heavyHittersTryCreate();
    for (int i = 0; i < 400000; i++) {
        size_t s = unitRandom(&rng) % STREAMS;
        unsigned n = (drawKey(&rng) * (unsigned)(s + 1)) % KEYS;
        uint64_t weight = 1 + unitRandom(&rng) % 100;
        add(h[s], n, weight);
        want[n] += weight;
    }
}

TEST(heavy_hitters_of_several_streams) {
    heavyHitters *h[STREAMS];
    uint64_t *want = zcalloc(KEYS, sizeof(*want));
    fillStreams(h, want);
    checkTop(h, STREAMS, want);
    for (size_t s = 0; s < STREAMS; s++) heavyHittersFree(h[s]);
    zfree(want);
}

TEST(heavy_hitters_folded_into_one) {
    heavyHitters *h[STREAMS];
    uint64_t *want = zcalloc(KEYS, sizeof(*want));
    fillStreams(h, want);
    for (size_t s = 1; s < STREAMS; s++) {
        heavyHittersFold(h[0], h[s]);
        heavyHittersFree(h[s]);
    }
    checkTop(h, 1, want);
    heavyHittersFree(h[0]);
    zfree(want);
}

TEST(heavy_hitters_folded_while_few_are_exact) {
    heavyHitters *a = heavyHittersTryCreate(), *b = heavyHittersTryCreate();
    for (unsigned n = 0; n < 60; n++) add(a, n, n + 1);
    for (unsigned n = 30; n < 100; n++) add(b, n, 1000);
    heavyHittersFold(a, b);
    heavyHittersFree(b);
    heavyKey top[HEAVY_KEYS];
    size_t count = heavyHittersTop(&a, 1, top, HEAVY_KEYS);
    CHECK_EQ_INT(count, 100);
    for (size_t i = 0; i < count; i++) {
        unsigned n = numberOf(top[i].key);
        CHECK_EQ_INT(top[i].weight, (n < 60 ? n + 1 : 0) + (n >= 30 ? 1000 : 0));
    }
    heavyKeysFree(top, count);
    heavyHittersFree(a);
}

TEST(heavy_hitters_long_keys_are_bounded) {
    heavyHitters *h = heavyHittersTryCreate();
    char *bytes = zcalloc(1, HEAVY_KEY_LEN_MAX + 1);
    uint64_t rng = unitRandomSeed();
    heavyKey top[HEAVY_KEYS];
    heavyHittersAdd(h, unitRandom(&rng), sliceOf(bytes, HEAVY_KEY_LEN_MAX + 1), 1000); /* too long to be stored */
    CHECK_EQ_INT(heavyHittersTop(&h, 1, top, HEAVY_KEYS), 0);
    heavyHittersAdd(h, unitRandom(&rng), sliceOf(bytes, HEAVY_KEY_LEN_MAX), 5);
    CHECK_EQ_INT(heavyHittersTop(&h, 1, top, HEAVY_KEYS), 1);
    CHECK_EQ_INT(sdsLen(top[0].key), HEAVY_KEY_LEN_MAX);
    CHECK_EQ_INT(top[0].weight, 5);
    heavyKeysFree(top, 1);
    size_t empty = heavyHittersMemory(h);
    for (int i = 0; i < 3000; i++)
        heavyHittersAdd(h, unitRandom(&rng), sliceOf(bytes, 9000 + unitRandom(&rng) % 20000), (uint64_t)i);
    CHECK(heavyHittersMemory(h) > empty);
    CHECK(heavyHittersMemory(h) <= empty + HEAVY_KEY_BYTES_MAX);
    heavyHittersFree(h);
    zfree(bytes);
}

TEST(heavy_hitters_without_memory) {
    heavyHitters *h = heavyHittersTryCreate();
    add(h, 1, 10);
    zmallocFailAfter(1);
    CHECK(heavyHittersTryCreate() == NULL);
    zmallocFailAfter(1);
    add(h, 2, 20); /* not stored, but counted */
    heavyKey top[2];
    CHECK_EQ_INT(heavyHittersTop(&h, 1, top, 2), 1);
    heavyKeysFree(top, 1);
    add(h, 2, 1);
    CHECK_EQ_INT(heavyHittersTop(&h, 1, top, 2), 2);
    CHECK_EQ_INT(numberOf(top[0].key), 2);
    CHECK_EQ_INT(top[0].weight, 21);
    heavyKeysFree(top, 2);
    heavyHittersFree(h);
}

/* --- a reader beside the writer ------------------------------------------------------------------------ */

static _Atomic bool writer_over;

static void *writeMany(void *arg) {
    heavyHitters *h = arg;
    uint64_t rng = unitRandomSeed() + 2;
    /* With growing weights each key takes a slot, so entries are dropped as fast as possible. */
    for (uint64_t i = 0; i < 60000; i++) add(h, (unsigned)(unitRandom(&rng) % KEYS), i);
    atomic_store(&writer_over, true);
    return NULL;
}

TEST(heavy_hitters_reader_beside_the_writer) {
    heavyHitters *h = heavyHittersTryCreate();
    heavyKey top[64];
    pthread_t writer;
    atomic_store(&writer_over, false);
    pthread_create(&writer, NULL, writeMany, h);
    for (bool over = false; !over;) {
        over = atomic_load(&writer_over);
        size_t count = heavyHittersTop(&h, 1, top, array_len(top));
        for (size_t i = 0; i < count; i++) {
            char buf[32];
            slice want = keyOf(buf, numberOf(top[i].key));
            if (!CHECK(sliceEq(want, sdsSlice(top[i].key)))) over = true; /* freed, or of another key */
        }
        heavyKeysFree(top, count);
    }
    pthread_join(writer, NULL);
    CHECK_EQ_INT(heavyHittersTop(&h, 1, top, array_len(top)), array_len(top));
    heavyKeysFree(top, array_len(top));
    heavyHittersFree(h);
}
