/* debug_text.c -- Lua values and replies of commands as text for the user of the debugger.
 *
 * Not here    replies as Lua values (reply_to_lua.c).
 * Owns        nothing.
 * Threads     main's own, or a forked child's only one.
 * Invariants  1. The length of a text is limited, even if tables contain each other.
 * Tests       tests/script/debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_wire.h"

#include "numbers.h"

#include <math.h>
#include <string.h>

#define DEPTH_MAX 10
#define INTEGER_MAX 9007199254740992.0 /* a double represents each integer up to here */

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* Returns true if the keys of the table are 1, 2, 3 ... in this order. */
static bool isArray(lua_State *L, int table) {
    lua_Number expected = 1;
    for (lua_pushnil(L); lua_next(L, table); expected++) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) == expected) continue;
        lua_pop(L, 1);
        return false;
    }
    return true;
}

static sds catValue(sds out, lua_State *L, int index, size_t most, int depth);

static sds catTable(sds out, lua_State *L, int table, size_t most, int depth) {
    bool names = !isArray(L, table);
    out = sdsCat(out, "{");
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        int value = lua_gettop(L);
        if (names) out = sdsCat(catValue(sdsCat(out, "["), L, value - 1, most, depth), "]=");
        out = sdsCat(catValue(out, L, value, most, depth), "; ");
        if (sdsLen(out) <= most) continue;
        lua_pop(L, 2);
        return out;
    }
    return sdsCat(out, "}");
}

static sds catValue(sds out, lua_State *L, int index, size_t most, int depth) {
    size_t len;
    const char *text;
    lua_Number number;
    if (depth == DEPTH_MAX || !lua_checkstack(L, 6)) return sdsCat(out, "<max recursion level reached! Nested table?>");
    switch (lua_type(L, index)) {
    case LUA_TSTRING: text = lua_tolstring(L, index, &len); return sdsCatLen(out, text, len < most ? len : most);
    case LUA_TBOOLEAN: return sdsCat(out, lua_toboolean(L, index) ? "true" : "false");
    case LUA_TNUMBER:
        number = lua_tonumber(L, index);
        if (number == floor(number) && fabs(number) <= INTEGER_MAX) return sdsCatPrintf(out, "%lld", (long long)number);
        return sdsCatPrintf(out, "%.14g", number);
    case LUA_TNIL: return sdsCat(out, "nil");
    case LUA_TTABLE: return catTable(out, L, index, most, depth + 1);
    default: return sdsCatPrintf(out, " \"%s@%p\"", luaL_typename(L, index), lua_topointer(L, index));
    }
}

sds debugCatValue(sds out, lua_State *L, int index, size_t most) {
    if (index < 0) index = lua_gettop(L) + index + 1;
    return catValue(out, L, index, most, 0);
}

/* ---- Replies ----------------------------------------------------------------------------------------------------- */

static sds catReply(sds out, slice *rest, size_t most, int depth);

/* Takes the first line off the input and returns it. The server has written the reply, so the line is complete; that is
 * checked nevertheless. */
static slice debugTextTakeLine(slice *rest) {
    const char *end = rest->len ? memchr(rest->ptr, '\r', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    slice line = sliceOf(rest->ptr, len);
    size_t used = end && len + 2 <= rest->len ? len + 2 : rest->len;
    *rest = sliceOf(rest->ptr + used, rest->len - used);
    return line;
}

/* Appends `count` elements, or a map of `count` pairs, between the brackets `ends`. */
static sds catElements(sds out, slice *rest, size_t most, int depth, long long count, const char *ends, bool is_map) {
    out = sdsCatLen(out, ends, strlen(ends) - 1);
    for (long long i = 0; i < count && rest->len && sdsLen(out) <= most; i++) {
        if (i) out = sdsCat(out, ",");
        out = catReply(out, rest, most, depth);
        if (is_map) out = catReply(sdsCat(out, " => "), rest, most, depth);
    }
    return sdsCatLen(out, ends + strlen(ends) - 1, 1);
}

static sds catBulk(sds out, slice *rest, size_t most, long long len) {
    size_t have = (size_t)len < rest->len ? (size_t)len : rest->len;
    out = sdsCatRepr(out, rest->ptr, have < most ? have : most);
    size_t used = have + 2 <= rest->len ? have + 2 : rest->len;
    *rest = sliceOf(rest->ptr + used, rest->len - used);
    return out;
}

static sds catReply(sds out, slice *rest, size_t most, int depth) {
    slice line = debugTextTakeLine(rest);
    long long number = -1;
    if (line.len == 0 || depth > DEPTH_MAX) return out;
    slice value = sliceOf(line.ptr + 1, line.len - 1);
    bool counted = string2ll(value.ptr, value.len, &number) && number >= 0;
    switch (line.ptr[0]) {
    case ':': return sdsCatLen(out, value.ptr, value.len);
    case '$':
    case '=': return counted ? catBulk(out, rest, most, number) : sdsCat(out, "NULL");
    case '*':
    case '>': return counted ? catElements(out, rest, most, depth + 1, number, "[]", false) : sdsCat(out, "NULL");
    case '~': return catElements(out, rest, most, depth + 1, number, "~()", false);
    case '%': return catElements(out, rest, most, depth + 1, number, "{}", true);
    case '_': return sdsCat(out, "(null)");
    case '#': return sdsCat(out, value.len && value.ptr[0] == 't' ? "#true" : "#false");
    case ',': return sdsCatLen(sdsCat(out, "(double) "), value.ptr, value.len);
    default: return sdsCatRepr(out, line.ptr, line.len);
    }
}

sds debugCatReply(sds out, slice reply, size_t most) { return catReply(out, &reply, most, 0); }
