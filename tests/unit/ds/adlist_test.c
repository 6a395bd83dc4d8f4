/* adlist_test.c -- compares the list with an array of values.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "adlist.h"
#include "unit.h"
#include <string.h>

static int values[1000];
static int freed;
static void countFree(void *value) { freed += value != NULL; }

static void checkList(list *l, int **want, size_t n) {
    CHECK_EQ_INT(listLength(l), n);
    listIter forward = listBegin(l, false), backward = listBegin(l, true);
    for (size_t i = 0; i < n; i++) {
        listNode *a = listNext(&forward), *b = listNext(&backward);
        if (!CHECK(a && a->value == want[i]) || !CHECK(b && b->value == want[n - 1 - i])) return;
    }
    CHECK(!listNext(&forward) && !listNext(&backward));
    CHECK((n == 0) == (listFirst(l) == NULL) && (n == 0) == (listLast(l) == NULL));
}

static void insertAt(int **array, size_t *n, size_t at, int *v) {
    memmove(array + at + 1, array + at, (*n - at) * sizeof(*array));
    array[at] = v;
    ++*n;
}
static int *removeAt(int **array, size_t *n, size_t at) {
    int *v = array[at];
    memmove(array + at, array + at + 1, (--*n - at) * sizeof(*array));
    return v;
}

static listNode *nodeAt(list *l, size_t at) {
    listIter it = listBegin(l, false);
    listNode *node = listNext(&it);
    while (at--) node = listNext(&it);
    return node;
}

TEST(adlist_random_operations) {
    uint64_t rng = unitRandomSeed();
    list *l = listCreate();
    l->free = countFree;
    int *want[1000];
    size_t n = 0;
    for (int i = 0; i < 20000; i++) {
        int *v = &values[unitRandom(&rng) % 1000];
        size_t at = n ? unitRandom(&rng) % n : 0;
        switch (unitRandom(&rng) % (n < 50 ? 6 : 10)) {
        case 0:
            listAddNodeHead(l, v);
            insertAt(want, &n, 0, v);
            break;
        case 1:
        case 2:
            listAddNodeTail(l, v);
            insertAt(want, &n, n, v);
            break;
        case 3: {
            listNode *node = nodeAt(l, at);
            if (!node) break;
            listUnlinkNode(l, node);
            listLinkNodeTail(l, node);
            v = removeAt(want, &n, at);
            insertAt(want, &n, n, v);
            break;
        }
        default: {
            if (!n) break;
            freed = 0;
            listDelNode(l, nodeAt(l, at));
            removeAt(want, &n, at);
            CHECK_EQ_INT(freed, 1);
        }
        }
        if (i % 50 == 0) checkList(l, want, n);
    }
    checkList(l, want, n);
    if (n) CHECK(listNodeValue(listSearchValue(l, want[n - 1])) == want[n - 1]);
    CHECK(listSearchValue(l, &rng) == NULL);
    freed = 0;
    listEmpty(l);
    CHECK_EQ_INT(freed, n);
    checkList(l, want, 0);
    listRelease(l);
}

TEST(adlist_deletes_while_iterating) {
    list *l = listCreate();
    for (int i = 0; i < 10; i++) listAddNodeTail(l, &values[i]);
    listIter it = listBegin(l, true);
    for (listNode *n; (n = listNext(&it));) listDelNode(l, n);
    CHECK_EQ_INT(listLength(l), 0);
    listRelease(l);
}
