/* heap_test.c -- compares the binary heap with a plain array.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"
#include "unit.h"
#include "zmalloc.h"

#define ITEMS 500

typedef struct item {
    uint64_t rank;
    size_t id;
    char more[11]; /* a size that is not a power of two */
} item;

static size_t index_of[ITEMS]; /* as reported by the heap */

static bool ranksBefore(const void *a, const void *b) { return ((const item *)a)->rank < ((const item *)b)->rank; }

static void noteIndex(const void *element, size_t index) { index_of[((const item *)element)->id] = index; }

static const heapType item_type = {.size = sizeof(item), .before = ranksBefore, .moved = noteIndex};

/* Checks the heap; `present` and `rank` are its expected contents. */
static bool isRight(const heap *h, const bool *present, const uint64_t *rank) {
    const item *at = h->at;
    size_t count = 0;
    for (size_t id = 0; id < ITEMS; id++) {
        if (!present[id]) continue;
        count++;
        size_t index = index_of[id];
        if (!CHECK(index < h->count) || !CHECK_EQ_INT(at[index].id, id)) return false;
        if (!CHECK_EQ_INT(at[index].rank, rank[id]) || !CHECK_EQ_INT(at[index].more[10], (char)id)) return false;
        if (!CHECK(at[0].rank <= rank[id])) return false;
    }
    return CHECK_EQ_INT(h->count, count);
}

TEST(heap_random_operations) {
    uint64_t seed = unitRandomSeed();
    bool present[ITEMS] = {false};
    uint64_t rank[ITEMS];
    heap h = {.type = &item_type};

    for (size_t round = 0; round < 20000; round++) {
        bool growing = round / 2000 % 2 == 0;
        size_t id = unitRandom(&seed) % ITEMS;
        rank[id] = present[id] ? rank[id] : unitRandom(&seed) % 1000;
        item it = {.rank = rank[id], .id = id};
        it.more[10] = (char)id;
        if (!present[id] && growing) {
            heapAdd(&h, &it);
            present[id] = true;
        } else if (present[id] && unitRandom(&seed) % 2) {
            it.rank = rank[id] = unitRandom(&seed) % 1000;
            heapReplace(&h, index_of[id], &it);
        } else if (present[id] && (!growing || unitRandom(&seed) % 4 == 0)) {
            heapRemove(&h, index_of[id]);
            present[id] = false;
        }
        if (round % 7 == 0 && !isRight(&h, present, rank)) break;
    }
    zfree(h.at);
}

TEST(heap_gives_elements_in_order) {
    uint64_t seed = unitRandomSeed(), last = 0;
    heapType without_index = item_type;
    without_index.moved = NULL;
    heap h = {.type = &without_index};

    for (size_t i = 0; i < ITEMS; i++) heapAdd(&h, &(item){.rank = unitRandom(&seed) % 100});
    for (size_t left = ITEMS; left-- > 0;) {
        uint64_t first = ((const item *)h.at)->rank;
        CHECK(first >= last);
        last = first;
        heapRemove(&h, 0);
        CHECK_EQ_INT(h.count, left);
    }
    zfree(h.at);
}
