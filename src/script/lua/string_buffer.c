/* string_buffer.c -- a growing string for C functions that walk Lua tables.
 *
 * Owns        nothing: bytes that do not fit into the struct are in a userdata on the stack of Lua.
 * Threads     main.
 * Tests       tests/script/packing.tcl, tests/script/cjson.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "string_buffer.h"

#define TEXT_MAX ((size_t)512 << 20) /* no value of the server is longer */

void stringBufferInit(stringBuffer *t, lua_State *L) {
    t->L = L;
    t->bytes = t->first;
    t->len = 0;
    t->room = sizeof(t->first);
    lua_pushnil(L);
    t->place = lua_gettop(L);
}

void stringBufferGrow(stringBuffer *t, size_t more) {
    if (more > TEXT_MAX - t->len) luaL_error(t->L, "not enough memory");
    size_t room = t->room * 2;
    if (room - t->len < more) room = t->len + more;
    if (room > TEXT_MAX) room = TEXT_MAX;
    luaL_checkstack(t->L, 1, "no place for a text");
    char *bytes = lua_newuserdata(t->L, room);
    memcpy(bytes, t->bytes, t->len);
    lua_replace(t->L, t->place);
    t->bytes = bytes;
    t->room = room;
}

void stringBufferPush(stringBuffer *t) { lua_pushlstring(t->L, t->bytes, t->len); }
