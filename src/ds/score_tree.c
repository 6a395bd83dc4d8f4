/* score_tree.c -- the ordered half of a sorted set: entries by score and member, and the rank of each.
 *
 * A skiplist pays a cache miss for each node that it passes. Here a leaf stores the order of two hundred neighbours
 * in one block, so that a search reads a few lines of one leaf and no entry, and the inner nodes above a million
 * entries (two levels, 250 KB) are small enough to stay in the cache.
 *
 *                           inner   [ least score and entry, count, child ] x n
 *                          /     \
 *                   inner           inner          level 1: children are leaves
 *                  /  |  \         /     \
 *               leaf=leaf=leaf = leaf = leaf       level 0: linked both ways
 *                  |
 *                  codes  [ ....... ]   4 bytes each
 *                  entries[ ....... ]   6 bytes each --> entry (score, member), owned by the dict
 *
 * A leaf does not hold scores but codes of half the size that are nearly as precise: score_leaf.c.
 *
 * A node may be full only within a call; then entries go to a neighbour below the same parent if there is space
 * for a few of them; only two full ones are split into three. Leaves are thus 85 % full after random inserts instead of
 * 69 %. A node that overflows at the very end of the tree, because entries come in order, keeps all but one.
 *
 * Not here    the inside of leaves (score_leaf.c); comparing members; ownership of entries; ranges as commands
 *             specify them.
 * Owns        the nodes.
 * Threads     one owner at a time; functions that take a const tree write nothing.
 * Invariants  1. Entries are strictly ascending by score and member along the leaves, in both directions of the links.
 *             2. All leaves are at the same depth. A root that is an inner node has two children at least.
 *             3. least_score[i] and least_entry[i] are those of the first entry below child i, count[i] their number.
 *             4. 1 <= n < nodeMax(), and n >= nodeMin() but for the first and last node of a level.
 *             5. A slot's code is (ordinal of its entry's score >> shift) - start, and fits into 32 bits.
 *             6. leaves, inners, size are the numbers of nodes and entries.
 * Cost        docs/design/score_tree.md
 * Tests       tests/unit/ds/score_tree_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "score_tree_internal.h"

#include "panic.h"
#include "zmalloc.h"
#include <string.h>

enum {
    INNER_MAX = 126,      /* children of an inner node: 4040 bytes, of size class 4096 */
    SHIFT_MIN = 4,        /* a neighbour with less free space counts as full */
    DEPTH_MAX = 16,       /* forty to that power is beyond any memory */
    PREFETCH_ENTRIES = 8, /* how far ahead an iterator prefetches */
};
typedef struct scoreInner {
    uint32_t n;
    double least_score[INNER_MAX];
    void *least_entry[INNER_MAX]; /* borrowed, as in the leaf */
    size_t count[INNER_MAX];
    void *child[INNER_MAX]; /* owns: scoreInner, or scoreLeaf at level 1 */
} scoreInner;

static_assert(sizeof(scoreInner) <= 4096, "nodes fill their size classes");
static_assert(offsetof(scoreLeaf, n) == 0 && offsetof(scoreInner, n) == 0, "both kinds begin alike");

struct scoreTree {
    void *root;     /* owns; NULL: empty */
    uint32_t depth; /* levels of inner nodes */
    scoreTreeCompare *compare;
    scoreLeaf *first, *last;
    size_t size, leaves, inners;
};

/* The path from the root to a slot of a leaf: step[0] is the leaf's parent, step[depth - 1] the root. */
typedef struct scorePath {
    scoreLeaf *leaf;
    uint32_t slot;
    struct {
        scoreInner *node;
        uint32_t at;
    } step[DEPTH_MAX];
} scorePath;

static uint32_t nodeMax(uint32_t level) { return level ? INNER_MAX : LEAF_MAX; }
/* Returns the minimum fill: a node with less is merged with a neighbour, or filled from it. */
static uint32_t nodeMin(uint32_t level) { return nodeMax(level) / 3; }

/* ---- searching within a node ---- */

/* Returns how many of `n` ascending scores are before the bound. */
static uint32_t scoresBelow(const double *score, uint32_t n, scoreBound b) {
    uint32_t low = 0;
    if (n == 0) return 0;
    if (b.after_equal) {
        while (n > 1) {
            uint32_t half = n / 2;
            low += score[low + half - 1] <= b.score ? half : 0;
            n -= half;
        }
        return low + (score[low] <= b.score);
    }
    while (n > 1) {
        uint32_t half = n / 2;
        low += score[low + half - 1] < b.score ? half : 0;
        n -= half;
    }
    return low + (score[low] < b.score);
}

/* Returns the child that contains the key, or in which it would be inserted. */
static uint32_t childOfKey(const scoreTree *t, const scoreInner *node, const scoreKey *key) {
    const double *score = node->least_score;
    uint32_t low = 1 + scoresBelow(score + 1, node->n - 1, (scoreBound){key->score, false}), high = low;
    if (high < node->n && score[high] == key->score) high++;
    if (high < node->n && score[high] == key->score)
        high += scoresBelow(score + high, node->n - high, (scoreBound){key->score, true});
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const void *entry = node->least_entry[middle];
        if (entry == key->address) return middle;
        if (t->compare(entry, key->entry) < 0) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

/* Returns the last child whose first entry is before the bound; the first child if there is none. */
static uint32_t childBefore(const scoreInner *node, scoreTreeBefore *before, const void *arg) {
    uint32_t low = 1, high = node->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (before(node->least_entry[middle], arg)) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

/* Returns the number of entries below the children before child i. */
static size_t countBefore(const scoreInner *node, uint32_t i) {
    size_t sum = 0;
    for (uint32_t k = 0; k < i; k++) sum += node->count[k];
    return sum;
}

/* Prefetches the lines that binary search reads first. */
static void prefetchNode(const void *node, uint32_t level) {
    prefetchRead(node);
    for (size_t quarter = 1; quarter < 4; quarter++) {
        if (level) {
            prefetchRead(&((const scoreInner *)node)->least_score[INNER_MAX / 4 * quarter]);
        } else {
            prefetchRead(&((const scoreLeaf *)node)->code[LEAF_MAX / 4 * quarter]);
        }
    }
}

/* ---- making and freeing ---- */

static uint32_t nodeCount(const void *node) {
    uint32_t n;
    memcpy(&n, node, sizeof(n));
    return n;
}

/* Returns a new leaf after `prev` (NULL: the first). */
static scoreLeaf *leafCreate(scoreTree *t, scoreLeaf *prev) {
    scoreLeaf *leaf = zmalloc(sizeof(*leaf));
    leaf->n = 0;
    leaf->shift = 0;
    leaf->start = 0;
    leaf->prev = prev;
    leaf->next = prev ? prev->next : t->first;
    *(leaf->next ? &leaf->next->prev : &t->last) = leaf;
    *(prev ? &prev->next : &t->first) = leaf;
    t->leaves++;
    return leaf;
}

static scoreInner *innerCreate(scoreTree *t) {
    scoreInner *node = zmalloc(sizeof(*node));
    node->n = 0;
    t->inners++;
    return node;
}

static void nodeFree(scoreTree *t, void *node, uint32_t level) {
    if (level) {
        t->inners--;
        zfreeSized(node, sizeof(scoreInner));
        return;
    }
    scoreLeaf *leaf = node;
    *(leaf->next ? &leaf->next->prev : &t->last) = leaf->prev;
    *(leaf->prev ? &leaf->prev->next : &t->first) = leaf->next;
    t->leaves--;
    zfreeSized(leaf, sizeof(*leaf));
}

scoreTree *scoreTreeCreate(scoreTreeCompare *compare) {
    scoreTree *t = zcalloc(1, sizeof(*t));
    t->compare = compare;
    return t;
}

/* Frees from the end, so that nothing has to be moved; touches only the leaves that it frees. */
bool scoreTreeFreeSome(scoreTree *t, size_t nodes) {
    while (t->root && nodes) {
        scoreInner *way[DEPTH_MAX];
        void *node = t->root;
        for (uint32_t level = t->depth; level > 0; level--) {
            way[level - 1] = node;
            node = way[level - 1]->child[way[level - 1]->n - 1];
        }
        zfreeSized(node, sizeof(scoreLeaf));
        nodes--;
        uint32_t level = 0;
        while (level < t->depth && --way[level]->n == 0) {
            zfreeSized(way[level++], sizeof(scoreInner));
            nodes -= nodes > 0;
        }
        if (level == t->depth) t->root = NULL;
    }
    if (t->root) return false;
    zfree(t);
    return true;
}

void scoreTreeFree(scoreTree *t) {
    if (t) (void)scoreTreeFreeSome(t, SIZE_MAX);
}

size_t scoreTreeSize(const scoreTree *t) { return t->size; }
size_t scoreTreeNodes(const scoreTree *t) { return t->leaves + t->inners; }

size_t scoreTreeMemUsage(const scoreTree *t) {
    return zmallocGoodSize(sizeof(*t)) + t->leaves * zmallocGoodSize(sizeof(scoreLeaf)) +
           t->inners * zmallocGoodSize(sizeof(scoreInner));
}

/* ---- paths ---- */

/* Finds the slot of the key and returns true, or the one at which it would be inserted and returns false. The tree is
 * not empty. */
static bool pathToKey(const scoreTree *t, const scoreKey *key, scorePath *p) {
    void *node = t->root;
    bool found;
    for (uint32_t level = t->depth; level > 0; level--) {
        scoreInner *inner = node;
        uint32_t at = childOfKey(t, inner, key);
        p->step[level - 1].node = inner;
        p->step[level - 1].at = at;
        node = inner->child[at];
        prefetchNode(node, level - 1);
    }
    p->leaf = node;
    p->slot = scoreLeafSlotOfKey(t->compare, p->leaf, 0, p->leaf->n, key, &found);
    return found;
}

/* Finds the slot of that rank, or the one after the last entry if there are not so many. The tree is not empty. */
static void pathToRank(const scoreTree *t, size_t rank, scorePath *p) {
    void *node = t->root;
    for (uint32_t level = t->depth; level > 0; level--) {
        scoreInner *inner = node;
        uint32_t at = 0;
        while (at + 1 < inner->n && rank >= inner->count[at]) rank -= inner->count[at++];
        p->step[level - 1].node = inner;
        p->step[level - 1].at = at;
        node = inner->child[at];
    }
    p->leaf = node;
    p->slot = rank < p->leaf->n ? (uint32_t)rank : p->leaf->n;
}

/* Follows the last child of each node to the end of the last leaf. The tree is not empty. */
static void pathToEnd(const scoreTree *t, scorePath *p) {
    void *node = t->root;
    for (uint32_t level = t->depth; level > 0; level--) {
        scoreInner *inner = node;
        p->step[level - 1].node = inner;
        p->step[level - 1].at = inner->n - 1;
        node = inner->child[inner->n - 1];
    }
    p->leaf = node;
    p->slot = p->leaf->n;
}

/* Returns whether the node of that level on the path is the first or the last of its level. */
static bool isAtEdge(const scoreTree *t, const scorePath *p, uint32_t level) {
    bool first = true, last = true;
    for (; level < t->depth; level++) {
        first &= p->step[level].at == 0;
        last &= p->step[level].at + 1 == p->step[level].node->n;
    }
    return first || last;
}

/* ---- moving entries and children ---- */

static void innerCopy(scoreInner *to, uint32_t at, const scoreInner *from, uint32_t i, uint32_t n) {
    memmove(&to->least_score[at], &from->least_score[i], n * sizeof(to->least_score[0]));
    memmove(&to->least_entry[at], &from->least_entry[i], n * sizeof(to->least_entry[0]));
    memmove(&to->count[at], &from->count[i], n * sizeof(to->count[0]));
    memmove(&to->child[at], &from->child[i], n * sizeof(to->child[0]));
}

static void nodeMove(void *node, uint32_t to, uint32_t from, uint32_t n, uint32_t level) {
    if (level) innerCopy(node, to, node, from, n);
    else scoreLeafMove(node, to, from, n);
}

static void nodeTake(void *to, uint32_t at, const void *from, uint32_t i, uint32_t n, uint32_t level) {
    if (level) innerCopy(to, at, from, i, n);
    else scoreLeafTake(to, at, from, i, n);
}

static void nodePrepare(void *to, const void *from, uint32_t i, uint32_t n, uint32_t level) {
    if (level == 0) scoreLeafPrepare(to, from, i, n);
}

static void nodeTighten(void *node, uint32_t level) {
    if (level == 0) scoreLeafTighten(node);
}

static void nodeSetCount(void *node, uint32_t n) { memcpy(node, &n, sizeof(n)); }

/* Returns the number of entries below the slots i .. i + n - 1 of a node. */
static size_t entriesIn(const void *node, uint32_t i, uint32_t n, uint32_t level) {
    if (level == 0) return n;
    const scoreInner *inner = node;
    size_t sum = 0;
    for (uint32_t k = i; k < i + n; k++) sum += inner->count[k];
    return sum;
}

/* Stores the first entry below child `at` in its parent. */
static void noteLeast(scoreInner *parent, uint32_t at, uint32_t level) {
    if (level) {
        const scoreInner *child = parent->child[at];
        parent->least_score[at] = child->least_score[0];
        parent->least_entry[at] = child->least_entry[0];
    } else {
        const scoreLeaf *leaf = parent->child[at];
        parent->least_entry[at] = scoreLeafEntry(leaf, 0);
        parent->least_score[at] = scoreOf(parent->least_entry[at]);
    }
}

/* Call when the first entry below the node of that level on the path has changed: updates all nodes above that store
 * it. */
static void noteLeastUpward(const scoreTree *t, const scorePath *p, uint32_t level) {
    for (; level < t->depth; level++) {
        noteLeast(p->step[level].node, p->step[level].at, level);
        if (p->step[level].at != 0) break;
    }
}

/* Moves the last `n` slots of child i to the beginning of child i + 1. `level` is the children's. If one of them
 * becomes empty the caller removes it. */
static void shiftRight(scoreInner *parent, uint32_t i, uint32_t n, uint32_t level) {
    void *left = parent->child[i], *right = parent->child[i + 1];
    uint32_t in_left = nodeCount(left), in_right = nodeCount(right);
    if (n == 0) return;
    size_t entries = entriesIn(left, in_left - n, n, level);
    nodePrepare(right, left, in_left - n, n, level);
    nodeMove(right, n, 0, in_right, level);
    nodeTake(right, 0, left, in_left - n, n, level);
    nodeSetCount(left, in_left - n);
    nodeSetCount(right, in_right + n);
    nodeTighten(left, level);
    nodeTighten(right, level);
    parent->count[i] -= entries;
    parent->count[i + 1] += entries;
    noteLeast(parent, i + 1, level);
}

/* Moves the first `n` slots of child i + 1 to the end of child i. */
static void shiftLeft(scoreInner *parent, uint32_t i, uint32_t n, uint32_t level) {
    void *left = parent->child[i], *right = parent->child[i + 1];
    uint32_t in_left = nodeCount(left), in_right = nodeCount(right);
    if (n == 0) return;
    size_t entries = entriesIn(right, 0, n, level);
    nodePrepare(left, right, 0, n, level);
    nodeTake(left, in_left, right, 0, n, level);
    nodeMove(right, 0, n, in_right - n, level);
    nodeSetCount(left, in_left + n);
    nodeSetCount(right, in_right - n);
    nodeTighten(left, level);
    nodeTighten(right, level);
    parent->count[i] += entries;
    parent->count[i + 1] -= entries;
    if (in_right > n) noteLeast(parent, i + 1, level);
}

/* Gives children i and i + 1 the same number of slots. */
static void balance(scoreInner *parent, uint32_t i, uint32_t level) {
    uint32_t left = nodeCount(parent->child[i]), right = nodeCount(parent->child[i + 1]);
    if (left > right) {
        shiftRight(parent, i, (left - right) / 2, level);
    } else {
        shiftLeft(parent, i, (right - left) / 2, level);
    }
}

/* Adds an empty child after child i; its least entry is not set. */
static void addChild(scoreTree *t, scoreInner *parent, uint32_t i, uint32_t level) {
    void *child = level ? (void *)innerCreate(t) : (void *)leafCreate(t, parent->child[i]);
    innerCopy(parent, i + 2, parent, i + 1, parent->n - i - 1);
    parent->child[i + 1] = child;
    parent->count[i + 1] = 0;
    parent->n++;
}

/* Frees child i, which is empty. */
static void dropChild(scoreTree *t, scoreInner *parent, uint32_t i, uint32_t level) {
    nodeFree(t, parent->child[i], level);
    innerCopy(parent, i, parent, i + 1, parent->n - i - 1);
    parent->n--;
}

/* Adds an inner node with one child above the root. */
static void growRoot(scoreTree *t, scorePath *p) {
    scoreInner *root = innerCreate(t);
    serverAssert(t->depth < DEPTH_MAX);
    root->n = 1;
    root->child[0] = t->root;
    root->count[0] = t->size;
    noteLeast(root, 0, t->depth);
    p->step[t->depth].node = root;
    p->step[t->depth].at = 0;
    t->root = root;
    t->depth++;
}

/* ---- balancing ---- */

/* Makes space in the full child i of `parent`: moves entries to a neighbour, or splits nodes. */
static void scoreTreeRelieve(scoreTree *t, scoreInner *parent, uint32_t i, uint32_t level) {
    uint32_t max = nodeMax(level);
    uint32_t left = i > 0 ? nodeCount(parent->child[i - 1]) : max;
    uint32_t right = i + 1 < parent->n ? nodeCount(parent->child[i + 1]) : max;
    if (left <= right && left < max - SHIFT_MIN) {
        balance(parent, i - 1, level);
    } else if (right < max - SHIFT_MIN) {
        balance(parent, i, level);
    } else if (parent->n == 1) {
        addChild(t, parent, i, level);
        shiftRight(parent, i, max / 2, level);
    } else {
        /* Two become three: the new one gets a third of each. */
        uint32_t a = i > 0 ? i - 1 : i;
        uint32_t in_a = nodeCount(parent->child[a]), in_b = nodeCount(parent->child[a + 1]);
        uint32_t third = (in_a + in_b) / 3;
        addChild(t, parent, a, level);
        shiftRight(parent, a, in_a - third, level);
        shiftLeft(parent, a + 1, in_b - third, level);
    }
}

/* Call after an entry was added to the leaf of the path: relieves all nodes that are full now, from the leaf up. */
static void fixOverflow(scoreTree *t, scorePath *p, bool at_end, bool at_begin) {
    void *node = p->leaf;
    for (uint32_t level = 0; nodeCount(node) == nodeMax(level); level++) {
        if (level == t->depth) growRoot(t, p);
        scoreInner *parent = p->step[level].node;
        uint32_t i = p->step[level].at;
        if (at_end || at_begin) {
            addChild(t, parent, i, level);
            shiftRight(parent, i, at_end ? 1 : nodeMax(level) - 1, level);
        } else {
            scoreTreeRelieve(t, parent, i, level);
        }
        node = parent;
    }
}

/* Call if child i of `parent`, which has another child, has too few slots. Returns whether the parent has lost a
 * child. */
static bool scoreTreeRefill(scoreTree *t, scoreInner *parent, uint32_t i, uint32_t level, bool at_edge) {
    uint32_t n = nodeCount(parent->child[i]), max = nodeMax(level);
    uint32_t left = i > 0 ? nodeCount(parent->child[i - 1]) : max;
    uint32_t right = i + 1 < parent->n ? nodeCount(parent->child[i + 1]) : max;
    uint32_t a = left <= right ? i - 1 : i; /* merge or balance a and a + 1 */
    if (n + (left <= right ? left : right) <= max / 4 * 3) {
        shiftLeft(parent, a, nodeCount(parent->child[a + 1]), level);
        dropChild(t, parent, a + 1, level);
        return true;
    }
    if (!at_edge) balance(parent, a, level);
    return false;
}

/* Call after entries were removed from the leaf of the path, when counts and least entries above it are right, except
 * for those of a node that is empty now. Refills all nodes from the leaf up. */
static void fixUnderflow(scoreTree *t, scorePath *p) {
    void *node = p->leaf;
    for (uint32_t level = 0; level < t->depth; level++) {
        scoreInner *parent = p->step[level].node;
        uint32_t i = p->step[level].at, n = nodeCount(node);
        if (n >= nodeMin(level)) return;
        if (n == 0) {
            dropChild(t, parent, i, level);
            if (i == 0 && parent->n) noteLeastUpward(t, p, level + 1);
        } else if (parent->n == 1) {
            return;
        } else {
            if (!scoreTreeRefill(t, parent, i, level, isAtEdge(t, p, level))) return;
        }
        node = parent;
    }
    while (t->depth && nodeCount(t->root) == 1) {
        void *child = ((scoreInner *)t->root)->child[0];
        nodeFree(t, t->root, t->depth);
        t->root = child;
        t->depth--;
    }
    if (nodeCount(t->root) == 0) {
        nodeFree(t, t->root, t->depth);
        t->root = NULL;
        t->depth = 0;
    }
}

/* ---- changes ---- */

/* Returns the code of a score, after extending the range of the leaf's codes if it is outside. */
static uint32_t codeFor(scoreLeaf *leaf, double score) {
    uint64_t ord = scoreOrdinal(score);
    if (unlikely(!scoreLeafReaches(leaf, ord))) scoreLeafWiden(leaf, ord, ord, leaf->shift);
    return scoreLeafCode(leaf, ord);
}

static void insertAt(scoreTree *t, scorePath *p, void *entry) {
    scoreLeaf *leaf = p->leaf;
    bool at_end = p->slot == leaf->n && !leaf->next;
    bool at_begin = p->slot == 0 && !leaf->prev;
    uint32_t code = codeFor(leaf, scoreOf(entry));
    scoreLeafMove(leaf, p->slot + 1, p->slot, leaf->n - p->slot);
    leaf->code[p->slot] = code;
    scoreLeafSetEntry(leaf, p->slot, entry);
    leaf->n++;
    t->size++;
    for (uint32_t level = 0; level < t->depth; level++) p->step[level].node->count[p->step[level].at]++;
    if (p->slot == 0) noteLeastUpward(t, p, 0);
    if (unlikely(leaf->n == LEAF_MAX)) fixOverflow(t, p, at_end, at_begin);
}

static void insertFirst(scoreTree *t, void *entry) {
    scoreLeaf *leaf = leafCreate(t, NULL);
    uint64_t ord = scoreOrdinal(scoreOf(entry));
    scoreLeafWiden(leaf, ord, ord, 0);
    leaf->code[0] = scoreLeafCode(leaf, ord);
    scoreLeafSetEntry(leaf, 0, entry);
    leaf->n = 1;
    t->root = leaf;
    t->size = 1;
}

void scoreTreeInsert(scoreTree *t, void *entry) {
    scoreKey key = {scoreOf(entry), entry, entry};
    scorePath p;
    debugAssert(key.score == key.score);
    if (!t->root) {
        insertFirst(t, entry);
        return;
    }
    bool found = pathToKey(t, &key, &p);
    serverAssert(!found);
    insertAt(t, &p, entry);
}

bool scoreTreeAppend(scoreTree *t, void *entry) {
    scorePath p;
    if (!t->root) {
        insertFirst(t, entry);
        return true;
    }
    if (scoreLeafCompare(t->compare, scoreOf(entry), entry, t->last, t->last->n - 1) <= 0) return false;
    pathToEnd(t, &p);
    insertAt(t, &p, entry);
    return true;
}

/* Removes `n` entries from the leaf of the path, from its slot on. */
static void removeAt(scoreTree *t, scorePath *p, uint32_t n) {
    scoreLeaf *leaf = p->leaf;
    scoreLeafMove(leaf, p->slot, p->slot + n, leaf->n - p->slot - n);
    leaf->n -= n;
    t->size -= n;
    for (uint32_t level = 0; level < t->depth; level++) p->step[level].node->count[p->step[level].at] -= n;
    if (p->slot == 0 && leaf->n) noteLeastUpward(t, p, 0);
    if (unlikely(leaf->n < nodeMin(0))) fixUnderflow(t, p);
}

bool scoreTreeRemove(scoreTree *t, const void *entry) {
    scoreKey key = {scoreOf(entry), entry, entry};
    scorePath p;
    if (!t->root || !pathToKey(t, &key, &p)) return false;
    removeAt(t, &p, 1);
    return true;
}

size_t scoreTreeRemoveRanks(scoreTree *t, size_t first, size_t last, void (*removed)(void *arg, void *entry),
                            void *arg) {
    size_t done = 0;
    if (first >= t->size || last < first) return 0;
    size_t want = (last < t->size ? last : t->size - 1) - first + 1;
    while (done < want) {
        void *entries[LEAF_MAX];
        scorePath p;
        pathToRank(t, first, &p);
        uint32_t n = p.leaf->n - p.slot;
        if (n > want - done) n = (uint32_t)(want - done);
        for (uint32_t i = 0; i < n; i++) entries[i] = scoreLeafEntry(p.leaf, p.slot + i);
        removeAt(t, &p, n);
        done += n;
        if (!removed) continue;
        for (uint32_t i = 0; i < n; i++) {
            if (i + PREFETCH_ENTRIES < n) prefetchRead(entries[i + PREFETCH_ENTRIES]);
            removed(arg, entries[i]);
        }
    }
    return done;
}

/* Returns whether the entry at the path's slot can have that score and stay there. At the ends of a leaf this compares
 * with the neighbouring leaf, which costs no more than removing the entry would. */
static bool fitsInPlace(const scoreTree *t, const scorePath *p, double score, const void *entry) {
    const scoreLeaf *leaf = p->leaf, *next = leaf->next, *prev = leaf->prev;
    if (p->slot > 0) {
        if (scoreLeafCompare(t->compare, score, entry, leaf, p->slot - 1) < 0) return false;
    } else if (prev && scoreLeafCompare(t->compare, score, entry, prev, prev->n - 1) < 0) {
        return false;
    }
    if (p->slot + 1 < leaf->n) return scoreLeafCompare(t->compare, score, entry, leaf, p->slot + 1) < 0;
    return !next || scoreLeafCompare(t->compare, score, entry, next, 0) < 0;
}

static void updateInPlace(const scoreTree *t, const scorePath *p, double score, void *entry) {
    p->leaf->code[p->slot] = codeFor(p->leaf, score);
    scoreSet(entry, score);
    if (p->slot == 0) noteLeastUpward(t, p, 0);
}

/* Moves the entry, which cannot keep its slot, within its leaf. Returns false if it belongs, or may belong, to another
 * leaf. */
static bool updateInLeaf(const scoreTree *t, const scorePath *p, double score, void *entry) {
    scoreLeaf *leaf = p->leaf;
    uint32_t from = p->slot, n = leaf->n, to;
    if (from == 0 || from == n - 1) return false;
    if (scoreLeafCompare(t->compare, score, entry, leaf, 0) < 0 ||
        scoreLeafCompare(t->compare, score, entry, leaf, n - 1) > 0)
        return false;
    scoreKey key = {score, entry, entry};
    bool found;
    if (scoreLeafCompare(t->compare, score, entry, leaf, from - 1) < 0) {
        to = scoreLeafSlotOfKey(t->compare, leaf, 0, from, &key, &found);
        scoreLeafMove(leaf, to + 1, to, from - to);
    } else {
        to = scoreLeafSlotOfKey(t->compare, leaf, from + 1, n, &key, &found) - 1;
        scoreLeafMove(leaf, from, from + 1, to - from);
    }
    leaf->code[to] = scoreLeafCode(leaf, scoreOrdinal(score));
    scoreLeafSetEntry(leaf, to, entry);
    scoreSet(entry, score);
    return true;
}

bool scoreTreeUpdate(scoreTree *t, void *entry, double score) {
    scoreKey key = {scoreOf(entry), entry, entry};
    scorePath p;
    debugAssert(score == score);
    if (!t->root || !pathToKey(t, &key, &p)) return false;
    if (fitsInPlace(t, &p, score, entry)) {
        updateInPlace(t, &p, score, entry);
    } else if (!updateInLeaf(t, &p, score, entry)) {
        removeAt(t, &p, 1);
        scoreSet(entry, score);
        scoreTreeInsert(t, entry);
    }
    return true;
}

/* ---- ranks and bounds ---- */

size_t scoreTreeRank(const scoreTree *t, const void *entry) {
    scoreTreeLookup lookup = {.t = t, .entry = entry};
    scoreTreeRankMany(&lookup, 1);
    return lookup.rank;
}

/* Descends one level; returns true when the lookup has ended. */
static bool stepLookup(scoreTreeLookup *l) {
    scoreKey key = {scoreOf(l->entry), l->entry, l->entry};
    bool found;
    if (l->level) {
        const scoreInner *inner = l->node;
        uint32_t at = childOfKey(l->t, inner, &key);
        l->rank += countBefore(inner, at);
        l->node = inner->child[at];
        l->level--;
        prefetchNode(l->node, l->level);
        return false;
    }
    const scoreLeaf *leaf = l->node;
    l->rank += scoreLeafSlotOfKey(l->t->compare, leaf, 0, leaf->n, &key, &found);
    if (!found) l->rank = SCORE_TREE_NONE;
    return true;
}

void scoreTreeRankMany(scoreTreeLookup *lookups, size_t n) {
    uint8_t active[SCORE_TREE_LOOKUPS_MAX];
    size_t count = 0;
    serverAssert(n <= SCORE_TREE_LOOKUPS_MAX);
    for (size_t i = 0; i < n; i++) {
        scoreTreeLookup *l = &lookups[i];
        l->rank = l->t->root ? 0 : SCORE_TREE_NONE;
        l->node = l->t->root;
        l->level = l->t->depth;
        if (!l->node) continue;
        if (n > 1) {
            prefetchRead(l->entry);
            prefetchNode(l->node, l->level);
        }
        active[count++] = (uint8_t)i;
    }
    while (count) {
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            active[kept] = active[i];
            kept += !stepLookup(&lookups[active[i]]);
        }
        count = kept;
    }
}

/* Returns the number of entries before a bound, which is a score or, with `before`, what the callback defines. */
static size_t countBeforeBound(const scoreTree *t, scoreBound bound, scoreTreeBefore *before, const void *arg) {
    const void *node = t->root;
    size_t sum = 0;
    if (!node) return 0;
    for (uint32_t level = t->depth; level > 0; level--) {
        const scoreInner *inner = node;
        uint32_t at = before ? childBefore(inner, before, arg)
                             : scoresBelow(inner->least_score + 1, inner->n - 1, bound);
        sum += countBefore(inner, at);
        node = inner->child[at];
        prefetchNode(node, level - 1);
    }
    const scoreLeaf *leaf = node;
    return sum + (before ? scoreLeafSlotBefore(leaf, before, arg) : scoreLeafSlotOfBound(leaf, bound));
}

size_t scoreTreeCountBelow(const scoreTree *t, scoreBound bound) { return countBeforeBound(t, bound, NULL, NULL); }

size_t scoreTreeCountBefore(const scoreTree *t, scoreTreeBefore *before, const void *arg) {
    return countBeforeBound(t, (scoreBound){0, false}, before, arg);
}

scoreTreeIter scoreTreeSeekRank(const scoreTree *t, size_t rank) {
    scorePath p;
    if (!t->root) return (scoreTreeIter){NULL, 0};
    pathToRank(t, rank, &p);
    return (scoreTreeIter){p.leaf, p.slot};
}

/* ---- iterating ---- */

/* Prefetches what must be read of a leaf before its entries can be prefetched. */
static void prefetchSlots(const scoreLeaf *leaf, bool from_end) {
    if (!leaf) return;
    prefetchRead(leaf);
    prefetchRead(&leaf->entry[from_end ? LEAF_MAX / 5 * 4 : 0]);
}

void *scoreTreeNext(scoreTreeIter *it) {
    const scoreLeaf *leaf = it->leaf;
    if (!leaf) return NULL;
    if (it->slot == leaf->n) {
        if (!leaf->next) return NULL;
        leaf = leaf->next;
        it->leaf = leaf;
        it->slot = 0;
    }
    uint32_t slot = it->slot++;
    uint32_t ahead = slot + PREFETCH_ENTRIES;
    if (likely(ahead < leaf->n)) {
        prefetchRead(scoreLeafEntry(leaf, ahead));
        if (unlikely(ahead + PREFETCH_ENTRIES == leaf->n)) prefetchSlots(leaf->next, false);
    } else if (leaf->next && ahead - leaf->n < leaf->next->n) {
        prefetchRead(scoreLeafEntry(leaf->next, ahead - leaf->n));
    }
    return scoreLeafEntry(leaf, slot);
}

void *scoreTreePrev(scoreTreeIter *it) {
    const scoreLeaf *leaf = it->leaf;
    if (!leaf) return NULL;
    if (it->slot == 0) {
        if (!leaf->prev) return NULL;
        leaf = leaf->prev;
        it->leaf = leaf;
        it->slot = leaf->n;
    }
    uint32_t slot = --it->slot;
    if (likely(slot >= PREFETCH_ENTRIES)) {
        prefetchRead(scoreLeafEntry(leaf, slot - PREFETCH_ENTRIES));
        if (unlikely(slot == 2 * PREFETCH_ENTRIES)) prefetchSlots(leaf->prev, true);
    } else if (leaf->prev && leaf->prev->n + slot >= PREFETCH_ENTRIES) {
        prefetchRead(scoreLeafEntry(leaf->prev, leaf->prev->n + slot - PREFETCH_ENTRIES));
    }
    return scoreLeafEntry(leaf, slot);
}

/* ---- defragmentation ---- */

bool scoreTreeEntryMoved(scoreTree *t, const void *from, void *to) {
    scoreKey key = {scoreOf(to), to, from};
    scorePath p;
    if (!t->root || !pathToKey(t, &key, &p)) return false;
    scoreLeafSetEntry(p.leaf, p.slot, to);
    if (p.slot == 0) noteLeastUpward(t, &p, 0);
    return true;
}

size_t scoreTreeDefragNodes(scoreTree *t, size_t rank, blockMover *move) {
    scorePath p;
    void *moved;
    if (!t->root || rank >= t->size) return 0;
    pathToRank(t, rank, &p);
    size_t next = rank - p.slot + p.leaf->n;
    if ((moved = move(p.leaf)) != NULL) {
        scoreLeaf *leaf = moved;
        *(leaf->next ? &leaf->next->prev : &t->last) = leaf;
        *(leaf->prev ? &leaf->prev->next : &t->first) = leaf;
        *(t->depth ? &p.step[0].node->child[p.step[0].at] : &t->root) = moved;
    }
    for (uint32_t level = 0; level < t->depth && p.step[level].at == 0; level++) {
        bool is_root = level + 1 == t->depth;
        if ((moved = move(p.step[level].node)) == NULL) continue;
        p.step[level].node = moved;
        *(is_root ? &t->root : &p.step[level + 1].node->child[p.step[level + 1].at]) = moved;
    }
    return next < t->size ? next : 0;
}

/* ---- checking ---- */

typedef struct scoreCheck {
    const scoreTree *t;
    const scoreLeaf *leaf; /* the last one visited */
    size_t leaves, inners;
} scoreCheck;

static void checkLeaf(scoreCheck *c, const scoreLeaf *leaf) {
    serverAssert(leaf->prev == c->leaf);
    serverAssert(c->leaf ? c->leaf->next == leaf : c->t->first == leaf);
    const void *before = leaf->prev ? scoreLeafEntry(leaf->prev, leaf->prev->n - 1) : NULL;
    for (uint32_t i = 0; i < leaf->n; i++) {
        const void *entry = scoreLeafEntry(leaf, i);
        uint64_t ord = scoreOrdinal(scoreOf(entry));
        serverAssert(scoreLeafReaches(leaf, ord) && leaf->code[i] == scoreLeafCode(leaf, ord));
        serverAssert(!before || scoreOf(before) < scoreOf(entry) ||
                     (scoreOf(before) == scoreOf(entry) && c->t->compare(before, entry) < 0));
        before = entry;
    }
    c->leaf = leaf;
    c->leaves++;
}

/* Returns the number of entries below the node. */
static size_t checkNode(scoreCheck *c, const void *node, uint32_t level, bool first, bool last) {
    uint32_t n = nodeCount(node);
    size_t sum = 0;
    serverAssert(n >= 1 && n < nodeMax(level));
    serverAssert(first || last || n >= nodeMin(level));
    if (level == 0) {
        checkLeaf(c, node);
        return n;
    }
    const scoreInner *inner = node;
    c->inners++;
    for (uint32_t i = 0; i < n; i++) {
        size_t count = checkNode(c, inner->child[i], level - 1, first && i == 0, last && i == n - 1);
        serverAssert(count == inner->count[i]);
        const scoreInner *below = level > 1 ? inner->child[i] : NULL;
        const scoreLeaf *leaf = level > 1 ? NULL : inner->child[i];
        serverAssert(inner->least_entry[i] == (below ? below->least_entry[0] : scoreLeafEntry(leaf, 0)));
        serverAssert(inner->least_score[i] == scoreOf(inner->least_entry[i]));
        sum += count;
    }
    return sum;
}

void scoreTreeCheck(const scoreTree *t) {
    scoreCheck c = {.t = t};
    if (t->root) {
        serverAssert(t->size > 0 && t->depth <= DEPTH_MAX);
        serverAssert(t->depth == 0 || nodeCount(t->root) >= 2);
        serverAssert(checkNode(&c, t->root, t->depth, true, true) == t->size);
    } else {
        serverAssert(t->size == 0 && t->depth == 0);
    }
    serverAssert(t->last == c.leaf && (c.leaf ? c.leaf->next == NULL : t->first == NULL));
    serverAssert(t->leaves == c.leaves && t->inners == c.inners);
}
