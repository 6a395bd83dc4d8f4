/* scan.c -- SCAN, and what CLUSTERSCAN, HSCAN, SSCAN and ZSCAN share with it: walks in which each call returns a part.
 *
 * A call first collects entries from the dict and prefetches them, then filters them. So the cache misses overlap, and
 * expired keys can be deleted, as no walk is in progress then.
 *
 * Not here    how elements of a hash, set or sorted set are added to the reply (the files of the types); how the cursor
 *             works (dict.c).
 * Threads     main.
 * Cost        about COUNT entries, at most ten times as many buckets.
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "scan.h"

#include "commands.h"
#include "db_walk.h"
#include "hash.h"
#include "slice.h"
#include "slot_table.h"
#include "typed_key.h"
#include "value_hash.h"
#include "value_set.h"
#include "value_zset.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#define COUNT_DEFAULT 10
#define STEPS_PER_ELEMENT 10
#define GATHERED_ON_STACK 128

/* ---- Arguments ---- */

/* Cuts the text at a NUL byte, where a cursor or type name ends. */
static slice untilNul(slice s) { return sliceOf(s.ptr, strnlen(s.ptr, s.len)); }

/* Text that is not a plain number is parsed by strtoull(). */
bool scanParseNumber(slice text, uint64_t *number) {
    long long plain;
    if (string2ll(text.ptr, text.len, &plain)) {
        *number = (uint64_t)plain;
        return plain >= 0;
    }
    if (text.len == 0) return false;
    char *copy = zmalloc(text.len + 1), *end;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    errno = 0;
    *number = strtoull(copy, &end, 10);
    bool ok = errno == 0 && end != copy && *end == '\0';
    zfree(copy);
    return ok;
}

static bool getCursorFromArg(client *c, uint32_t index, uint64_t *cursor) {
    if (scanParseNumber(untilNul(c->argv[index]), cursor)) return true;
    return addReplyError(c, "invalid cursor");
}

static int typeByName(slice name) {
    static const struct {
        const char *name;
        objectTypeId type;
    } types[] = {{"string", OBJ_STRING}, {"list", OBJ_LIST}, {"set", OBJ_SET},
                 {"zset", OBJ_ZSET},     {"hash", OBJ_HASH}, {"stream", OBJ_STREAM}};
    for (size_t i = 0; i < array_len(types); i++)
        if (sliceIs(name, types[i].name)) return types[i].type;
    return -1;
}

static bool parseCount(client *c, uint32_t index, scanOptions *out) {
    long long count;
    if (!getLongLongFromArg(c, index, &count, NULL)) return false;
    if (count < 1) return addReplySyntaxError(c);
    out->count = (size_t)count;
    return true;
}

static bool parseType(client *c, uint32_t index, scanOptions *out) {
    slice name = untilNul(c->argv[index]);
    out->type = typeByName(name);
    if (out->type != -1) return true;
    return addReplyErrorFormat(c, "unknown type name '%.*s'", (int)(name.len < INT_MAX ? name.len : INT_MAX), name.ptr);
}

static bool parseSlot(client *c, uint32_t index, scanOptions *out) {
    if (out->slot != -1) return addReplyError(c, "SLOT option can only be specified once");
    long long slot;
    slice text = c->argv[index];
    if (!string2ll(text.ptr, text.len, &slot) || slot < 0 || slot >= HASH_SLOTS)
        return addReplyError(c, "Invalid or out of range slot");
    out->slot = (int)slot;
    return true;
}

static bool parseKeysOnly(client *c, scanKind kind, scanKind owner, scanOptions *out) {
    if (kind == owner) {
        out->keys_only = true;
        return true;
    }
    return addReplyError(c, owner == SCAN_HASH ? "NOVALUES option can only be used in HSCAN"
                                               : "NOSCORES option can only be used in ZSCAN");
}

bool scanParseOptions(client *c, uint32_t first, scanKind kind, scanOptions *out) {
    *out = (scanOptions){.count = COUNT_DEFAULT, .type = -1, .slot = -1, .last_slot = HASH_SLOTS - 1};
    for (uint32_t i = first; i < c->argc; i++) {
        slice word = c->argv[i];
        bool has_value = i + 1 < c->argc, ok = true;
        if (has_value && sliceIs(word, "count")) {
            ok = parseCount(c, ++i, out);
        } else if (has_value && sliceIs(word, "match")) {
            out->pattern = c->argv[++i];
            out->has_pattern = !(out->pattern.len == 1 && out->pattern.ptr[0] == '*');
        } else if (has_value && (kind == SCAN_KEYS || kind == SCAN_CLUSTER) && sliceIs(word, "type")) {
            ok = parseType(c, ++i, out);
        } else if (has_value && kind == SCAN_CLUSTER && sliceIs(word, "slot")) {
            ok = parseSlot(c, ++i, out);
        } else if (sliceIs(word, "novalues")) {
            ok = parseKeysOnly(c, kind, SCAN_HASH, out);
        } else if (sliceIs(word, "noscores")) {
            ok = parseKeysOnly(c, kind, SCAN_ZSET, out);
        } else {
            addReplySyntaxError(c);
            ok = false;
        }
        if (!ok) return false;
    }
    return true;
}

bool scanMatches(const scanOptions *options, slice name) {
    return !options->has_pattern || globMatch(options->pattern, name, false);
}

/* Only bytes before the first one that is special to a pattern are those of the keys. */
int scanPatternSlot(slice pattern) {
    if (!slots_enabled) return -1;
    size_t literal = 0;
    while (literal < pattern.len && !memchr("*?[\\", pattern.ptr[literal], 4)) literal++;
    const char *open = literal ? memchr(pattern.ptr, '{', literal) : NULL;
    const char *close = open ? memchr(open, '}', literal - (size_t)(open - pattern.ptr)) : NULL;
    if (literal < pattern.len && (!close || close == open + 1)) return -1;
    return keyHashSlot(pattern.ptr, pattern.len);
}

/* Restricts a walk over keys to the slot that the pattern has, if it has one. */
static void restrictToPattern(scanOptions *options) {
    int slot = options->has_pattern ? scanPatternSlot(options->pattern) : -1;
    if (slot != -1) options->first_slot = options->last_slot = slot;
}

size_t scanStepsMax(const scanOptions *options) {
    return options->count > SIZE_MAX / STEPS_PER_ELEMENT ? SIZE_MAX : options->count * STEPS_PER_ELEMENT;
}

static void addReplyCursor(client *c, uint64_t cursor, const scanOptions *options) {
    unused(options);
    char digits[LONG_STR_SIZE];
    addReplyBulk(c, sliceOf(digits, ull2string(digits, cursor)));
}

/* Adds the start of the reply: an array of two, the first element of which is the cursor. The caller adds the array of
 * elements. */
static void addReplyScanCursor(client *c, uint64_t cursor) {
    addReplyArrayLen(c, 2);
    addReplyCursor(c, cursor, NULL);
}

/* ---- Gathering ---- */

typedef struct gathered {
    void **entries; /* owns unless it is on_stack */
    size_t count, capacity;
    bool failed; /* there was no memory for more */
    void *on_stack[GATHERED_ON_STACK];
} gathered;

static void gatheredInit(gathered *g) {
    g->entries = g->on_stack;
    g->capacity = GATHERED_ON_STACK;
    g->count = 0;
    g->failed = false;
}

static void gatheredFree(gathered *g) {
    if (g->entries != g->on_stack) zfree(g->entries);
}

static bool gatheredGrow(gathered *g) {
    size_t capacity = g->capacity * 2;
    void **more = ztrymalloc(capacity * sizeof(*more));
    if (!more) {
        g->failed = true;
        return false;
    }
    memcpy(more, g->entries, g->count * sizeof(*more));
    gatheredFree(g);
    g->entries = more;
    g->capacity = capacity;
    return true;
}

static void scanGather(void *arg, void **ref) {
    gathered *g = arg;
    if (g->count == g->capacity && !gatheredGrow(g)) return;
    prefetchRead(*ref);
    g->entries[g->count++] = *ref;
}

/* Collects entries of the table `d` or, if that is NULL, of the database, and moves the cursor. Returns false, after an
 * error reply, if there is no memory. */
static bool gather(client *c, const dict *d, const scanOptions *options, uint64_t *cursor, gathered *g) {
    size_t steps_max = scanStepsMax(options), steps = 0;
    gatheredInit(g);
    do {
        *cursor = d ? dictScanRead(d, *cursor, scanGather, g)
                    : dbScanSlots(c->db, options->first_slot, options->last_slot, *cursor, scanGather, g);
    } while (*cursor && ++steps < steps_max && g->count < options->count && !g->failed);
    if (!g->failed) return true;
    gatheredFree(g);
    return addReplyNoMemory(c);
}

/* ---- HSCAN, SSCAN, ZSCAN ---- */

static void filterElements(const dict *d, const scanOptions *options, const scanElements *elements, gathered *g) {
    slice (*name)(const void *entry) = dictGetType(d)->entryKey;
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++) {
        const void *entry = g->entries[i];
        if (elements->hidden && elements->hidden(entry)) continue;
        if (scanMatches(options, name(entry))) g->entries[kept++] = g->entries[i];
    }
    g->count = kept;
}

static void replyTable(client *c, const dict *d, uint64_t cursor, const scanOptions *options,
                       const scanElements *elements) {
    gathered g;
    if (!gather(c, d, options, &cursor, &g)) return;
    filterElements(d, options, elements, &g);
    addReplyScanCursor(c, cursor);
    addReplyArrayLen(c, (long long)g.count * (options->keys_only ? 1 : elements->parts));
    for (size_t i = 0; i < g.count; i++) elements->add(c, g.entries[i], options->keys_only);
    gatheredFree(&g);
}

void scanValue(client *c, const scanElements *elements) {
    uint64_t cursor;
    robj *o;
    scanOptions options;
    if (!getCursorFromArg(c, 2, &cursor) || !typedKeyRead(c, clientKeyAt(c, 1), elements->type, &o)) return;
    if (!o) {
        addReplyScanCursor(c, 0);
        addReplyEmptyArray(c);
        return;
    }
    if (!scanParseOptions(c, 3, elements->kind, &options)) return;
    const dict *d = o->type == OBJ_HASH ? hashTable(o) : o->type == OBJ_SET ? setTable(o) : zsetTable(o);
    if (d) {
        replyTable(c, d, cursor, &options, elements);
        return;
    }
    addReplyScanCursor(c, 0);
    void *deferred = addReplyDeferredLen(c);
    long long found = elements->add_all(c, o, &options);
    setDeferredArrayLen(c, deferred, found * (options.keys_only ? 1 : elements->parts));
}

/* ---- SCAN ---- */

/* Keeps, in order, the entries that pass all filters. An expired entry is deleted only if it passes the others. */
static void filterKeys(serverDb *db, const scanOptions *options, gathered *g) {
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++) {
        robj *o = g->entries[i];
        slice name = objectKey(o);
        if (!scanMatches(options, name)) continue;
        if (options->type != -1 && (int)o->type != options->type) continue;
        if (keyIsExpired(o)) {
            expireIfNeeded(db, o, hashedKeyOf(name));
            continue;
        }
        g->entries[kept++] = o;
    }
    g->count = kept;
}

void scanKeys(client *c, uint64_t cursor, const scanOptions *options, scanCursorFn *addCursor) {
    gathered g;
    if (!gather(c, NULL, options, &cursor, &g)) return;
    filterKeys(c->db, options, &g);
    addReplyArrayLen(c, 2);
    addCursor(c, cursor, options);
    addReplyArrayLen(c, (long long)g.count);
    for (size_t i = 0; i < g.count; i++) addReplyBulk(c, objectKey(g.entries[i]));
    gatheredFree(&g);
}

/* SCAN cursor [MATCH pattern] [COUNT count] [TYPE type] */
void scanCommand(client *c) {
    uint64_t cursor;
    scanOptions options;
    if (!getCursorFromArg(c, 1, &cursor) || !scanParseOptions(c, 2, SCAN_KEYS, &options)) return;
    restrictToPattern(&options);
    scanKeys(c, cursor, &options, addReplyCursor);
}
