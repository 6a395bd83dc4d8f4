/* function_register.c -- redis.register_function(): a library names its functions while it is loaded.
 *
 * Not here    running the text of a library (function_lua.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_lua.h"

#include "lua_values.h"
#include "script_flags.h"

#include <strings.h>

static struct {
    functionLibrary *library; /* borrowed; NULL if none is being loaded */
    const char *error;
} loading;

/* The arguments of register_function(). Texts are on Lua's stack. */
typedef struct description {
    slice name, text;
    uint32_t flags;
    int callback; /* its index on the stack; 0 if none */
} description;

void functionRegisterFor(functionLibrary *library) {
    loading.library = library;
    loading.error = NULL;
}

const char *functionRegisterError(void) { return loading.error; }

static uint32_t flagByName(const char *name) {
    for (unsigned i = 0; i < SCRIPT_FLAGS; i++)
        if (strcasecmp(name, scriptFlagName(i)) == 0) return 1u << i;
    return 0;
}

/* Reads the list of flags on the top of the stack, up to its first nil. */
static uint32_t readFlags(lua_State *L) {
    if (!lua_istable(L, -1))
        scriptRaise(L, "ERR flags argument to server.register_function must be a table representing function flags");
    uint32_t flags = 0;
    for (int i = 1;; i++) {
        lua_rawgeti(L, -1, i);
        if (lua_isnil(L, -1)) break;
        uint32_t flag = lua_isstring(L, -1) ? flagByName(lua_tostring(L, -1)) : 0;
        if (!flag) scriptRaise(L, "ERR unknown flag given");
        flags |= flag;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return flags;
}

/* Reads the value on the top of the stack, whose name is `key`. Values that must be kept are stored in slots 2 to 4. */
static void readNamed(lua_State *L, const char *key, description *d) {
    if (strcasecmp(key, "function_name") == 0) {
        if (!lua_isstring(L, -1))
            scriptRaise(L, "ERR function_name argument given to server.register_function must be a string");
        lua_pushvalue(L, -1);
        lua_replace(L, 2);
        d->name = luaText(L, 2);
    } else if (strcasecmp(key, "description") == 0) {
        if (!lua_isstring(L, -1))
            scriptRaise(L, "ERR description argument given to server.register_function must be a string");
        lua_pushvalue(L, -1);
        lua_replace(L, 3);
        d->text = luaText(L, 3);
    } else if (strcasecmp(key, "callback") == 0) {
        if (!lua_isfunction(L, -1))
            scriptRaise(L, "ERR callback argument given to server.register_function must be a function");
        lua_pushvalue(L, -1);
        lua_replace(L, 4);
        d->callback = 4;
    } else if (strcasecmp(key, "flags") == 0) {
        d->flags = readFlags(L);
    } else {
        scriptRaise(L, "ERR unknown argument given to server.register_function");
    }
}

/* Reads one argument, a table of named arguments. Slots 2 to 4 keep name, description and callback. */
static void readTable(lua_State *L, description *d) {
    if (!lua_istable(L, 1))
        scriptRaise(L, "ERR calling server.register_function with a single argument is only applicable to Lua table "
                       "(representing named arguments).");
    lua_settop(L, 4);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        if (!lua_isstring(L, -2))
            scriptRaise(L, "ERR named argument key given to server.register_function is not a string");
        lua_pushvalue(L, -2); /* lua_tostring() would turn a numeric key into a string and confuse lua_next() */
        const char *key = lua_tostring(L, -1);
        lua_insert(L, -2);
        readNamed(L, key, d);
        lua_pop(L, 2);
    }
    if (!d->name.ptr) scriptRaise(L, "ERR server.register_function must get a function name argument");
    if (!d->callback) scriptRaise(L, "ERR server.register_function must get a callback argument");
}

static void readPair(lua_State *L, description *d) {
    if (!lua_isstring(L, 1)) scriptRaise(L, "ERR first argument to server.register_function must be a string");
    if (!lua_isfunction(L, 2)) scriptRaise(L, "ERR second argument to server.register_function must be a function");
    d->name = luaText(L, 1);
    d->callback = 2;
}

int functionRegister(lua_State *L) {
    description d = {.callback = 0};
    int count = lua_gettop(L);
    if (!loading.library)
        return scriptRaise(L, "ERR server.register_function can only be called on FUNCTION LOAD command");
    if (count < 1 || count > 2) return scriptRaise(L, "ERR wrong number of arguments to server.register_function");
    if (count == 1) readTable(L, &d);
    else readPair(L, &d);
    lua_pushvalue(L, d.callback);
    int function = luaL_ref(L, LUA_REGISTRYINDEX);
    loading.error = functionLibraryAdd(loading.library, d.name, d.text.ptr ? &d.text : NULL, d.flags, function);
    if (!loading.error) return 0;
    luaL_unref(L, LUA_REGISTRYINDEX, function);
    return scriptRaise(L, loading.error);
}
