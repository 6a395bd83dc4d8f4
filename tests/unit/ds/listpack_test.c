/* listpack_test.c -- compares listpacks with an array of texts, to the byte; malformed listpacks.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack.h"
#include "unit.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

static slice textOf(const char *s) { return sliceStr(s); }

/* ---- Bytes of the published layout ---- */

static size_t unhex(const char *hex, uint8_t *out) {
    size_t n = 0;
    for (; *hex; hex++) {
        if (*hex == ' ') continue;
        unsigned b;
        sscanf(hex, "%2x", &b);
        out[n++] = (uint8_t)b;
        hex++;
    }
    return n;
}

static void checkBytes(const uint8_t *lp, const char *hex) {
    uint8_t want[256];
    size_t n = unhex(hex, want);
    if (CHECK_EQ_INT(listpackBytes(lp), n)) CHECK_MEM(lp, want, n);
    CHECK(listpackValidate(lp, n, true, NULL, NULL));
}

static uint8_t *of(int n, const char *const *texts) {
    uint8_t *lp = listpackCreate(0);
    for (int i = 0; i < n; i++) lp = listpackAppend(lp, textOf(texts[i]));
    return lp;
}

TEST(listpack_bytes_are_the_published_ones) {
    uint8_t *lp = listpackCreate(0);
    checkBytes(lp, "07000000 0000 ff");
    CHECK(!listpackFirst(lp) && !listpackLast(lp) && !listpackIndex(lp, 0) && !listpackIndex(lp, -1));
    lp = listpackAppend(lp, textOf("a"));
    lp = listpackAppend(lp, textOf("3"));
    checkBytes(lp, "0c000000 0200 81 61 02 03 01 ff");
    listpackFree(lp);
    lp = of(4, (const char *const[]){"f", "v", "n", "17"});
    checkBytes(lp, "12000000 0400 816602 817602 816e02 1101 ff");
    listpackFree(lp);
}

TEST(listpack_each_integer_has_its_smallest_form) {
    static const struct {
        const char *text, *bytes;
    } cases[] = {
        {"0", "00 01"},
        {"127", "7f 01"},
        {"128", "c080 02"},
        {"-1", "dfff 02"},
        {"4095", "cfff 02"},
        {"-4096", "d000 02"},
        {"4096", "f10010 03"},
        {"-4097", "f1ffef 03"},
        {"32767", "f1ff7f 03"},
        {"-32768", "f10080 03"},
        {"32768", "f2008000 04"},
        {"-32769", "f2ff7fff 04"},
        {"8388607", "f2ffff7f 04"},
        {"-8388608", "f2000080 04"},
        {"8388608", "f300008000 05"},
        {"-8388609", "f3ffff7fff 05"},
        {"2147483647", "f3ffffff7f 05"},
        {"-2147483648", "f300000080 05"},
        {"2147483648", "f40000008000000000 09"},
        {"-2147483649", "f4ffffff7fffffffff 09"},
        {"9223372036854775807", "f4ffffffffffffff7f 09"},
        {"-9223372036854775808", "f40000000000000080 09"},
        /* These are not integers. */
        {"", "80 01"},
        {"-", "812d 02"},
        {"-0", "822d30 03"},
        {"+1", "822b31 03"},
        {"01", "823031 03"},
        {"1 ", "823120 03"},
        {"9223372036854775808", "9339323233333732303336383534373735383038 14"},
        {"-9223372036854775809", "942d39323233333732303336383534373735383039 15"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        uint8_t want[32];
        char buf[LONG_STR_SIZE];
        size_t n = unhex(cases[i].bytes, want);
        slice text = textOf(cases[i].text);
        uint8_t *lp = listpackAppend(listpackCreate(0), text);
        const uint8_t *at = listpackFirst(lp);
        if (CHECK_EQ_INT(listpackBytes(lp), LISTPACK_BYTES_MIN + n)) CHECK_MEM(at, want, n);
        CHECK_EQ_INT(listpackEntryBytes(text), n);
        CHECK(listpackEntryBytesMax(text.len) >= n);
        CHECK(sliceEq(listpackText(at, buf), text));
        CHECK(listpackEquals(at, text) && !listpackEquals(at, textOf("x")) && !listpackEquals(at, textOf("77")));
        CHECK(listpackFind(at, text, 0) == at);
        int64_t num = 0;
        long long v = 0;
        bool is_integer = string2ll(text.ptr, text.len, &v);
        CHECK(listpackInteger(at, &num) == is_integer && num == v);
        CHECK((listpackGet(at).str == NULL) == is_integer);
        if (is_integer) {
            uint8_t *other = listpackAppendInteger(listpackCreate(0), v);
            CHECK(listpackBytes(other) == listpackBytes(lp) && memcmp(lp, other, listpackBytes(lp)) == 0);
            listpackFree(other);
        }
        CHECK(listpackValidate(lp, listpackBytes(lp), true, NULL, NULL));
        listpackFree(lp);
    }
}

/* Lengths at which the encoding of a text or of the backlen changes, on both sides. */
TEST(listpack_texts_at_the_edges_of_their_forms) {
    static const struct {
        size_t len, head, backlen;
    } cases[] = {{63, 1, 1},   {64, 2, 1},    {125, 2, 1},   {126, 2, 2},     {4095, 2, 2},
                 {4096, 5, 2}, {16378, 5, 2}, {16379, 5, 3}, {2097146, 5, 3}, {2097147, 5, 4}};
    char *text = malloc(3000000);
    memset(text, 'x', 3000000);
    for (size_t i = 0; i < array_len(cases); i++) {
        slice value = sliceOf(text, cases[i].len);
        uint8_t *lp = listpackAppend(listpackCreate(0), textOf("before"));
        lp = listpackAppend(lp, value);
        lp = listpackAppend(lp, textOf("after"));
        size_t span = cases[i].head + cases[i].len + cases[i].backlen;
        CHECK_EQ_INT(listpackEntryBytes(value), span);
        CHECK_EQ_INT(listpackEntryBytesMax(value.len), span);
        CHECK_EQ_INT(listpackBytes(lp), LISTPACK_BYTES_MIN + 8 + span + 7);
        const uint8_t *at = listpackIndex(lp, 1);
        CHECK(listpackNext(at) == listpackLast(lp) && listpackPrev(lp, listpackLast(lp)) == at);
        CHECK(listpackPrev(lp, at) == listpackFirst(lp) && !listpackPrev(lp, listpackFirst(lp)));
        CHECK(listpackFind(listpackFirst(lp), value, 0) == at && !listpackFind(listpackFirst(lp), value, 1));
        CHECK(listpackEquals(at, value));
        CHECK(listpackValidate(lp, listpackBytes(lp), true, NULL, NULL));
        /* The first byte after the header differs, then the last one. */
        text[0] = 'y';
        CHECK(!listpackFind(listpackFirst(lp), value, 0));
        text[0] = 'x', text[value.len - 1] = 'y';
        CHECK(!listpackFind(listpackFirst(lp), value, 0));
        text[value.len - 1] = 'x';
        listpackFree(lp);
    }
    free(text);
}

/* Integers stored as texts or wider than necessary, as other writers may produce them. */
TEST(listpack_reads_what_it_would_not_write) {
    uint8_t lp[64];
    size_t n = unhex("1b000000 0500 82313703 f11100 03 e0023137 04 f1050003 f002000000313707 ff", lp);
    lp[0] = (uint8_t)n;
    if (!CHECK(listpackValidate(lp, n, true, NULL, NULL))) return;
    const uint8_t *at = listpackFirst(lp);
    for (int i = 0; i < 5; i++, at = listpackNext(at)) {
        int64_t num;
        bool is_17 = i != 3;
        CHECK(listpackInteger(at, &num) && num == (is_17 ? 17 : 5));
        CHECK(listpackEquals(at, textOf("17")) == is_17 && listpackEquals(at, textOf("5")) == !is_17);
        CHECK(listpackFind(at, textOf("17"), 0) == (is_17 ? at : listpackLast(lp)));
    }
    CHECK(!at);
}

/* ---- Model ---- */

enum { MODEL_MAX = 400 };
typedef struct model {
    uint8_t *lp;
    char *text[MODEL_MAX]; /* owns */
    size_t len[MODEL_MAX];
    size_t n;
    uint64_t rng;
} model;

static size_t below(model *m, size_t bound) { return unitRandom(&m->rng) % bound; }

static char scratch[70000];
/* Returns a text of a random kind; valid until the next call. */
static slice someText(model *m) {
    switch (below(m, 10)) {
    case 0: return sliceOf(scratch, (size_t)sprintf(scratch, "%zu", below(m, 130)));
    case 1: return sliceOf(scratch, (size_t)sprintf(scratch, "%d", (int)below(m, 20000) - 10000));
    case 2: return sliceOf(scratch, ll2string(scratch, (long long)unitRandom(&m->rng) >> below(m, 64)));
    case 3: return sliceOf(scratch, (size_t)sprintf(scratch, "f%zu", below(m, 20)));
    case 4: return sliceOf(scratch, 0);
    default: break;
    }
    size_t len = below(m, 200) == 0 ? below(m, sizeof(scratch)) : below(m, 30) == 0 ? below(m, 5000) : below(m, 140);
    memset(scratch, 'a' + (int)below(m, 4), len);
    return sliceOf(scratch, len);
}

static void modelInsert(model *m, size_t at, slice v) {
    memmove(m->text + at + 1, m->text + at, (m->n - at) * sizeof(*m->text));
    memmove(m->len + at + 1, m->len + at, (m->n - at) * sizeof(*m->len));
    m->text[at] = malloc(v.len + 1);
    memcpy(m->text[at], v.ptr, v.len);
    m->len[at] = v.len;
    m->n++;
}

static void modelDelete(model *m, size_t at, size_t n) {
    for (size_t i = 0; i < n; i++) free(m->text[at + i]);
    memmove(m->text + at, m->text + at + n, (m->n - at - n) * sizeof(*m->text));
    memmove(m->len + at, m->len + at + n, (m->n - at - n) * sizeof(*m->len));
    m->n -= n;
}

static slice modelText(const model *m, size_t i) { return sliceOf(m->text[i], m->len[i]); }

static bool sameValue(listpackValue v, slice want) {
    char buf[LONG_STR_SIZE];
    return sliceEq(v.str ? sliceOf(v.str, v.len) : sliceOf(buf, ll2string(buf, v.num)), want);
}

typedef struct seen {
    const model *m;
    size_t n;
} seen;
static bool sees(void *arg, const uint8_t *at) {
    seen *s = arg;
    char buf[LONG_STR_SIZE];
    return s->n < s->m->n && CHECK(sliceEq(listpackText(at, buf), modelText(s->m, s->n++)));
}

static void modelCheck(model *m) {
    seen s = {m, 0};
    CHECK(listpackValidate(m->lp, listpackBytes(m->lp), true, sees, &s));
    CHECK_EQ_INT(s.n, m->n);
    CHECK_EQ_INT(listpackCount(m->lp), m->n);
    CHECK(zmallocSize(m->lp) >= listpackBytes(m->lp));
    for (int backward = 0; backward < 2; backward++) {
        listpackIter it = listpackIterBegin(m->lp, backward);
        listpackValue v;
        const uint8_t *at;
        size_t i = 0;
        for (; listpackIterNext(&it, &v, &at); i++) {
            size_t number = backward ? m->n - 1 - i : i;
            if (!CHECK(i < m->n) || !CHECK(sameValue(v, modelText(m, number)))) return;
            if (below(m, 8) == 0) {
                CHECK(listpackIndex(m->lp, (long)number) == at);
                CHECK(listpackIndex(m->lp, (long)number - (long)m->n) == at);
            }
        }
        CHECK_EQ_INT(i, m->n);
    }
    CHECK(!listpackIndex(m->lp, (long)m->n) && !listpackIndex(m->lp, -(long)m->n - 1));
    /* Searches with and without a stride. */
    slice wanted = m->n && below(m, 2) ? modelText(m, below(m, m->n)) : someText(m);
    for (size_t skip = 0; skip < 3; skip++) {
        size_t from = m->n ? below(m, m->n) : 0, i = from;
        while (i < m->n && !sliceEq(modelText(m, i), wanted)) i += skip + 1;
        const uint8_t *got = listpackFind(listpackIndex(m->lp, (long)from), wanted, skip);
        CHECK(got == (i < m->n ? listpackIndex(m->lp, (long)i) : NULL));
    }
}

/* If the next growth gets no memory, the listpack is unchanged to the byte. */
static void modelFailing(model *m) {
    size_t bytes = listpackBytes(m->lp), big = zmallocSize(m->lp) + 100;
    uint8_t *before = malloc(bytes), *lp = NULL;
    memcpy(before, m->lp, bytes);
    char *text = malloc(big);
    memset(text, 'z', big);
    slice v = sliceOf(text, big), values[2] = {textOf("1"), v};
    const uint8_t *at = listpackIndex(m->lp, m->n ? (long)below(m, m->n) : 0), *was = at;
    uint8_t *other = listpackAppend(listpackCreate(0), v);
    bool merged = false;
    zmallocFailAfter(1);
    switch (below(m, at ? 8 : 6)) {
    case 0: lp = listpackAppend(m->lp, v); break;
    case 1: lp = listpackPrepend(m->lp, v); break;
    case 2: lp = listpackAppendBatch(m->lp, values, 2); break;
    case 3: lp = listpackConcat(m->lp, other); break;
    case 4: lp = listpackDup(m->lp); break;
    case 5: /* the other block may have capacity for both */
        lp = listpackMergeTake(m->lp, other);
        merged = lp != NULL;
        break;
    case 6: lp = listpackInsert(m->lp, &at, LISTPACK_BEFORE, v); break;
    case 7: lp = listpackInsert(m->lp, &at, LISTPACK_REPLACE, v); break;
    }
    zmallocFailAfter(0);
    CHECK((lp == NULL || merged) && at == was);
    if (merged) {
        m->lp = lp;
        modelInsert(m, m->n, v);
    } else {
        CHECK_MEM(m->lp, before, bytes);
        listpackFree(other);
    }
    free(text);
    free(before);
}

static void modelInsertSome(model *m, const uint8_t *at, size_t number) {
    listpackWhere where = (listpackWhere)below(m, 3);
    if (where == LISTPACK_REPLACE) modelDelete(m, number, 1);
    size_t to = number + (where == LISTPACK_AFTER);
    if (below(m, 3) == 0) {
        int64_t num = (int64_t)unitRandom(&m->rng) >> below(m, 64);
        m->lp = listpackInsertInteger(m->lp, &at, where, num);
        modelInsert(m, to, sliceOf(scratch, ll2string(scratch, num)));
    } else {
        slice v = someText(m);
        m->lp = listpackInsert(m->lp, &at, where, v);
        modelInsert(m, to, v);
    }
    CHECK(listpackIndex(m->lp, (long)to) == at);
}

static void modelMerge(model *m) {
    uint8_t *other = listpackCreate(below(m, 200));
    size_t n = below(m, 12), first = below(m, 3);
    for (size_t i = 0; i < n; i++) {
        slice v = someText(m);
        other = listpackAppend(other, v);
        modelInsert(m, first == 0 ? i : m->n, v);
    }
    if (first == 2) {
        m->lp = listpackConcat(m->lp, other);
        listpackFree(other);
    } else {
        m->lp = first == 0 ? listpackMergeTake(other, m->lp) : listpackMergeTake(m->lp, other);
    }
}

/* Writes the values of a batch one by one. */
static uint8_t *writeSome(uint8_t *lp, const slice *values, size_t n) {
    listpackWriter w;
    size_t room = 0;
    for (size_t i = 0; i < n; i++) {
        long long num;
        room += i % 2 && string2ll(values[i].ptr, values[i].len, &num) ? listpackIntegerBytes(num)
                                                                       : listpackEntryBytesMax(values[i].len);
    }
    CHECK(listpackWriteBegin(&w, lp, room));
    for (size_t i = 0; i < n; i++) {
        long long num;
        if (i % 2 && string2ll(values[i].ptr, values[i].len, &num)) listpackWriteInteger(&w, num);
        else listpackWriteText(&w, values[i]);
    }
    return listpackWriteEnd(&w);
}

static void modelStep(model *m, bool grow) {
    size_t number = m->n ? below(m, m->n) : 0;
    const uint8_t *at = listpackIndex(m->lp, (long)number);
    long long num = (long long)unitRandom(&m->rng) >> below(m, 64);
    slice v, values[3];
    char text[3][8];
    switch (m->n + 20 > MODEL_MAX ? 9 : below(m, grow ? 9 : 14)) {
    case 0:
        v = someText(m);
        m->lp = listpackAppend(m->lp, v);
        modelInsert(m, m->n, v);
        break;
    case 1:
        v = someText(m);
        m->lp = listpackPrepend(m->lp, v);
        modelInsert(m, 0, v);
        break;
    case 2:
        m->lp = listpackAppendInteger(m->lp, num);
        modelInsert(m, m->n, sliceOf(scratch, ll2string(scratch, num)));
        break;
    case 3:
    case 4:
    case 5:
        if (at) modelInsertSome(m, at, number);
        break;
    case 6:
        for (size_t i = 0; i < 3; i++)
            values[i] = sliceOf(text[i], (size_t)sprintf(text[i], "%zu", below(m, below(m, 2) ? 200 : 99999)));
        m->lp = below(m, 2) ? listpackAppendBatch(m->lp, values, number % 4) : writeSome(m->lp, values, number % 4);
        for (size_t i = 0; i < number % 4; i++) modelInsert(m, m->n, values[i]);
        break;
    case 7: modelMerge(m); break;
    case 8: modelFailing(m); break;
    case 9: {
        if (!at) break;
        size_t n = below(m, 4) ? below(m, 3) : below(m, m->n * 2), gone = n < m->n - number ? n : m->n - number;
        m->lp = listpackDelete(m->lp, &at, n);
        modelDelete(m, number, gone);
        CHECK(at == listpackIndex(m->lp, (long)number));
        break;
    }
    case 10: {
        size_t n = below(m, 5), gone = n < m->n - number ? n : m->n - number;
        m->lp = listpackDeleteRange(m->lp, (long)number - (below(m, 2) ? (long)m->n : 0), n);
        modelDelete(m, number, gone);
        break;
    }
    case 11: m->lp = listpackShrinkToFit(m->lp); break;
    case 12: {
        uint8_t *copy = listpackDup(m->lp);
        listpackFree(m->lp);
        m->lp = copy;
        break;
    }
    default: /* a shrink without memory for a smaller block keeps the large one */
        zmallocFailAfter(1);
        m->lp = listpackDeleteRange(m->lp, 0, 2);
        zmallocFailAfter(0);
        modelDelete(m, 0, m->n < 2 ? m->n : 2);
        break;
    }
}

TEST(listpack_random_operations) {
    model m = {.lp = listpackCreate(0), .rng = unitRandomSeed()};
    for (int i = 0; i < 12000; i++) {
        modelStep(&m, i / 500 % 2 == 0);
        if (i % 4 == 0) modelCheck(&m);
    }
    m.lp = listpackDeleteRange(m.lp, 0, SIZE_MAX);
    modelDelete(&m, 0, m.n);
    modelCheck(&m);
    CHECK_EQ_INT(listpackBytes(m.lp), LISTPACK_BYTES_MIN);
    listpackFree(m.lp);
}

/* ---- Counts and limits ---- */

TEST(listpack_counts_beyond_the_header) {
    uint8_t *lp = listpackCreate(1 << 18);
    for (int i = 0; i < 65534; i++) lp = listpackAppendInteger(lp, i & 63);
    CHECK_EQ_INT(listpackCount(lp), 65534);
    CHECK(lp[4] == 0xfe && lp[5] == 0xff);
    lp = listpackAppendInteger(lp, 5);
    lp = listpackAppendInteger(lp, 6);
    CHECK_EQ_INT(listpackCount(lp), 65536);
    CHECK_EQ_INT(listpackGet(listpackIndex(lp, 65535)).num, 6);
    CHECK_EQ_INT(listpackGet(listpackIndex(lp, -65536)).num, 0);
    CHECK(!listpackIndex(lp, 65536) && !listpackIndex(lp, -65537));
    CHECK(listpackValidate(lp, listpackBytes(lp), true, NULL, NULL));
    lp = listpackDeleteRange(lp, 0, 65000);
    CHECK(lp[4] == 0xff && lp[5] == 0xff);
    CHECK_EQ_INT(listpackCount(lp), 536);
    CHECK(lp[4] == 0xff && lp[5] == 0xff); /* reading changes nothing */
    CHECK_EQ_INT(listpackRecount(lp), 536);
    CHECK(lp[4] == 536 % 256 && lp[5] == 536 / 256);
    CHECK_EQ_INT(listpackCount(lp), 536);
    lp = listpackShrinkToFit(lp);
    CHECK(zmallocSize(lp) <= zmallocGoodSize(listpackBytes(lp)));
    listpackFree(lp);
}

TEST(listpack_refuses_what_no_listpack_can_hold) {
    uint8_t *lp = listpackAppend(listpackCreate(0), textOf("a"));
    /* Rejected before a byte is read. */
    slice huge = sliceOf("x", LISTPACK_BYTES_MAX), larger = sliceOf("x", SIZE_MAX / 2), two[2] = {huge, huge};
    const uint8_t *at = listpackFirst(lp);
    CHECK(!listpackAppend(lp, huge) && !listpackAppend(lp, larger) && !listpackPrepend(lp, huge));
    CHECK(!listpackInsert(lp, &at, LISTPACK_REPLACE, huge) && !listpackInsert(lp, &at, LISTPACK_AFTER, larger));
    CHECK(!listpackAppendBatch(lp, two, 2));
    CHECK(!listpackCreate(LISTPACK_BYTES_MAX + 1));
    checkBytes(lp, "0a000000 0100 816102 ff");
    CHECK(listpackMayGrow(lp, 90, 100) && !listpackMayGrow(lp, 91, 100) && !listpackMayGrow(lp, 0, 9));
    CHECK(listpackMayGrow(lp, LISTPACK_BYTES_MAX - 10, SIZE_MAX) && !listpackMayGrow(lp, SIZE_MAX, SIZE_MAX));
    CHECK(!listpackMayGrow(lp, LISTPACK_BYTES_MAX - 9, SIZE_MAX));
    listpackFree(lp);
}

/* ---- Trust ---- */

/* Reads everything from a listpack that was found valid, and changes it. */
static void useAll(uint8_t *lp) {
    char buf[LONG_STR_SIZE];
    size_t count = listpackCount(lp), n = 0;
    const uint8_t *at = listpackFirst(lp);
    uint64_t sum = 0;
    for (; at; at = listpackNext(at), n++) {
        slice text = listpackText(at, buf);
        for (size_t i = 0; i < text.len; i++) sum += (unsigned char)text.ptr[i];
        CHECK(listpackFind(listpackFirst(lp), text, 0) != NULL);
        CHECK(listpackIndex(lp, (long)n - (long)count) == at && listpackIndex(lp, (long)n) == at);
    }
    CHECK_EQ_INT(n, count);
    for (at = listpackLast(lp); at; at = listpackPrev(lp, at)) n--;
    CHECK_EQ_INT(n, 0);
    (void)listpackFind(listpackFirst(lp), textOf("none"), 1);
    at = listpackFirst(lp);
    if (at) lp = listpackInsert(lp, &at, LISTPACK_REPLACE, textOf("changed"));
    while (listpackFirst(lp)) lp = listpackDeleteRange(lp, -1, 1);
    CHECK_EQ_INT(listpackBytes(lp), LISTPACK_BYTES_MIN);
    listpackFree(lp);
    CHECK(sum + 1);
}

/* Uses a block of exactly the right size, so that a sanitizer detects each access outside. */
static bool tryBytes(const uint8_t *bytes, size_t size) {
    uint8_t *block = zmalloc(size ? size : 1);
    memcpy(block, bytes, size);
    bool good = size ? listpackValidate(block, size, true, NULL, NULL) : listpackValidate(block, 0, true, NULL, NULL);
    if (good) useAll(block);
    else zfree(block);
    return good;
}

TEST(listpack_every_changed_byte_is_refused_or_harmless) {
    char text[300];
    memset(text, 'q', sizeof(text));
    uint8_t *lp = of(6, (const char *const[]){"a", "17", "-3000", "100000", "99999999", "-9999999999"});
    lp = listpackAppend(lp, sliceOf(text, 70));
    lp = listpackAppend(lp, sliceOf(text, 130));
    size_t size = listpackBytes(lp);
    CHECK(tryBytes(lp, size));
    for (size_t cut = 0; cut < size; cut++) {
        CHECK(!tryBytes(lp, cut));
        /* The same with a header and an end mark that match. */
        if (cut < LISTPACK_BYTES_MIN) continue;
        uint8_t *shorter = listpackDup(lp);
        shorter[0] = (uint8_t)cut, shorter[1] = (uint8_t)(cut >> 8), shorter[cut - 1] = 0xff;
        CHECK(!tryBytes(shorter, cut));
        shorter[4] = shorter[5] = 0xff;
        (void)tryBytes(shorter, cut);
        zfree(shorter);
    }
    for (size_t i = 0; i < size; i++) {
        for (unsigned b = 0; b < 256; b++) {
            uint8_t was = lp[i];
            lp[i] = (uint8_t)b;
            bool good = tryBytes(lp, size);
            if (b == was) CHECK(good);
            else if (i < 4 || i == size - 1) CHECK(!good);
            lp[i] = was;
        }
    }
    listpackFree(lp);
}

static bool refuse(void *arg, const uint8_t *at) {
    int *left = arg;
    return at && --*left;
}

TEST(listpack_validate_names_each_fault) {
    static const char *const bad[] = {
        "",
        "06000000 0000",
        "07000000 0100 ff",              /* count too high */
        "0a000000 0000 816102 ff",       /* count too low */
        "07000000 0000 00",              /* no end mark */
        "08000000 0000 ff",              /* longer than the block */
        "08000000 0000 ffff",            /* an end mark in the middle */
        "0a000000 0100 816103 ff",       /* wrong backlen */
        "0a000000 0100 826102 ff",       /* text beyond the end */
        "0a000000 0100 816182 ff",       /* backlen that does not end */
        "0b000000 0100 81610082 ff",     /* not the shortest backlen */
        "09000000 0100 f501 ff",         /* unknown encoding */
        "09000000 0100 fe01 ff",         /* unknown encoding as well */
        "08000000 0100 c0 ff",           /* 13-bit integer cut off */
        "08000000 0100 e0 ff",           /* 12-bit length cut off */
        "0b000000 0100 f0000000 ff",     /* 32-bit length cut off */
        "0d000000 0100 f0ffffffff05 ff", /* a length that wraps around the address space */
        "09000000 0100 f101 ff",         /* integer cut off */
        "0e000000 0100 f401020304050607 ff",
        "0f000000 0100 f40102030405060708 ff",
    };
    for (size_t i = 0; i < array_len(bad); i++) {
        uint8_t bytes[64];
        size_t n = unhex(bad[i], bytes);
        if (!CHECK(!tryBytes(bytes, n))) printf("case %zu\n", i);
    }
    uint8_t *lp = of(3, (const char *const[]){"a", "b", "c"});
    int left = 4;
    CHECK(listpackValidate(lp, listpackBytes(lp), true, refuse, &left) && left == 1);
    left = 3;
    CHECK(!listpackValidate(lp, listpackBytes(lp), true, refuse, &left) && left == 0);
    lp[4] = 9;
    CHECK(listpackValidate(lp, listpackBytes(lp), false, NULL, NULL));
    listpackFree(lp);
}

/* ---- At the ends, where it lies ---- */

TEST(listpack_grows_and_shrinks_inside_a_block) {
    uint8_t block[200];
    uint8_t *lp = listpackCreate(LISTPACK_BYTES_MIN), *at = block + 100;
    memcpy(at, lp, LISTPACK_BYTES_MIN);
    listpackFree(lp);
    CHECK_EQ_INT(listpackAppendWithin(at, sliceStr("abc"), 4), 0);
    CHECK_EQ_INT(listpackAppendWithin(at, sliceStr("abc"), 5), 5);
    CHECK_EQ_INT(listpackAppendWithin(at, sliceStr("-70000"), 100), 5);
    CHECK(!listpackPrependWithin(at, sliceStr("17"), 1));
    CHECK((at = listpackPrependWithin(at, sliceStr("17"), 2)) == block + 98);
    CHECK((at = listpackPrependWithin(at, sliceStr("front"), 98)) == block + 91);
    CHECK(listpackValidate(at, listpackBytes(at), true, NULL, NULL));
    CHECK_EQ_INT(listpackCount(at), 4);
    CHECK(listpackEquals(listpackIndex(at, 0), sliceStr("front")) &&
          listpackEquals(listpackIndex(at, 1), sliceStr("17")));
    CHECK(listpackEquals(listpackIndex(at, 2), sliceStr("abc")) &&
          listpackEquals(listpackIndex(at, 3), sliceStr("-70000")));
    listpackDropLast(at, 1);
    CHECK(listpackValidate(at, listpackBytes(at), true, NULL, NULL) &&
          listpackEquals(listpackLast(at), sliceStr("abc")));
    at = listpackDropFirst(at, 2);
    CHECK(listpackValidate(at, listpackBytes(at), true, NULL, NULL) && listpackCount(at) == 1);
    CHECK(listpackEquals(listpackFirst(at), sliceStr("abc")));
    listpackDropLast(at, 1);
    CHECK(listpackBytes(at) == LISTPACK_BYTES_MIN && !listpackFirst(at));
}

TEST(listpack_deletes_what_is_equal) {
    for (size_t skip = 0; skip < 4; skip++) {
        for (size_t max = 0; max < 4; max++) {
            static const slice values[] = {{"x", 1}, {"7", 1}, {"x", 1}, {"y", 1}, {"x", 1}, {"x", 1}};
            char want[8] = "";
            size_t seen = 0, gone = 0, removed;
            uint8_t *lp = listpackAppendBatch(listpackCreate(LISTPACK_BYTES_MIN), values, array_len(values));
            for (size_t i = 0; i < array_len(values); i++) {
                bool equal = *values[i].ptr == 'x', goes = equal && seen >= skip && gone < max;
                seen += equal;
                gone += goes;
                if (!goes) strncat(want, values[i].ptr, 1);
            }
            CHECK_EQ_INT(listpackCountEqual(lp, sliceStr("x")), 4);
            lp = listpackDeleteEqual(lp, sliceStr("x"), skip, max, &removed);
            CHECK_EQ_INT(removed, gone);
            CHECK(listpackValidate(lp, listpackBytes(lp), true, NULL, NULL));
            CHECK_EQ_INT(listpackCount(lp), strlen(want));
            for (size_t i = 0; want[i]; i++) CHECK(listpackEquals(listpackIndex(lp, (long)i), sliceOf(want + i, 1)));
            listpackFree(lp);
        }
    }
}

/* ---- Bare ---- */

TEST(listpack_bare_holds_the_same) {
    static char text[5000];
    uint64_t rng = unitRandomSeed();
    memset(text, 'b', sizeof(text));
    for (int round = 0; round < 300; round++) {
        uint8_t *lp = listpackCreate(0);
        size_t n = unitRandom(&rng) % 40;
        for (size_t i = 0; i < n; i++) {
            size_t len = unitRandom(&rng) % (unitRandom(&rng) % 8 ? 130 : 5000);
            if (listpackBytes(lp) + len + 20 > LISTPACK_BARE_MAX) break;
            if (unitRandom(&rng) % 2) lp = listpackAppend(lp, sliceOf(text, len));
            else lp = listpackAppendInteger(lp, (int64_t)unitRandom(&rng) >> unitRandom(&rng) % 64);
        }
        uint8_t *bare = listpackBare(lp);
        CHECK(zmallocSize(bare) == zmallocGoodSize(listpackBytes(bare)));
        const uint8_t *at = listpackFirst(bare), *wanted = listpackFirst(lp);
        for (; at && wanted; at = listpackBareNext(at), wanted = listpackNext(wanted)) {
            char a[LONG_STR_SIZE], b[LONG_STR_SIZE];
            CHECK(sliceEq(listpackText(at, a), listpackText(wanted, b)));
        }
        CHECK(!at && !wanted);
        uint8_t *again = listpackOfBare(bare);
        CHECK_EQ_INT(listpackBytes(again), listpackBytes(lp));
        CHECK_MEM(again, lp, listpackBytes(lp));
        listpackFree(again);
        listpackFree(bare);
        listpackFree(lp);
    }
}

TEST(listpack_bare_integers_change_where_they_fit) {
    uint8_t *lp = of(3, (const char *const[]){"7", "a", "300"}), *bare = listpackBare(lp);
    const uint8_t *at = listpackFirst(bare);
    CHECK(listpackBareSet(bare, at, 127) && listpackGet(at).num == 127);
    CHECK(!listpackBareSet(bare, at, 128) && listpackGet(at).num == 127);
    at = listpackBareNext(listpackBareNext(at));
    CHECK(listpackBareSet(bare, at, -4096) && listpackGet(at).num == -4096);
    CHECK(!listpackBareSet(bare, at, 5));
    listpackFree(bare);
    listpackFree(lp);
}
