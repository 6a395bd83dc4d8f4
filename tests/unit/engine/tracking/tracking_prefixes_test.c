/* tracking_prefixes_test.c -- compares clients with prefixes and changed keys with walks over all of them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "tracking_prefixes.h"

#include "panic.h"
#include "rng.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

#define OWNERS 6
#define NAMES 120 /* all words of up to four of three letters; the empty one is the first */

static char names[NAMES][8];

/* The model: the prefixes of each client, and the keys changed, with the client that changed them. */
static struct {
    prefixList lists[OWNERS];
    bool has[OWNERS][NAMES];
    uint64_t changed_by[OWNERS][NAMES][NAMES]; /* of each key of an owner's prefix; 0 if unchanged */
    rng r;
    int told;
} m;

static void makeNames(void) {
    size_t n = 1;
    for (size_t from = 0; n < NAMES; from++) {
        for (char letter = 'a'; letter <= 'c' && n < NAMES; letter++, n++) {
            size_t len = strlen(names[from]);
            memcpy(names[n], names[from], len);
            names[n][len] = letter;
        }
    }
}

static bool begins(size_t name, size_t prefix) {
    return strncmp(names[name], names[prefix], strlen(names[prefix])) == 0;
}

/* Returns whether the owner has a prefix that overlaps this one, by the list and by the model. */
static bool overlaps(size_t owner, size_t prefix) {
    slice with = {NULL, 0};
    size_t count = 0;
    bool named = false;
    bool got = prefixesOverlap(&m.lists[owner], sliceStr(names[prefix]), &with);
    for (size_t i = 0; i < NAMES; i++) {
        if (!m.has[owner][i] || (!begins(i, prefix) && !begins(prefix, i))) continue;
        count++;
        named |= got && sliceIs(with, names[i]);
    }
    CHECK(got == (count > 0) && named == got);
    return got;
}

/* Adds up to `most` prefixes, in any order. */
static void join(size_t owner, size_t most) {
    slice taken[NAMES];
    size_t count = 0, which[NAMES];
    for (size_t tries = 0; tries < most; tries++) {
        size_t prefix = rngBelow(&m.r, NAMES);
        bool fits = !overlaps(owner, prefix);
        for (size_t i = 0; i < count; i++) fits &= !begins(which[i], prefix) && !begins(prefix, which[i]);
        if (!fits) continue;
        which[count] = prefix;
        taken[count++] = sliceStr(names[prefix]);
    }
    if (count) CHECK(prefixesJoin(&m.lists[owner], &m.lists[owner], taken, count));
    for (size_t i = 0; i < count; i++) m.has[owner][which[i]] = true;
}

static void leave(size_t owner) {
    prefixesLeave(&m.lists[owner]);
    memset(m.has[owner], 0, sizeof(m.has[owner]));
    memset(m.changed_by[owner], 0, sizeof(m.changed_by[owner]));
}

/* A change below a shared prefix is reported to all its clients, also to a later one. */
static void change(size_t key, uint64_t by) {
    if (tracking_prefix_count) prefixesNote(sliceStr(names[key]), (int)(by % 2), by);
    for (size_t o = 0; o < OWNERS; o++)
        for (size_t p = 0; p < NAMES; p++)
            if (m.has[o][p] && begins(key, p)) m.changed_by[o][p][key] = by;
}

static sds arrayWithout(size_t owner, size_t prefix, uint64_t without) {
    sds list = sdsEmpty();
    long count = 0;
    /* Checks the names in order against the tree. */
    for (bool more = true; more;) {
        more = false;
        static char last[8];
        size_t next = NAMES;
        if (count == 0 && sdsLen(list) == 0) strcpy(last, "");
        for (size_t k = 0; k < NAMES; k++) {
            uint64_t by = m.changed_by[owner][prefix][k];
            if (by == 0 || by == without) continue;
            bool behind = count == 0 || strcmp(names[k], last) > 0;
            if (behind && (next == NAMES || strcmp(names[k], names[next]) < 0)) next = k;
        }
        if (next == NAMES) break;
        list = sdsCatPrintf(list, "$%zu\r\n%s\r\n", strlen(names[next]), names[next]);
        strcpy(last, names[next]);
        count++;
        more = true;
    }
    sds array = count ? sdsCatPrintf(sdsEmpty(), "*%ld\r\n%s", count, list) : NULL;
    sdsFree(list);
    return array;
}

static bool isNotBy(void *arg, slice key, uint64_t by) {
    CHECK(key.len < sizeof(names[0]));
    return by != *(uint64_t *)arg;
}

/* Clients with odd ids are in database 1. Checks the database of the report; -1 is accepted, as there may have been
 * several. */
static void checkDb(size_t owner, size_t prefix, const prefixNews *news) {
    bool in[2] = {false, false};
    for (size_t k = 0; k < NAMES; k++)
        if (m.changed_by[owner][prefix][k]) in[m.changed_by[owner][prefix][k] % 2] = true;
    CHECK(news->dbid == -1 || (news->dbid == 1 ? in[1] && !in[0] : in[0] && !in[1]));
}

static void checkTold(size_t owner, size_t prefix, const prefixNews *news) {
    bool failed;
    uint64_t without = 1;
    sds all = arrayWithout(owner, prefix, 0), others = arrayWithout(owner, prefix, 1),
        got = prefixNewsOnly(news, isNotBy, &without, &failed);
    CHECK(!failed);
    checkDb(owner, prefix, news);
    CHECK(all && sliceEq(sdsSlice(all), news->keys));
    CHECK((others != NULL) == (got != NULL));
    CHECK(prefixNewsMayBeOf(news, 1) || (others && sliceEq(sdsSlice(all), sdsSlice(others))));
    CHECK(!got || !others || sliceEq(sdsSlice(got), sdsSlice(others)));
    sdsFree(all);
    sdsFree(others);
    sdsFree(got);
    memset(m.changed_by[owner][prefix], 0, sizeof(m.changed_by[owner][prefix]));
}

/* Identifies the prefix: the first in order of the owner's prefixes with exactly these changes. */
static void told(void *list, const prefixNews *news) {
    size_t owner = (size_t)((prefixList *)list - m.lists);
    m.told++;
    size_t first = NAMES;
    for (size_t p = 0; p < NAMES; p++) {
        bool any = false;
        for (size_t k = 0; k < NAMES; k++) any |= m.changed_by[owner][p][k] != 0;
        if (any && (first == NAMES || strcmp(names[p], names[first]) < 0)) first = p;
    }
    if (CHECK(first < NAMES)) checkTold(owner, first, news);
}

static void tell(void) {
    prefixesForEach(told);
    CHECK(!tracking_prefix_news);
    for (size_t o = 0; o < OWNERS; o++)
        for (size_t p = 0; p < NAMES; p++)
            for (size_t k = 0; k < NAMES; k++) CHECK_EQ_INT(m.changed_by[o][p][k], 0);
}

static size_t countPrefixes(void) {
    size_t count = 0;
    for (size_t p = 0; p < NAMES; p++) {
        bool any = false;
        for (size_t o = 0; o < OWNERS; o++) any |= m.has[o][p];
        count += any;
    }
    return count;
}

TEST(tracking_prefixes_random_operations) {
    panicSetMainThread();
    makeNames();
    rngSeed(&m.r, unitRandomSeed());
    for (int step = 0; step < 6000; step++) {
        size_t owner = rngBelow(&m.r, OWNERS);
        uint64_t what = rngBelow(&m.r, 100);
        if (what < 20 && !tracking_prefix_news) join(owner, 1 + rngBelow(&m.r, 20));
        else if (what < 22) leave(owner);
        else if (what < 90) change(rngBelow(&m.r, NAMES), 1 + rngBelow(&m.r, 3));
        else tell();
        CHECK_EQ_INT(tracking_prefix_count, countPrefixes());
        size_t count = 0;
        for (size_t p = 0; p < NAMES; p++) count += m.has[owner][p];
        CHECK_EQ_INT(m.lists[owner].count, count);
        for (size_t i = 1; i < count; i++)
            CHECK(sliceCmp(prefixesAt(&m.lists[owner], i - 1), prefixesAt(&m.lists[owner], i)) < 0);
    }
    for (size_t o = 0; o < OWNERS; o++) leave(o);
    CHECK_EQ_INT(tracking_prefix_count, 0);
    CHECK(!tracking_prefix_news && m.told > 100);
}

static bool everything;

static void noteEverything(void *owner, const prefixNews *news) {
    (void)owner;
    everything = news->keys.ptr == NULL;
}

/* Without memory for a name, the report is that anything may have changed. */
TEST(tracking_prefixes_without_memory) {
    panicSetMainThread();
    prefixList l = {0};
    size_t len = 100000;
    sds name = sdsNewLen(NULL, len);
    const slice empty = sliceOf("", 0);
    CHECK(prefixesJoin(&l, &l, &empty, 1));
    zmallocFailAfter(1);
    prefixesNote(sdsSlice(name), 0, 1);
    zmallocFailAfter(0);
    const slice more[] = {sliceStr("a"), sdsSlice(name)};
    for (long n = 1, left = 0; left == 0; n++) {
        prefixList other = {0};
        zmallocFailAfter(n);
        bool joined = prefixesJoin(&other, &other, more, 2);
        left = zmallocFailAfter(0);
        CHECK(joined == (left > 0) && tracking_prefix_count == (joined ? 3 : 1));
        prefixesLeave(&other);
    }
    CHECK(tracking_prefix_news);
    prefixesForEach(noteEverything);
    CHECK(everything);
    prefixesLeave(&l);
    sdsFree(name);
}

static void ignoreNews(void *owner, const prefixNews *news) { unused(owner), unused(news); }

/* The list's count of its memory equals the allocator's, and changes take no memory once they are reported. */
TEST(tracking_prefixes_cost_what_they_count) {
    enum { COUNT = 10000, EACH_MAX = 144 };
    static char texts[COUNT][16];
    static slice all[COUNT];
    prefixList list = {0};
    for (int i = 0; i < COUNT; i++) all[i] = sliceOf(texts[i], (size_t)snprintf(texts[i], 16, "prefix:%06d:", i));
    size_t before = zmallocUsed();
    CHECK(prefixesJoin(&list, &list, all, COUNT));
    size_t quiet = zmallocUsed() - before;
    CHECK(quiet <= (size_t)COUNT * EACH_MAX);
    CHECK(list.bytes <= quiet + quiet / 4 && list.bytes >= quiet - quiet / 4);
    for (int i = 0; i < COUNT; i++) prefixesNote(all[i], 0, 1);
    CHECK(zmallocUsed() - before > quiet);
    prefixesForEach(ignoreNews);
    CHECK_EQ_INT(zmallocUsed() - before, quiet);

    /* Lists with the same prefixes count them once, whichever list is freed first. */
    size_t alone = list.bytes;
    prefixList others[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) CHECK(prefixesJoin(&others[i], &others[i], all, COUNT));
    size_t all_used = zmallocUsed() - before, counted = list.bytes + others[0].bytes + others[1].bytes;
    CHECK(counted <= all_used + all_used / 4 && counted >= all_used - all_used / 4);
    CHECK(list.bytes == others[0].bytes && list.bytes < alone / 2);
    prefixesLeave(&others[1]);
    CHECK_EQ_INT(others[0].bytes, alone);
    prefixesLeave(&list);
    CHECK_EQ_INT(others[0].bytes, alone);
    prefixesLeave(&others[0]);
}
