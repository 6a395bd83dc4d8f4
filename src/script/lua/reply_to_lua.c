/* reply_to_lua.c -- replies as Lua values.
 *
 *   +text  {ok = text}         :n  number              $  string, false for null      *  table, false for null
 *   -text  {err = text}        ,   {double = n}        #  boolean                     _  nil
 *   %      {map = {k = v}}     ~   {set = {v = true}}  (  {big_number = digits}
 *   =      {verbatim_string = {string = text, format = "txt"}}
 *
 * The server has written these bytes; they are checked nevertheless, because lack of memory may have cut the reply
 * short.
 *
 * Not here    the other direction (lua_to_reply.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/conversion.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_values.h"

#include "numbers.h"

#include <stdlib.h>
#include <string.h>

typedef struct replyInput {
    const char *at, *end;
    bool broken;
} replyInput;

static void pushReply(lua_State *L, replyInput *in);

void luaPushField(lua_State *L, const char *name, slice text) {
    lua_createtable(L, 0, 1);
    lua_pushlstring(L, text.ptr, text.len);
    lua_setfield(L, -2, name);
}

void luaPushError(lua_State *L, slice text, bool counted) {
    luaPushField(L, "err", text);
    if (!counted) return;
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "ignore_error_stats_update");
}

/* Returns the text up to the next line end and advances past it. */
static slice line(replyInput *in) {
    const char *start = in->at, *cr = memchr(start, '\r', (size_t)(in->end - start));
    if (!cr || in->end - cr < 2) {
        in->broken = true;
        return sliceOf(start, 0);
    }
    in->at = cr + 2;
    return sliceOf(start, (size_t)(cr - start));
}

static long long lineNumber(replyInput *in) {
    long long n = 0;
    slice text = line(in);
    if (!in->broken && !string2ll(text.ptr, text.len, &n)) in->broken = true;
    return n;
}

/* Returns the body of a bulk string of `len` bytes. */
static slice body(replyInput *in, long long len) {
    if (in->broken || len < 0 || len + 2 > in->end - in->at) {
        in->broken = true;
        return sliceOf(in->at, 0);
    }
    slice bytes = {in->at, (size_t)len};
    in->at += len + 2;
    return bytes;
}

static void pushBulk(lua_State *L, replyInput *in) {
    long long len = lineNumber(in);
    if (len < 0) {
        lua_pushboolean(L, 0);
        return;
    }
    slice bytes = body(in, len);
    lua_pushlstring(L, bytes.ptr, bytes.len);
}

static void pushVerbatim(lua_State *L, replyInput *in) {
    slice bytes = body(in, lineNumber(in));
    if (bytes.len < 4) in->broken = true;
    if (in->broken) bytes = sliceOf("txt:", 4);
    lua_createtable(L, 0, 1);
    luaPushField(L, "format", sliceOf(bytes.ptr, 3));
    lua_pushlstring(L, bytes.ptr + 4, bytes.len - 4);
    lua_setfield(L, -2, "string");
    lua_setfield(L, -2, "verbatim_string");
}

/* Limits a count by the bytes that are left: each element takes at least three. */
static int boundedCount(const replyInput *in, long long count) {
    long long most = (in->end - in->at) / 3;
    return (int)(count < most ? count : most);
}

static void pushArray(lua_State *L, replyInput *in) {
    long long count = lineNumber(in);
    if (count < 0) {
        lua_pushboolean(L, 0);
        return;
    }
    lua_createtable(L, boundedCount(in, count), 0);
    for (long long i = 1; i <= count && !in->broken; i++) {
        pushReply(L, in);
        lua_rawseti(L, -2, (int)i);
    }
}

static void pushPairs(lua_State *L, replyInput *in, const char *name, bool has_values) {
    long long count = lineNumber(in);
    lua_createtable(L, 0, 1);
    lua_createtable(L, 0, boundedCount(in, count));
    for (long long i = 0; i < count && !in->broken; i++) {
        pushReply(L, in);
        if (!has_values) lua_pushboolean(L, 1);
        else pushReply(L, in);
        if (lua_isnil(L, -2)) lua_pop(L, 2); /* cannot be a key */
        else lua_rawset(L, -3);
    }
    lua_setfield(L, -2, name);
}

static void pushDouble(lua_State *L, replyInput *in) {
    char text[64];
    slice digits = line(in);
    size_t len = digits.len < sizeof(text) - 1 ? digits.len : sizeof(text) - 1;
    memcpy(text, digits.ptr, len);
    text[len] = '\0';
    lua_createtable(L, 0, 1);
    lua_pushnumber(L, strtod(text, NULL));
    lua_setfield(L, -2, "double");
}

/* Skips an attribute, which scripts do not see, and pushes the reply after it. */
static void skipAttribute(lua_State *L, replyInput *in) {
    for (long long i = 2 * lineNumber(in); i > 0 && !in->broken; i--) {
        pushReply(L, in);
        lua_pop(L, 1);
    }
    pushReply(L, in);
}

static void pushReply(lua_State *L, replyInput *in) {
    luaL_checkstack(L, 8, "reply is nested too deeply");
    if (in->at == in->end) {
        in->broken = true;
        lua_pushnil(L);
        return;
    }
    switch (*in->at++) {
    case '$': pushBulk(L, in); break;
    case ':': lua_pushnumber(L, (lua_Number)lineNumber(in)); break;
    case '+': luaPushField(L, "ok", line(in)); break;
    case '-': luaPushError(L, line(in), true); break;
    case '*':
    case '>': pushArray(L, in); break;
    case '%': pushPairs(L, in, "map", true); break;
    case '~': pushPairs(L, in, "set", false); break;
    case '#': lua_pushboolean(L, line(in).ptr[0] == 't'); break;
    case '_': line(in), lua_pushnil(L); break;
    case ',': pushDouble(L, in); break;
    case '(': luaPushField(L, "big_number", line(in)); break;
    case '=': pushVerbatim(L, in); break;
    case '|': skipAttribute(L, in); break;
    default: in->broken = true; lua_pushnil(L);
    }
}

replyKind luaPushReply(lua_State *L, slice bytes) {
    replyInput in = {bytes.ptr, bytes.ptr + bytes.len, false};
    pushReply(L, &in);
    if (unlikely(in.broken)) {
        lua_pop(L, 1);
        return REPLY_BROKEN;
    }
    return bytes.ptr[0] == '-' ? REPLY_ERROR : REPLY_VALUE;
}
