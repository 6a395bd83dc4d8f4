/* safe_functions.c -- replacements for functions of Lua's own libraries that could harm the server.
 *
 *   load, loadstring      accept text only: bytecode can be made to read and write any memory
 *   find, match, gmatch,  limit the repetitions in a pattern, because the matcher calls itself for each of them
 *   gsub
 *   resume, wrap          let the hook watch coroutines, and end all of them when a script is killed
 *   pcall                 if an error is a table with a text, returns the text, as Valkey does
 *   xpcall                does not call the handler for the error of SCRIPT KILL: no hook could end the handler
 *   collectgarbage        cannot be switched off
 *
 *
 * Not here    tables (protected_table.c, table_functions.c), strings without patterns (text_functions.c).
 * Owns        nothing but the addresses of the functions that it replaces.
 * Threads     main.
 * Tests       tests/unit/script/lua/safe_functions_test.c, tests/script/sandbox.tcl, tests/script/exploits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "safe_functions.h"

#include <string.h>

#define REPETITIONS_MAX 4096 /* each takes up to about 200 bytes of the C stack */
#define RESUMES_PER_CHECK 64

static lua_CFunction plain_xpcall, plain_find, plain_match, plain_gmatch, plain_gsub, plain_collect, plain_create,
    plain_resume;

/* --- Loading ------------------------------------------------------------------------------------------------------ */

/* Returns the results of load() and loadstring() for the result of lua_load(). */
static int loaded(lua_State *L, int result) {
    if (result == 0) return 1;
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static int textLoadstring(lua_State *L) {
    slice text;
    text.ptr = luaL_checklstring(L, 1, &text.len);
    const char *name = luaL_optstring(L, 2, text.ptr);
    return loaded(L, interpreterLoad(L, text, name));
}

enum { READER = 1, NAME, PIECE, READ_ARGS = PIECE }; /* slots on the stack of load() */

typedef struct readerState {
    bool begun;
    bool marked; /* a blank was returned first, and the first piece waits on the stack */
    size_t bytes_read;
} readerState;

/* lua_Reader: gets pieces from the script's function. */
static const char *readPiece(lua_State *L, void *arg, size_t *size) {
    readerState *r = arg;
    if (!r->marked) {
        luaL_checkstack(L, 2, "too many nested functions");
        lua_pushvalue(L, READER);
        lua_call(L, 0, 1);
        if (lua_isnil(L, -1)) {
            *size = 0;
            return NULL;
        }
        if (!lua_isstring(L, -1)) luaL_error(L, "reader function must return a string");
        lua_replace(L, PIECE);
    }
    const char *piece = lua_tolstring(L, PIECE, size);
    if (*size > SOURCE_MAX - r->bytes_read) luaL_error(L, "chunk is too long");
    r->bytes_read += *size;
    r->marked = !r->begun && *size && piece[0] == LUA_SIGNATURE[0];
    if (*size) r->begun = true;
    if (!r->marked) return piece;
    *size = 1;
    return " ";
}

static int textLoad(lua_State *L) {
    readerState reader = {.begun = false};
    const char *name = luaL_optstring(L, NAME, "=(load)");
    luaL_checktype(L, READER, LUA_TFUNCTION);
    lua_settop(L, NAME);
    lua_pushstring(L, name); /* keeps it alive for the parser */
    lua_replace(L, NAME);
    lua_settop(L, READ_ARGS);
    return loaded(L, lua_load(L, readPiece, &reader, name));
}

/* --- Patterns ----------------------------------------------------------------------------------------------------- */

/* Refuses a pattern that may exhaust the stack. Each "x?" that matches consumes a character, so the text limits
 * them. */
static void checkPattern(lua_State *L) {
    size_t text_len, len, optional = 0, repetitions = 0;
    const char *p = lua_tolstring(L, 2, &len);
    if (!p || len <= REPETITIONS_MAX || !lua_tolstring(L, 1, &text_len)) return;
    for (size_t i = 0; i < len; i++) {
        optional += p[i] == '?';
        repetitions += strchr("*+-(", p[i]) != NULL;
    }
    if (repetitions + (optional < text_len ? optional : text_len) > REPETITIONS_MAX)
        luaL_error(L, "pattern too complex");
}

static int boundedFind(lua_State *L) {
    if (!lua_toboolean(L, 4)) checkPattern(L);
    return plain_find(L);
}

static int boundedMatch(lua_State *L) {
    checkPattern(L);
    return plain_match(L);
}

static int boundedGmatch(lua_State *L) {
    checkPattern(L);
    return plain_gmatch(L);
}

static int boundedGsub(lua_State *L) {
    checkPattern(L);
    return plain_gsub(L);
}

/* --- Control ------------------------------------------------------------------------------------------------------ */

static int textPcall(lua_State *L) {
    luaL_checkany(L, 1);
    bool failed = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0) != 0;
    lua_pushboolean(L, !failed);
    lua_insert(L, 1);
    if (!failed || !lua_istable(L, 2)) return lua_gettop(L);
    lua_pushliteral(L, "err");
    lua_rawget(L, 2);
    if (lua_isstring(L, -1)) lua_replace(L, 2);
    lua_settop(L, 2);
    return 2;
}

/* Calls the error handler, which is the upvalue. Lua calls it within the hook that raises the error, and no hook runs
 * within a hook. */
static int handleUnlessEnd(lua_State *L) {
    if (lua_gethookcount(L) == HOOK_OF_END) return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static int endingXpcall(lua_State *L) {
    if (lua_isfunction(L, 2)) {
        lua_settop(L, 2);
        lua_pushcclosure(L, handleUnlessEnd, 1);
    }
    return plain_xpcall(L);
}

static int boundedCollect(lua_State *L) {
    static const char *const harmless[] = {"collect", "count", "step", NULL};
    const char *what = luaL_optstring(L, 1, "collect");
    for (const char *const *at = harmless; *at; at++)
        if (strcmp(what, *at) == 0) return plain_collect(L);
    static const char *const known[] = {"stop", "restart", "setpause", "setstepmul", NULL};
    luaL_checkoption(L, 1, "collect", known);
    lua_pushinteger(L, 0);
    return 1;
}

/* --- Coroutines --------------------------------------------------------------------------------------------------- */

/* Calls the hook at every RESUMES_PER_CHECK-th resume: a coroutine counts its steps to the hook anew, however short it
 * lives. */
static void checkHook(lua_State *L) {
    static unsigned resumes;
    if (++resumes % RESUMES_PER_CHECK != 0) return;
    lua_Hook hook = lua_gethook(L);
    if (hook) hook(L, NULL);
}

/* If the hook has killed a coroutine, lets it raise the error at each step of the function that resumed it as well, so
 * that the error cannot be caught. */
static void passHook(lua_State *L, lua_State *co) {
    if (likely(lua_gethookcount(co) != HOOK_OF_END)) return;
    int count = lua_gethookcount(L);
    if (count <= HOOK_OF_END) return;
    lua_sethook(L, lua_gethook(L), lua_gethookmask(L), HOOK_OF_END);
    lua_sethook(co, lua_gethook(co), lua_gethookmask(co), count);
}

static int checkedResume(lua_State *L) {
    lua_State *co = lua_tothread(L, 1);
    checkHook(L);
    int results = plain_resume(L);
    passHook(L, co);
    return results;
}

/* The function that wrap() returns; its upvalue is the coroutine. An error that is a text gets the position of the
 * call. */
static int callWrapped(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    int results = checkedResume(L);
    if (lua_toboolean(L, -results)) return results - 1;
    if (lua_isstring(L, -1)) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int checkedWrap(lua_State *L) {
    plain_create(L);
    lua_pushcclosure(L, callWrapped, 1);
    return 1;
}

/* --- Installing --------------------------------------------------------------------------------------------------- */

void safeFunctionsInstall(lua_State *L) {
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    interpreterReplace(L, "load", textLoad, NULL);
    interpreterReplace(L, "loadstring", textLoadstring, NULL);
    interpreterReplace(L, "pcall", textPcall, NULL);
    interpreterReplace(L, "xpcall", endingXpcall, &plain_xpcall);
    interpreterReplace(L, "collectgarbage", boundedCollect, &plain_collect);
    lua_getfield(L, -1, "string");
    interpreterReplace(L, "find", boundedFind, &plain_find);
    interpreterReplace(L, "match", boundedMatch, &plain_match);
    interpreterReplace(L, "gmatch", boundedGmatch, &plain_gmatch);
    interpreterReplace(L, "gsub", boundedGsub, &plain_gsub);
    lua_pop(L, 1);
    lua_getfield(L, -1, "coroutine");
    lua_getfield(L, -1, "create");
    plain_create = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    interpreterReplace(L, "resume", checkedResume, &plain_resume);
    interpreterReplace(L, "wrap", checkedWrap, NULL);
    lua_pop(L, 2);
}
