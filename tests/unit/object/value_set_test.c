/* value_set_test.c -- compares sets with a model, on both sides of every threshold; random elements; malformed
 * payloads.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_set.h"

#include "defrag_support.h"
#include "digest.h"
#include "hash.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "rng.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define POOL 600 /* possible members: half of them integers */

static void limits(long long integers, long long entries, long long longest) {
    static bool registered;
    if (!registered) objectTypesRegister();
    registered = true;
    object_settings.set_max_intset_entries = integers;
    object_settings.set_max_listpack_entries = entries;
    object_settings.set_max_listpack_value = longest;
}

/* Returns member `i` of the pool, stored in `buf`. */
static slice poolMember(int i, char buf[256]) {
    static const int64_t edges[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, INT16_MIN, INT16_MAX, 70000, -70000};
    if (i < (int)array_len(edges)) return sliceOf(buf, ll2string(buf, edges[i]));
    if (i < POOL / 2) return sliceOf(buf, ll2string(buf, i));
    size_t len = i % 50 == 0 ? 200 : i % 49 == 0 ? 128 : i % 48 == 0 ? 127 : (size_t)(i % 7) + 3;
    memset(buf, 'a' + i % 26, 256);
    snprintf(buf, 256, "w%d", i);
    buf[strlen(buf)] = 'x';
    return sliceOf(buf, len < 5 ? 5 : len);
}

static uint64_t hashOf(slice s) { return hashBytes(s.ptr, s.len); }

static const objectTypeOps *ops(void) { return &set_type_ops; }

static void checkSound(const robj *o) { ops()->check(objectStructure(o), o->encoding); }

/* ---- Model ---- */

typedef struct model {
    robj *set;
    bool has[POOL];
    size_t count;
    uint64_t rng;
} model;

static void modelCompare(model *m) {
    char buf[256], digits[LONG_STR_SIZE];
    setIterator it;
    setMember member;
    size_t seen = 0;
    CHECK_EQ_INT(setSize(m->set), m->count);
    setIterBegin(&it, m->set);
    while (setIterNext(&it, &member)) {
        slice text = setMemberText(&member, digits);
        CHECK(setHas(m->set, text, hashOf(text)));
        seen++;
    }
    setIterEnd(&it);
    CHECK_EQ_INT(seen, m->count);
    for (int i = 0; i < POOL; i++) {
        slice text = poolMember(i, buf);
        CHECK_EQ_INT(setHas(m->set, text, hashOf(text)), m->has[i]);
    }
    checkSound(m->set);
}

static void modelTake(void *arg, const setMember *member) {
    model *m = arg;
    char buf[256], digits[LONG_STR_SIZE];
    slice text = setMemberText(member, digits);
    for (int i = 0; i < POOL; i++) {
        if (!sliceEq(poolMember(i, buf), text)) continue;
        CHECK(m->has[i]);
        m->has[i] = false;
        m->count--;
        return;
    }
    CHECK(false);
}

static sds dumpOf(const robj *o) { return rdbValueBytes(o, true); }

static robj *restored(const char *bytes, size_t len) {
    rdbReader r = {bytes, bytes + len};
    return rdbReadValue(&r, sliceStr("k"), false);
}

static void modelCopies(model *m) {
    digest a = {{0}}, b = {{0}};
    robj *copy = objectDup(m->set, sliceStr("copy"));
    sds bytes = dumpOf(m->set);
    robj *read = restored(bytes, sdsLen(bytes));
    digestMixValue(&a, m->set);
    digestMixValue(&b, copy);
    CHECK(memcmp(&a, &b, sizeof(a)) == 0);
    CHECK(objectMemUsage(copy, 0) > 0 && objectMemUsage(copy, 5) > 0);
    if (CHECK(read)) {
        memset(&b, 0, sizeof(b));
        digestMixValue(&b, read);
        CHECK(memcmp(&a, &b, sizeof(a)) == 0);
        checkSound(read);
        objectFree(read);
    }
    sdsFree(bytes);
    objectFree(copy);
}

static void modelStep(model *m, bool shrink) {
    char buf[256];
    int i = (int)(unitRandom(&m->rng) % POOL);
    slice text = poolMember(i, buf);
    unsigned kind = unitRandom(&m->rng) % 100;
    if (kind < 2 && m->count) {
        setPop(m->set, modelTake, m);
    } else if (kind < 3 && m->count > 1) {
        setPopMany(m->set, unitRandom(&m->rng) % (m->count < 20 ? m->count : 20), modelTake, m);
    } else if (kind < (shrink ? 80u : 25u)) {
        CHECK_EQ_INT(setRemove(m->set, text, hashOf(text)), m->has[i]);
        m->count -= m->has[i];
        m->has[i] = false;
    } else {
        CHECK_EQ_INT(setAdd(m->set, text, hashOf(text)), !m->has[i]);
        m->count += !m->has[i];
        m->has[i] = true;
    }
}

TEST(set_agrees_with_a_model) {
    static const int thresholds[][3] = {{512, 128, 64}, {0, 0, 0},      {1, 1, 64},        {20, 40, 6}, {0, 1000, 1000},
                                        {1000, 0, 0},   {40, 300, 127}, {1000, 1000, 128}, {8, 8, 4}};
    uint64_t seed = unitRandomSeed();
    for (size_t round = 0; round < 4 * array_len(thresholds); round++) {
        const int *t = thresholds[round % array_len(thresholds)];
        char buf[256];
        limits(t[0], t[1], t[2]);
        model m = {.rng = seed + round};
        defragCursor cursor = {0};
        m.set = setCreate(sliceStr("k"), poolMember((int)(unitRandom(&m.rng) % POOL), buf), 1);
        for (int step = 0; step < 3000; step++) {
            modelStep(&m, step % 1000 > 600);
            if (step % 3 == 0) defragPiece(m.set, &cursor, &m.rng);
            if (step % 500 == 499) modelCompare(&m);
            if (step % 500 == 499 && m.count) modelCopies(&m);
        }
        objectFree(m.set);
    }
    limits(512, 128, 64);
}

/* ---- Random elements  */

static robj *numbers(int encoding, int count) {
    char buf[LONG_STR_SIZE];
    limits(encoding == OBJ_ENC_INTSET ? 100000 : 0, encoding == OBJ_ENC_LISTPACK ? 100000 : 0, 64);
    robj *o = setCreate(sliceStr("k"), sliceStr("1"), 1);
    for (int i = 0; i < count; i++) {
        slice text = sliceOf(buf, ll2string(buf, i));
        setAdd(o, text, hashOf(text));
    }
    CHECK_EQ_INT(o->encoding, encoding);
    return o;
}

#define CHANCES 40
typedef struct tally {
    int times[CHANCES];
    int last[CHANCES], n; /* results of one call */
} tally;

static int numberOf(const setMember *m) {
    char digits[LONG_STR_SIZE];
    long long n = -1;
    slice text = setMemberText(m, digits);
    CHECK(string2ll(text.ptr, text.len, &n) && n >= 0 && n < CHANCES);
    return (int)n;
}

static bool tallyPicked(void *arg, const setMember *m) {
    tally *t = arg;
    int i = numberOf(m);
    t->times[i]++;
    if (t->n < CHANCES) t->last[t->n++] = i;
    return true;
}

static void tallyTaken(void *arg, const setMember *m) { tallyPicked(arg, m); }

static void checkDifferent(const tally *t, size_t count) {
    bool seen[CHANCES] = {false};
    CHECK_EQ_INT(t->n, count);
    for (int i = 0; i < t->n; i++) {
        CHECK(!seen[t->last[i]]);
        seen[t->last[i]] = true;
    }
}

/* Checks that counts are within six standard deviations. The seed is fixed, so the result is always the same. */
static void checkFair(const tally *t, int rounds, int count) {
    double p = (double)count / CHANCES, mean = rounds * p, deviation = mean * (1 - p);
    for (int i = 0; i < CHANCES; i++) {
        double off = t->times[i] - mean;
        CHECK(off * off <= 36 * deviation + 1);
    }
}

TEST(set_picks_and_pops_are_fair) {
    static const int encodings[] = {OBJ_ENC_INTSET, OBJ_ENC_LISTPACK, OBJ_ENC_HASHTABLE};
    static const int counts[] = {1, 3, 8, 12, 14, 20, 39};
    enum { ROUNDS = 2000 };
    rngSeed(rngThread(), 12345);
    for (size_t e = 0; e < array_len(encodings); e++) {
        robj *o = numbers(encodings[e], CHANCES);
        for (size_t c = 0; c < array_len(counts); c++) {
            tally repeating = {.n = 0}, different = {.n = 0}, popped = {.n = 0};
            for (int round = 0; round < ROUNDS; round++) {
                repeating.n = different.n = popped.n = 0;
                setRandomRepeating(o, (uint64_t)counts[c], tallyPicked, &repeating);
                setRandomDifferent(o, (size_t)counts[c], tallyPicked, &different);
                checkDifferent(&different, (size_t)counts[c]);
                if (round % 4) continue;
                robj *copy = objectDup(o, sliceStr("copy"));
                setPopMany(copy, (size_t)counts[c], tallyTaken, &popped);
                checkDifferent(&popped, (size_t)counts[c]);
                CHECK_EQ_INT(setSize(copy), CHANCES - counts[c]);
                for (int i = 0; i < popped.n; i++) {
                    char buf[LONG_STR_SIZE];
                    slice text = sliceOf(buf, ll2string(buf, popped.last[i]));
                    CHECK(!setHas(copy, text, hashOf(text)));
                }
                objectFree(copy);
            }
            checkFair(&different, ROUNDS, counts[c]);
            checkFair(&popped, ROUNDS / 4, counts[c]);
            int all = 0;
            for (int i = 0; i < CHANCES; i++) all += repeating.times[i];
            CHECK_EQ_INT(all, ROUNDS * counts[c]);
            for (int i = 0; i < CHANCES; i++) {
                double mean = (double)all / CHANCES, off = repeating.times[i] - mean;
                CHECK(off * off <= 36 * mean);
            }
        }
        objectFree(o);
    }
    limits(512, 128, 64);
}

TEST(set_defragmentation_meets_every_member) {
    robj *o = numbers(OBJ_ENC_HASHTABLE, 5000);
    CHECK(defragWhole(o) >= 5000);
    checkSound(o);
    objectFree(o);
    o = numbers(OBJ_ENC_LISTPACK, 50);
    CHECK_EQ_INT(defragWhole(o), 1);
    objectFree(o);
    o = numbers(OBJ_ENC_INTSET, 50);
    CHECK_EQ_INT(defragWhole(o), 1);
    checkSound(o);
    objectFree(o);
    limits(512, 128, 64);
}

TEST(set_picks_without_memory_are_picks) {
    rngSeed(rngThread(), 7);
    for (int encoding = 0; encoding < 2; encoding++) {
        robj *o = numbers(encoding ? OBJ_ENC_HASHTABLE : OBJ_ENC_LISTPACK, CHANCES);
        tally t = {.n = 0};
        zmallocFailAfter(1);
        setRandomDifferent(o, 5, tallyPicked, &t);
        checkDifferent(&t, 5);
        t.n = 0;
        zmallocFailAfter(1);
        setRandomRepeating(o, 20, tallyPicked, &t);
        CHECK_EQ_INT(t.n, 20);
        t.n = 0;
        zmallocFailAfter(1);
        setPopMany(o, 20, tallyTaken, &t);
        checkDifferent(&t, 20);
        zmallocFailAfter(0);
        CHECK_EQ_INT(setSize(o), CHANCES - 20);
        checkSound(o);
        objectFree(o);
    }
    limits(512, 128, 64);
}

/* ---- Payloads ---- */

/* Any accepted value must be a usable set. */
static void useIfAny(const char *bytes, size_t len) {
    robj *o = restored(bytes, len);
    if (!o) return;
    char digits[LONG_STR_SIZE];
    CHECK(setSize(o) > 0);
    checkSound(o);
    setAdd(o, sliceStr("another"), hashOf(sliceStr("another")));
    while (setSize(o)) {
        setMember m = setRandom(o);
        char copy[2000];
        slice text = setMemberText(&m, digits);
        if (text.len > sizeof(copy)) break;
        if (text.len) memcpy(copy, text.ptr, text.len);
        text = sliceOf(copy, text.len);
        if (!CHECK(setRemove(o, text, hashOf(text)))) break;
    }
    objectFree(o);
}

TEST(set_payloads_that_are_cut_or_flipped) {
    static const int thresholds[][3] = {{512, 128, 64}, {0, 128, 64}, {0, 0, 0}};
    for (size_t t = 0; t < array_len(thresholds); t++) {
        for (int words = 0; words < 2; words++) {
            limits(thresholds[t][0], thresholds[t][1], thresholds[t][2]);
            char buf[256];
            robj *o = setCreate(sliceStr("k"), sliceStr("1"), 1);
            for (int i = words ? POOL - 20 : 0; i < (words ? POOL : 12); i++) {
                slice text = poolMember(i, buf);
                setAdd(o, text, hashOf(text));
            }
            sds bytes = dumpOf(o);
            for (size_t len = 0; len < sdsLen(bytes); len++) {
                char *exact = zmalloc(len ? len : 1); /* so that a sanitizer detects reads beyond it */
                memcpy(exact, bytes, len);
                CHECK(!restored(exact, len));
                zfree(exact);
            }
            for (size_t bit = 8; bit < 8 * sdsLen(bytes); bit++) {
                char *exact = zmalloc(sdsLen(bytes));
                memcpy(exact, bytes, sdsLen(bytes));
                exact[bit / 8] = (char)(exact[bit / 8] ^ (1 << bit % 8));
                useIfAny(exact, sdsLen(bytes));
                zfree(exact);
            }
            sdsFree(bytes);
            objectFree(o);
        }
    }
    limits(512, 128, 64);
}

/* The results of the reference server; NULL if it rejects the payload. */
TEST(set_payloads_of_others) {
    static const struct {
        const char *hex, *encoding;
        size_t members;
    } cases[] = {
        {"0b100200000004000000fbff010002000300", "intset", 4},
        {"0b100400000002000000"
         "0100000070110100",
         "intset", 2},
        {"140f0f0000000300816102816202"
         "1101ff",
         "listpack", 3},
        {"0204016101620163c00c", "listpack", 4},
        {"0203c001c002c003", "intset", 3},
        {"02020161c001", "listpack", 2},
        {"140d0d0000000200813502816202ff", "listpack", 2},
        {"0202c001c001", NULL, 0},
        {"140d0d0000000200816202816202ff", NULL, 0},
        {"1407070000000000ff", NULL, 0},
        {"0b080200000000000000", NULL, 0},
        {"0b0c020000000200000002000100", NULL, 0},
        {"0200", NULL, 0},
        {"02813fffffffffffffff", NULL, 0},
    };
    limits(512, 128, 64);
    for (size_t i = 0; i < array_len(cases); i++) {
        char bytes[64];
        size_t len = strlen(cases[i].hex) / 2;
        for (size_t b = 0; b < len; b++) {
            char two[3] = {cases[i].hex[2 * b], cases[i].hex[2 * b + 1], 0};
            bytes[b] = (char)strtol(two, NULL, 16);
        }
        robj *o = restored(bytes, len);
        CHECK_EQ_INT(o != NULL, cases[i].encoding != NULL);
        if (!o) continue;
        CHECK_EQ_STR(objectEncodingName(o), cases[i].encoding);
        CHECK_EQ_INT(setSize(o), cases[i].members);
        objectFree(o);
    }
}

TEST(set_settles_as_intset_where_all_are_integers) {
    limits(4, 2, 64);
    static const struct {
        const char *members[6];
        const char *encoding;
    } cases[] = {{{"1", "2", "3", "4"}, "intset"},
                 {{"1", "2", "3", "4", "5"}, "hashtable"},
                 {{"1", "2"}, "intset"},
                 {{"1", "a"}, "listpack"},
                 {{"1", "a", "2"}, "hashtable"}};
    for (size_t i = 0; i < array_len(cases); i++) {
        robj *o = setCreateCompact(sliceStr("k"), OBJ_ENC_LISTPACK);
        for (int j = 0; cases[i].members[j]; j++)
            setAddNew(o, sliceStr(cases[i].members[j]), hashOf(sliceStr(cases[i].members[j])));
        size_t size = setSize(o);
        setSettle(o);
        CHECK_EQ_STR(objectEncodingName(o), cases[i].encoding);
        CHECK_EQ_INT(setSize(o), size);
        checkSound(o);
        objectFree(o);
    }
    limits(512, 128, 64);
}

/* The reservation made while a large member is read is released afterwards, but not one that existed before. */
TEST(set_payload_gives_back_what_it_reserved) {
    sds member = sdsNewLen(NULL, 3 << 20);
    memset(member, 'x', sdsLen(member));
    robj *o = setCreateCompact(sliceStr("k"), OBJ_ENC_LISTPACK);
    slice text = sliceOf(member, sdsLen(member));
    CHECK(setAdd(o, text, hashOf(text)));
    sds bytes = dumpOf(o);
    objectFree(o);

    zmallocFailAfter(2); /* fails after the text */
    CHECK(!restored(bytes, sdsLen(bytes)));
    CHECK_EQ_INT(zmallocReserved(), 0);
    zmallocFailAfter(0);
    for (size_t before = 0; before <= 100; before += 100) {
        CHECK(before == 0 || zmallocReserve(before));
        robj *read = restored(bytes, sdsLen(bytes));
        if (CHECK(read)) {
            CHECK_EQ_INT(setSize(read), 1);
            objectFree(read);
        }
        CHECK(before ? zmallocReserved() >= before : zmallocReserved() == 0);
    }
    zmallocUnreserve(0);
    sdsFree(bytes);
    sdsFree(member);
}
