/* proxy_object.c -- newproxy(): a userdata whose metatable a script can change.
 *
 * Scripts see an empty table in place of the real metatable. Fields stored in it are stored in the real one, except for
 * `__gc`: a finalizer would run at any time, even when no script runs, and nothing could end it.
 *
 * Not here    the choice of whether scripts have newproxy() (sandbox.c).
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. No real metatable of such a userdata has a field `__gc`, and no script can reach the metatable.
 * Tests       tests/script/insecure_api.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include <string.h>

static const char mark; /* its address is a key in the metatables of these objects */

/* __newindex of the table that scripts see. The upvalue is the real metatable. */
static int setField(lua_State *L) {
    if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "__gc") == 0) return 0;
    lua_settop(L, 3);
    lua_settable(L, lua_upvalueindex(1));
    return 0;
}

/* Gives the userdata on the top of the stack a new metatable. */
static void attachMetatable(lua_State *L) {
    lua_newtable(L); /* userdata, real */
    lua_pushlightuserdata(L, (void *)&mark);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_newtable(L); /* userdata, real, shown */
    lua_newtable(L); /* userdata, real, shown, metatable of the shown one */
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, setField, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

/* Pushes the metatable of the value at `index` if newproxy() has made it; otherwise pushes nothing and returns
 * false. */
static bool pushMetatable(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return false;
    lua_pushlightuserdata(L, (void *)&mark);
    lua_rawget(L, -2);
    bool ours = lua_toboolean(L, -1);
    lua_pop(L, ours ? 1 : 2);
    return ours;
}

int proxyObjectNew(lua_State *L) {
    lua_settop(L, 1);
    if (lua_isnil(L, 1) || lua_isboolean(L, 1)) {
        lua_newuserdata(L, 0);
        if (lua_toboolean(L, 1)) attachMetatable(L);
        return 1;
    }
    luaL_argcheck(L, pushMetatable(L, 1), 1, "boolean or proxy expected");
    lua_newuserdata(L, 0);
    lua_insert(L, -2);
    lua_setmetatable(L, -2);
    return 1;
}
