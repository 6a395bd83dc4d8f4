/* function_lua.c -- functions written in Lua: the interpreter of all libraries.
 *
 * The text of a library runs once. Meanwhile its globals are different ones: a table `redis` (also called `server`)
 * with register_function(), log() and the versions, and nothing else. The library's functions keep the same proxy as
 * their table of globals, but by the time they are called the proxy shows the real globals again. So a library can keep
 * state only in its local variables, and whatever it copied from the table `redis` while it was loaded stays the
 * restricted kind.
 *
 * Not here    arguments of register_function() (function_register.c), calling functions (script_run.c).
 * Owns        the interpreter.
 * Threads     main.
 * Invariants  1. The proxy shows the real globals unless a library is being loaded.
 * Tests       tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_lua.h"

#include "clock.h"
#include "direct_globals.h"
#include "lua_values.h"
#include "panic.h"
#include "protected_table.h"
#include "sandbox.h"
#include "script_api.h"
#include "safe_functions.h"
#include "script_run.h"

#define LOAD_MS_MAX 500

static struct {
    interpreter *in; /* owns */
    int globals;     /* reference in the registry: the globals of a library while it is loaded */
    monotime started;
} lua;

/* --- The interpreter ---------------------------------------------------------------------------------------------- */

/* lua_CFunction: creates the globals that a library sees while it is loaded. */
static int makeGlobals(lua_State *L) {
    lua_newtable(L);
    sandboxRefuseMissing(L);
    scriptApiPushForLoading(L);
    lua_pushcfunction(L, functionRegister);
    lua_setfield(L, -2, "register_function");
    sandboxRefuseMissing(L);
    protectTable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "redis");
    lua_setfield(L, -2, "server");
    directGlobalsAddReal(L, "redis");
    directGlobalsAddReal(L, "server");
    lua.globals = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

void functionLuaInit(void) {
    lua.in = scriptInterpreterCreate(scriptApiPushForFunctions);
    if (lua_cpcall(lua.in->L, makeGlobals, NULL) != 0) serverPanic("Cannot create a Lua interpreter: out of memory");
}

interpreter *functionLuaInterpreter(void) { return lua.in; }

static void functionLuaReset(bool async) {
    scriptInterpreterRelease(lua.in, async);
    functionLuaInit();
}

/* --- Loading ------------------------------------------------------------------------------------------------------ */

static void onSteps(lua_State *L, lua_Debug *frame) {
    unused(frame);
    if (clockTicksToNs(clockTicks() - lua.started) / 1000000 < LOAD_MS_MAX) return;
    lua_sethook(L, onSteps, LUA_MASKCOUNT, HOOK_OF_END); /* so that no pcall() can catch it */
    scriptRaise(L, "ERR FUNCTION LOAD timeout");
}

typedef struct compilation {
    slice code;
    bool compiled;
} compilation;

/* lua_CFunction of the protected call. A text that cannot be compiled leaves its error. */
static int compileAndRun(lua_State *L) {
    compilation *c = lua_touserdata(L, 1);
    if (sandboxLoad(L, c->code, "@user_function") != 0) return lua_error(L);
    c->compiled = true;
    lua_rawgeti(L, LUA_REGISTRYINDEX, lua.globals);
    sandboxShowOnly(L);
    lua_call(L, 0, 0);
    return 0;
}

/* Returns the text of the error on the top of the stack, which is a table, or a string if the parser or lack of memory
 * raised it. */
static sds errorText(lua_State *L, bool compiled) {
    const char *what = compiled ? "Error registering functions" : "Error compiling function", *text;
    if (functionRegisterError()) return sdsNew(functionRegisterError());
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "err");
        lua_rawget(L, -2);
    }
    text = lua_tostring(L, -1);
    if (!compiled && text && strncmp(text, "ERR ", 4) == 0) text += 4;
    return sdsCatPrintf(sdsEmpty(), "%s: %s", what, text ? text : "unknown error");
}

static sds functionLuaLoad(functionLibrary *library, slice code, bool limited) {
    lua_State *L = lua.in->L;
    compilation c = {.code = code};
    sds error = NULL;
    const lua_Hook watch = lua_gethook(L);
    const int count = lua_gethookcount(L), bottom = lua_gettop(L);
    lua.started = clockTicks();
    if (limited) lua_sethook(L, onSteps, LUA_MASKCOUNT, STEPS_PER_CHECK);
    else lua_sethook(L, NULL, 0, 0);
    functionRegisterFor(library);
    lua_pushcfunction(L, scriptErrorHandler);
    lua_pushcfunction(L, compileAndRun);
    lua_pushlightuserdata(L, &c);
    if (lua_pcall(L, 1, 0, bottom + 1) != 0) error = errorText(L, c.compiled);
    lua_settop(L, bottom);
    sandboxShowGlobals(L);
    functionRegisterFor(NULL);
    lua_sethook(L, watch, LUA_MASKCOUNT, count);
    return error;
}

static void functionLuaForget(int function) { luaL_unref(lua.in->L, LUA_REGISTRYINDEX, function); }

const functionEngine function_lua = {
    .name = "LUA", .load = functionLuaLoad, .forget = functionLuaForget, .reset = functionLuaReset};
