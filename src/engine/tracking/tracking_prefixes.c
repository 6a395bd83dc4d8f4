/* tracking_prefixes.c -- BCAST: clients that are notified of every change of keys with a prefix.
 *
 *   prefixes: rax of trackedPrefix --first--> prefixLink --next--> prefixLink     clients of one prefix
 *                      |                        ^ prefixList.links[]              prefixes of one client
 *                      `-- changes: rax of keys, each with the client that was the last to change it
 *
 * A change walks the tree of prefixes once. Keys are collected until prefixesForEach(), so a key that changes a hundred
 * times in a batch is reported once, and a hundred keys are one message.
 *
 * Not here    what a message looks like and where it goes (tracking.c).
 * Owns        prefixes, links, the changes.
 * Threads     main.
 * Invariants  1. A prefix is in the tree as long as a client has it.
 *             2. A prefix has `changes`, which are in the list of all, exactly while there are changes to report.
 *             3. The list of a prefix's first link, and no other, counts the size of the prefix besides its links.
 *             4. No prefix of a client begins with another one of its own, except the empty one.
 * Cost        of a change: a step for each byte of the key that prefixes share, and one insertion for each prefix that
 *             matches.
 * Tests       tests/unit/engine/tracking/tracking_prefixes_test.c, tests/engine/tracking.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "tracking_prefixes.h"

#include "panic.h"
#include "rax.h"
#include "reply.h"
#include "resp_format.h"
#include "zmalloc.h"

typedef struct trackedPrefix {
    struct prefixLink *first;      /* owned by the clients' lists */
    struct prefixChanges *changes; /* owns; NULL while there is nothing to report */
    size_t len;
    char name[];
} trackedPrefix;

/* The changes of keys with one prefix since its clients were last notified. */
typedef struct prefixChanges {
    trackedPrefix *prefix;              /* borrowed: owns this */
    rax *keys;                          /* owns; values: ids of clients */
    struct prefixChanges *next, **link; /* list of all; the pointer to this one */
    uint64_t by;                        /* client that made the first change */
    int dbid;                           /* database of the changes; -1: several */
    bool several;                       /* other clients have made changes as well */
    bool names_missing;
} prefixChanges;

typedef struct prefixLink {
    trackedPrefix *prefix;
    prefixList *list;                /* borrowed: owns this */
    struct prefixLink *next, **link; /* of the same prefix; the pointer to this one */
} prefixLink;

#define NODE_BYTES 48 /* size of a prefix in the tree */

size_t tracking_prefix_count;
bool tracking_prefix_news;

static rax *prefixes; /* owns; created with the first prefix */
static prefixChanges *all_changes;

static slice prefixName(const trackedPrefix *p) { return sliceOf(p->name, p->len); }

#define LINKS_CHECKED 32

/* Asserts the invariants for the first prefixes of a list. */
static void listCheck(const prefixList *l) {
#ifdef DEBUG_ASSERTIONS
    debugAssert(tracking_prefix_news == (all_changes != NULL));
    debugAssert(tracking_prefix_count == (prefixes ? raxSize(prefixes) : 0));
    debugAssert(!all_changes || (all_changes->prefix->changes == all_changes && all_changes->link == &all_changes));
    debugAssert(l->count <= l->capacity);
    debugAssert((l->count == 0) == (l->bytes == 0));
    for (size_t i = 0; i < l->count && i < LINKS_CHECKED; i++) {
        const prefixLink *link = l->links[i];
        debugAssert(link->list == l && *link->link == link && link->prefix->first);
        debugAssert(!link->prefix->changes || link->prefix->changes->prefix == link->prefix);
        if (i == 0) continue;
        slice before = prefixName(l->links[i - 1]->prefix), own = prefixName(link->prefix);
        debugAssert(sliceCmp(before, own) < 0);
        debugAssert(before.len == 0 || own.len < before.len || !bytesEq(own.ptr, before.ptr, before.len));
    }
#endif
    unused(l);
}

/* ---- Prefixes of clients ---- */

static trackedPrefix *findOrAdd(slice name) {
    void *found;
    if (!prefixes) prefixes = raxCreate();
    if (raxFind(prefixes, name, &found)) return found;
    trackedPrefix *p = ztrymalloc(sizeof(*p) + name.len);
    if (!p) return NULL;
    *p = (trackedPrefix){.len = name.len};
    if (name.len) memcpy(p->name, name.ptr, name.len);
    if (raxTryInsert(prefixes, name, p, NULL) != RAX_ADDED) {
        zfree(p);
        return NULL;
    }
    tracking_prefix_count++;
    return p;
}

static prefixChanges *beginChanges(trackedPrefix *p, int dbid, uint64_t by) {
    debugAssert(p->first && !p->changes);
    prefixChanges *news = zmalloc(sizeof(*news));
    *news = (prefixChanges){
        .prefix = p, .keys = raxCreate(), .next = all_changes, .link = &all_changes, .by = by, .dbid = dbid};
    if (news->next) news->next->link = &news->next;
    all_changes = p->changes = news;
    tracking_prefix_news = true;
    return news;
}

static void endChanges(prefixChanges *news) {
    debugAssert(*news->link == news && news->prefix->changes == news);
    *news->link = news->next;
    if (news->next) news->next->link = news->link;
    news->prefix->changes = NULL;
    raxRelease(news->keys, NULL);
    zfree(news);
    tracking_prefix_news = all_changes != NULL;
}

static void trackingPrefixesForget(trackedPrefix *p) {
    debugAssert(!p->first);
    if (p->changes) endChanges(p->changes);
    bool found = raxRemove(prefixes, prefixName(p), NULL);
    serverAssert(found);
    zfree(p);
    tracking_prefix_count--;
}

slice prefixesAt(const prefixList *l, size_t i) { return prefixName(l->links[i]->prefix); }

/* Returns how many of the first `count` prefixes of the list sort before `prefix`. */
static size_t rankOf(const prefixList *l, size_t count, slice prefix) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sliceCmp(prefixesAt(l, middle), prefix) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

#define LINK_BYTES (sizeof(prefixLink) + sizeof(prefixLink *))

/* Returns the size of the prefix itself, which all its links share. */
static size_t sharedBytes(const trackedPrefix *p) { return sizeof(*p) + p->len + NODE_BYTES; }

static prefixLink *makeLink(prefixList *l, slice prefix) {
    trackedPrefix *p = findOrAdd(prefix);
    if (!p) return NULL;
    prefixLink *link = zmalloc(sizeof(*link));
    *link = (prefixLink){.prefix = p, .list = l, .next = p->first, .link = &p->first};
    l->bytes += LINK_BYTES + sharedBytes(p);
    if (link->next) {
        link->next->link = &link->next;
        link->next->list->bytes -= sharedBytes(p);
    }
    p->first = link;
    return link;
}

static void dropLink(prefixLink *link) {
    trackedPrefix *p = link->prefix;
    debugAssert(*link->link == link && link->list->bytes >= LINK_BYTES);
    link->list->bytes -= LINK_BYTES;
    if (p->first == link) {
        link->list->bytes -= sharedBytes(p);
        if (link->next) link->next->list->bytes += sharedBytes(p);
    }
    *link->link = link->next;
    if (link->next) link->next->link = link->link;
    if (!p->first) trackingPrefixesForget(p);
    zfree(link);
}

static_assert(offsetof(prefixLink, prefix) == 0 && offsetof(prefixChanges, prefix) == 0, "as byPrefix() reads them");

/* Compares the prefixes of two links, or of two prefixChanges, for qsort(). */
static int byPrefix(const void *a, const void *b) {
    trackedPrefix *const *const *x = a, *const *const *y = b;
    return sliceCmp(prefixName(**x), prefixName(**y));
}

static void trackingPrefixesReserve(prefixList *l, size_t count) {
    if (count <= l->capacity) return;
    l->capacity = l->capacity * 2 > count ? l->capacity * 2 : count;
    l->links = zrealloc(l->links, l->capacity * sizeof(prefixLink *));
}

/* Merges sorted links into the list, from the last one on, so that each of the links there moves once. */
static void trackingPrefixesMerge(prefixList *l, prefixLink **links, size_t count) {
    trackingPrefixesReserve(l, l->count + count);
    size_t end = l->count;
    for (size_t i = count; i-- > 0;) {
        size_t at = rankOf(l, end, prefixName(links[i]->prefix));
        memmove(l->links + at + i + 1, l->links + at, (end - at) * sizeof(prefixLink *));
        l->links[at + i] = links[i];
        end = at;
    }
    l->count += count;
    debugAssert(l->count <= l->capacity);
}

bool prefixesJoin(prefixList *l, void *owner, const slice *names, size_t count) {
    assertMainRole();
    debugAssert(count > 0 && (l->count == 0 || l->owner == owner));
    listCheck(l);
    prefixLink **links = zmalloc(count * sizeof(*links));
    size_t made = 0;
    l->owner = owner;
    while (made < count && (links[made] = makeLink(l, names[made])) != NULL) made++;
    if (made == count) {
        qsort(links, count, sizeof(*links), byPrefix);
        trackingPrefixesMerge(l, links, count);
    } else {
        while (made) dropLink(links[--made]);
    }
    zfree(links);
    listCheck(l);
    return made == count;
}

void prefixesLeave(prefixList *l) {
    assertMainRole();
    listCheck(l);
    for (size_t i = 0; i < l->count; i++) dropLink(l->links[i]);
    serverAssert(l->bytes == 0);
    zfree(l->links);
    *l = (prefixList){0};
}

static bool beginsWith(slice text, slice prefix) {
    return text.len >= prefix.len && bytesEq(text.ptr, prefix.ptr, prefix.len);
}

/* By invariant 4 only neighbors can overlap, or the empty prefix, which sorts first. */
bool prefixesOverlap(const prefixList *l, slice prefix, slice *with) {
    assertMainRole();
    if (l->count == 0) return false;
    size_t rank = rankOf(l, l->count, prefix);
    const size_t candidates[] = {0, rank ? rank - 1 : 0, rank};
    for (size_t i = 0; i < array_len(candidates); i++) {
        if (candidates[i] >= l->count) continue;
        *with = prefixesAt(l, candidates[i]);
        if (beginsWith(*with, prefix) || beginsWith(prefix, *with)) return true;
    }
    return false;
}

/* ---- Changes ---- */

typedef struct change {
    slice key;
    int dbid;
    uint64_t by;
} change;

static void noteFor(void *arg, void *value) {
    const change *what = arg;
    trackedPrefix *p = value;
    prefixChanges *news = p->changes;
    if (news) {
        news->several |= news->by != what->by;
        if (news->dbid != what->dbid) news->dbid = -1;
    } else {
        news = beginChanges(p, what->dbid, what->by);
    }
    if (raxInsert(news->keys, what->key, (void *)(uintptr_t)what->by, NULL) == RAX_NO_MEMORY)
        news->names_missing = true;
}

void prefixesNote(slice key, int dbid, uint64_t by) {
    assertMainRole();
    change what = {key, dbid, by};
    raxEachPrefix(prefixes, key, noteFor, &what);
}

/* ---- Reporting ---- */

/* Appends the names of the changed keys for which `keep` returns true (NULL: all). Returns false if there was no memory
 * to iterate over a key with a long name. */
static bool catNames(sds *names, const prefixChanges *news, prefixKeepFn *keep, void *arg, size_t *count) {
    raxIterator it;
    *count = 0;
    for (bool on = raxIterFirst(&it, news->keys); on; on = raxIterNext(&it)) {
        if (keep && !keep(arg, raxIterKey(&it), (uintptr_t)raxIterValue(&it))) continue;
        *names = respCatBulk(*names, raxIterKey(&it));
        ++*count;
    }
    bool complete = !it.failed;
    raxIterEnd(&it);
    return complete;
}

/* Returns the array of these names; NULL if there are none. Returns NULL and sets *failed if there is no memory. */
static sds arrayOf(const prefixChanges *news, prefixKeepFn *keep, void *arg, bool *failed) {
    size_t count;
    sds names = sdsEmpty(), array = NULL;
    *failed = !catNames(&names, news, keep, arg, &count);
    if (!*failed && count) {
        array = sdsCatPrintf(sdsEmpty(), "*%zu\r\n", count);
        array = sdsCatLen(array, names, sdsLen(names));
    }
    sdsFree(names);
    return array;
}

bool prefixNewsMayBeOf(const prefixNews *news, uint64_t id) {
    return news->prefix->changes->several || news->prefix->changes->by == id;
}

sds prefixNewsOnly(const prefixNews *news, prefixKeepFn *keep, void *arg, bool *failed) {
    assertMainRole();
    return arrayOf(news->prefix->changes, keep, arg, failed);
}

static void reportChanges(prefixChanges *changes, void (*fn)(void *owner, const prefixNews *news)) {
    bool failed;
    trackedPrefix *p = changes->prefix;
    sds array = changes->names_missing ? NULL : arrayOf(changes, NULL, NULL, &failed);
    const slice keys = array ? sdsSlice(array) : sliceOf(NULL, 0);
    robj *shared = p->first && p->first->next ? replyShare(keys) : NULL;
    const prefixNews news = {keys, shared, p, changes->dbid};
    for (const prefixLink *link = p->first; link; link = link->next) fn(link->list->owner, &news);
    if (shared) decrRefCount(shared);
    sdsFree(array);
    endChanges(changes);
}

void prefixesForEach(void (*fn)(void *owner, const prefixNews *news)) {
    assertMainRole();
    size_t count = 0, i = 0;
    debugAssert(tracking_prefix_news == (all_changes != NULL));
    for (const prefixChanges *news = all_changes; news; news = news->next) count++;
    prefixChanges **order = zmalloc(count * sizeof(prefixChanges *));
    for (prefixChanges *news = all_changes; news; news = news->next) order[i++] = news;
    qsort(order, count, sizeof(prefixChanges *), byPrefix);
    for (i = 0; i < count; i++) reportChanges(order[i], fn);
    debugAssert(!all_changes && !tracking_prefix_news);
    zfree(order);
}
