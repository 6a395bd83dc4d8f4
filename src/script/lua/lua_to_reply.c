/* lua_to_reply.c -- Lua values as replies.
 *
 *   string, number    bulk string; integer, without the fraction
 *   boolean           1 and null; a boolean if the script has chosen RESP3
 *   table             {err}, {ok}, {double}, {big_number}, {verbatim_string}, {map}, {set}, checked in this order; else
 *                     an array up to the first nil
 *   other types       null
 *
 * Fields are read without metatables, so no code of the script runs meanwhile.
 *
 * A table may contain itself more than once, so that its reply would exceed any memory. A client whose reply takes more
 * memory than an interpreter may have, or more than is available, is closed, and the walk ends.
 *
 * Not here    the other direction (reply_to_lua.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/conversion.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_values.h"

#include "interpreter.h"
#include "numbers.h"
#include "reply.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STACK_EACH_LEVEL 8

static void replyTop(lua_State *L, client *c, int resp);

/* Returns true if the rest of the reply need not be built, because the client is about to be closed. */
static bool isClosing(lua_State *L, client *c) {
    if (unlikely(c->output_memory > interpreterMemoryMax(L))) clientCloseAsap(c);
    return c->flags & CLIENT_CLOSE_ASAP;
}

static size_t numberText(lua_Number n, char digits[LUA_ARG_DIGITS]) {
    char text[DOUBLE_STR_SIZE];
    if (isnan(n)) return (size_t)snprintf(digits, LUA_ARG_DIGITS, "%s", signbit(n) ? "-nan" : "nan");
    size_t len = d2string(text, sizeof(text), n == 0 ? 0.0 : n);
    if (len >= LUA_ARG_DIGITS) len = LUA_ARG_DIGITS - 1;
    memcpy(digits, text, len);
    return len;
}

bool luaArgument(lua_State *L, int index, char digits[LUA_ARG_DIGITS], slice *out) {
    int type = lua_type(L, index);
    if (likely(type == LUA_TSTRING)) {
        *out = luaText(L, index);
        return true;
    }
    if (type != LUA_TNUMBER) return false;
    out->ptr = digits;
    out->len = numberText(lua_tonumber(L, index), digits);
    return true;
}

/* Converts a number. A cast of a value out of range is undefined in C; it gives the smallest integer here. */
static long long integerOf(lua_Number n) {
    if (!(n >= -9223372036854775808.0 && n < 9223372036854775808.0)) return INT64_MIN;
    return (long long)n;
}

/* Pushes the field without metatables; returns false, and pushes nothing, if it has another type. */
static bool pushField(lua_State *L, const char *name, int type) {
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    if (lua_type(L, -1) == type) return true;
    lua_pop(L, 1);
    return false;
}

/* Replies with {err = text}: the text is the whole line after the '-'. */
static bool replyError(lua_State *L, client *c) {
    lua_pushliteral(L, "ignore_error_stats_update");
    lua_rawget(L, -2);
    bool counted = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (!pushField(L, "err", LUA_TSTRING)) return false;
    lua_pushliteral(L, "-");
    lua_insert(L, -2);
    lua_concat(L, 2);
    if (counted) addReplyErrorCounted(c, luaText(L, -1));
    else addReplyErrorOfScript(c, luaText(L, -1));
    lua_pop(L, 1);
    return true;
}

static bool replyStatus(lua_State *L, client *c) {
    if (!pushField(L, "ok", LUA_TSTRING)) return false;
    addReplyLine(c, "+", luaText(L, -1));
    lua_pop(L, 1);
    return true;
}

static bool replyDouble(lua_State *L, client *c) {
    if (!pushField(L, "double", LUA_TNUMBER)) return false;
    addReplyDouble(c, lua_tonumber(L, -1));
    lua_pop(L, 1);
    return true;
}

/* Replies with {map = t} or {set = t}: the pairs of next(), without metamethods. */
static bool replyPairs(lua_State *L, client *c, int resp, const char *name, bool has_values) {
    if (!pushField(L, name, LUA_TTABLE)) return false;
    long long count = 0;
    void *length = addReplyDeferredLen(c);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (unlikely(isClosing(L, c))) {
            lua_pop(L, 2);
            break;
        }
        lua_pushvalue(L, -2); /* table, key, value, key */
        replyTop(L, c, resp);
        if (has_values) replyTop(L, c, resp);
        else lua_pop(L, 1);
        count++;
    }
    if (has_values) setDeferredMapLen(c, length, count);
    else setDeferredSetLen(c, length, count);
    lua_pop(L, 1);
    return true;
}

static bool replyBigNumber(lua_State *L, client *c) {
    if (!pushField(L, "big_number", LUA_TSTRING)) return false;
    slice digits = luaText(L, -1);
    char length[32];
    snprintf(length, sizeof(length), "$%zu\r\n", digits.len);
    if (c->resp < 3) addReplyProto(c, length, strlen(length));
    addReplyLine(c, c->resp < 3 ? "" : "(", digits);
    lua_pop(L, 1);
    return true;
}

static bool replyVerbatim(lua_State *L, client *c) {
    if (!pushField(L, "verbatim_string", LUA_TTABLE)) return false;
    bool whole = false;
    if (pushField(L, "string", LUA_TSTRING)) {
        slice text = luaText(L, -1);
        lua_pushliteral(L, "format");
        lua_rawget(L, -3);
        if (lua_type(L, -1) == LUA_TSTRING) {
            char ext[3] = {' ', ' ', ' '};
            slice format = luaText(L, -1);
            memcpy(ext, format.ptr, format.len < 3 ? format.len : 3);
            addReplyVerbatim(c, text, ext);
            whole = true;
        }
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
    return whole;
}

static void replyArray(lua_State *L, client *c, int resp) {
    long long count = 0;
    void *length = addReplyDeferredLen(c);
    for (;; count++) {
        lua_rawgeti(L, -1, (int)count + 1);
        if (lua_isnil(L, -1) || unlikely(isClosing(L, c))) break;
        replyTop(L, c, resp);
    }
    lua_pop(L, 1);
    setDeferredArrayLen(c, length, count);
}

static void replyTable(lua_State *L, client *c, int resp) {
    if (replyError(L, c) || replyStatus(L, c) || replyDouble(L, c)) return;
    if (replyBigNumber(L, c) || replyVerbatim(L, c)) return;
    if (replyPairs(L, c, resp, "map", true) || replyPairs(L, c, resp, "set", false)) return;
    replyArray(L, c, resp);
}

/* Replies with the value on the top of the stack and pops it. */
static void replyTop(lua_State *L, client *c, int resp) {
    if (!lua_checkstack(L, STACK_EACH_LEVEL)) {
        addReplyError(c, "reached lua stack limit");
        lua_pop(L, 1);
        return;
    }
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: addReplyBulk(c, luaText(L, -1)); break;
    case LUA_TNUMBER: addReplyLongLong(c, integerOf(lua_tonumber(L, -1))); break;
    case LUA_TBOOLEAN:
        if (resp > 2) addReplyBool(c, lua_toboolean(L, -1));
        else if (lua_toboolean(L, -1)) addReplyOne(c);
        else addReplyNull(c);
        break;
    case LUA_TTABLE: replyTable(L, c, resp); break;
    default: addReplyNull(c);
    }
    lua_pop(L, 1);
}

void luaReplyValue(lua_State *L, client *c, int resp) { replyTop(L, c, resp); }
