/* memory_prefetch_test.c -- every lookup of a batch gives the same result as dictFind(), in every state of the table.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dict.h"
#include "unit.h"
#include "zmalloc.h"

typedef struct record {
    const uint32_t *key; /* owns; separately allocated, so that the KEY step is taken */
    uint64_t value;
} record;

static slice recordKey(const void *entry) { return sliceOf(((const record *)entry)->key, sizeof(uint32_t)); }
static const void *recordKeyLine(const void *entry) { return ((const record *)entry)->key; }
static unsigned values_asked;
static void recordValue(const void *entry) { values_asked += entry != NULL; }
static void recordFree(void *entry) {
    record *r = entry;
    zfree((void *)(uintptr_t)r->key);
    zfree(r);
}
static uint64_t fewHashes(slice key) { return ((const uint8_t *)key.ptr)[0] % 5u; }

static const dictType plain_type = {.entryKey = recordKey, .entryFree = recordFree};
static const dictType far_key_type = {
    .entryKey = recordKey, .entryFree = recordFree, .prefetchKey = recordKeyLine, .prefetchValue = recordValue};
static const dictType colliding_type = {
    .entryKey = recordKey, .entryFree = recordFree, .hash = fewHashes, .prefetchKey = recordKeyLine};

static void addRecord(dict *d, uint32_t n) {
    uint32_t *key = zmalloc(sizeof(*key));
    record *r = zmalloc(sizeof(*r));
    *key = n;
    *r = (record){key, n};
    if (dictAdd(d, r, dictHash(d, recordKey(r)))) recordFree(r);
}

/* Checks batches of random size over random keys of several dicts; half of the keys are absent. */
static void checkBatches(dict **dicts, size_t count, uint64_t *rng, int batches) {
    static uint32_t keys[DICT_PREFETCH_MAX];
    static dictLookup l[DICT_PREFETCH_MAX];
    while (batches--) {
        size_t n = unitRandom(rng) % (DICT_PREFETCH_MAX + 1);
        unsigned want_values = 0;
        values_asked = 0;
        for (size_t i = 0; i < n; i++) {
            dict *d = dicts[unitRandom(rng) % count];
            keys[i] = (uint32_t)(unitRandom(rng) % 2000);
            slice key = sliceOf(&keys[i], sizeof(keys[i]));
            l[i] = (dictLookup){.d = d, .key = key, .hash = d ? dictHash(d, key) : 0};
            l[i].skip_value = unitRandom(rng) % 2;
            l[i].entry = "garbage";
        }
        dictPrefetch(l, n);
        for (size_t i = 0; i < n; i++) {
            const void *want = l[i].d ? dictFind(l[i].d, l[i].key, l[i].hash) : NULL;
            CHECK(l[i].entry == want);
            want_values += want && !l[i].skip_value && dictGetType(l[i].d)->prefetchValue;
        }
        CHECK_EQ_INT(values_asked, want_values);
    }
}

TEST(prefetch_finds_what_dict_find_finds) {
    uint64_t rng = unitRandomSeed();
    dict *dicts[] = {dictCreate(&plain_type), dictCreate(&far_key_type), dictCreate(&colliding_type), NULL,
                     dictCreate(&plain_type)};
    size_t count = array_len(dicts);
    checkBatches(dicts, count, &rng, 5);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t n = (uint32_t)(unitRandom(&rng) % 2000);
        for (size_t j = 0; j < 3; j++) {
            if (j < 2 || i < 150) addRecord(dicts[j], n);
        }
        checkBatches(dicts, count, &rng, 1); /* while the dict grows: in all states of a rehash */
    }
    for (uint32_t n = 0; n < 2000; n++) {
        for (size_t j = 0; j < 3; j++) {
            uint32_t key = n;
            slice k = sliceOf(&key, sizeof(key));
            if (n % 50) dictDelete(dicts[j], k, dictHash(dicts[j], k));
        }
        if (n % 4 == 0) checkBatches(dicts, count, &rng, 1);
    }
    for (size_t j = 0; j < count; j++) dictRelease(dicts[j]);
}

/* Dicts that have not been made, as those of slots without keys: all their bytes are 0. */
TEST(prefetch_in_zeroed_memory_finds_nothing) {
    static alignas(CACHE_LINE) char memory[2 * CACHE_LINE];
    uint32_t key = 7;
    dictLookup l[3];
    for (int i = 0; i < 3; i++)
        l[i] =
            (dictLookup){.d = (dict *)(void *)memory, .key = sliceOf(&key, sizeof(key)), .hash = 5, .entry = "garbage"};
    for (size_t n = 1; n <= 3; n++) {
        dictPrefetch(l, n);
        for (size_t i = 0; i < n; i++) CHECK(l[i].entry == NULL);
    }
}

TEST(prefetch_changes_nothing) {
    dict *d = dictCreate(&plain_type);
    for (uint32_t n = 0; !dictIsRehashing(d) || n < 100; n++) addRecord(d, n);
    char before[512], after[512];
    dictStats(d, before, sizeof(before), true);
    uint64_t rng = unitRandomSeed();
    checkBatches(&d, 1, &rng, 50);
    dictStats(d, after, sizeof(after), true);
    CHECK(dictIsRehashing(d));
    CHECK_EQ_STR(after, before);
    dictRelease(d);
}
