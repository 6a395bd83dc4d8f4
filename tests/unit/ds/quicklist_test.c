/* quicklist_test.c -- compares quicklists with an array of texts.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "quicklist.h"
#include "unit.h"
#include "zmalloc.h"

/* ---- Model ---- */

enum { MODEL_MAX = 3000, TEXT_MAX = 12000 };

typedef struct model {
    quicklist *q;
    char *text[MODEL_MAX]; /* own */
    size_t len[MODEL_MAX];
    size_t n;
    uint64_t rng;
    bool defragmented; /* all nodes are done: the next piece begins again */
} model;

static size_t pick(model *m, size_t n) { return (size_t)(unitRandom(&m->rng) % n); }

static void modelPut(model *m, size_t at, slice value) {
    memmove(m->text + at + 1, m->text + at, (m->n - at) * sizeof(char *));
    memmove(m->len + at + 1, m->len + at, (m->n - at) * sizeof(size_t));
    m->text[at] = zmalloc(value.len + 1);
    memcpy(m->text[at], value.ptr, value.len);
    m->len[at] = value.len;
    m->n++;
}

static void modelTake(model *m, size_t at, size_t n) {
    for (size_t i = at; i < at + n; i++) zfree(m->text[i]);
    memmove(m->text + at, m->text + at + n, (m->n - at - n) * sizeof(char *));
    memmove(m->len + at, m->len + at + n, (m->n - at - n) * sizeof(size_t));
    m->n -= n;
}

static slice modelAt(const model *m, size_t i) { return sliceOf(m->text[i], m->len[i]); }

/* Returns a number, a short text of a few kinds, or a text at the limits of headers and nodes. */
static slice randomValue(model *m, char *buf) {
    static const size_t lens[] = {0, 1, 5, 47, 63, 64, 126, 127, 128, 4080, 4088, 4089, 4096, 4097, 8184, 8192, 8193};
    size_t kind = pick(m, 20), len;
    if (kind < 8) {
        return sliceOf(buf, ll2string(buf, (int64_t)unitRandom(&m->rng) >> pick(m, 64)));
    } else if (kind < 16) {
        len = 1 + pick(m, 3);
    } else {
        len = lens[pick(m, kind == 16 ? array_len(lens) : 8)];
    }
    memset(buf, (int)('a' + pick(m, 3)), len);
    return sliceOf(buf, len);
}

static bool valueIs(const listpackValue *v, slice want) {
    char digits[LONG_STR_SIZE];
    slice got = v->str ? sliceOf(v->str, v->len) : sliceOf(digits, ll2string(digits, v->num));
    return sliceEq(got, want);
}

static void checkWalk(const model *m, size_t from, bool backward) {
    quicklistIter it;
    listpackValue v;
    size_t at = from, n = 0;
    quicklistIterBegin(&it, m->q, unitRandom(&(uint64_t){m->rng}) % 2 ? (long)from : (long)from - (long)m->n, backward);
    for (; quicklistIterNext(&it, &v); n++, at += backward ? SIZE_MAX : 1)
        if (!CHECK(at < m->n && valueIs(&v, modelAt(m, at)))) break;
    CHECK_EQ_INT(n, m->n ? (backward ? from + 1 : m->n - from) : 0);
    CHECK(!quicklistIterNext(&it, &v));
    quicklistIterEnd(&it);
}

/* Reads runs of random length, with single elements in between. */
static void checkRuns(model *m, size_t from, bool backward) {
    quicklistIter it;
    const uint8_t *lp, *at;
    slice plain;
    size_t number = from, seen = 0;
    quicklistIterBegin(&it, m->q, (long)from, backward);
    for (size_t n; (n = quicklistIterRun(&it, 1 + pick(m, 9), &lp, &at, &plain));) {
        if (!at) CHECK(n == 1 && sliceEq(plain, modelAt(m, number)));
        for (size_t i = 0; i < n; i++, seen++, number += backward ? SIZE_MAX : 1) {
            if (!at) continue;
            if (!CHECK(number < m->n && listpackEquals(at, modelAt(m, number)))) return;
            at = backward ? listpackPrev(lp, at) : listpackNext(at);
            if (i + 1 < n && !CHECK(at != NULL)) return;
        }
        listpackValue v;
        if (pick(m, 3) == 0 && quicklistIterNext(&it, &v)) {
            CHECK(valueIs(&v, modelAt(m, number)));
            seen++;
            number += backward ? SIZE_MAX : 1;
        }
    }
    CHECK_EQ_INT(seen, m->n ? (backward ? from + 1 : m->n - from) : 0);
    quicklistIterEnd(&it);
}

static void modelCheck(model *m) {
    listpackValue v;
    quicklistCheck(m->q);
    CHECK_EQ_INT(quicklistCount(m->q), m->n);
    CHECK(quicklistEnd(m->q, LIST_HEAD, &v) == (m->n > 0) && (m->n == 0 || valueIs(&v, modelAt(m, 0))));
    CHECK(quicklistEnd(m->q, LIST_TAIL, &v) == (m->n > 0) && (m->n == 0 || valueIs(&v, modelAt(m, m->n - 1))));
    size_t from = m->n ? pick(m, m->n) : 0;
    checkWalk(m, 0, false);
    checkWalk(m, from, pick(m, 2));
    checkRuns(m, from, pick(m, 2));
}

static void opPush(model *m, char *buf) {
    listEnd end = pick(m, 2) ? LIST_HEAD : LIST_TAIL;
    for (size_t i = 1 + pick(m, 12); i && m->n < MODEL_MAX; i--) {
        slice value = randomValue(m, buf);
        quicklistPush(m->q, end, value);
        modelPut(m, end == LIST_HEAD ? 0 : m->n, value);
    }
}

static void opDrop(model *m, bool much) {
    listEnd end = pick(m, 2) ? LIST_HEAD : LIST_TAIL;
    size_t n = pick(m, much ? 60 : 4);
    quicklistDrop(m->q, end, n);
    if (n > m->n) n = m->n;
    modelTake(m, end == LIST_HEAD ? 0 : m->n - n, n);
}

static void opPlace(model *m, char *buf) {
    if (m->n == 0 || m->n == MODEL_MAX) return;
    size_t at = pick(m, m->n), where = pick(m, 3);
    slice value = randomValue(m, buf);
    quicklistIter it;
    listpackValue v;
    /* Sometimes in the middle of the walk, not where it began. */
    bool on_the_way = at > 0 && pick(m, 2);
    quicklistIterBegin(&it, m->q, (long)at - on_the_way, false);
    CHECK(quicklistIterNext(&it, &v) && (!on_the_way || quicklistIterNext(&it, &v)));
    quicklistInsert(m->q, &it, (listpackWhere)where, value);
    CHECK(!quicklistIterNext(&it, &v));
    quicklistIterEnd(&it);
    if (where == LISTPACK_REPLACE) modelTake(m, at, 1);
    modelPut(m, at + (where == LISTPACK_AFTER), value);
}

static void opDeleteEqual(model *m) {
    if (m->n == 0) return;
    char buf[TEXT_MAX];
    slice of = modelAt(m, pick(m, m->n)), value = sliceOf(buf, of.len);
    memcpy(buf, of.ptr, of.len);
    size_t max = pick(m, 3) ? 1 + pick(m, 4) : SIZE_MAX, gone = 0;
    bool from_tail = pick(m, 2);
    for (size_t i = 0, n = m->n; i < n && gone < max; i++) {
        size_t at = from_tail ? n - 1 - i : i - gone;
        if (!sliceEq(modelAt(m, at), value)) continue;
        modelTake(m, at, 1);
        gone++;
    }
    CHECK_EQ_INT(quicklistDeleteEqual(m->q, value, from_tail ? LIST_TAIL : LIST_HEAD, max), gone);
}

static void opCopy(model *m) {
    quicklist *copy = quicklistDup(m->q);
    if (!CHECK(copy != NULL)) return;
    quicklistFree(m->q);
    m->q = copy;
}

/* A defragmentation piece in which everything moves. */
static void opDefrag(model *m) {
    zmallocMoveAll(true);
    m->defragmented = quicklistDefrag(m->q, m->defragmented, 1 + pick(m, 4), zmallocMover);
    zmallocMoveAll(false);
}

static void modelRun(int fill, unsigned depth, uint64_t seed) {
    static model m;
    char buf[TEXT_MAX];
    m = (model){.q = quicklistCreate(fill, depth), .rng = seed};
    for (int i = 0; i < 1500; i++) {
        bool shrinks = i / 300 % 2;
        size_t op = pick(&m, 20);
        if (op < (shrinks ? 3 : 9)) opPush(&m, buf);
        else if (op < 13) opDrop(&m, shrinks);
        else if (op < 18) opPlace(&m, buf);
        else if (op < 19) opDeleteEqual(&m);
        else if (i % 8 == 0) opCopy(&m);
        if (pick(&m, 2)) opDefrag(&m);
        if (i % 4 == 0 || i < 50) modelCheck(&m);
    }
    quicklistStats stats;
    quicklistGetStats(m.q, &stats);
    CHECK_EQ_INT(stats.nodes, quicklistNodeCount(m.q));
    CHECK(depth || stats.compressed == 0);
    CHECK(quicklistMemory(m.q, 0) > 0 && quicklistMemory(m.q, 1) > 0);
    quicklistFree(m.q);
    modelTake(&m, 0, m.n);
}

TEST(quicklist_random_operations) {
    static const int fills[] = {-1, -2, -5, 0, 1, 2, 3, 5, 16, 128};
    uint64_t seed = unitRandomSeed();
    for (size_t i = 0; i < array_len(fills); i++)
        for (unsigned depth = 0; depth < 4; depth++) modelRun(fills[i], depth, seed + i * 10 + depth);
}

TEST(quicklist_random_operations_with_small_plain_elements) {
    quicklistSetPlainFrom(3);
    uint64_t seed = unitRandomSeed();
    for (unsigned depth = 0; depth < 3; depth++) {
        modelRun(-2, depth, seed + depth);
        modelRun(4, depth, seed + depth);
    }
    quicklistSetPlainFrom(0);
}

/* ---- Nodes ---- */

TEST(quicklist_bounds_of_a_node) {
    CHECK(quicklistFits(-1, 4096, 1000) && !quicklistFits(-1, 4097, 1));
    CHECK(quicklistFits(-5, 65536, 1) && !quicklistFits(-100, 65537, 1));
    CHECK(quicklistFits(3, 8192, 3) && !quicklistFits(3, 8193, 1) && !quicklistFits(3, 10, 4));
    CHECK(quicklistFits(0, 10, 1) && !quicklistFits(0, 10, 2));
    CHECK(!quicklistIsPlain(-1, 4096) && quicklistIsPlain(-1, 4097));
    CHECK(!quicklistIsPlain(7, 8192) && quicklistIsPlain(7, 8193));
    quicklist *q = quicklistCreate(-100, 0);
    CHECK_EQ_INT(quicklistFill(q), -5);
    quicklistFree(q);
}

TEST(quicklist_becomes_a_listpack_when_little_is_left) {
    for (int kept = 1; kept <= 4; kept++) {
        quicklist *q = quicklistCreate(4, 1);
        for (int i = 0; i < 8; i++) quicklistPush(q, LIST_TAIL, sliceStr("text"));
        CHECK(!quicklistToListpackTake(q, 4, true));
        quicklistDrop(q, LIST_HEAD, (size_t)(8 - kept));
        uint8_t *lp = quicklistToListpackTake(q, 4, true);
        CHECK((lp != NULL) == (kept <= 2));
        if (!lp) lp = quicklistToListpackTake(q, 4, false);
        if (!CHECK(lp != NULL)) continue;
        CHECK_EQ_INT(listpackCount(lp), kept);
        listpackFree(lp);
    }
}

/* A queue takes no more memory than its contents need, however many elements have passed through it. */
TEST(quicklist_as_a_queue_stays_small) {
    for (int turn = 0; turn < 2; turn++) {
        listEnd in = turn ? LIST_HEAD : LIST_TAIL, out = turn ? LIST_TAIL : LIST_HEAD;
        quicklist *q = quicklistCreate(-2, 0);
        for (int i = 0; i < 100000; i++) {
            quicklistPush(q, in, sliceStr("an element"));
            if (i >= 500) quicklistDrop(q, out, 1);
        }
        CHECK_EQ_INT(quicklistCount(q), 500);
        CHECK(quicklistMemory(q, 0) < 40000);
        quicklistDrop(q, out, 490);
        CHECK(quicklistMemory(q, 0) < 3000);
        quicklistFree(q);
    }
}

TEST(quicklist_compresses_all_but_the_ends) {
    quicklist *q = quicklistCreate(-1, 2);
    char text[1000];
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 100; i++) quicklistPush(q, i % 2 ? LIST_TAIL : LIST_HEAD, sliceOf(text, sizeof(text)));
    quicklistStats stats;
    quicklistGetStats(q, &stats);
    CHECK(stats.nodes > 20 && stats.compressed == stats.nodes - 4);
    CHECK(stats.bytes > 100000 && quicklistMemory(q, 0) < 40000);
    quicklistCheck(q);
    quicklistFree(q);
}

/* A listpack from a file is used as it is if it is not larger than this list's nodes may be, and split into nodes
 * otherwise. */
TEST(quicklist_takes_listpacks_of_any_size) {
    char text[3000];
    memset(text, 'x', sizeof(text));
    for (size_t n = 0; n <= 400; n += 100) {
        quicklist *q = quicklistCreate(-1, 1);
        uint8_t *lp = listpackCreate(LISTPACK_BYTES_MIN);
        for (size_t i = 0; i < n; i++) lp = listpackAppend(lp, sliceOf(text, i % 2 ? sizeof(text) : 3));
        CHECK(quicklistAppendListpackTake(q, lp));
        CHECK_EQ_INT(quicklistCount(q), n);
        CHECK(n != 100 || quicklistNodeCount(q) == 1);
        CHECK(n != 400 || quicklistNodeCount(q) > 100);
        quicklistPush(q, LIST_TAIL, sliceStr("one more"));
        quicklistCheck(q);
        quicklistFree(q);
    }
}

TEST(quicklist_without_memory) {
    quicklist *q = quicklistCreate(-1, 0);
    zmallocFailAfter(1);
    CHECK(!quicklistAppendPlain(q, sliceStr("text")));
    zmallocFailAfter(0);
    CHECK(quicklistAppendPlain(q, sliceStr("text")));
    zmallocFailAfter(1);
    CHECK(!quicklistDup(q));
    zmallocFailAfter(0);
    quicklistPart part;
    const quicklistNode *n = quicklistNextPart(q, NULL, &part);
    CHECK(n && part.plain && !part.compressed && sliceEq(part.bytes, sliceStr("text")));
    CHECK(!quicklistNextPart(q, n, &part));
    quicklistFree(q);
}
