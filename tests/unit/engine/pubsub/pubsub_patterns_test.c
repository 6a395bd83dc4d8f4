/* pubsub_patterns_test.c -- compares the index of patterns with a list of them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub_topic.h"

#include "slice.h"
#include "panic.h"
#include "unit.h"
#include "zmalloc.h"

#define TEXTS 400
#define TEXT_MAX 12

typedef struct modelPattern {
    char text[TEXT_MAX];
    size_t len;
    topic *t; /* NULL if absent */
    bool matched;
} modelPattern;

static modelPattern model[TEXTS];

static slice textOf(const modelPattern *p) { return sliceOf(p->text, p->len); }

static size_t randomText(uint64_t *rnd, char *out, const char *letters) {
    size_t len = unitRandom(rnd) % TEXT_MAX, n = strlen(letters);
    for (size_t i = 0; i < len; i++) out[i] = letters[unitRandom(rnd) % n];
    return len;
}

static bool isKnown(size_t before) {
    for (size_t i = 0; i < before; i++)
        if (sliceEq(textOf(&model[i]), textOf(&model[before]))) return true;
    return false;
}

static void makeTexts(uint64_t *rnd) {
    for (size_t i = 0; i < TEXTS; i++) {
        do model[i].len = randomText(rnd, model[i].text, unitRandom(rnd) % 2 ? "aabb*?[]\\^-" : "aaaaabbbb*?");
        while (isKnown(i));
    }
}

static void noteMatch(void *arg, topic *t) {
    size_t *matches = arg;
    ++*matches;
    for (size_t i = 0; i < TEXTS; i++) {
        if (model[i].t != t) continue;
        CHECK(!model[i].matched);
        model[i].matched = true;
    }
}

static void checkMatches(slice channel) {
    size_t got = 0, want = 0;
    for (size_t i = 0; i < TEXTS; i++) model[i].matched = false;
    patternsMatch(channel, noteMatch, &got);
    for (size_t i = 0; i < TEXTS; i++) {
        if (!model[i].t) continue;
        slice text = textOf(&model[i]);
        bool matches = channel.len ? globMatch(text, channel, false) : text.len == 0;
        want += matches;
        CHECK(matches == model[i].matched);
    }
    CHECK_EQ_INT(got, want);
}

static void change(modelPattern *p) {
    hashedKey text = hashedKeyOf(textOf(p));
    CHECK(patternsFind(text) == p->t);
    if (p->t) {
        patternsRemove(p->t);
        p->t = NULL;
    } else {
        p->t = patternsAdd(text);
        CHECK(p->t && sliceEq(p->t->name, textOf(p)));
    }
}

TEST(pubsub_patterns_random_operations) {
    panicSetMainThread();
    uint64_t rnd = unitRandomSeed();
    for (int round = 0; round < 5; round++) {
        makeTexts(&rnd);
        for (int i = 0; i < 4000; i++) {
            change(&model[unitRandom(&rnd) % TEXTS]);
            if (i % 10) continue;
            char channel[TEXT_MAX];
            size_t len = randomText(&rnd, channel, "ab*[");
            checkMatches(sliceOf(channel, len));
            if (i % 100 == 0) patternsCheck();
        }
        for (size_t i = 0; i < TEXTS; i++)
            if (model[i].t) change(&model[i]);
        CHECK_EQ_INT(patternsCount(), 0);
    }
}

/* Many patterns that differ early: a match compares few of them. */
TEST(pubsub_patterns_long_texts) {
    panicSetMainThread();
    enum { LONG = 5000 };
    char *text = zmalloc(LONG);
    memset(text, 'x', LONG);
    for (int i = 0; i < 10; i++) {
        text[LONG - 1 - i * 100] = '*';
        CHECK(patternsAdd(hashedKeyOf(sliceOf(text, LONG))));
        text[LONG - 1 - i * 100] = 'x';
    }
    size_t got = 0;
    patternsMatch(sliceOf(text, LONG), noteMatch, &got);
    CHECK_EQ_INT(got, 10);
    patternsCheck();
    for (int i = 0; i < 10; i++) {
        text[LONG - 1 - i * 100] = '*';
        topic *t = patternsFind(hashedKeyOf(sliceOf(text, LONG)));
        if (CHECK(t)) patternsRemove(t);
        text[LONG - 1 - i * 100] = 'x';
    }
    zfree(text);
}

/* Each allocation that may fail does so once, and nothing changes then. */
TEST(pubsub_patterns_without_memory) {
    panicSetMainThread();
    static char text[2000];
    memset(text, 'y', sizeof(text));
    topic *t = NULL;
    for (long step = 1; !t; step++) {
        zmallocFailAfter(step);
        t = patternsAdd(hashedKeyOf(sliceOf(text, sizeof(text))));
        zmallocFailAfter(0);
        CHECK_EQ_INT(patternsCount(), t != NULL);
        patternsCheck();
        if (!CHECK(step < 100)) return;
    }
    patternsRemove(t);
}
