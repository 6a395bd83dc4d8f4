/* score_tree_bench.c -- nanoseconds and bytes per member of the tree of scores.
 *
 *     score_tree_bench [members = 1000000]
 *
 * Each member is in an entry of its own, at a random address of the heap, as those of a dict would be. Each figure is
 * one pass of as many operations as there are members, at most two million, on members drawn at random.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "micro.h"
#include "score_tree.h"
#include "zmalloc.h"
#include <time.h>

typedef struct item {
    double score;
    char member[24];
} item;

enum { BATCH = 16, RANGE = 100 };

static size_t members, operations;
static item **items;
static uint64_t rng = 88172645463325252ULL;
static char parameter[64];

static uint64_t draw(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

/* Returns the CPU time of this thread, so that other load on the machine matters only by its use of caches and
 * memory. */
static double cpuNs(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double drawScore(void) { return (double)(draw() % (members * 10)); }

static int compareMembers(const void *a, const void *b) {
    return memcmp(((const item *)a)->member, ((const item *)b)->member, sizeof(((item *)0)->member));
}

static void report(const char *what, double ns, size_t n) {
    snprintf(parameter, sizeof(parameter), "%zu %s", members, what);
    microReport("score_tree", parameter, ns / (double)n, "ns");
}

static void reportBytes(const char *what, const scoreTree *t) {
    snprintf(parameter, sizeof(parameter), "%zu %s", members, what);
    microReport("score_tree", parameter, (double)scoreTreeMemUsage(t) / (double)members, "bytes/member");
}

static scoreTree *fillRandom(void) {
    scoreTree *t = scoreTreeCreate(compareMembers);
    double from = cpuNs();
    for (size_t i = 0; i < members; i++) scoreTreeInsert(t, items[i]);
    report("insert, random", cpuNs() - from, members);
    reportBytes("after random inserts", t);
    return t;
}

static void fillSorted(const scoreTree *sorted) {
    scoreTree *t = scoreTreeCreate(compareMembers);
    scoreTreeIter it = scoreTreeSeekRank(sorted, 0);
    void *entry;
    double from = cpuNs();
    while ((entry = scoreTreeNext(&it)) != NULL) {
        if (!scoreTreeAppend(t, entry)) abort();
    }
    report("append, sorted", cpuNs() - from, members);
    reportBytes("after appends", t);
    from = cpuNs();
    size_t nodes = scoreTreeNodes(t);
    scoreTreeFree(t);
    report("free, per node", cpuNs() - from, nodes);
}

static void measureReads(const scoreTree *t) {
    uint64_t sum = 0;
    double from = cpuNs();
    for (size_t i = 0; i < operations; i++) sum += scoreTreeRank(t, items[draw() % members]);
    report("rank", cpuNs() - from, operations);
    from = cpuNs();
    for (size_t i = 0; i < operations; i += BATCH) {
        scoreTreeLookup lookups[BATCH];
        for (size_t k = 0; k < BATCH; k++) lookups[k] = (scoreTreeLookup){.t = t, .entry = items[draw() % members]};
        scoreTreeRankMany(lookups, BATCH);
        for (size_t k = 0; k < BATCH; k++) sum += lookups[k].rank;
    }
    report("rank, 16 in turns", cpuNs() - from, operations);
    from = cpuNs();
    for (size_t i = 0; i < operations; i++) sum += scoreTreeCountBelow(t, (scoreBound){drawScore(), false});
    report("count below a score", cpuNs() - from, operations);
    from = cpuNs();
    for (size_t i = 0; i < operations / RANGE; i++) {
        scoreTreeIter it = scoreTreeSeekRank(t, scoreTreeCountBelow(t, (scoreBound){drawScore(), false}));
        const item *entry;
        for (int k = 0; k < RANGE && (entry = scoreTreeNext(&it)) != NULL; k++) sum += (uint64_t)entry->member[0];
    }
    report("range of 100 by score, members read", cpuNs() - from, operations / RANGE);
    from = cpuNs();
    for (size_t i = 0; i < operations / RANGE; i++) {
        scoreTreeIter it = scoreTreeSeekRank(t, draw() % members);
        const item *entry;
        for (int k = 0; k < RANGE && (entry = scoreTreePrev(&it)) != NULL; k++) sum += (uint64_t)entry->member[0];
    }
    report("range of 100 by rank, backward", cpuNs() - from, operations / RANGE);
    microUse(&sum);
}

static void measureChanges(scoreTree *t) {
    double from = cpuNs();
    for (size_t i = 0; i < operations; i++) scoreTreeUpdate(t, items[draw() % members], drawScore());
    report("update to a random score", cpuNs() - from, operations);
    reportBytes("after random updates", t);
    from = cpuNs();
    for (size_t i = 0; i < operations; i++) {
        item *it = items[draw() % members];
        scoreTreeUpdate(t, it, it->score + 1);
    }
    report("update by one", cpuNs() - from, operations);
    from = cpuNs();
    for (size_t i = 0; i < operations; i++) {
        item *it = items[draw() % members];
        scoreTreeRemove(t, it);
        it->score = drawScore();
        scoreTreeInsert(t, it);
    }
    report("remove and insert", cpuNs() - from, operations);
}

int main(int argc, char **argv) {
    members = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    if (members < RANGE) return 2;
    operations = members < 2000000 ? members : 2000000;
    items = zmalloc(members * sizeof(*items));
    for (size_t i = 0; i < members; i++) {
        items[i] = zmalloc(sizeof(item));
        items[i]->score = drawScore();
        snprintf(items[i]->member, sizeof(items[i]->member), "m:%012zu", i);
    }
    for (size_t i = members - 1; i > 0; i--) {
        size_t k = draw() % (i + 1);
        item *swap = items[i];
        items[i] = items[k];
        items[k] = swap;
    }
    scoreTree *t = fillRandom();
    fillSorted(t);
    measureReads(t);
    measureChanges(t);
    scoreTreeFree(t);
    return 0;
}
