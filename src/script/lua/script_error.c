/* script_error.c -- errors of scripts as tables: the text, and the line that raised the error.
 *
 *   {err = "WRONGTYPE Operation ...", source = "@user_script", line = 3, ignore_error_stats_update = true}
 *
 * Not here    errors as replies (script_run.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/errors.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_values.h"

#include <string.h>

int scriptRaise(lua_State *L, const char *text) {
    luaPushError(L, sliceStr(text), false);
    return lua_error(L);
}

/* Adds the position of the first Lua function among the callers. */
static void addPosition(lua_State *L) {
    lua_Debug frame;
    for (int level = 1; level <= 3 && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (strcmp(frame.what, "C") == 0) continue;
        lua_pushstring(L, frame.source);
        lua_setfield(L, -2, "source");
        lua_pushinteger(L, frame.currentline);
        lua_setfield(L, -2, "line");
        return;
    }
}

/* Pushes "ERR " and the result of tostring(), without metatables. */
static void pushText(lua_State *L) {
    switch (lua_type(L, 1)) {
    case LUA_TNUMBER:
    case LUA_TSTRING: lua_pushliteral(L, "ERR "), lua_pushvalue(L, 1), lua_concat(L, 2); break;
    case LUA_TBOOLEAN: lua_pushstring(L, lua_toboolean(L, 1) ? "ERR true" : "ERR false"); break;
    case LUA_TNIL: lua_pushliteral(L, "ERR nil"); break;
    default: lua_pushfstring(L, "ERR %s: %p", luaL_typename(L, 1), lua_topointer(L, 1));
    }
}

int scriptErrorHandler(lua_State *L) {
    if (!lua_istable(L, 1)) {
        pushText(L);
        lua_createtable(L, 0, 4);
        lua_insert(L, -2);
        lua_setfield(L, -2, "err");
        lua_replace(L, 1);
    }
    lua_settop(L, 1);
    addPosition(L);
    return 1;
}
