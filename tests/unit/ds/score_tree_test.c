/* score_tree_test.c -- compares the tree with a sorted array.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "score_tree.h"
#include "unit.h"
#include "zmalloc.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    double score;
    uint32_t member;
} item;

static int compareMembers(const void *a, const void *b) {
    uint32_t x = ((const item *)a)->member, y = ((const item *)b)->member;
    return (x > y) - (x < y);
}
static int compareItems(const item *a, const item *b) {
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    return compareMembers(a, b);
}
static bool memberBelow(const void *entry, const void *arg) {
    return ((const item *)entry)->member < *(const uint32_t *)arg;
}

/* ---- the model ---- */

enum { ITEMS_MAX = 6000 };

/* The distribution of scores: how many are equal, and where they are. */
typedef enum { WIDE, FEW, SAME, RISING, FALLING, SPECIAL, CLUSTERS, KINDS } scoreKind;

typedef struct model {
    scoreTree *t;
    item *in[ITEMS_MAX]; /* owns; ascending */
    size_t n;
    uint32_t next_member;
    scoreKind kind;
    uint64_t rng;
} model;

static size_t pick(model *m, size_t bound) { return (size_t)(unitRandom(&m->rng) % bound); }

/* Returns one of a few scores that are far apart, or one of the next few thousand doubles after it. */
static double pickNear(model *m) {
    static const double centre[] = {0, 1, 1e300, -1e-300, 12345678};
    double score = centre[pick(m, array_len(centre))];
    uint64_t bits;
    memcpy(&bits, &score, sizeof(bits));
    bits += pick(m, 5000) << (pick(m, 2) ? 0 : pick(m, 36));
    memcpy(&score, &bits, sizeof(bits));
    return score;
}

static double pickScore(model *m) {
    static const double special[] = {-INFINITY, INFINITY, -0.0, 0.0, 1, -1, 5e-324, -5e-324, 1.7e308, -1.7e308};
    switch (m->kind) {
    case WIDE: return (double)(int64_t)unitRandom(&m->rng) / 1e9;
    case FEW: return (double)pick(m, 20);
    case SAME: return 7;
    case RISING: return pick(m, 10) ? m->next_member : (double)pick(m, m->next_member + 1);
    case FALLING: return pick(m, 10) ? -(double)m->next_member : -(double)pick(m, m->next_member + 1);
    case CLUSTERS: return pickNear(m);
    default: return special[pick(m, array_len(special))];
    }
}

/* Returns the index of an item: the number of lower items. */
static size_t placeOf(model *m, const item *it) {
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compareItems(m->in[middle], it) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void modelPut(model *m, item *it) {
    size_t at = placeOf(m, it);
    memmove(&m->in[at + 1], &m->in[at], (m->n - at) * sizeof(m->in[0]));
    m->in[at] = it;
    m->n++;
}

static void modelTake(model *m, size_t first, size_t n) {
    memmove(&m->in[first], &m->in[first + n], (m->n - first - n) * sizeof(m->in[0]));
    m->n -= n;
}

static void doInsert(model *m) {
    if (m->n == ITEMS_MAX) return;
    item *it = zmalloc(sizeof(*it));
    /* Members are not added in order, and each only once. */
    *it = (item){.score = pickScore(m), .member = m->next_member++ * 2654435761u};
    size_t at = placeOf(m, it);
    if (pick(m, 4) == 0) {
        bool done = scoreTreeAppend(m->t, it);
        CHECK(done == (at == m->n));
        if (!done) scoreTreeInsert(m->t, it);
    } else {
        scoreTreeInsert(m->t, it);
    }
    modelPut(m, it);
}

static void doRemove(model *m) {
    if (m->n == 0) return;
    size_t at = m->kind == RISING ? 0 : pick(m, m->n);
    item *it = m->in[at];
    item stranger = {it->score, it->member + 1}, elsewhere = {pickScore(m), it->member};
    CHECK(scoreTreeRank(m->t, &stranger) == SCORE_TREE_NONE && !scoreTreeRemove(m->t, &stranger));
    CHECK(!scoreTreeUpdate(m->t, &elsewhere, 5) && !scoreTreeEntryMoved(m->t, &stranger, &elsewhere));
    CHECK(scoreTreeRemove(m->t, it));
    CHECK(!scoreTreeRemove(m->t, it));
    modelTake(m, at, 1);
    zfree(it);
}

static void doUpdate(model *m) {
    if (m->n == 0) return;
    size_t at = pick(m, m->n);
    item *it = m->in[at];
    double score = pickScore(m);
    if (pick(m, 3) == 0) { /* near or equal to another item's score */
        size_t other = at + pick(m, 80);
        other = other > 40 ? other - 40 : 0;
        score = m->in[other < m->n ? other : m->n - 1]->score;
    }
    CHECK(scoreTreeUpdate(m->t, it, score) && it->score == score);
    modelTake(m, at, 1);
    modelPut(m, it);
}

typedef struct expectation {
    model *m;
    size_t at;
    bool right;
} expectation;
static void takeExpected(void *arg, void *entry) {
    expectation *e = arg;
    e->right &= e->m->in[e->at++] == entry;
    zfree(entry);
}
static void doRemoveRanks(model *m, size_t most) {
    size_t first = pick(m, m->n + 2), n = 1 + pick(m, most);
    expectation e = {m, first, true};
    size_t want = first >= m->n ? 0 : n < m->n - first ? n : m->n - first;
    CHECK_EQ_INT(scoreTreeRemoveRanks(m->t, first, first + n - 1, takeExpected, &e), want);
    CHECK(e.right && e.at == first + want);
    if (want) modelTake(m, first, want);
}

static void doEntryMoved(model *m) {
    if (m->n == 0) return;
    size_t at = pick(m, m->n);
    item *from = m->in[at], *to = zmalloc(sizeof(*to));
    *to = *from;
    m->in[at] = to;
    zfree(from);
    CHECK(scoreTreeEntryMoved(m->t, from, to));
}

static void *moveBlock(void *block) {
    size_t size = zmallocSize(block);
    void *to = zmalloc(size);
    memcpy(to, block, size);
    zfree(block);
    return to;
}
static void *moveSome(void *block) { return ((uintptr_t)block / 1024) % 3 ? moveBlock(block) : NULL; }
static void doDefrag(model *m) {
    size_t rank = 0, steps = 0;
    do {
        rank = scoreTreeDefragNodes(m->t, rank, pick(m, 2) ? moveBlock : moveSome);
        steps++;
    } while (rank);
    CHECK(steps <= scoreTreeNodes(m->t) + 1);
}

static size_t below(model *m, double score, bool after_equal) {
    size_t n = 0;
    while (n < m->n && (m->in[n]->score < score || (after_equal && m->in[n]->score == score))) n++;
    return n;
}

static void compareBounds(model *m) {
    for (int i = 0; i < 10; i++) {
        double score = m->n && pick(m, 2) ? m->in[pick(m, m->n)]->score : pickScore(m);
        for (int after = 0; after < 2; after++) {
            scoreBound b = {score, after};
            size_t want = below(m, score, after);
            CHECK_EQ_INT(scoreTreeCountBelow(m->t, b), want);
            scoreTreeIter it = scoreTreeSeekRank(m->t, want), back = it;
            CHECK(scoreTreeNext(&it) == (want < m->n ? m->in[want] : NULL));
            CHECK(scoreTreePrev(&back) == (want > 0 ? m->in[want - 1] : NULL));
        }
    }
}

static void compareMemberBounds(model *m) {
    for (int i = 0; i < 10; i++) {
        uint32_t bound = (uint32_t)unitRandom(&m->rng);
        size_t want = 0;
        while (want < m->n && m->in[want]->member < bound) want++;
        CHECK_EQ_INT(scoreTreeCountBefore(m->t, memberBelow, &bound), want);
    }
}

static void compareRanks(model *m) {
    scoreTreeLookup lookups[SCORE_TREE_LOOKUPS_MAX];
    size_t at[SCORE_TREE_LOOKUPS_MAX], n = m->n ? pick(m, SCORE_TREE_LOOKUPS_MAX + 1) : 0;
    item stranger = {pickScore(m), 1};
    scoreTree *empty = scoreTreeCreate(compareMembers);
    for (size_t i = 0; i < n; i++) {
        at[i] = pick(m, m->n);
        lookups[i] = (scoreTreeLookup){.t = m->t, .entry = m->in[at[i]]};
        size_t odd = pick(m, 20);
        if (odd == 0) lookups[i].entry = &stranger;
        if (odd == 1) lookups[i].t = empty;
        if (odd < 2) at[i] = SCORE_TREE_NONE;
    }
    scoreTreeRankMany(lookups, n);
    bool right = true;
    for (size_t i = 0; i < n; i++) right &= lookups[i].rank == at[i];
    CHECK(right);
    scoreTreeFree(empty);
}

/* Walks from a position to both ends. */
static void compareWalk(model *m, size_t from) {
    scoreTreeIter it = scoreTreeSeekRank(m->t, from), back = it;
    size_t at = from < m->n ? from : m->n, i = at;
    bool right = true;
    const void *entry;
    while (right && (entry = scoreTreeNext(&it)) != NULL) {
        right = i < m->n && entry == m->in[i];
        i++;
    }
    CHECK(right && i == m->n && !scoreTreeNext(&it));
    i = at;
    while (right && (entry = scoreTreePrev(&back)) != NULL) {
        right = i > 0 && entry == m->in[i - 1];
        i--;
    }
    CHECK(right && i == 0 && !scoreTreePrev(&back));
    if (m->n) CHECK(scoreTreePrev(&it) == m->in[m->n - 1] && scoreTreeNext(&back) == m->in[0]); /* changes direction */
}

static void modelCheck(model *m) {
    scoreTreeCheck(m->t);
    CHECK_EQ_INT(scoreTreeSize(m->t), m->n);
    CHECK(scoreTreeMemUsage(m->t) >= scoreTreeNodes(m->t) * 1000);
    compareWalk(m, 0);
    compareWalk(m, pick(m, m->n + 2));
    compareBounds(m);
    compareRanks(m);
    if (m->n && m->in[0]->score == m->in[m->n - 1]->score) compareMemberBounds(m);
}

static void modelStep(model *m, bool grow) {
    size_t what = pick(m, 1000);
    if (what < (grow ? 600u : 250u)) {
        doInsert(m);
    } else if (what < 850) {
        doRemove(m);
    } else if (what < 985) {
        doUpdate(m);
    } else if (what < 996) {
        doEntryMoved(m);
    } else {
        doRemoveRanks(m, grow ? 50 : 400);
    }
}

static void modelRun(scoreKind kind, uint64_t salt) {
    model *m = zcalloc(1, sizeof(*m));
    m->kind = kind;
    m->rng = unitRandomSeed() + salt;
    m->t = scoreTreeCreate(compareMembers);
    modelCheck(m);
    for (int phase = 0; phase < 8; phase++) {
        size_t goal = phase % 2 ? pick(m, 30) : phase == 4 ? ITEMS_MAX : 1 + pick(m, 2000);
        for (size_t i = 0; phase % 2 ? m->n > goal : m->n < goal; i++) {
            modelStep(m, phase % 2 == 0);
            if (m->n < 200 || i % 512 == 0) scoreTreeCheck(m->t);
            if (i % 1024 == 0) modelCheck(m);
        }
        modelCheck(m);
        doDefrag(m);
        modelCheck(m);
        if (phase % 3 == 2) m->kind = (scoreKind)((m->kind + 1) % KINDS); /* continue with scores of another kind */
    }
    for (size_t i = 0; i < m->n; i++) zfree(m->in[i]); /* the tree reads no entry when it is freed */
    while (!scoreTreeFreeSome(m->t, 1 + pick(m, 20))) {
    }
    zfree(m);
}

TEST(score_tree_wide_scores) { modelRun(WIDE, 1); }
TEST(score_tree_few_scores) { modelRun(FEW, 2); }
TEST(score_tree_one_score) { modelRun(SAME, 3); }
TEST(score_tree_rising_scores) { modelRun(RISING, 4); }
TEST(score_tree_falling_scores) { modelRun(FALLING, 5); }
TEST(score_tree_special_scores) { modelRun(SPECIAL, 6); }
TEST(score_tree_clusters_of_scores) { modelRun(CLUSTERS, 7); }

/* ---- a million ---- */

enum { MANY = 1000000 };

static void removedItem(void *arg, void *entry) {
    ++*(size_t *)arg;
    ((item *)entry)->score = NAN;
}

static void *freeInThread(void *t) {
    scoreTreeFree(t);
    return NULL;
}

typedef enum { RANDOM_ORDER, ASCENDING, DESCENDING, APPENDED } order;

static scoreTree *makeMany(item *items, order how) {
    scoreTree *t = scoreTreeCreate(compareMembers);
    bool right = true;
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t k = how == RANDOM_ORDER ? (uint32_t)(i * UINT64_C(2654435761) % MANY)
                     : how == DESCENDING ? MANY - 1 - i
                                         : i;
        items[i] = (item){.score = k / 4, .member = k};
        if (how == APPENDED) {
            right &= scoreTreeAppend(t, &items[i]);
        } else {
            scoreTreeInsert(t, &items[i]);
        }
    }
    CHECK(right);
    return t;
}

TEST(score_tree_of_a_million) {
    item *items = zmalloc(MANY * sizeof(*items));
    for (order how = RANDOM_ORDER; how <= APPENDED; how++) {
        scoreTree *t = makeMany(items, how);
        scoreTreeCheck(t);
        CHECK_EQ_INT(scoreTreeSize(t), MANY);
        double bytes = (double)scoreTreeMemUsage(t) / MANY;
        CHECK(bytes < (how == RANDOM_ORDER ? 13.5 : 11));
        bool right = true;
        for (uint32_t i = 0; i < MANY; i += 97) {
            right &= scoreTreeRank(t, &items[i]) == items[i].member;
        }
        CHECK(right);
        size_t gone = 0;
        size_t want = MANY - 2 * (MANY / 10) + 1;
        CHECK_EQ_INT(scoreTreeRemoveRanks(t, MANY / 10, MANY - MANY / 10, removedItem, &gone), want);
        CHECK_EQ_INT(gone, want);
        scoreTreeCheck(t);
        CHECK((double)scoreTreeMemUsage(t) < 40.0 * (double)scoreTreeSize(t));
        pthread_t thread;
        CHECK_EQ_INT(pthread_create(&thread, NULL, freeInThread, t), 0);
        pthread_join(thread, NULL);
    }
    zfree(items);
}

/* Used as a queue, the tree stays small. */
TEST(score_tree_as_a_queue) {
    enum { LONG = 500 };
    item *items = zmalloc(LONG * 100 * sizeof(*items));
    scoreTree *t = scoreTreeCreate(compareMembers);
    for (uint32_t i = 0; i < LONG * 100; i++) {
        items[i] = (item){.score = i, .member = i};
        scoreTreeInsert(t, &items[i]);
        if (i >= LONG) CHECK_EQ_INT(scoreTreeRemoveRanks(t, 0, 0, NULL, NULL), 1);
        if (i % 50 == 0) scoreTreeCheck(t);
    }
    CHECK_EQ_INT(scoreTreeSize(t), LONG);
    CHECK(scoreTreeNodes(t) <= 8);
    CHECK_EQ_INT(scoreTreeRemoveRanks(t, 0, SCORE_TREE_NONE, NULL, NULL), LONG);
    CHECK_EQ_INT(scoreTreeNodes(t), 0);
    scoreTreeCheck(t);
    scoreTreeFree(t);
    zfree(items);
}

/* Freeing in pieces does no more per call than requested, and reports the total effort before. */
TEST(score_tree_is_freed_in_pieces) {
    item *items = zmalloc(MANY * sizeof(*items));
    scoreTree *t = makeMany(items, RANDOM_ORDER);
    size_t effort = scoreTreeNodes(t), calls = 1;
    zfree(items);
    while (!scoreTreeFreeSome(t, 100)) calls++;
    CHECK(calls >= effort / 103 && calls <= effort / 100 + 1);
}
