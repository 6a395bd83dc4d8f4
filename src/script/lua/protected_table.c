/* protected_table.c -- tables that scripts can read but not change.
 *
 *   proxy {}  --metatable-->  { __index = real, __newindex = refuse, [tag] = real, [shown] = result of getmetatable() }
 *
 * The tags are addresses in this file, so that no script can name them.
 *
 * Not here    which tables are protected (sandbox.c).
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. A proxy has no fields of its own: all functions that could add one are replaced here.
 *             2. No value that a script can reach is a real table or the metatable of a proxy.
 * Cost        a read through a proxy costs an additional miss in an empty table and a call of __index. Scripts that run
 *             often bypass the proxy (direct_globals.h).
 * Tests       tests/script/sandbox.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "protected_table.h"

static const char tag, shown;
static lua_CFunction plain_setmetatable, plain_getmetatable, plain_rawget, plain_rawset, plain_foreach;

static int protectedTableRefuse(lua_State *L) { return luaL_error(L, "Attempt to modify a readonly table"); }

int protectRefuse(lua_State *L) {
    lua_pushliteral(L, "Attempt to modify a readonly table");
    return lua_error(L);
}

static void rawSetByAddress(lua_State *L, int table, const char *address) {
    lua_pushlightuserdata(L, (void *)address);
    lua_insert(L, -2);
    lua_rawset(L, table < 0 ? table - 1 : table);
}

/* Replaces the metatable on the top of the stack by what it has under the address. */
static void rawGetByAddress(lua_State *L, const char *address) {
    lua_pushlightuserdata(L, (void *)address);
    lua_rawget(L, -2);
    lua_remove(L, -2);
}

static void makeProxy(lua_State *L) {
    lua_newtable(L); /* real, proxy */
    lua_newtable(L); /* real, proxy, metatable */
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, protectedTableRefuse);
    lua_setfield(L, -2, "__newindex");
    lua_pushvalue(L, -3);
    rawSetByAddress(L, -2, &tag);
}

void protectTable(lua_State *L) {
    makeProxy(L);
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

void protectTableWith(lua_State *L, int index) {
    lua_pushvalue(L, index);
    protectTable(L);
    lua_insert(L, -2); /* shown metatable, real */
    makeProxy(L);
    lua_pushvalue(L, -4);
    rawSetByAddress(L, -2, &shown);
    lua_setmetatable(L, -2);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

void protectExchange(lua_State *L, int index) {
    lua_getmetatable(L, index); /* table, metatable */
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "__index");
    lua_insert(L, -2);
    rawSetByAddress(L, -2, &tag);
    lua_pop(L, 1);
}

bool protectPushReal(lua_State *L, int index) {
    if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
    rawGetByAddress(L, &tag);
    if (lua_istable(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}

/* --- Functions that bypass metatables ---------------------------------------------------------------------------- */

static int proxyRawget(lua_State *L) {
    if (protectPushReal(L, 1)) lua_replace(L, 1);
    return plain_rawget(L);
}

static int proxyRawset(lua_State *L) {
    if (protectPushReal(L, 1)) return protectRefuse(L);
    return plain_rawset(L);
}

static int proxySetmetatable(lua_State *L) {
    if (protectPushReal(L, 1)) return protectRefuse(L);
    return plain_setmetatable(L);
}

static int proxyGetmetatable(lua_State *L) {
    if (!protectPushReal(L, 1)) return plain_getmetatable(L);
    lua_getmetatable(L, 1);
    rawGetByAddress(L, &shown);
    return 1;
}

/* next() for a table that is not a proxy. */
static int plainNext(lua_State *L) {
    if (unlikely(lua_type(L, 1) != LUA_TTABLE)) luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    if (lua_next(L, 1)) return 2;
    lua_pushnil(L);
    return 1;
}

static int proxyNext(lua_State *L) {
    if (protectPushReal(L, 1)) lua_replace(L, 1);
    return plainNext(L);
}

/* Its upvalues are proxyNext, and plainNext, which walks a plain table without a check at each step. */
static int proxyPairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushvalue(L, lua_upvalueindex(protectPushReal(L, 1) ? 1 : 2));
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

static int proxyForeach(lua_State *L) {
    if (protectPushReal(L, 1)) lua_replace(L, 1);
    return plain_foreach(L);
}

void protectedInstall(lua_State *L) {
    interpreterReplace(L, "rawget", proxyRawget, &plain_rawget);
    interpreterReplace(L, "rawset", proxyRawset, &plain_rawset);
    interpreterReplace(L, "setmetatable", proxySetmetatable, &plain_setmetatable);
    interpreterReplace(L, "getmetatable", proxyGetmetatable, &plain_getmetatable);
    lua_pushcfunction(L, proxyNext);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "next");
    lua_pushcfunction(L, plainNext);
    lua_pushcclosure(L, proxyPairs, 2);
    lua_setfield(L, -2, "pairs");
    lua_getfield(L, -1, "table");
    interpreterReplace(L, "foreach", proxyForeach, &plain_foreach);
    lua_pop(L, 1);
}
