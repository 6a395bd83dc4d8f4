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
    t->capacity = sizeof(t->first);
    lua_pushnil(L);
    t->slot = lua_gettop(L);
}

void stringBufferGrow(stringBuffer *t, size_t more) {
    if (more > TEXT_MAX - t->len) luaL_error(t->L, "not enough memory");
    size_t capacity = t->capacity * 2;
    if (capacity - t->len < more) capacity = t->len + more;
    if (capacity > TEXT_MAX) capacity = TEXT_MAX;
    luaL_checkstack(t->L, 1, "cannot build a string");
    char *bytes = lua_newuserdata(t->L, capacity);
    memcpy(bytes, t->bytes, t->len);
    lua_replace(t->L, t->slot);
    t->bytes = bytes;
    t->capacity = capacity;
}

void stringBufferPush(stringBuffer *t) { lua_pushlstring(t->L, t->bytes, t->len); }
