/* multi_pop.c -- commands that pop elements of the first of several keys that exists: LMPOP, BLPOP, ZMPOP and more.
 *
 * Not here    how elements are popped (t_list_move.c, t_zset.c).
 * Threads     main.
 * Tests       tests/type/list.tcl, tests/type/zset.tcl, tests/engine/blocking.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "multi_pop.h"

#include "blocking.h"
#include "propagate.h"
#include "typed_key.h"

#include <limits.h>

/* Parses END [COUNT count] from argument `at` to the end. Returns false after an error reply. */
static bool parseEnd(client *c, const popKind *kind, uint32_t at, bool *at_second, long long *count) {
    bool counted = false;
    *count = 1;
    *at_second = sliceIs(c->argv[at], kind->ends[1]);
    if (!*at_second && !sliceIs(c->argv[at], kind->ends[0])) goto syntax;
    for (at++; at < c->argc; at += 2) {
        if (counted || at + 1 == c->argc || !sliceIs(c->argv[at], "count")) goto syntax;
        if (!getRangeLongFromArg(c, at + 1, 1, LONG_MAX, count, "count should be greater than 0")) return false;
        counted = true;
    }
    return true;
syntax:
    return addReplySyntaxError(c);
}

/* Pops at most `max` elements, and replies with the key's name and a list of them. If `max` is 0 it pops one, and
 * replies as BLPOP does, without a list. */
static void popFrom(client *c, const popKind *kind, hashedKey key, robj *o, bool at_second, size_t max) {
    size_t count = kind->count(o), n = max == 0 ? 1 : max < count ? max : count;
    if (propagateInstead(c, kind->commands[at_second])) {
        propagateArg(key.name);
        if (max) propagateNumber((long long)n);
        propagateDone();
    }
    addReplyArrayLen(c, max ? 2 : kind->parts);
    addReplyBulk(c, key.name);
    if (max) addReplyArrayLen(c, (long long)n);
    kind->pop(c, key, o, at_second, n, max != 0);
}

/* Pops from the first of `keys` keys that exists. Returns false if none exists; true also after an error reply. */
static bool popFirst(client *c, const popKind *kind, uint32_t first, uint32_t keys, bool at_second, size_t count) {
    for (uint32_t i = first; i < first + keys; i++) {
        hashedKey key = clientKeyAt(c, i);
        robj *o;
        if (!typedKeyWrite(c, key, kind->type, &o)) return true;
        if (!o) continue;
        popFrom(c, kind, key, o, at_second, count);
        return true;
    }
    return false;
}

/* Performs a command whose numkeys is argument `at`. `wait` is the deadline of a blocking command; otherwise NULL. */
static void popOfKeys(client *c, const popKind *kind, uint32_t at, const int64_t *wait) {
    long long keys, count;
    bool at_second;
    if (!getRangeLongFromArg(c, at, 1, LONG_MAX, &keys, "numkeys should be greater than 0")) return;
    if (keys > (long long)c->argc - at - 2) {
        addReplySyntaxError(c);
        return;
    }
    uint32_t first = at + 1, n = (uint32_t)keys;
    if (!parseEnd(c, kind, first + n, &at_second, &count)) return;
    if (popFirst(c, kind, first, n, at_second, (size_t)count)) return;
    if (wait) blockForKeys(c, &(blockFor){.type = kind->type, .first_key = first, .keys = n, .deadline_ms = *wait});
    else addReplyNullArray(c);
}

void multiPop(client *c, const popKind *kind) { popOfKeys(c, kind, 1, NULL); }

void multiPopBlocking(client *c, const popKind *kind) {
    int64_t wait;
    if (getTimeoutFromArg(c, 1, &wait)) popOfKeys(c, kind, 2, &wait);
}

void firstPopBlocking(client *c, const popKind *kind, bool at_second) {
    int64_t wait;
    uint32_t keys = c->argc - 2;
    if (!getTimeoutFromArg(c, c->argc - 1, &wait) || popFirst(c, kind, 1, keys, at_second, 0)) return;
    blockForKeys(c, &(blockFor){.type = kind->type, .first_key = 1, .keys = keys, .deadline_ms = wait});
}
