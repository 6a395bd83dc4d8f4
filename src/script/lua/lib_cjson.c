/* lib_cjson.c -- the Lua library `cjson`: its table and its settings.
 *
 * Not here    encoding and decoding (lib_cjson_encode.c, lib_cjson_decode.c).
 * Owns        nothing: settings are memory of Lua.
 * Threads     main.
 * Tests       tests/unit/script/lib_test.c, tests/script/cjson.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include "lib_cjson_internal.h"

#include <limits.h>

static const char *const invalid_names[] = {"off", "on", "null", NULL};
static const char *const switch_names[] = {"off", "on", NULL};

/* Checks that there are at most `count` arguments, and sets missing ones to nil. */
static cjsonSettings *arguments(lua_State *L, int count) {
    luaL_argcheck(L, lua_gettop(L) <= count, count + 1, "found too many arguments");
    lua_settop(L, count);
    return cjsonSettingsOf(L);
}

/* Store the argument if it is given, push the stored value, and return 1, the number of results. */
static int integer(lua_State *L, int index, int *value, int min, int max) {
    if (!lua_isnil(L, index)) {
        int given = luaL_checkint(L, index);
        if (given < min || given > max)
            luaL_argerror(L, 1, lua_pushfstring(L, "expected integer between %d and %d", min, max));
        *value = given;
    }
    lua_pushinteger(L, *value);
    return 1;
}

static int choice(lua_State *L, int index, int *value, const char *const *names) {
    if (lua_isboolean(L, index)) *value = lua_toboolean(L, index);
    else if (!lua_isnil(L, index)) *value = luaL_checkoption(L, index, NULL, names);
    if (*value <= INVALID_ON) lua_pushboolean(L, *value);
    else lua_pushstring(L, names[*value]);
    return 1;
}

static int encodeMaxDepth(lua_State *L) { return integer(L, 1, &arguments(L, 1)->encode_max_depth, 1, INT_MAX); }
static int decodeMaxDepth(lua_State *L) { return integer(L, 1, &arguments(L, 1)->decode_max_depth, 1, INT_MAX); }
static int numberPrecision(lua_State *L) { return integer(L, 1, &arguments(L, 1)->number_precision, 1, 14); }
static int keepBuffer(lua_State *L) { return choice(L, 1, &arguments(L, 1)->keep_buffer, switch_names); }
static int encodeInvalid(lua_State *L) { return choice(L, 1, &arguments(L, 1)->encode_invalid, invalid_names); }
static int decodeInvalid(lua_State *L) { return choice(L, 1, &arguments(L, 1)->decode_invalid, switch_names); }

static int sparseArray(lua_State *L) {
    cjsonSettings *s = arguments(L, 3);
    choice(L, 1, &s->sparse_convert, switch_names);
    integer(L, 2, &s->sparse_ratio, 0, INT_MAX);
    integer(L, 3, &s->sparse_safe, 0, INT_MAX);
    return 3;
}

static int newInstance(lua_State *L) {
    luaOpenCjson(L);
    return 1;
}

void luaOpenCjson(lua_State *L) {
    static const luaL_Reg functions[] = {{"encode", cjsonEncode},
                                         {"decode", cjsonDecode},
                                         {"encode_sparse_array", sparseArray},
                                         {"encode_max_depth", encodeMaxDepth},
                                         {"decode_max_depth", decodeMaxDepth},
                                         {"encode_number_precision", numberPrecision},
                                         {"encode_keep_buffer", keepBuffer},
                                         {"encode_invalid_numbers", encodeInvalid},
                                         {"decode_invalid_numbers", decodeInvalid},
                                         {"new", newInstance}};
    lua_newtable(L);
    cjsonSettings *s = lua_newuserdata(L, sizeof(*s));
    *s = (cjsonSettings){.encode_max_depth = 1000,
                         .decode_max_depth = 1000,
                         .number_precision = 14,
                         .decode_invalid = INVALID_ON,
                         .keep_buffer = 1,
                         .sparse_ratio = 2,
                         .sparse_safe = 10};
    for (size_t i = 0; i < array_len(functions); i++) {
        lua_pushvalue(L, -1);
        lua_pushcclosure(L, functions[i].func, 1);
        lua_setfield(L, -3, functions[i].name);
    }
    lua_pop(L, 1);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    lua_pushliteral(L, "cjson");
    lua_setfield(L, -2, "_NAME");
    lua_pushliteral(L, "2.1.0");
    lua_setfield(L, -2, "_VERSION");
}
