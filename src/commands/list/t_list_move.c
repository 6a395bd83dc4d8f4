/* t_list_move.c -- commands of several lists: LMOVE, RPOPLPUSH, LMPOP, and those that wait for an element: BLMOVE,
 * BRPOPLPUSH, BLMPOP, BLPOP, BRPOP.
 *
 * Threads     main.
 * Tests       tests/type/list.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "blocking.h"
#include "command_memory.h"
#include "commands.h"
#include "db.h"
#include "multi_pop.h"
#include "propagate.h"
#include "t_list.h"

/* Parses LEFT or RIGHT. Returns false after an error reply. */
static bool endFromArg(client *c, uint32_t index, listEnd *end) {
    bool left = sliceIs(c->argv[index], "left");
    *end = left ? LIST_HEAD : LIST_TAIL;
    return left || sliceIs(c->argv[index], "right") || addReplySyntaxError(c);
}

/* ---- LMOVE, RPOPLPUSH -------------------------------------------------------------------------------------------- */

static const char *pushEvent(listEnd end) { return end == LIST_HEAD ? "lpush" : "rpush"; }

/* Moves an element from one end of a list to an end of the same list. */
static void rotateList(client *c, hashedKey key, robj *o, listEnd from_end, listEnd to_end) {
    char digits[LONG_STR_SIZE];
    sds value = sdsFromSlice(valueListEnd(o, from_end, digits));
    slice text = sdsSlice(value);
    valueListDrop(o, from_end, 1);
    valueListPush(o, to_end, &text, 1);
    keyEvent(c, key, NOTIFY_LIST, pushEvent(to_end)); /* a part of the change that is reported below */
    addReplyBulk(c, text);
    keyChanged(c, key, NOTIFY_LIST, listPopEvent(from_end), 1);
    valueListShrink(o);
    sdsFree(value);
}

/* For a blocking command: propagates its form that does not block, with the same arguments except the timeout. */
static void propagateMove(const client *c) {
    if (!propagateInstead(c, c->argc == 4 ? "RPOPLPUSH" : "LMOVE")) return;
    propagateArgs(c, 1, c->argc - 1);
    propagateDone();
}

/* `wait` is the deadline of a blocking command; NULL if the command does not block. */
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
    if (!commandMemoryReserve(c, valueListNeeds(&value, 1) + value.len)) return; /* and its copy for the reply */
    if (wait) propagateMove(c);
    if (source == target) {
        rotateList(c, from, source, from_end, to_end);
        return;
    }
    bool is_new = !target;
    if (is_new) target = valueListCreate(to.name);
    valueListPush(target, to_end, &value, 1);
    if (is_new) dbAddTake(c->db, target, to);
    keyChanged(c, to, NOTIFY_LIST, pushEvent(to_end), 0);
    addReplyBulk(c, value);
    listDeletePopped(c, from, source, from_end, 1);
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

void rpoplpushCommand(client *c) { moveGeneric(c, LIST_TAIL, LIST_HEAD, NULL); }

void brpoplpushCommand(client *c) {
    int64_t wait;
    if (getTimeoutFromArg(c, 3, &wait)) moveGeneric(c, LIST_TAIL, LIST_HEAD, &wait);
}

/* ---- LMPOP, BLPOP, BRPOP ----------------------------------------------------------------------------------------- */

static void popFrom(client *c, hashedKey key, robj *o, bool at_tail, size_t n, bool nested) {
    unused(nested);
    listPop(c, key, o, at_tail ? LIST_TAIL : LIST_HEAD, n);
}

static const popKind of_list = {OBJ_LIST, {"left", "right"}, {"LPOP", "RPOP"}, 2, valueListCount, popFrom};

void lmpopCommand(client *c) { multiPop(c, &of_list); }

void blmpopCommand(client *c) { multiPopBlocking(c, &of_list); }

void blpopCommand(client *c) { firstPopBlocking(c, &of_list, false); }
void brpopCommand(client *c) { firstPopBlocking(c, &of_list, true); }
