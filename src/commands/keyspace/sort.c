/* sort.c -- SORT and SORT_RO: sorts the elements of a list, set or sorted set, or values that they stand for.
 *
 *   elements --BY--> weights --> order, as far as LIMIT shows it --GET--> reply, or a new list
 *
 * The elements are borrowed from the value, which does not change until the result is stored; each becomes an item with
 * a weight. The order is total: items that compare equal keep the order of the value, or are ordered by text if the
 * result for a set is stored. So the sorting method does not matter, and a part of the result can be sorted alone:
 * quicksort descends only into the parts that LIMIT shows.
 *
 * Not here    looking up the keys that patterns name (sort_pattern.c).
 * Owns        the items of one command.
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. No item is read after the destination has been replaced.
 * Cost        O(N + M log M) compares for M of N elements shown.
 * Tests       tests/type/sort.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl.h"
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "script_context.h"
#include "propagate.h"
#include "rng.h"
#include "slot_table.h"
#include "sort_pattern.h"
#include "typed_key.h"
#include "value_list.h"
#include "value_set.h"
#include "value_zset.h"
#include "zmalloc.h"

#include <limits.h>
#include <locale.h>

#define GETS_INLINE 8
#define STORE_GROUP 64 /* values that are appended to the list in one call */

/* ---- Options ---- */

typedef struct sortOptions {
    bool desc, alpha;
    bool unsorted; /* BY has a pattern without a star */
    bool has_by;
    sortPattern by;
    long long offset, limit; /* limit -1: no limit */
    uint32_t store_arg;      /* 0: no STORE */
    uint32_t gets;
    sortPattern *get; /* owns, unless it points to `few` */
    sortPattern few[GETS_INLINE];
} sortOptions;

static bool addGet(sortOptions *opts, slice pattern, uint32_t most) {
    if (opts->gets == GETS_INLINE && opts->get == opts->few) {
        opts->get = ztrymalloc(most * sizeof(*opts->get));
        if (!opts->get) {
            opts->get = opts->few;
            return false;
        }
        memcpy(opts->get, opts->few, sizeof(opts->few));
    }
    opts->get[opts->gets++] = sortPatternOf(pattern);
    return true;
}

/* In a cluster the keys that a pattern names must be in the slot of the command's key. */
static bool clusterAllows(const client *c, slice pattern) {
    return likely(!slots_enabled) || sortPatternSlot(pattern) == c->req->slot;
}

static void optionsFree(sortOptions *opts) {
    if (opts->get != opts->few) zfree(opts->get);
}

/* Parses the option at argument `at`. Returns the number of its arguments; 0 after an error reply. */
static uint32_t takeOption(client *c, uint32_t at, bool may_store, sortOptions *opts) {
    slice word = c->argv[at];
    uint32_t left = c->argc - at - 1;
    if (sliceIs(word, "asc") || sliceIs(word, "desc")) {
        opts->desc = sliceIs(word, "desc");
        return 1;
    }
    if (sliceIs(word, "alpha")) {
        opts->alpha = true;
        return 1;
    }
    if (sliceIs(word, "limit") && left >= 2) {
        if (!getLongLongFromArg(c, at + 1, &opts->offset, NULL)) return 0;
        return getLongLongFromArg(c, at + 2, &opts->limit, NULL) ? 3 : 0;
    }
    if (may_store && sliceIs(word, "store") && left >= 1) {
        opts->store_arg = at + 1;
        return 2;
    }
    if (sliceIs(word, "by") && left >= 1) {
        opts->by = sortPatternOf(c->argv[at + 1]);
        opts->has_by = opts->by.has_star;
        opts->unsorted |= !opts->has_by;
        if (!opts->has_by) return 2;
        if (!clusterAllows(c, c->argv[at + 1]))
            return addReplyError(c,
                                 "BY option of SORT denied in Cluster mode when keys formed by the pattern may be in "
                                 "different slots.");
        if (aclMayReadAllKeys(c)) return 2;
        return addReplyError(c, "BY option of SORT denied due to insufficient ACL permissions.");
    }
    if (sliceIs(word, "get") && left >= 1) {
        if (!sliceIs(c->argv[at + 1], "#") && !clusterAllows(c, c->argv[at + 1]))
            return addReplyError(c, "GET option of SORT denied in Cluster mode when keys formed by the pattern may be "
                                    "in different slots.");
        if (!aclMayReadAllKeys(c))
            return addReplyError(c, "GET option of SORT denied due to insufficient ACL permissions.");
        if (addGet(opts, c->argv[at + 1], c->argc)) return 2;
        return addReplyNoMemory(c);
    }
    return addReplySyntaxError(c);
}

static bool parseOptions(client *c, bool may_store, sortOptions *opts) {
    *opts = (sortOptions){.limit = -1};
    opts->get = opts->few;
    for (uint32_t at = 2, taken; at < c->argc; at += taken) {
        taken = takeOption(c, at, may_store, opts);
        if (taken == 0) {
            optionsFree(opts);
            return false;
        }
    }
    return true;
}

/* ---- Items ---- */

typedef struct sortItem {
    union {
        double score;
        slice weight; /* with ALPHA; ptr is NULL if there is no weight, which sorts first */
    };
    slice text; /* borrowed from the value, or from `kept` of `sorting` */
    size_t index;
} sortItem;

/* Copies of texts that the iterator of a value, or the next group of lookups, overwrites. */
typedef struct keptTexts {
    struct keptTexts *next; /* owns */
    size_t used, capacity;
    char bytes[];
} keptTexts;

#define KEPT_BYTES 65536

typedef struct sorting {
    sortItem *items; /* owns */
    size_t count, longest;
    size_t from, to; /* the part of the order that LIMIT shows */
    char *weights;   /* owns: weights as strings for strcoll() */
    keptTexts *kept; /* owns */
    bool desc, alpha, has_by;
    bool collate;    /* compare by the rules of the locale */
    bool by_text;    /* order equal items by text, as the order of a set differs between servers */
    bool may_differ; /* the same command may give another result on a replica */
} sorting;

static void sortingFree(sorting *s) {
    zfree(s->items);
    zfree(s->weights);
    for (keptTexts *k = s->kept, *next; k; k = next) {
        next = k->next;
        zfree(k);
    }
}

/* Copies a text into `kept`. Returns NULL if there is no memory. */
static const char *keepText(sorting *s, slice text) {
    keptTexts *k = s->kept;
    if (!k || k->capacity - k->used < text.len) {
        size_t capacity = text.len < KEPT_BYTES ? KEPT_BYTES : text.len;
        k = ztrymalloc(sizeof(*k) + capacity);
        if (!k) return NULL;
        *k = (keptTexts){.next = s->kept, .capacity = capacity};
        s->kept = k;
    }
    char *copy = k->bytes + k->used;
    if (text.len) memcpy(copy, text.ptr, text.len);
    k->used += text.len;
    return copy;
}

/* Adds an item. With `keep` its text is copied; then the result is false if there is no memory. */
static bool addText(sorting *s, slice text, bool keep) {
    if (keep && !(text.ptr = keepText(s, text))) return false;
    if (text.len > s->longest) s->longest = text.len;
    s->items[s->count] = (sortItem){.text = text, .index = s->count};
    s->count++;
    return true;
}

static bool addItem(sorting *s, const listpackValue *v, bool unpacked) {
    char digits[LONG_STR_SIZE];
    if (v->str) return addText(s, sliceOf(v->str, v->len), unpacked);
    return addText(s, sliceOf(digits, ll2string(digits, v->num)), true);
}

static size_t elementsOf(const robj *o) {
    if (!o) return 0;
    return o->type == OBJ_LIST ? valueListCount(o) : o->type == OBJ_ZSET ? zsetCount(o) : setSize(o);
}

/* These load `n` elements from index `from` on, counted from the tail if `backward`. They return false if there is no
 * memory. */
static bool loadList(sorting *s, const robj *o, size_t from, size_t n, bool backward) {
    valueListIter it;
    listpackValue v;
    bool ok = true;
    valueListIterBegin(&it, o, backward ? -(long)from - 1 : (long)from, backward);
    while (ok && s->count < n && valueListIterNext(&it, &v)) ok = addItem(s, &v, valueListIterUnpacked(&it));
    valueListIterEnd(&it);
    return ok;
}

static bool loadSet(sorting *s, const robj *o, size_t from, size_t n) {
    setIterator it;
    setMember m;
    bool ok = true;
    setIterBegin(&it, o);
    for (size_t i = 0; ok && s->count < n && setIterNext(&it, &m); i++)
        if (i >= from) ok = addItem(s, &m, false);
    setIterEnd(&it);
    return ok;
}

static bool loadZset(sorting *s, const robj *o, size_t from, size_t n, bool backward) {
    zsetIter it = zsetIterAt(o, backward ? zsetCount(o) - 1 - from : from, backward);
    zsetElement e;
    bool ok = true;
    while (ok && s->count < n && zsetIterNext(&it, &e))
        ok = addText(s, e.member, (uintptr_t)e.member.ptr - (uintptr_t)&it < sizeof(it));
    return ok;
}

/* Loads the elements. If they are not to be sorted, only those that LIMIT shows are loaded, in the order of the
 * value. */
static bool sortLoad(sorting *s, const robj *o, const sortOptions *opts) {
    size_t size = elementsOf(o);
    s->from = opts->offset < 0 ? 0 : (unsigned long long)opts->offset < size ? (size_t)opts->offset : size;
    s->to = opts->limit < 0 || (unsigned long long)opts->limit >= size - s->from ? size : s->from + (size_t)opts->limit;
    size_t from = 0, n = size;
    if (opts->unsorted) {
        from = s->from;
        n = s->to - s->from;
        s->from = 0;
        s->to = n;
    }
    if (n == 0) return true;
    s->items = ztrymalloc(n * sizeof(*s->items));
    if (!s->items) return false;
    bool backward = opts->unsorted && opts->desc;
    if (o->type == OBJ_LIST) return loadList(s, o, from, n, backward);
    if (o->type == OBJ_ZSET) return loadZset(s, o, from, n, backward);
    return loadSet(s, o, from, n);
}

/* ---- Weights ---- */

static slice untilNul(slice text) { return sliceOf(text.ptr, text.ptr ? strnlen(text.ptr, text.len) : 0); }

/* Sets the weight of an item to `text`; ptr is NULL if it has none. Returns false if the text must be a number and is
 * none. */
static bool weigh(const sorting *s, sortItem *item, slice text, bool by_bytes) {
    slice until_nul = untilNul(text);
    if (s->alpha) {
        item->weight = by_bytes ? text : until_nul;
        return true;
    }
    item->score = 0;
    return !text.ptr || string2d(until_nul.ptr, until_nul.len, &item->score);
}

/* Copies the weight if its text is in the lookup, which the next group overwrites: the digits of an integer. */
static bool keepDigits(sorting *s, sortItem *item, const sortValue *v) {
    if (!s->alpha || v->text.ptr != v->digits) return true;
    item->weight.ptr = keepText(s, item->weight);
    return item->weight.ptr != NULL;
}

typedef enum { WEIGHED, NOT_A_NUMBER, NO_MEMORY } weighResult;

static weighResult weighBy(sorting *s, client *c, const sortPattern *by, bool by_bytes) {
    sortLookups *l = sortLookupsCreate(by, 1, s->longest);
    weighResult result = l ? WEIGHED : NO_MEMORY;
    for (size_t at = 0; result == WEIGHED && at < s->count;) {
        size_t end = at;
        sortLookupsBegin(l);
        while (end < s->count && sortLookupsAdd(l, by, s->items[end].text)) end++;
        const sortValue *v = sortLookupsRun(l, c);
        for (; at < end && result == WEIGHED; at++, v++) {
            if (!weigh(s, &s->items[at], v->text, by_bytes)) result = NOT_A_NUMBER;
            else if (!keepDigits(s, &s->items[at], v)) result = NO_MEMORY;
        }
    }
    if (l) s->may_differ = sortLookupsMayDiffer(l);
    sortLookupsFree(l);
    return result;
}

static weighResult weighElements(sorting *s, bool by_bytes) {
    for (size_t i = 0; i < s->count; i++)
        if (!weigh(s, &s->items[i], s->items[i].text, by_bytes)) return NOT_A_NUMBER;
    return WEIGHED;
}

/* Copies all weights with a terminating NUL, as strcoll() needs it. */
static bool copyWeights(sorting *s) {
    size_t bytes = 0;
    for (size_t i = 0; i < s->count; i++) bytes += s->items[i].weight.len + 1;
    char *copies = ztrymalloc(bytes ? bytes : 1), *at = copies;
    if (!copies) return false;
    for (size_t i = 0; i < s->count; i++) {
        slice *weight = &s->items[i].weight;
        if (!weight->ptr) continue;
        memcpy(at, weight->ptr, weight->len);
        at[weight->len] = '\0';
        weight->ptr = at;
        at += weight->len + 1;
    }
    s->weights = copies;
    return true;
}

static bool localeHasRules(void) {
    const char *name = setlocale(LC_COLLATE, NULL);
    return name && strcmp(name, "C") != 0 && strcmp(name, "POSIX") != 0;
}

/* Sets the weight of each item. Returns false after an error reply. A result that is stored is ordered by bytes, so
 * that it is the same on every server. */
static bool weighAll(sorting *s, client *c, const sortOptions *opts) {
    bool stored = opts->store_arg != 0;
    weighResult result = s->has_by ? weighBy(s, c, &opts->by, stored) : weighElements(s, stored);
    if (result == WEIGHED && s->alpha && !stored && localeHasRules()) {
        s->collate = true;
        if (!copyWeights(s)) result = NO_MEMORY;
    }
    if (result == NOT_A_NUMBER) addReplyError(c, "One or more scores can't be converted into double");
    if (result == NO_MEMORY) addReplyNoMemory(c);
    return result == WEIGHED;
}

/* ---- Order ---- */

static int compareWeights(const sorting *s, const sortItem *a, const sortItem *b) {
    if (!s->alpha) {
        if (a->score != b->score) return a->score > b->score ? 1 : -1;
        return sliceCmp(a->text, b->text);
    }
    if (!a->weight.ptr || !b->weight.ptr) return (a->weight.ptr != NULL) - (b->weight.ptr != NULL);
    return s->collate ? strcoll(a->weight.ptr, b->weight.ptr) : sliceCmp(a->weight, b->weight);
}

static bool isBefore(const sorting *s, const sortItem *a, const sortItem *b) {
    int order = compareWeights(s, a, b);
    if (!order && s->by_text) order = sliceCmp(a->text, b->text);
    if (order) return s->desc ? order > 0 : order < 0;
    return a->index < b->index;
}

static void swapItems(sortItem *a, sortItem *b) {
    sortItem was = *a;
    *a = *b;
    *b = was;
}

#define INSERT_MAX 12 /* at most this many items are sorted by insertion */

static void insertAll(const sorting *s, sortItem *items, size_t n) {
    for (size_t i = 1; i < n; i++) {
        sortItem one = items[i];
        size_t at = i;
        for (; at && isBefore(s, &one, &items[at - 1]); at--) items[at] = items[at - 1];
        items[at] = one;
    }
}

/* Moves a random item to its final position, with all smaller items before it. Returns this position. */
static size_t splitAround(const sorting *s, sortItem *items, size_t n) {
    swapItems(&items[rngBelow(rngThread(), n)], &items[n - 1]);
    size_t at = 0;
    for (size_t i = 0; i < n - 1; i++)
        if (isBefore(s, &items[i], &items[n - 1])) swapItems(&items[i], &items[at++]);
    swapItems(&items[at], &items[n - 1]);
    return at;
}

/* Sorts the items [low, high) as far as they overlap the part that is shown. It calls itself for the smaller part only,
 * which bounds the depth of the recursion. */
static void orderPart(const sorting *s, size_t low, size_t high) {
    while (high - low > INSERT_MAX && low < s->to && high > s->from) {
        size_t at = low + splitAround(s, s->items + low, high - low);
        if (at - low < high - at) {
            orderPart(s, low, at);
            low = at + 1;
        } else {
            orderPart(s, at + 1, high);
            high = at;
        }
    }
    if (high - low <= INSERT_MAX && low < high) insertAll(s, s->items + low, high - low);
}

/* ---- Results ---- */

static void addReplyValue(client *c, const sortValue *v) {
    if (v->string) addReplyBulkObject(c, v->string);
    else if (v->text.ptr) addReplyBulk(c, v->text);
    else addReplyNull(c);
}

static void storeValue(robj *list, slice text) {
    slice value = text.ptr ? text : sliceOf("", 0);
    valueListPush(list, LIST_TAIL, &value, 1);
}

/* Adds the items that LIMIT shows to the reply, or to the end of `list`. */
static void showItems(const sorting *s, client *c, robj *list) {
    for (size_t i = s->from; i < s->to && (list || !replyIsDropped(c)); i++) {
        if (list) storeValue(list, s->items[i].text);
        else addReplyBulk(c, s->items[i].text);
    }
}

/* Does the same with the values that GET's patterns name. */
static void showValues(const sorting *s, client *c, const sortOptions *opts, sortLookups *l, robj *list) {
    size_t item = s->from;
    uint32_t get = 0;
    while (item < s->to && (list || !replyIsDropped(c))) {
        size_t n = 0;
        sortLookupsBegin(l);
        while (item < s->to && sortLookupsAdd(l, &opts->get[get], s->items[item].text)) {
            n++;
            if (++get < opts->gets) continue;
            get = 0;
            item++;
        }
        for (const sortValue *v = sortLookupsRun(l, c); n; n--, v++) {
            if (list) storeValue(list, v->text);
            else addReplyValue(c, v);
        }
    }
}

/* Propagates the stored list itself, if a replica could compute another one. */
static void propagateStored(const client *c, slice key, const robj *list) {
    char digits[LONG_STR_SIZE];
    listpackValue v;
    valueListIter it;
    if (!propagateInstead(c, "DEL")) return;
    propagateArg(key);
    propagateDone();
    if (valueListCount(list) == 0 || !propagateInstead(c, "RPUSH")) return;
    propagateArg(key);
    valueListIterBegin(&it, list, 0, false);
    while (valueListIterNext(&it, &v))
        propagateCopied(v.str ? sliceOf(v.str, v.len) : sliceOf(digits, ll2string(digits, v.num)));
    valueListIterEnd(&it);
    propagateDone();
}

static void storeTake(client *c, const sortOptions *opts, bool may_differ, robj *list) {
    hashedKey key = clientKeyAt(c, opts->store_arg);
    long long count = (long long)valueListCount(list);
    if (may_differ && (count || lookupKeyWrite(c->db, key))) propagateStored(c, key.name, list);
    if (count) {
        setKeyTake(c->db, list, key, false);
        keyChanged(c, key, NOTIFY_LIST, "sortstore", count);
    } else {
        objectFree(list);
        deleteAndReport(c, key);
    }
    addReplyLongLong(c, count);
}

/* Reserves memory for the list to be stored, counted as if it had the elements themselves. Returns false after an error
 * reply. */
static bool reserveStored(const sorting *s, client *c, const sortOptions *opts) {
    size_t bytes = 0;
    for (size_t i = s->from; i < s->to; i++) bytes += listpackEntryBytesMax(s->items[i].text.len);
    return commandMemoryReserve(c, bytes * (opts->gets ? opts->gets : 1));
}

static void sortShow(const sorting *s, client *c, const sortOptions *opts) {
    sortLookups *l = NULL;
    robj *list = NULL;
    if (opts->gets && !(l = sortLookupsCreate(opts->get, opts->gets, s->longest))) {
        addReplyNoMemory(c);
        return;
    }
    if (opts->store_arg) {
        if (!reserveStored(s, c, opts)) goto cleanup;
        list = valueListCreate(c->argv[opts->store_arg]);
    } else {
        addReplyArrayLen(c, (long long)(s->to - s->from) * (opts->gets ? opts->gets : 1));
    }
    if (opts->gets) showValues(s, c, opts, l, list);
    else showItems(s, c, list);
    if (list) storeTake(c, opts, s->may_differ || (l && sortLookupsMayDiffer(l)), list);
cleanup:
    sortLookupsFree(l);
}

/* ---- The commands ---- */

static void sortValueOf(client *c, const robj *o, sortOptions *opts) {
    /* A set has no order. If the result is stored or goes to a script, whose effects depend on it, it must be the same
     * on every server: then the set is sorted. */
    if (opts->unsorted && (opts->store_arg || scriptContextIsClient(c)) && o && o->type == OBJ_SET) {
        opts->unsorted = opts->has_by = false;
        opts->alpha = true;
    }
    sorting s = {.desc = opts->desc,
                 .alpha = opts->alpha,
                 .has_by = opts->has_by,
                 .by_text = opts->store_arg && o && o->type == OBJ_SET};
    if (!sortLoad(&s, o, opts)) {
        addReplyNoMemory(c);
    } else if (opts->unsorted || weighAll(&s, c, opts)) {
        if (!opts->unsorted) orderPart(&s, 0, s.count);
        sortShow(&s, c, opts);
    }
    sortingFree(&s);
}

static void sortGeneric(client *c, bool may_store) {
    sortOptions opts;
    if (!parseOptions(c, may_store, &opts)) return;
    robj *o = lookupKeyRead(c->db, clientKeyAt(c, 1));
    if (o && o->type != OBJ_LIST && o->type != OBJ_SET && o->type != OBJ_ZSET) addReplyWrongType(c);
    else sortValueOf(c, o, &opts);
    optionsFree(&opts);
}

/* SORT key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC|DESC] [ALPHA] [STORE destination] */
void sortCommand(client *c) { sortGeneric(c, true); }

/* SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC|DESC] [ALPHA] */
void sortRoCommand(client *c) { sortGeneric(c, false); }
