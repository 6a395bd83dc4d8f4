/* t_list_move.c -- commands of more than one list: LMOVE, RPOPLPUSH, LMPOP, and all that wait for one to have
 * something: BLMOVE, BRPOPLPUSH, BLMPOP, BLPOP, BRPOP.
 *
 * Threads     main.
 * Tests       tests/type/list.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "block_args.h"
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "propagate.h"
#include "t_list.h"

#include <limits.h>

/* LEFT or RIGHT; false: neither, an error was sent. */
static bool endFromArg(client *c, uint32_t index, listEnd *end) {
    if (sliceIs(c->argv[index], "left")) {
        *end = LIST_HEAD;
    } else if (sliceIs(c->argv[index], "right")) {
        *end = LIST_TAIL;
    } else {
        addReplySyntaxError(c);
        return false;
    }
    return true;
}

/* ---- LMOVE, RPOPLPUSH -------------------------------------------------------------------------------------------- */

static const char *pushEvent(listEnd end) {
    return end == LIST_HEAD ? "lpush" : "rpush";
}

static const char *popEvent(listEnd end) {
    return end == LIST_HEAD ? "lpop" : "rpop";
}

/* From one end of a list to an end of the same. */
static void rotate(client *c, hashedKey key, robj *o, listEnd from_end, listEnd to_end) {
    char digits[LONG_STR_SIZE];
    sds value = sdsFromSlice(valueListEnd(o, from_end, digits));
    slice text = sdsSlice(value);
    valueListDrop(o, from_end, 1);
    valueListPush(o, to_end, &text, 1);
    keyEvent(c, key, NOTIFY_LIST, pushEvent(to_end)); /* of the change that is told below */
    addReplyBulk(c, text);
    keyChanged(c, key, NOTIFY_LIST, popEvent(from_end), 1);
    valueListShrink(o);
    sdsFree(value);
}

/* Of a command that may wait: the one that does not, whose arguments are the same but for the time at the end. */
static void propagateMove(const client *c) {
    if (!propagateInstead(c, c->argc == 4 ? "RPOPLPUSH" : "LMOVE")) return;
    propagateArgs(c, 1, c->argc - 1);
    propagateDone();
}

/* `wait`: until when it may wait for the source to have something; NULL: not at all. */
static void moveGeneric(client *c, listEnd from_end, listEnd to_end, const int64_t *wait) {
    hashedKey from = clientKeyAt(c, 1), to = clientKeyAt(c, 2);
    robj *source, *target;
    if (!typedKeyWrite(c, from, OBJ_LIST, &source)) return;
    if (!source) {
        const blockFor what = {
            .type = OBJ_LIST, .first_key = 1, .keys = 1, .null_bulk = true, .deadline_ms = wait ? *wait : 0};
        if (wait) blockForKeys(c, &what);
        else addReplyNull(c);
        return;
    }
    if (!typedKeyWrite(c, to, OBJ_LIST, &target)) return;
    char digits[LONG_STR_SIZE];
    slice value = valueListEnd(source, from_end, digits);
    if (!commandMemoryReserve(c, valueListNeeds(&value, 1) + value.len)) return; /* and its reply */
    if (wait) propagateMove(c);
    if (source == target) {
        rotate(c, from, source, from_end, to_end);
        return;
    }
    bool comes = !target;
    if (comes) target = valueListCreate(to.name);
    valueListPush(target, to_end, &value, 1);
    if (comes) dbAddTake(c->db, target, to);
    keyChanged(c, to, NOTIFY_LIST, pushEvent(to_end), 0);
    addReplyBulk(c, value);
    listTakeElements(c, from, source, from_end, 1, popEvent(from_end));
}

/* LMOVE source destination LEFT|RIGHT LEFT|RIGHT */
void lmoveCommand(client *c) {
    listEnd from_end, to_end;
    if (endFromArg(c, 3, &from_end) && endFromArg(c, 4, &to_end)) moveGeneric(c, from_end, to_end, NULL);
}

/* BLMOVE source destination LEFT|RIGHT LEFT|RIGHT timeout */
void blmoveCommand(client *c) {
    listEnd from_end, to_end;
    int64_t wait;
    if (!endFromArg(c, 3, &from_end) || !endFromArg(c, 4, &to_end) || !getTimeoutFromArg(c, 5, &wait)) return;
    moveGeneric(c, from_end, to_end, &wait);
}

void rpoplpushCommand(client *c) {
    moveGeneric(c, LIST_TAIL, LIST_HEAD, NULL);
}

void brpoplpushCommand(client *c) {
    int64_t wait;
    if (getTimeoutFromArg(c, 3, &wait)) moveGeneric(c, LIST_TAIL, LIST_HEAD, &wait);
}

/* ---- LMPOP ------------------------------------------------------------------------------------------------------- */

/* LPOP or RPOP; `count` 0: of one element, without saying so. */
static void propagatePop(const client *c, slice key, listEnd end, size_t count) {
    if (!propagateInstead(c, end == LIST_HEAD ? "LPOP" : "RPOP")) return;
    propagateArg(key);
    if (count) propagateNumber((long long)count);
    propagateDone();
}

static void popFrom(client *c, hashedKey key, robj *o, listEnd end, size_t n) {
    size_t count = valueListCount(o);
    if (n > count) n = count;
    propagatePop(c, key.name, end, n);
    addReplyArrayLen(c, 2);
    addReplyBulk(c, key.name);
    addReplyArrayLen(c, (long long)n);
    addReplyListRange(c, o, end == LIST_HEAD ? 0 : count - 1, n, end == LIST_TAIL);
    listTakeElements(c, key, o, end, n, popEvent(end));
}

/* numkeys key [key ...] LEFT|RIGHT [COUNT count], numkeys being argument `at`. */
static void multiplePop(client *c, uint32_t at, const int64_t *wait) {
    long long keys, n = -1;
    listEnd end;
    if (!getRangeLongFromArg(c, at, 1, LONG_MAX, &keys, "numkeys should be greater than 0")) return;
    if (keys > (long long)c->argc - at - 2) {
        addReplySyntaxError(c);
        return;
    }
    uint32_t first = at + 1, where = first + (uint32_t)keys;
    if (!endFromArg(c, where, &end)) return;
    for (uint32_t i = where + 1; i < c->argc; i += 2) {
        if (n != -1 || i + 1 == c->argc || !sliceIs(c->argv[i], "count")) {
            addReplySyntaxError(c);
            return;
        }
        if (!getRangeLongFromArg(c, i + 1, 1, LONG_MAX, &n, "count should be greater than 0")) return;
    }
    for (uint32_t i = first; i < where; i++) {
        hashedKey key = clientKeyAt(c, i);
        robj *o;
        if (!typedKeyWrite(c, key, OBJ_LIST, &o)) return;
        if (!o) continue;
        popFrom(c, key, o, end, n == -1 ? 1 : (size_t)n);
        return;
    }
    if (!wait) {
        addReplyNullArray(c);
        return;
    }
    blockForKeys(c, &(blockFor){.type = OBJ_LIST, .first_key = first, .keys = (uint32_t)keys, .deadline_ms = *wait});
}

void lmpopCommand(client *c) {
    multiplePop(c, 1, NULL);
}

/* BLMPOP timeout numkeys ... */
void blmpopCommand(client *c) {
    int64_t wait;
    if (getTimeoutFromArg(c, 1, &wait)) multiplePop(c, 2, &wait);
}

/* ---- BLPOP, BRPOP ------------------------------------------------------------------------------------------------ */

/* key [key ...] timeout */
static void blockingPop(client *c, listEnd end) {
    int64_t wait;
    uint32_t last = c->argc - 1;
    if (!getTimeoutFromArg(c, last, &wait)) return;
    for (uint32_t i = 1; i < last; i++) {
        hashedKey key = clientKeyAt(c, i);
        robj *o;
        if (!typedKeyWrite(c, key, OBJ_LIST, &o)) return;
        if (!o) continue;
        addReplyArrayLen(c, 2);
        addReplyBulk(c, key.name);
        addReplyListRange(c, o, end == LIST_HEAD ? 0 : valueListCount(o) - 1, 1, false);
        propagatePop(c, key.name, end, 0);
        listTakeElements(c, key, o, end, 1, popEvent(end));
        return;
    }
    blockForKeys(c, &(blockFor){.type = OBJ_LIST, .first_key = 1, .keys = last - 1, .deadline_ms = wait});
}

void blpopCommand(client *c) {
    blockingPop(c, LIST_HEAD);
}

void brpopCommand(client *c) {
    blockingPop(c, LIST_TAIL);
}
