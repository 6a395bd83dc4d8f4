/* pubsub_patterns.c -- the patterns that have subscribers, found by their text or by a channel that they match.
 *
 * A channel that matches a pattern begins with the pattern's literal prefix: the characters before the first special
 * one. So patterns are in a radix tree at that prefix. One walk along the name of a channel finds the patterns at all
 * prefixes of it, and only these are compared with the channel.
 *
 *   tree:  ""       -> [ *, ?ews ]
 *          "news."  -> [ news.*, news.[ab]*, news.?? ]      a group: all with the same prefix
 *
 * Not here    what a pattern matches (base/glob.c), which clients are subscribed to it (pubsub_topic.c).
 * Owns        patterns, groups, the tree and the table.
 * Threads     main.
 * Invariants  (patternsCheck() asserts them)
 *             1. A pattern is in the table, and in the group at its prefix, at index `at`.
 *             2. A group in the tree has patterns.
 * Cost        of a match: a walk of the tree, and a comparison for each pattern on the way.
 * Tests       tests/unit/engine/pubsub/pubsub_patterns_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pubsub_topic.h"

#include "slice.h"
#include "panic.h"
#include "rax.h"
#include "zmalloc.h"

typedef struct group {
    struct pattern **patterns; /* owns the array */
    uint32_t count, capacity;
} group;

typedef struct pattern {
    group *g;    /* borrowed from the tree */
    uint32_t at; /* index in g->patterns */
    topic t;     /* its name follows */
} pattern;

static struct {
    dict *by_text; /* owns the table and the patterns */
    rax *tree;     /* owns the groups */
} patterns;

static slice textOf(const void *entry) { return ((const pattern *)entry)->t.name; }

static const dictType by_text_type = {.entryKey = textOf, .hash = keyHash};

static pattern *patternOf(topic *t) { return (pattern *)(void *)((char *)t - offsetof(pattern, t)); }

/* Returns the characters before the first special one. */
static slice literalBeginning(slice text) {
    size_t n = 0;
    while (n < text.len && !memchr("*?[\\", text.ptr[n], 4)) n++;
    return sliceOf(text.ptr, n);
}

topic *patternsFind(hashedKey text) {
    assertMainRole();
    pattern *p = patterns.by_text ? dictFind(patterns.by_text, text.name, text.hash) : NULL;
    return p ? &p->t : NULL;
}

/* Returns the group at that prefix, which it creates if it is absent; NULL if there is no memory. */
static group *groupAt(slice beginning) {
    void *there;
    group *g = zcalloc(1, sizeof(*g));
    raxResult result = raxTryInsert(patterns.tree, beginning, g, &there);
    if (result == RAX_ADDED) return g;
    zfree(g);
    return result == RAX_PRESENT ? there : NULL;
}

static void pubsubPatternsEnter(group *g, pattern *p) {
    if (g->count == g->capacity) {
        g->capacity = g->capacity ? g->capacity * 2 : 1;
        g->patterns = zrealloc(g->patterns, g->capacity * sizeof(*g->patterns));
    }
    debugAssert(g->count < g->capacity);
    p->g = g;
    p->at = g->count;
    g->patterns[g->count++] = p;
}

topic *patternsAdd(hashedKey text) {
    assertMainRole();
    if (!patterns.tree) {
        patterns.tree = raxCreate();
        patterns.by_text = dictCreate(&by_text_type);
    }
    debugAssert(!patternsFind(text));
    pattern *p = ztrymalloc(sizeof(*p) + text.name.len);
    group *g = p ? groupAt(literalBeginning(text.name)) : NULL;
    if (!g) {
        zfree(p);
        return NULL;
    }
    topicInit(&p->t, text, (char *)(p + 1));
    pubsubPatternsEnter(g, p);
    dictAddNew(patterns.by_text, p, text.hash);
    return &p->t;
}

static void pubsubPatternsLeave(const pattern *p) {
    group *g = p->g;
    debugAssert(p->at < g->count && g->patterns[p->at] == p);
    g->patterns[p->at] = g->patterns[--g->count];
    g->patterns[p->at]->at = p->at;
    if (g->count) return;
    bool removed = raxRemove(patterns.tree, literalBeginning(textOf(p)), NULL);
    serverAssert(removed);
    zfree(g->patterns);
    zfree(g);
}

void patternsRemove(topic *t) {
    assertMainRole();
    pattern *p = patternOf(t);
    pubsubPatternsLeave(p);
    dictPopEntry(patterns.by_text, p, t->hash);
    topicClear(t);
    zfree(p);
}

typedef struct matching {
    slice channel;
    void (*fn)(void *arg, topic *t);
    void *arg;
} matching;

/* A channel without a name matches only an empty pattern, no star, as in Valkey. */
static bool matchesChannel(const pattern *p, slice channel) {
    if (channel.len == 0) return textOf(p).len == 0;
    return globMatch(textOf(p), channel, false);
}

static void matchGroup(void *arg, void *value) {
    const matching *m = arg;
    const group *g = value;
    debugAssert(g->count > 0 && g->count <= g->capacity);
    for (uint32_t i = 0; i < g->count; i++)
        if (matchesChannel(g->patterns[i], m->channel)) m->fn(m->arg, &g->patterns[i]->t);
}

void patternsMatch(slice channel, void (*fn)(void *arg, topic *t), void *arg) {
    assertMainRole();
    if (patternsCount() == 0) return;
    matching m = {channel, fn, arg};
    raxEachPrefix(patterns.tree, channel, matchGroup, &m);
}

size_t patternsCount(void) { return patterns.by_text ? dictSize(patterns.by_text) : 0; }

void patternsCheck(void) {
    if (!patterns.tree) return;
    dictIterator it;
    dictIterBegin(&it, patterns.by_text, false);
    for (const pattern *p; (p = dictIterNext(&it)) != NULL;) {
        void *g = NULL;
        bool found = raxFind(patterns.tree, literalBeginning(textOf(p)), &g);
        serverAssert(found && g == p->g && p->at < p->g->count && p->g->patterns[p->at] == p);
        topicCheck(&p->t);
    }
    dictIterEnd(&it);
    serverAssert(raxSize(patterns.tree) <= patternsCount());
}
