/* table_functions.c -- faster versions of the most used table functions, with fewer calls of Lua's API.
 *
 * Results and errors are those of Lua 5.1, with two limits: insert() at a position far below the table is refused,
 * because it would walk all positions up to the end, and unpack() counts its results without overflow.
 *
 * Not here    iteration by next() and pairs() (protected_table.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/lua/table_functions_test.c, tests/unit/script/lua/safe_functions_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include "protected_table.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define INSERT_MIN (-1000000)
#define SORT_MAX (1 << 20) /* longer tables are sorted by Lua */
#define SORT_ON_STACK 128
#define SORT_RUN 16 /* elements that are sorted by insertion, before such runs are merged */

static lua_CFunction plain_sort;

static inline void needTable(lua_State *L) {
    if (unlikely(lua_type(L, 1) != LUA_TTABLE)) luaL_checktype(L, 1, LUA_TTABLE);
}

/* --- insert ------------------------------------------------------------------------------------------------------- */

static int insertAt(lua_State *L, int end) {
    int position = luaL_checkint(L, 2);
    if (position < INSERT_MIN) return luaL_argerror(L, 2, "position out of bounds");
    if (position > end) end = position;
    for (int i = end; i > position; i--) {
        lua_rawgeti(L, 1, i - 1);
        lua_rawseti(L, 1, i);
    }
    lua_rawseti(L, 1, position);
    return 0;
}

static int tableInsert(lua_State *L) {
    needTable(L);
    int end = (int)lua_objlen(L, 1) + 1;
    if (end == 1 && protectPushReal(L, 1)) return protectRefuse(L); /* a proxy is empty */
    switch (lua_gettop(L)) {
    case 2: lua_rawseti(L, 1, end); return 0;
    case 3: return insertAt(L, end);
    default: return luaL_error(L, "wrong number of arguments to 'insert'");
    }
}

/* --- sort --------------------------------------------------------------------------------------------------------- */

static void sortRun(lua_Number *n, size_t count) {
    for (size_t i = 1; i < count; i++) {
        lua_Number value = n[i];
        size_t to = i;
        for (; to > 0 && value < n[to - 1]; to--) n[to] = n[to - 1];
        n[to] = value;
    }
}

/* Merges two adjacent runs. */
static void tableFunctionsMerge(const lua_Number *from, size_t first, size_t count, lua_Number *to) {
    size_t a = 0, b = first;
    while (a < first && b < count) {
        bool second = from[b] < from[a];
        *to++ = from[second ? b : a];
        b += second;
        a += !second;
    }
    memcpy(to, from + a, (first - a) * sizeof(*to));
    memcpy(to + (first - a), from + b, (count - b) * sizeof(*to));
}

/* Sorts in at most n log n steps; returns `n` or `spare`, which has the same length. */
static lua_Number *sortNumbers(lua_Number *n, lua_Number *spare, size_t count) {
    for (size_t at = 0; at < count; at += SORT_RUN) sortRun(n + at, count - at < SORT_RUN ? count - at : SORT_RUN);
    for (size_t run = SORT_RUN; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t both = count - at < 2 * run ? count - at : 2 * run;
            tableFunctionsMerge(n + at, run < both ? run : both, both, spare + at);
        }
        lua_Number *sorted = spare;
        spare = n;
        n = sorted;
    }
    return n;
}

/* Reads the elements. Returns false if one is not a number, or is one whose order among equals is visible: the order of
 * 0 and -0, and the position of a NaN, depend on Lua's own algorithm. */
static bool readNumbers(lua_State *L, lua_Number *n, int count) {
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 1, i + 1);
        bool number = lua_type(L, -1) == LUA_TNUMBER;
        n[i] = number ? lua_tonumber(L, -1) : 0;
        lua_settop(L, -2);
        if (!number || isnan(n[i]) || (n[i] == 0 && signbit(n[i]))) return false;
    }
    return true;
}

static int tableSort(lua_State *L) {
    needTable(L);
    size_t count = lua_objlen(L, 1);
    if (!lua_isnoneornil(L, 2) || count < 2 || count > SORT_MAX) return plain_sort(L);
    lua_Number on_stack[2 * SORT_ON_STACK], *n = on_stack;
    lua_settop(L, 2);
    if (count > SORT_ON_STACK) n = lua_newuserdata(L, 2 * count * sizeof(*n));
    bool numbers = readNumbers(L, n, (int)count);
    if (!numbers) lua_settop(L, 2);
    if (!numbers) return plain_sort(L);
    n = sortNumbers(n, n + count, count);
    for (size_t i = 0; i < count; i++) {
        lua_pushnumber(L, n[i]);
        lua_rawseti(L, 1, (int)i + 1);
    }
    return 0;
}

/* --- ipairs and unpack -------------------------------------------------------------------------------------------- */

static int ipairsNext(lua_State *L) {
    lua_Integer i = lua_tointeger(L, 2);
    if (unlikely(i == 0)) i = luaL_checkinteger(L, 2);
    needTable(L);
    int next = (int)((unsigned)i + 1);
    lua_pushinteger(L, next);
    lua_rawgeti(L, 1, next);
    return lua_type(L, -1) == LUA_TNIL ? 0 : 2;
}

/* Its upvalue is ipairsNext(). */
static int tableIpairs(lua_State *L) {
    needTable(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

static int tableUnpack(lua_State *L) {
    needTable(L);
    bool whole = lua_gettop(L) == 1;
    int first = whole ? 1 : luaL_optint(L, 2, 1);
    int last = whole || lua_isnoneornil(L, 3) ? (int)lua_objlen(L, 1) : luaL_checkint(L, 3);
    if (first > last) return 0;
    long long count = (long long)last - first + 1;
    if (count >= INT_MAX || !lua_checkstack(L, (int)count)) return luaL_error(L, "too many results to unpack");
    for (long long i = first; i <= last; i++) lua_rawgeti(L, 1, (int)i);
    return (int)count;
}

void tableFunctionsInstall(lua_State *L) {
    lua_pushcfunction(L, ipairsNext);
    lua_pushcclosure(L, tableIpairs, 1);
    lua_setfield(L, -2, "ipairs");
    interpreterReplace(L, "unpack", tableUnpack, NULL);
    lua_getfield(L, -1, "table");
    interpreterReplace(L, "insert", tableInsert, NULL);
    interpreterReplace(L, "sort", tableSort, &plain_sort);
    lua_pop(L, 1);
}
