/* t_list.c -- commands of one list.
 *
 * Not here    moving elements between lists and popping from the first of several (t_list_move.c); encodings
 *             (object/value_list.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has reported no change, and has changed no element.
 *             2. A command that removes the last element of a list deletes the key.
 * Tests       tests/type/list.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "t_list.h"

#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "sliced.h"

#include <limits.h>

/* ---- Helpers of several commands --------------------------------------------------------------------------------- */

static void addReplyElement(client *c, const listpackValue *v) {
    if (v->str) addReplyBulk(c, sliceOf(v->str, v->len));
    else addReplyBulkLongLong(c, v->num);
}

/* Adds `n` elements to the reply, from index `from` on, in the direction of the tail or, if `backward`, of the head.
 * The caller makes sure that they exist. */
static void addReplyListRange(client *c, const robj *o, size_t from, size_t n, bool backward, slicedStart slices) {
    valueListIter it;
    const uint8_t *lp, *at;
    slice plain;
    valueListIterBegin(&it, o, (long)from, backward);
    for (size_t run; n && !replyIsDropped(c) && (run = valueListIterRun(&it, n, &lp, &at, &plain)); n -= run) {
        if (at) addReplyListpack(c, lp, at, run, backward);
        else addReplyBulk(c, plain);
        if (unlikely(slices == SLICED_YES)) slicedStep(c);
    }
    valueListIterEnd(&it);
}

/* Reports that `n` elements were removed. If `emptied`, deletes the key, with any elements that are still in the
 * list. */
static void reportDeleted(client *c, hashedKey key, robj *o, size_t n, const char *event, bool emptied) {
    keyChanged(c, key, NOTIFY_LIST, event, (long long)n);
    if (emptied) deleteEmptied(c, key);
    else valueListShrink(o);
}

void listDeletePopped(client *c, hashedKey key, robj *o, listEnd end, size_t n) {
    bool all = n == valueListCount(o);
    if (!all) valueListDrop(o, end, n);
    reportDeleted(c, key, o, n, listPopEvent(end), all);
}

void listPop(client *c, hashedKey key, robj *o, listEnd end, size_t n) {
    addReplyListRange(c, o, end == LIST_HEAD ? 0 : valueListCount(o) - 1, n, end == LIST_TAIL, SLICED_NO);
    listDeletePopped(c, key, o, end, n);
}

/* Converts start and end, which count from the tail if negative, to a range within the list. Returns its length, and
 * its first index in *from. */
static size_t rangeOf(long long start, long long end, size_t count, size_t *from) {
    long long len = (long long)count;
    if (start < 0) start += len;
    if (end < 0) end += len;
    if (start < 0) start = 0;
    if (end >= len) end = len - 1;
    if (start > end || start >= len) return 0;
    *from = (size_t)start;
    return (size_t)(end - start + 1);
}

static bool rangeFromArgs(client *c, long long *start, long long *end) {
    return getLongLongFromArg(c, 2, start, NULL) && getLongLongFromArg(c, 3, end, NULL);
}

/* ---- LPUSH, RPUSH, LPUSHX, RPUSHX -------------------------------------------------------------------------------- */

static void pushGeneric(client *c, listEnd end, bool only_if_there) {
    hashedKey key = clientKeyAt(c, 1);
    const slice *values = c->argv + 2;
    size_t n = c->argc - 2;
    robj *o;
    if (!typedKeyWrite(c, key, OBJ_LIST, &o)) return;
    if (!o && only_if_there) {
        addReplyZero(c);
        return;
    }
    if (unlikely(c->req->flags & REQ_LARGE) && !commandMemoryReserve(c, valueListNeeds(values, n))) return;
    bool is_new = !o;
    if (is_new) o = valueListCreate(key.name);
    valueListPush(o, end, values, n);
    if (is_new) dbAddTake(c->db, o, key);
    keyChanged(c, key, NOTIFY_LIST, end == LIST_HEAD ? "lpush" : "rpush", (long long)n);
    addReplyLongLong(c, (long long)valueListCount(o));
}

void lpushCommand(client *c) { pushGeneric(c, LIST_HEAD, false); }
void rpushCommand(client *c) { pushGeneric(c, LIST_TAIL, false); }
void lpushxCommand(client *c) { pushGeneric(c, LIST_HEAD, true); }
void rpushxCommand(client *c) { pushGeneric(c, LIST_TAIL, true); }

/* ---- LPOP, RPOP -------------------------------------------------------------------------------------------------- */

static void popOne(client *c, hashedKey key, robj *o, listEnd end) {
    char digits[LONG_STR_SIZE];
    slice value = valueListEnd(o, end, digits);
    if (value.len >= COMMAND_MEMORY_LARGE && !commandMemoryReserve(c, 2 * value.len)) return; /* for the reply */
    addReplyBulk(c, value);
    listDeletePopped(c, key, o, end, 1);
}

static void popSeveral(client *c, hashedKey key, robj *o, listEnd end, size_t n) {
    size_t count = valueListCount(o);
    if (n > count) n = count;
    addReplyArrayLen(c, (long long)n);
    if (n) listPop(c, key, o, end, n);
}

/* LPOP key [count] */
static void popGeneric(client *c, listEnd end) {
    hashedKey key = clientKeyAt(c, 1);
    long long n = 1;
    robj *o;
    if (c->argc > 3) {
        addReplyErrorArity(c);
        return;
    }
    bool several = c->argc == 3;
    if (several && !getPositiveLongFromArg(c, 2, &n, NULL)) return;
    if (!typedKeyWrite(c, key, OBJ_LIST, &o)) return;
    if (!o && several) addReplyNullArray(c);
    else if (!o) addReplyNull(c);
    else if (several) popSeveral(c, key, o, end, (size_t)n);
    else popOne(c, key, o, end);
}

void lpopCommand(client *c) { popGeneric(c, LIST_HEAD); }
void rpopCommand(client *c) { popGeneric(c, LIST_TAIL); }

/* ---- LLEN, LINDEX, LRANGE ---------------------------------------------------------------------------------------- */

void llenCommand(client *c) { replyWithCount(c, OBJ_LIST, valueListCount); }

/* LINDEX key index */
void lindexCommand(client *c) {
    long long index;
    listpackValue v;
    valueListIter it;
    robj *o = typedKeyReadOrReply(c, clientKeyAt(c, 1), OBJ_LIST, addReplyNull);
    if (!o || !getLongLongFromArg(c, 2, &index, NULL)) return;
    valueListIterBegin(&it, o, index, false);
    if (valueListIterNext(&it, &v)) addReplyElement(c, &v);
    else addReplyNull(c);
    valueListIterEnd(&it);
}

/* LRANGE key start stop */
void lrangeCommand(client *c) {
    robj *o;
    long long start, end;
    size_t from = 0;
    if (!rangeFromArgs(c, &start, &end)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_LIST, &o)) return;
    size_t n = o ? rangeOf(start, end, valueListCount(o), &from) : 0;
    slicedStart slices = slicedBegin(c, o, n);
    if (unlikely(slices == SLICED_POSTPONED)) return;
    addReplyArrayLen(c, (long long)n);
    if (n) addReplyListRange(c, o, from, n, false, slices);
    if (unlikely(slices == SLICED_YES)) slicedEnd(c);
}

/* ---- LSET, LINSERT ----------------------------------------------------------------------------------------------- */

/* LSET key index element */
void lsetCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    long long index;
    listpackValue v;
    valueListIter it;
    robj *o = typedKeyWriteOrReply(c, key, OBJ_LIST, addReplyNoKeyError);
    if (!o || !getLongLongFromArg(c, 2, &index, NULL)) return;
    if (unlikely(c->req->flags & REQ_LARGE) && !commandMemoryReserve(c, valueListNeeds(c->argv + 3, 1))) return;
    valueListGrow(o, c->argv[3]);
    valueListIterBegin(&it, o, index, false);
    if (!valueListIterNext(&it, &v)) {
        valueListIterEnd(&it);
        addReplyError(c, "index out of range");
        return;
    }
    valueListPut(o, &it, LISTPACK_REPLACE, c->argv[3]);
    valueListShrink(o);
    keyChanged(c, key, NOTIFY_LIST, "lset", 1);
    addReplyOk(c);
}

/* A text that elements are compared with; also as an integer, if it is one. */
typedef struct needle {
    slice text;
    bool is_integer;
    long long integer;
} needle;

static needle needleOf(slice text) {
    needle w = {.text = text};
    w.is_integer = text.len < LONG_STR_SIZE && string2ll(text.ptr, text.len, &w.integer);
    return w;
}

static inline bool equalsNeedle(const listpackValue *v, const needle *w) {
    if (v->str) return sliceEq(sliceOf(v->str, v->len), w->text);
    return w->is_integer && v->num == w->integer;
}

/* LINSERT key BEFORE|AFTER pivot element */
void linsertCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    bool before = sliceIs(c->argv[2], "before");
    listpackValue v;
    valueListIter it;
    if (!before && !sliceIs(c->argv[2], "after")) {
        addReplySyntaxError(c);
        return;
    }
    robj *o = typedKeyWriteOrReply(c, key, OBJ_LIST, addReplyZero);
    if (!o) return;
    if (unlikely(c->req->flags & REQ_LARGE) && !commandMemoryReserve(c, valueListNeeds(c->argv + 4, 1))) return;
    valueListGrow(o, c->argv[4]);
    needle pivot = needleOf(c->argv[3]);
    bool found = false;
    valueListIterBegin(&it, o, 0, false);
    while (!found && valueListIterNext(&it, &v)) found = equalsNeedle(&v, &pivot);
    if (!found) {
        valueListIterEnd(&it);
        addReplyLongLong(c, -1);
        return;
    }
    valueListPut(o, &it, before ? LISTPACK_BEFORE : LISTPACK_AFTER, c->argv[4]);
    keyChanged(c, key, NOTIFY_LIST, "linsert", 1);
    addReplyLongLong(c, (long long)valueListCount(o));
}

/* ---- LTRIM, LREM ------------------------------------------------------------------------------------------------- */

/* LTRIM key start stop */
void ltrimCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    long long start, end;
    size_t from = 0;
    if (!rangeFromArgs(c, &start, &end)) return;
    robj *o = typedKeyWriteOrReply(c, key, OBJ_LIST, addReplyOk);
    if (!o) return;
    size_t count = valueListCount(o), keep = rangeOf(start, end, count, &from);
    if (keep == count) {
        keyEvent(c, key, NOTIFY_LIST, "ltrim"); /* though nothing has changed, as in Valkey */
        addReplyOk(c);
        return;
    }
    if (keep) {
        valueListDrop(o, LIST_HEAD, from);
        valueListDrop(o, LIST_TAIL, count - from - keep);
    }
    reportDeleted(c, key, o, count - keep, "ltrim", keep == 0);
    addReplyOk(c);
}

/* LREM key count element */
void lremCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    long long n;
    if (!getRangeLongFromArg(c, 2, -LONG_MAX, LONG_MAX, &n, NULL)) return;
    robj *o = typedKeyWriteOrReply(c, key, OBJ_LIST, addReplyZero);
    if (!o) return;
    size_t max = n == 0 ? SIZE_MAX : (size_t)(n < 0 ? -n : n);
    size_t removed = valueListDeleteEqual(o, c->argv[3], n < 0 ? LIST_TAIL : LIST_HEAD, max);
    if (removed) reportDeleted(c, key, o, removed, "lrem", valueListCount(o) == 0);
    addReplyLongLong(c, (long long)removed);
}

/* ---- LPOS -------------------------------------------------------------------------------------------------------- */

typedef struct posOptions {
    long long rank, count, maxlen; /* count: -1 if not given, 0 for all; maxlen: 0 for all */
} posOptions;

static bool parsePosOptions(client *c, posOptions *out) {
    *out = (posOptions){.rank = 1, .count = -1};
    for (uint32_t i = 3; i < c->argc; i += 2) {
        slice word = c->argv[i];
        if (i + 1 < c->argc && sliceIs(word, "rank")) {
            if (!getRangeLongFromArg(c, i + 1, -LONG_MAX, LONG_MAX, &out->rank, NULL)) return false;
            if (out->rank == 0)
                return addReplyError(
                    c, "RANK can't be zero: use 1 to start from the first match, 2 from the second ... or "
                       "use negative to start from the end of the list");
        } else if (i + 1 < c->argc && sliceIs(word, "count")) {
            if (!getPositiveLongFromArg(c, i + 1, &out->count, "COUNT can't be negative")) return false;
        } else if (i + 1 < c->argc && sliceIs(word, "maxlen")) {
            if (!getPositiveLongFromArg(c, i + 1, &out->maxlen, "MAXLEN can't be negative")) return false;
        } else {
            return addReplySyntaxError(c);
        }
    }
    return true;
}

/* Adds the indexes of matching elements to the reply, as many as the options ask for. Returns how many. */
static long long replyPositions(client *c, const robj *o, const posOptions *options) {
    bool backward = options->rank < 0;
    long long skip = (backward ? -options->rank : options->rank) - 1, found = 0, visited = 0;
    long long enough = options->count == -1 ? 1 : options->count, len = (long long)valueListCount(o);
    needle w = needleOf(c->argv[2]);
    listpackValue v;
    valueListIter it;
    valueListIterBegin(&it, o, backward ? -1 : 0, backward);
    for (; (options->maxlen == 0 || visited < options->maxlen) && valueListIterNext(&it, &v); visited++) {
        if (!equalsNeedle(&v, &w)) continue;
        if (skip) {
            skip--;
            continue;
        }
        addReplyLongLong(c, backward ? len - 1 - visited : visited);
        if (++found == enough) break;
    }
    valueListIterEnd(&it);
    return found;
}

/* LPOS key element [RANK rank] [COUNT count] [MAXLEN len] */
void lposCommand(client *c) {
    posOptions options;
    robj *o;
    if (!parsePosOptions(c, &options)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_LIST, &o)) return;
    if (options.count == -1) {
        if (!o || !replyPositions(c, o, &options)) addReplyNull(c);
        return;
    }
    if (!o) {
        addReplyEmptyArray(c);
        return;
    }
    void *deferred = addReplyDeferredLen(c);
    setDeferredArrayLen(c, deferred, replyPositions(c, o, &options));
}
