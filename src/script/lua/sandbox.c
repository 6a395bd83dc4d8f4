/* sandbox.c -- the globals and libraries of scripts: those of Valkey, and none that reaches outside of the interpreter.
 *
 * Scripts have no files, no modules and no debug library, and environments only with the setting
 * lua-enable-insecure-api. Tables that scripts share are proxies (protected_table.c), and so is the table of globals,
 * the environment of every function.
 *
 * Not here    replacements for functions of Lua that could harm the server (safe_functions.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/sandbox.tcl, tests/script/insecure_api.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sandbox.h"

#include "direct_globals.h"
#include "lua_libraries.h"
#include "protected_table.h"
#include "safe_functions.h"

static const char real_globals, shown_globals; /* their addresses are keys in the registry */

static void openStandard(lua_State *L) {
    static const luaL_Reg libraries[] = {{"", luaopen_base},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_OSLIBNAME, luaopen_os}};
    for (size_t i = 0; i < array_len(libraries); i++) {
        lua_pushcfunction(L, libraries[i].func);
        lua_pushstring(L, libraries[i].name);
        lua_call(L, 1, 0);
    }
}

static void openOurs(lua_State *L) {
    static const struct {
        const char *name;
        void (*open)(lua_State *L);
    } libraries[] = {
        {"cjson", luaOpenCjson}, {"struct", luaOpenStruct}, {"cmsgpack", luaOpenCmsgpack}, {"bit", luaOpenBit}};
    for (size_t i = 0; i < array_len(libraries); i++) {
        libraries[i].open(L);
        lua_setfield(L, LUA_GLOBALSINDEX, libraries[i].name);
    }
}

static void removeGlobal(lua_State *L, const char *name) {
    lua_pushnil(L);
    lua_setfield(L, LUA_GLOBALSINDEX, name);
}

/* Removes globals that reach outside of the script: files, output, and, unless lua-enable-insecure-api is on,
 * environments of other functions and objects with metatables. */
static void removeGlobals(lua_State *L, bool insecure) {
    static const char *const names[] = {"dofile", "loadfile", "print", "require", "module", "package", "io", "debug"};
    static const char *const insecure_names[] = {"getfenv", "setfenv", "newproxy"};
    for (size_t i = 0; i < array_len(names); i++) removeGlobal(L, names[i]);
    if (insecure) lua_register(L, "newproxy", proxyObjectNew);
    for (size_t i = 0; i < array_len(insecure_names) && !insecure; i++) removeGlobal(L, insecure_names[i]);
    lua_newtable(L);
    lua_getfield(L, LUA_GLOBALSINDEX, "os");
    lua_getfield(L, -1, "clock");
    lua_setfield(L, -3, "clock");
    lua_pop(L, 1);
    lua_setfield(L, LUA_GLOBALSINDEX, "os");
}

static int globalMissing(lua_State *L) {
    if (!lua_isstring(L, 2)) return luaL_error(L, "Script attempted to access nonexistent global variable");
    return luaL_error(L, "Script attempted to access nonexistent global variable '%s'", lua_tostring(L, 2));
}

/* Replaces the library by its proxy. */
static void protectLibrary(lua_State *L, const char *name) {
    lua_getfield(L, LUA_GLOBALSINDEX, name);
    protectTable(L);
    lua_setfield(L, LUA_GLOBALSINDEX, name);
}

static void protectLibraries(lua_State *L) {
    static const char *const names[] = {"string", "table",  "math",     "os", "coroutine",
                                        "cjson",  "struct", "cmsgpack", "bit"};
    for (size_t i = 0; i < array_len(names); i++) protectLibrary(L, names[i]);
    /* Strings share a metatable: getmetatable("") shows a proxy of a table with the same __index. */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_newtable(L);
    lua_getfield(L, LUA_GLOBALSINDEX, "string");
    lua_setfield(L, -2, "__index");
    protectTable(L);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

/* Replaces the globals by their proxy, for all code that is loaded from now on. */
static void protectGlobals(lua_State *L) {
    lua_newtable(L);
    lua_pushcfunction(L, globalMissing);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_pushlightuserdata(L, (void *)&real_globals);
    lua_pushvalue(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    protectTableWith(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_GLOBALSINDEX, "_G");
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_pushvalue(L, -3);
    lua_setmetatable(L, -2); /* a name that is missing there, too, is an error */
    lua_pop(L, 1);
    lua_pushlightuserdata(L, (void *)&shown_globals);
    lua_pushvalue(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    lua_replace(L, LUA_GLOBALSINDEX);
    lua_pop(L, 1);
}

typedef struct opening {
    void (*open_api)(lua_State *);
    bool insecure;
} opening;

static int openAll(lua_State *L) {
    const opening *how = lua_touserdata(L, 1);
    openStandard(L);
    openOurs(L);
    luaInstallRandom(L);
    removeGlobals(L, how->insecure);
    safeFunctionsInstall(L);
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    protectedInstall(L);
    tableFunctionsInstall(L);
    textFunctionsInstall(L);
    lua_pop(L, 1);
    how->open_api(L);
    protectTable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_GLOBALSINDEX, "redis");
    lua_setfield(L, LUA_GLOBALSINDEX, "server");
    protectLibraries(L);
    protectGlobals(L);
    if (!how->insecure) directGlobalsOpen(L);
    return 0;
}

bool sandboxOpen(interpreter *in, bool insecure, void (*open_api)(lua_State *L)) {
    opening how = {.open_api = open_api, .insecure = insecure};
    in->insecure = insecure;
    if (lua_cpcall(in->L, openAll, &how) == 0) return true;
    lua_pop(in->L, 1);
    return false;
}

int sandboxLoad(lua_State *L, slice text, const char *name) {
    int result = interpreterLoad(L, text, name);
    if (result == 0) directGlobalsLink(L);
    return result;
}

void sandboxPushGlobals(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&real_globals);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

void sandboxRestoreGlobals(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&shown_globals);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_replace(L, LUA_GLOBALSINDEX);
}

void sandboxRefuseMissing(lua_State *L) {
    lua_newtable(L);
    lua_pushcfunction(L, globalMissing);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

void sandboxShowOnly(lua_State *L) {
    directGlobalsHide(L);
    protectExchange(L, LUA_GLOBALSINDEX);
}

void sandboxShowGlobals(lua_State *L) {
    sandboxPushGlobals(L);
    protectExchange(L, LUA_GLOBALSINDEX);
    directGlobalsShow(L);
}
