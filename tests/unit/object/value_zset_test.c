/* value_zset_test.c -- compares sorted sets with a naive model, on both sides of each threshold; RDB round trips.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "defrag_support.h"
#include "digest.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "unit.h"
#include "value_zset_internal.h"
#include "zmalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Fixtures ---- */

static void limits(long long entries, long long value) {
    objectTypesRegister();
    object_settings.zset_max_listpack_entries = entries;
    object_settings.zset_max_listpack_value = value;
}

static robj *emptySet(void) { return zsetCreate(sliceStr("key"), 1, 1); }

static zsetAddResult add(robj *o, const char *member, double score, int flags, double *result) {
    slice name = sliceStr(member);
    double unused_result;
    return zsetAdd(o, name, zsetHash(name), score, flags, result ? result : &unused_result);
}

static void checkSet(const robj *o) { zset_type_ops.check(objectStructure(o), o->encoding); }

/* Checks all members, given as "a=1 b=2.5 ...". */
static void checkMembers(const robj *o, const char *want) {
    char got[4096] = "", digits[DOUBLE_STR_SIZE];
    size_t at = 0;
    zsetIter it = zsetIterAt(o, 0, false);
    for (zsetElement e; zsetIterNext(&it, &e);) {
        d2string(digits, sizeof(digits), e.score);
        at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%.*s=%s", at ? " " : "", (int)e.member.len, e.member.ptr,
                               digits);
    }
    CHECK_EQ_STR(got, want);
}

/* ---- The model ---- */

enum { MODEL_MAX = 400, NAME_MAX_LEN = 80 };

typedef struct modelMember {
    char name[NAME_MAX_LEN + 1];
    size_t len;
    double score;
} modelMember;

typedef struct model {
    modelMember members[MODEL_MAX];
    size_t n;
} model;

static slice nameOf(const modelMember *m) { return sliceOf(m->name, m->len); }

static int orderOf(const void *pa, const void *pb) {
    const modelMember *a = pa, *b = pb;
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    return sliceCmp(nameOf(a), nameOf(b));
}

static modelMember *modelFind(model *m, slice name) {
    for (size_t i = 0; i < m->n; i++)
        if (sliceEq(nameOf(&m->members[i]), name)) return &m->members[i];
    return NULL;
}

static void modelSort(model *m) { qsort(m->members, m->n, sizeof(m->members[0]), orderOf); }

static void checkAgainst(const robj *o, model *m) {
    modelSort(m);
    CHECK_EQ_INT(zsetCount(o), m->n);
    for (int backward = 0; backward < 2; backward++) {
        zsetIter it = zsetIterAt(o, backward ? m->n - 1 : 0, backward);
        zsetElement e;
        size_t i = 0;
        for (; zsetIterNext(&it, &e) && i < m->n; i++) {
            const modelMember *want = &m->members[backward ? m->n - 1 - i : i];
            if (!CHECK(sliceEq(e.member, nameOf(want))) || !CHECK_EQ_DOUBLE(e.score, want->score)) return;
        }
        CHECK_EQ_INT(i, m->n);
    }
    for (size_t i = 0; i < m->n; i++) {
        slice name = nameOf(&m->members[i]);
        double score = -1;
        CHECK_EQ_INT(zsetRank(o, name, zsetHash(name), false, &score), i);
        CHECK_EQ_DOUBLE(score, m->members[i].score);
        CHECK_EQ_INT(zsetRank(o, name, zsetHash(name), true, &score), m->n - 1 - i);
    }
}

/* Returns a score of one of many kinds, often equal to others. */
static double randomScore(uint64_t *rng) {
    static const double special[] = {0,    -0.0, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, 4611686018427387904.0,
                                     5e18, -5e18};
    switch (unitRandom(rng) % 6) {
    case 0: return (double)(int64_t)(unitRandom(rng) % 7) - 3;
    case 1: return (double)(int64_t)unitRandom(rng) / 1024.0;
    case 2: return special[unitRandom(rng) % array_len(special)];
    case 3: return (double)(unitRandom(rng) % 1000) / 8;
    default: return (double)(unitRandom(rng) % 100);
    }
}

/* Makes one of a few names: words, numbers, long ones. */
static void randomName(uint64_t *rng, modelMember *m, size_t kinds) {
    size_t k = unitRandom(rng) % kinds;
    if (k % 3 == 0) m->len = (size_t)snprintf(m->name, sizeof(m->name), "%d", (int)k * 37 - 100);
    else m->len = (size_t)snprintf(m->name, sizeof(m->name), "m%zu", k);
    if (k % 11 == 10) {
        memset(m->name + m->len, 'x', NAME_MAX_LEN - m->len);
        m->len = NAME_MAX_LEN;
    }
}

static void checkRanges(const robj *o, const model *m, uint64_t *rng) {
    zsetScoreRange range = {randomScore(rng), randomScore(rng), unitRandom(rng) % 2, unitRandom(rng) % 2};
    size_t first = 0, end = 0;
    for (size_t i = 0; i < m->n; i++) {
        double s = m->members[i].score;
        first += s < range.min || (range.min_open && s == range.min);
        end += s < range.max || (!range.max_open && s == range.max);
    }
    zsetRanks ranks = zsetRanksByScore(o, &range);
    CHECK_EQ_INT(ranks.count, end > first ? end - first : 0);
    if (ranks.count) CHECK_EQ_INT(ranks.first, first);
}

/* Checks the counts below several ascending bounds. */
static void checkCounts(const robj *o, const model *m, uint64_t *rng) {
    scoreBound bounds[6];
    size_t n = unitRandom(rng) % (array_len(bounds) + 1), counts[array_len(bounds)];
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        scoreBound b = {randomScore(rng), unitRandom(rng) % 2};
        for (; at > 0 && (bounds[at - 1].score > b.score ||
                          (bounds[at - 1].score == b.score && bounds[at - 1].after_equal && !b.after_equal));
             at--)
            bounds[at] = bounds[at - 1];
        bounds[at] = b;
    }
    zsetCountBelow(o, bounds, n, counts);
    for (size_t i = 0; i < n; i++) {
        size_t want = 0;
        for (size_t j = 0; j < m->n; j++) {
            double s = m->members[j].score;
            want += s < bounds[i].score || (bounds[i].after_equal && s == bounds[i].score);
        }
        CHECK_EQ_INT(counts[i], want);
    }
}

static void modelRemove(model *m, size_t first, size_t count) {
    memmove(&m->members[first], &m->members[first + count], (m->n - first - count) * sizeof(m->members[0]));
    m->n -= count;
}

static void modelAdd(robj *o, model *m, uint64_t *rng, size_t kinds) {
    modelMember fresh;
    double result = 0, score = randomScore(rng);
    randomName(rng, &fresh, kinds);
    int flags = unitRandom(rng) % 3 ? 0 : (int)(unitRandom(rng) % 32);
    modelMember *there = modelFind(m, nameOf(&fresh));
    zsetAddResult want = ZSET_ADDED;
    double wanted = score;
    if (there) {
        wanted = flags & ZSET_INCR ? score + there->score : score;
        if (flags & ZSET_NX) want = ZSET_REFUSED;
        else if (isnan(wanted)) want = ZSET_NAN;
        else if (((flags & ZSET_GT) && wanted <= there->score) || ((flags & ZSET_LT) && wanted >= there->score))
            want = ZSET_REFUSED;
        else want = wanted == there->score ? ZSET_SAME : ZSET_UPDATED;
    } else if (flags & ZSET_XX) {
        want = ZSET_REFUSED;
    }
    CHECK_EQ_INT(zsetAdd(o, nameOf(&fresh), zsetHash(nameOf(&fresh)), score, flags, &result), want);
    if (want == ZSET_REFUSED || want == ZSET_NAN) return;
    CHECK_EQ_DOUBLE(result, wanted);
    if (want == ZSET_SAME) return;
    if (!there) {
        there = &m->members[m->n++];
        *there = fresh;
    }
    there->score = wanted;
}

static void runModel(uint64_t *rng, long long entries, long long value, size_t kinds, int steps) {
    static model m;
    limits(entries, value);
    m.n = 0;
    robj *o = emptySet();
    defragCursor cursor = {0};
    for (int step = 0; step < steps; step++) {
        unsigned action = (unsigned)(unitRandom(rng) % 10);
        if (action < 7 || m.n == 0) {
            modelAdd(o, &m, rng, kinds);
        } else if (action < 9) {
            modelMember name;
            randomName(rng, &name, kinds);
            modelMember *there = modelFind(&m, nameOf(&name));
            CHECK_EQ_INT(zsetRemove(o, nameOf(&name), zsetHash(nameOf(&name))), there != NULL);
            if (there) modelRemove(&m, (size_t)(there - m.members), 1);
        } else {
            modelSort(&m);
            size_t first = unitRandom(rng) % m.n, count = 1 + unitRandom(rng) % (m.n - first);
            if (unitRandom(rng) % 2 && count > 3) count = 3;
            zsetRemoveRanks(o, (zsetRanks){first, count});
            modelRemove(&m, first, count);
        }
        if (step % 2) defragPiece(o, &cursor, rng);
        if (step % 7) continue;
        if (m.n) checkSet(o);
        checkAgainst(o, &m);
        checkRanges(o, &m, rng);
        checkCounts(o, &m, rng);
    }
    if ((long long)m.n > entries) CHECK_EQ_INT(o->encoding, OBJ_ENC_SKIPLIST);
    decrRefCount(o);
}

TEST(zset_does_what_a_model_does) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 6; round++) {
        runModel(&rng, 1000, 1000, 40, 300);
        runModel(&rng, 8, 1000, 20, 300);
        runModel(&rng, 1000, 64, 60, 300);
        runModel(&rng, 0, 64, 300, 600);
        runModel(&rng, 128, 64, 350, 900);
    }
}

TEST(zset_changes_its_encoding_at_the_bounds) {
    limits(3, 4);
    robj *o = emptySet();
    add(o, "a", 1, 0, NULL), add(o, "b", 2, 0, NULL), add(o, "abcd", 3, 0, NULL);
    CHECK_EQ_INT(o->encoding, OBJ_ENC_LISTPACK);
    add(o, "a", 7, 0, NULL);
    CHECK_EQ_INT(o->encoding, OBJ_ENC_LISTPACK);
    add(o, "d", 1, 0, NULL);
    CHECK_EQ_INT(o->encoding, OBJ_ENC_SKIPLIST);
    checkMembers(o, "d=1 b=2 abcd=3 a=7");
    CHECK(zsetRemove(o, sliceStr("d"), zsetHash(sliceStr("d"))));
    CHECK_EQ_INT(o->encoding, OBJ_ENC_SKIPLIST);
    decrRefCount(o);
    o = emptySet();
    add(o, "abcde", 1, 0, NULL);
    CHECK_EQ_INT(o->encoding, OBJ_ENC_SKIPLIST);
    decrRefCount(o);
    o = emptySet();
    add(o, "a", 1, 0, NULL);
    zsetExpect(o, 3, 4);
    CHECK_EQ_INT(o->encoding, OBJ_ENC_LISTPACK);
    zsetExpect(o, 3, 5);
    CHECK_EQ_INT(o->encoding, OBJ_ENC_SKIPLIST);
    decrRefCount(o);
    CHECK_EQ_INT((o = zsetCreate(sliceStr("k"), 4, 1))->encoding, OBJ_ENC_SKIPLIST);
    decrRefCount(o);
}

TEST(zset_holds_members_of_any_length) {
    limits(0, 0);
    static const size_t lengths[] = {0, 1, 23, 24, 253, 254, 255, 256, 65535, 65536, 70000};
    robj *o = emptySet();
    char *bytes = zcalloc(1, 70000);
    double score = 0;
    for (size_t i = 0; i < array_len(lengths); i++) {
        slice member = sliceOf(bytes, lengths[i]);
        CHECK_EQ_INT(zsetAdd(o, member, zsetHash(member), (double)i, 0, &score), ZSET_ADDED);
    }
    checkSet(o);
    for (size_t i = 0; i < array_len(lengths); i++) {
        slice member = sliceOf(bytes, lengths[i]);
        CHECK(zsetScore(o, member, zsetHash(member), &score) && score == (double)i);
    }
    decrRefCount(o);
    zfree(bytes);
}

TEST(zset_ranges_of_members) {
    for (int entries = 0; entries <= 128; entries += 128) {
        limits(entries, 64);
        robj *o = emptySet();
        for (char name[2] = "a"; name[0] <= 'f'; name[0]++) add(o, name, 0, 0, NULL);
        static const struct {
            zsetLexEnd min, max;
            size_t first, count;
        } cases[] = {
            {{ZSET_LEX_LOWEST, false, {"", 0}}, {ZSET_LEX_HIGHEST, false, {"", 0}}, 0, 6},
            {{ZSET_LEX_MEMBER, false, {"b", 1}}, {ZSET_LEX_MEMBER, false, {"d", 1}}, 1, 3},
            {{ZSET_LEX_MEMBER, true, {"b", 1}}, {ZSET_LEX_MEMBER, true, {"d", 1}}, 2, 1},
            {{ZSET_LEX_MEMBER, true, {"bb", 2}}, {ZSET_LEX_HIGHEST, true, {"", 0}}, 2, 4},
            {{ZSET_LEX_HIGHEST, false, {"", 0}}, {ZSET_LEX_LOWEST, false, {"", 0}}, 0, 0},
            {{ZSET_LEX_MEMBER, false, {"d", 1}}, {ZSET_LEX_MEMBER, false, {"b", 1}}, 0, 0},
        };
        for (size_t i = 0; i < array_len(cases); i++) {
            zsetLexRange range = {cases[i].min, cases[i].max};
            zsetRanks ranks = zsetRanksByLex(o, &range);
            CHECK_EQ_INT(ranks.count, cases[i].count);
            if (ranks.count) CHECK_EQ_INT(ranks.first, cases[i].first);
        }
        decrRefCount(o);
    }
}

/* ---- Copies, memory, digest ---- */

static robj *sample(size_t members) {
    robj *o = emptySet();
    for (size_t i = 0; i < members; i++) {
        char name[32];
        snprintf(name, sizeof(name), i % 2 ? "member:%zu" : "%zu", i);
        add(o, name, (double)(i * 7919 % 1000) / 4, 0, NULL);
    }
    return o;
}

static bool sameSet(const robj *a, const robj *b) {
    zsetIter x = zsetIterAt(a, 0, false), y = zsetIterAt(b, 0, false);
    zsetElement ex, ey;
    if (zsetCount(a) != zsetCount(b)) return false;
    while (zsetIterNext(&x, &ex))
        if (!zsetIterNext(&y, &ey) || !sliceEq(ex.member, ey.member) || ex.score != ey.score) return false;
    return true;
}

TEST(zset_defragmentation_meets_members_and_nodes) {
    limits(128, 64);
    robj *o = sample(3000);
    CHECK(defragWhole(o) >= (long long)(3000 + scoreTreeNodes(((zsetTree *)objectStructure(o))->scores)));
    checkSet(o);
    decrRefCount(o);
}

TEST(zset_copies_are_deep_and_alike) {
    for (size_t members = 5; members < 1000; members += 900) {
        limits(128, 64);
        size_t used = zmallocUsed();
        robj *o = sample(members);
        size_t bytes = zmallocUsed() - used, told = objectMemUsage(o, 0);
        CHECK(told <= bytes && told >= bytes - bytes / 20); /* blocks may be larger than requested */
        robj *copy = objectDup(o, sliceStr("copy"));
        checkSet(copy);
        CHECK_EQ_INT(copy->encoding, o->encoding);
        CHECK(sameSet(o, copy));
        digest a = {{0}}, b = {{0}};
        digestMixValue(&a, o), digestMixValue(&b, copy);
        CHECK_MEM(a.bytes, b.bytes, DIGEST_BYTES);
        add(copy, "other", 1, 0, NULL);
        CHECK_EQ_INT(zsetCount(o), members);
        CHECK(objectMemUsage(o, 5) > members * 4);
        CHECK_EQ_INT(objectFreeEffort(o) > members, members > 128);
        CHECK_EQ_INT(objectElements(o) != NULL, members > 128);
        decrRefCount(o);
        decrRefCount(copy);
    }
}

TEST(zset_builder_sorts_and_chooses_the_encoding) {
    uint64_t rng = unitRandomSeed();
    for (int order = 0; order < 4; order++) {
        for (size_t n = 1; n < 3000; n = n * 3 + 1) {
            limits(order % 2 ? 0 : 128, 64);
            zsetBuilder b;
            zsetBuildBegin(&b, n / 2);
            for (size_t i = 0; i < n; i++) {
                char name[32];
                bool is_new;
                snprintf(name, sizeof(name), "%zu", i);
                double score = order == 0   ? (double)i
                               : order == 1 ? -(double)i
                               : n > 500    ? randomScore(&rng)
                                            : (double)(unitRandom(&rng) % 50);
                if (order < 3) {
                    zsetBuildAdd(&b, sliceStr(name), score);
                    continue;
                }
                for (int twice = 0; twice < 2; twice++) {
                    double *place = zsetBuildScore(&b, sliceStr(name), zsetHash(sliceStr(name)), &is_new);
                    CHECK_EQ_INT(is_new, !twice);
                    *place += score;
                }
            }
            robj *o = zsetBuildObject(&b, sliceStr("k"));
            checkSet(o);
            CHECK_EQ_INT(zsetCount(o), n);
            CHECK_EQ_INT(o->encoding, order % 2 || n > 128 ? OBJ_ENC_SKIPLIST : OBJ_ENC_LISTPACK);
            zsetIter it = zsetIterAt(o, 0, false);
            double last = -INFINITY;
            for (zsetElement e; zsetIterNext(&it, &e); last = e.score) CHECK(e.score >= last);
            decrRefCount(o);
        }
    }
    zsetBuilder b;
    zsetBuildBegin(&b, 1);
    zsetBuildAdd(&b, sliceStr("a"), 1);
    zsetBuildDrop(&b);
}

/* ---- RDB ---- */

static size_t fromHex(const char *hex, char *out) {
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) sscanf(hex + 2 * i, "%2hhx", (unsigned char *)&out[i]);
    return n;
}

/* Reads from a block of exactly the right size, so that a sanitizer detects any read past the end. */
static robj *readBytes(const char *bytes, size_t len) {
    char *copy = zmalloc(len ? len : 1);
    if (len) memcpy(copy, bytes, len);
    rdbReader r = {copy, copy + len};
    robj *o = rdbReadValue(&r, sliceStr("k"), false);
    zfree(copy);
    return o;
}

static const struct {
    const char *hex, *members, *written; /* members: NULL if rejected; written: NULL if equal to `hex` */
    int encoding;
} vectors[] = {
    /* zset-lp-ints */
    {"111e1e0000000800816302dffd02816102010181620202011101f2a0860104ff", "c=-3 a=1 b=2 17=100000", NULL,
     OBJ_ENC_LISTPACK},
    /* zset-lp-doubles */
    {"114049490000000e00816302842d696e66058167028431652d370581620283302e310481610283312e35048166"
     "02f400002cf61a24a229098165028631652b3330300781640283696e6604ff",
     "c=-inf g=1e-7 b=0.1 a=1.5 f=3000000000000000000 e=1e+300 d=inf", NULL, OBJ_ENC_LISTPACK},
    /* zset-sl-1 */
    {"050140416d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d"
     "6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d0000000000000440",
     "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm=2.5",
     "0501c3094041016d6de03400016d6d0000000000000440", OBJ_ENC_SKIPLIST},
    /* zset-geo */
    {"111a1a00000002008750616c65726d6f08f42a7a0715395c0c0009ff", "Palermo=3479099956230698", NULL, OBJ_ENC_LISTPACK},
    /* r8-zset-lp */
    {"1114140000000400816102010181620283322e3504ff", "a=1 b=2.5", NULL, OBJ_ENC_LISTPACK},
    /* r8-zset-sl */
    {"0501c3094041016d6de03400016d6d0000000000000440",
     "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm=2.5", NULL, OBJ_ENC_SKIPLIST},
    /* legacy-zset-3 */
    {"030401610131016204322e32350170fe016dff", "m=-inf a=1 b=2.25 p=inf",
     "1126260000000800816d02842d696e6605816102010181620284322e32350581700283696e6604ff", OBJ_ENC_LISTPACK},
    /* zset-type5-small */
    {"0502016200000000000000400161000000000000f03f", "a=1 b=2", "111111000000040081610201018162020201ff",
     OBJ_ENC_LISTPACK},
    /* zset-17-unsorted */
    {"111111000000040081620202018161020101ff", "b=2 a=1", NULL, OBJ_ENC_LISTPACK},
    /* zset-17-badscore */
    {"110f0f00000002008162028361626304ff", "b=0", NULL, OBJ_ENC_LISTPACK},
    /* legacy-zset-ziplist-12 */
    {"0c181800000012000000040000016103f20201620303322e35ff", "a=1 b=2.5",
     "1114140000000400816102010181620283322e3504ff", OBJ_ENC_LISTPACK},
    /* zset-sl-5 */
    {"0505017a000000000000f07fc00700000000000008400161000000000000f03f0162000000000000e0bf017900"
     "0000000000f0ff",
     "y=-inf b=-0.5 a=1 7=3 z=inf", NULL, OBJ_ENC_SKIPLIST},
    /* a member twice */
    {"111111000000040081610201018161020201ff", NULL, NULL, 0},
    /* a pair without score */
    {"110c0c0000000100816102ff", NULL, NULL, 0},
    /* score nan */
    {"110f0f0000000200816102836e616e04ff", NULL, NULL, 0},
    /* empty listpack */
    {"1107070000000000ff", NULL, NULL, 0},
    /* empty */
    {"0500", NULL, NULL, 0},
    /* score NaN */
    {"05010161000000000000f87f", NULL, NULL, 0},
    /* a member twice */
    {"05020161000000000000f03f0161000000000000f03f", NULL, NULL, 0},
    /* old, nan */
    {"03010161fd", NULL, NULL, 0},
    /* old, rubbish */
    {"0301016103782e35", NULL, NULL, 0},
};

TEST(zset_reads_what_others_wrote) {
    for (size_t i = 0; i < array_len(vectors); i++) {
        char bytes[512];
        limits(128, 64);
        if (i >= 11 && i < 12) limits(0, 64);
        size_t len = fromHex(vectors[i].hex, bytes);
        robj *o = readBytes(bytes, len);
        if (!vectors[i].members) {
            CHECK(!o);
            continue;
        }
        if (!CHECK(o)) continue;
        checkSet(o);
        CHECK_EQ_INT(o->encoding, vectors[i].encoding);
        checkMembers(o, vectors[i].members);
        sds out = rdbValueBytes(o, true);
        if (vectors[i].written) len = fromHex(vectors[i].written, bytes);
        bool compressed = memchr(out, 0xc3, 3) != NULL; /* by another encoder */
        if (compressed) CHECK(sdsLen(out) <= len);
        else if (CHECK_EQ_INT(sdsLen(out), len)) CHECK_MEM(out, bytes, len);
        sdsFree(out);
        decrRefCount(o);
    }
}

TEST(zset_comes_back_from_rdb) {
    for (size_t members = 1; members < 3000; members = members * 3 + 7) {
        for (int compress = 0; compress < 2; compress++) {
            limits(128, 64);
            robj *o = sample(members);
            sds out = rdbValueBytes(o, compress);
            robj *back = readBytes(out, sdsLen(out));
            if (CHECK(back)) {
                checkSet(back);
                CHECK_EQ_INT(back->encoding, o->encoding);
                CHECK(sameSet(o, back));
                decrRefCount(back);
            }
            limits(members - 1, 64);
            back = readBytes(out, sdsLen(out));
            if (CHECK(back)) {
                CHECK_EQ_INT(back->encoding, OBJ_ENC_SKIPLIST);
                checkSet(back);
                decrRefCount(back);
            }
            sdsFree(out);
            decrRefCount(o);
        }
    }
}

/* Every operation must work on an accepted set. */
static void useAccepted(robj *o) {
    double score;
    checkSet(o);
    add(o, "new", 3, 0, NULL);
    add(o, "new", 4, ZSET_INCR, NULL);
    zsetScoreRange all = {-INFINITY, INFINITY, false, false};
    (void)zsetRanksByScore(o, &all);
    (void)zsetRank(o, sliceStr("new"), zsetHash(sliceStr("new")), true, &score);
    zsetRemoveRanks(o, (zsetRanks){0, 1});
    if (zsetCount(o)) checkSet(o);
    decrRefCount(o);
}

TEST(zset_payloads_cut_or_flipped_do_no_harm) {
    for (int entries = 0; entries <= 128; entries += 64) {
        limits(entries, 64);
        robj *o = sample(entries == 64 ? 40 : 9);
        sds out = rdbValueBytes(o, false);
        size_t len = sdsLen(out);
        decrRefCount(o);
        for (size_t cut = 0; cut < len; cut++) {
            robj *read = readBytes(out, cut);
            CHECK(!read);
            if (read) decrRefCount(read);
        }
        for (size_t bit = 8; bit < len * 8; bit++) {
            out[bit / 8] = (char)(out[bit / 8] ^ 1 << bit % 8);
            robj *read = readBytes(out, len);
            if (read) useAccepted(read);
            out[bit / 8] = (char)(out[bit / 8] ^ 1 << bit % 8);
        }
        sdsFree(out);
    }
}
