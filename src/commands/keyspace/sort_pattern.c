/* sort_pattern.c -- looks up the values of other keys that the patterns of SORT's BY and GET name, in groups.
 *
 * The names of a group of keys are written into one block and hashed; dictPrefetch() fetches all of them at once, and
 * then each is looked up like any key that is read. Fields of hashes are fetched in the same way. A group ends when it
 * has GROUP lookups, or its names have filled the block, which is large enough for the longest name.
 *
 * Not here    sorting, and the reply (sort.c).
 * Owns        the block of names.
 * Threads     main.
 * Tests       tests/type/sort.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sort_pattern.h"

#include "db.h"
#include "dict.h"
#include "hash.h"
#include "value_hash.h"
#include "zmalloc.h"

#define GROUP DICT_PREFETCH_MAX
#define NAMES_BYTES ((size_t)8192) /* for the names of a group; more if one name is longer */

typedef struct lookup {
    const sortPattern *pattern;
    hashedKey key; /* name.ptr is NULL if the pattern has no star */
    slice element;
} lookup;

struct sortLookups {
    size_t count, used, size; /* number of lookups; bytes of names, and their capacity */
    bool may_differ;
    lookup lookups[GROUP];
    sortValue values[GROUP];
    dictLookup fetched[GROUP];
    char names[];
};

sortPattern sortPatternOf(slice text) {
    sortPattern p = {.is_element = text.len == 1 && text.ptr[0] == '#'};
    const char *star = text.len ? memchr(text.ptr, '*', text.len) : NULL;
    if (p.is_element || !star) return p;
    const char *end = text.ptr + text.len, *after = star + 1;
    const char *arrow = memmem(after, (size_t)(end - after), "->", 2);
    p.has_star = true;
    p.before = sliceOf(text.ptr, (size_t)(star - text.ptr));
    if (arrow && arrow + 2 < end) {
        p.field = sliceOf(arrow + 2, (size_t)(end - arrow - 2));
        end = arrow;
    }
    p.after = sliceOf(after, (size_t)(end - after));
    return p;
}

/* As in Valkey, every special character of glob patterns counts as variable, although SORT replaces only the star. */
static bool isVariable(char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

static bool hasVariable(const char *from, const char *to) {
    while (from < to && !isVariable(*from)) from++;
    return from < to;
}

/* Text after the hash tag may vary. Text before it may not: an element could bring a tag of its own. */
int sortPatternSlot(slice text) {
    const char *end = text.ptr + text.len, *fixed_to = end;
    const char *open = text.len ? memchr(text.ptr, '{', text.len) : NULL;
    const char *close = open ? memchr(open + 1, '}', (size_t)(end - open - 1)) : NULL;
    if (close && close > open + 1) fixed_to = close;
    return hasVariable(text.ptr, fixed_to) ? -1 : keyHashSlot(text.ptr, text.len);
}

static size_t nameBytes(const sortPattern *p, size_t element) { return p->before.len + element + p->after.len; }

sortLookups *sortLookupsCreate(const sortPattern *patterns, size_t count, size_t longest) {
    size_t size = NAMES_BYTES;
    for (size_t i = 0; i < count; i++)
        if (nameBytes(&patterns[i], longest) > size) size = nameBytes(&patterns[i], longest);
    sortLookups *l = ztrymalloc(sizeof(*l) + size);
    if (!l) return NULL;
    l->size = size;
    l->may_differ = false;
    sortLookupsBegin(l);
    return l;
}

void sortLookupsFree(sortLookups *l) { zfree(l); }

void sortLookupsBegin(sortLookups *l) { l->count = l->used = 0; }

static char *sortPatternPut(char *at, slice s) {
    if (s.len) memcpy(at, s.ptr, s.len);
    return at + s.len;
}

bool sortLookupsAdd(sortLookups *l, const sortPattern *pattern, slice element) {
    bool names_key = pattern->has_star;
    size_t bytes = names_key ? nameBytes(pattern, element.len) : 0;
    if (l->count == GROUP || bytes > l->size - l->used) return false;
    lookup *one = &l->lookups[l->count++];
    *one = (lookup){.pattern = pattern, .element = element};
    if (!names_key) return true;
    char *name = l->names + l->used;
    sortPatternPut(sortPatternPut(sortPatternPut(name, pattern->before), element), pattern->after);
    one->key = hashedKeyOf(sliceOf(name, bytes));
    l->used += bytes;
    return true;
}

/* Looks up the entry of each lookup; NULL if there is none. */
static void findKeys(sortLookups *l, client *c, robj *entries[GROUP]) {
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        hashedKey key = l->lookups[i].key;
        if (l->lookups[i].pattern->has_star)
            l->fetched[n++] = (dictLookup){.d = dbDict(c->db, key.hash), .key = key.name, .hash = key.hash};
    }
    if (n) dictPrefetch(l->fetched, n);
    for (size_t i = 0; i < l->count; i++)
        entries[i] = l->lookups[i].pattern->has_star ? lookupKeyRead(c->db, l->lookups[i].key) : NULL;
}

static bool isField(const lookup *one, const robj *o) { return one->pattern->field.ptr && o && o->type == OBJ_HASH; }

/* Prefetches the fields that are in tables. */
static void fetchFields(sortLookups *l, robj *entries[GROUP]) {
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        slice field = l->lookups[i].pattern->field;
        const dict *d = isField(&l->lookups[i], entries[i]) ? hashTable(entries[i]) : NULL;
        if (d) l->fetched[n++] = (dictLookup){.d = d, .key = field, .hash = dictHash(d, field)};
    }
    if (n) dictPrefetch(l->fetched, n);
}

/* Reads a field. A text that hashFind() has printed into the pair is copied to the value. Returns false if there is no
 * such field. */
static bool readField(const robj *o, slice field, sortValue *v) {
    hashPair pair;
    const dict *d = hashTable(o);
    if (!hashFind(o, field, d ? dictHash(d, field) : 0, &pair)) return false;
    v->text = pair.value;
    if (pair.value.ptr != pair.value_digits) return true;
    memcpy(v->digits, pair.value_digits, pair.value.len);
    v->text.ptr = v->digits;
    return true;
}

bool sortLookupsMayDiffer(const sortLookups *l) { return l->may_differ; }

const sortValue *sortLookupsRun(sortLookups *l, client *c) {
    robj *entries[GROUP];
    findKeys(l, c, entries);
    fetchFields(l, entries);
    for (size_t i = 0; i < l->count; i++) {
        const sortPattern *p = l->lookups[i].pattern;
        sortValue *v = &l->values[i];
        robj *o = entries[i];
        v->string = NULL;
        v->text = sliceOf(NULL, 0);
        if (p->is_element) {
            v->text = l->lookups[i].element;
        } else if (o && o->type == OBJ_STRING && !p->field.ptr) {
            v->string = o;
            v->text = objectString(o, v->digits);
        } else if (isField(&l->lookups[i], o)) {
            l->may_differ |= !readField(o, p->field, v) && hashHasTtls(o);
        }
    }
    return l->values;
}
