/* direct_globals.c -- a second table of globals, for compiled scripts, with the values that the proxy of the globals
 * shows.
 *
 * Not here    the choice of the instructions that read the real tables (chunk_linker.c).
 * Owns        the table, in the registry.
 * Threads     main.
 * Invariants  1. No script can reach the table: a state that has it does not have getfenv().
 *             2. Each key of the table has the value that the proxy gives for it, or is the name of a library with a
 *                zero byte after it and has the library's real table.
 * Tests       tests/unit/script/lua/chunk_linker_test.c, tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "direct_globals.h"

#include "protected_table.h"

#include <string.h>

static const char direct; /* its address is the table's key in the registry */

/* Pushes the table; returns false, and pushes nothing, if there is none. */
static bool pushDirect(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&direct);
    lua_rawget(L, LUA_REGISTRYINDEX);
    if (lua_istable(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}

/* Pops a library's proxy and stores its real table in the table at `to`. */
static void addReal(lua_State *L, int to, const char *name) {
    if (protectPushReal(L, -1)) {
        lua_pushlstring(L, name, strlen(name) + 1);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
    lua_pop(L, 1);
}

/* lua_CFunction: copies all that the proxy shows into the table. */
static int directGlobalsFill(lua_State *L) {
    luaL_checkstack(L, 8, "cannot copy the globals");
    if (!pushDirect(L)) return 0;
    int to = lua_gettop(L);
    protectPushReal(L, LUA_GLOBALSINDEX);
    int from = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, from); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, to);
        if (lua_type(L, -2) != LUA_TSTRING || lua_rawequal(L, -1, LUA_GLOBALSINDEX)) continue;
        lua_pushvalue(L, -1);
        addReal(L, to, lua_tostring(L, -3));
    }
    return 0;
}

void directGlobalsOpen(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&direct);
    lua_newtable(L);
    lua_getmetatable(L, LUA_GLOBALSINDEX);
    lua_setmetatable(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    lua_pushcfunction(L, directGlobalsFill);
    lua_call(L, 0, 0);
}

void directGlobalsLink(lua_State *L) {
    if (!pushDirect(L)) return;
    lua_insert(L, -2);
    chunkLink(L, lua_gettop(L) - 1);
    lua_remove(L, -2);
}

void directGlobalsHide(lua_State *L) {
    if (!pushDirect(L)) return;
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_pop(L, 1);
}

void directGlobalsShow(lua_State *L) { interpreterMust(L, directGlobalsFill); }

void directGlobalsAddReal(lua_State *L, const char *name) {
    int to = lua_gettop(L);
    lua_getfield(L, to, name);
    addReal(L, to, name);
}
