/* chunk_linker_test.c -- which lookups of a script read real tables, and which the read-only ones that scripts may
 * hold.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "direct_globals.h"

#include "sandbox_fixture.h"
#include "sds.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* Pushes libraries `lib` and `sub` whose field `kind` tells which table was read; a script must not get the real
 * one. */
static void pushLibrary(lua_State *L, const char *kind) {
    lua_newtable(L);
    lua_pushstring(L, kind);
    lua_setfield(L, -2, "kind");
}

static void pushGlobals(lua_State *L) {
    static const char *const names[] = {"lib", "sub"};
    lua_newtable(L);
    for (size_t i = 0; i < array_len(names); i++) {
        pushLibrary(L, "proxy");
        lua_setfield(L, -2, names[i]);
        lua_pushlstring(L, names[i], strlen(names[i]) + 1);
        pushLibrary(L, "real");
        lua_rawset(L, -3);
    }
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "k");
    lua_pushliteral(L, "plain");
    lua_setfield(L, -2, "name");
}

typedef struct program {
    slice code;
    char gave[64];
} program;

static int linkAndRun(lua_State *L) {
    program *p = lua_touserdata(L, 1);
    lua_settop(L, 0);
    pushGlobals(L);
    if (interpreterLoad(L, p->code, "@linked") != 0) return lua_error(L);
    chunkLink(L, 1);
    CHECK_EQ_INT(lua_gettop(L), 2);
    lua_call(L, 0, 1);
    snprintf(p->gave, sizeof(p->gave), "%s", lua_isnil(L, -1) ? "nil" : lua_tostring(L, -1));
    return 0;
}

static void gives(const char *code, const char *want) {
    interpreter in;
    program p = {.code = sliceStr(code)};
    interpreterInit(&in);
    if (lua_cpcall(in.L, linkAndRun, &p) != 0) snprintf(p.gave, sizeof(p.gave), "%s", lua_tostring(in.L, -1));
    interpreterFree(&in);
    if (strcmp(p.gave, want) != 0) fprintf(stderr, "%s\n", code);
    CHECK_EQ_STR(p.gave, want);
}

TEST(fields_of_libraries_are_read_directly) {
    static const char *const codes[] = {
        "return lib.kind",
        "local x = lib.kind return x",
        "local key = 'kind' return lib[key]",
        "return (function() return (function() return lib.kind end)() end)()",
        "local t = {lib.kind, sub.kind} return t[2]",
        "for i = 1, 3 do if i == 3 then return sub.kind end end",
        "local lib = lib return lib.kind",
        "local a, b = lib, sub return b.kind",
        "local l = lib local t = {} for i = 1, 3 do t[i] = l.kind end return t[3]",
        "local l = lib local s = '' for i = 1, 2 do local m = sub s = m.kind end return s",
        "local l = lib and sub return l.kind",
        "return (nil or lib).kind == 'proxy' and 'no' or lib.kind",
    };
    for (size_t i = 0; i < array_len(codes); i++) gives(codes[i], "real");
}

TEST(a_value_that_a_script_can_hold_is_the_proxy) {
    static const char *const codes[] = {
        "local function f(t) return t.kind end return f(lib)",
        "return (function(...) local t = ... return t.kind end)(lib)",
        "local function f() return lib end return f().kind",
        "local t = {lib} return t[1].kind",
        "local t = {x = lib} return t.x.kind",
        "local t = {} t[1] = lib return t[1].kind",
        "local l = lib return (function() return l.kind end)()",
        "local l = lib local m = l return m.kind",
        "local l, m = lib l, m = m, l return m.kind",
        "local l = lib l.other = 1 return l.kind",
        "local l = lib local other = 'x' l[other] = 1 return l.kind",
        "local l = lib if l == lib then return l.kind end",
        "local l = lib local t = {l} return t[1].kind",
        "local l = lib local t = {n = l} return t.n.kind",
        "local l = lib local t = {} t[l] = 'x' return l.kind",
        "local l = lib local t = {} return t[l] or l.kind",
        "return (lib or sub).kind",
        "local l = lib local n = #l return l.kind",
        "local l = lib local n = not l return l.kind",
        "local l = lib repeat local x = l until x return l.kind",
        "local l = lib l.f = function(t) return t.kind end return l:f()",
        "local l = lib local function f(t) return t end return f(l).kind",
        "local l = lib for i = 1, 2 do if i == 2 then return (l or nil).kind end end",
        "local f = function() return {lib, sub} end local t = f() return t[2].kind",
        "local l = lib do return (function(t) return t.kind end)(l) end",
    };
    for (size_t i = 0; i < array_len(codes); i++) gives(codes[i], "proxy");
}

TEST(a_program_that_assigns_a_global_keeps_its_environment) {
    gives("return name", "plain");
    gives("name = 1 return lib", "nil");
    gives("local f = function() return function() name = 1 end end return lib", "nil");
}

TEST(lists_of_many_elements_are_not_taken_for_code) {
    sds code = sdsCat(sdsEmpty(), "local l = lib local t = {");
    for (int i = 0; i < 30000; i++) code = sdsCatPrintf(code, "%d,", i % 7);
    code = sdsCat(code, "} return l.kind .. lib.kind .. #t");
    gives(code, "realreal30000");
    sdsFree(code);
}

TEST(lines_and_names_in_errors_stay) {
    gives("local x = lib.kind\n\nreturn lib.x.y", "linked:3: attempt to index field 'x' (a nil value)");
    gives("return lib.none()", "linked:1: attempt to call field 'none' (a nil value)");
    gives("local l = lib\nreturn l.none.x", "linked:2: attempt to index field 'none' (a nil value)");
}

TEST(programs_of_the_sandbox_run_as_before) {
    sandboxFixtureGives("local b = bit return tostring(b.band(7, 12) + bit.bor(1, 2))", "7");
    sandboxFixtureFails("bit.band = 1", "Attempt to modify a readonly table");
    sandboxFixtureFails("local b = bit b.band = 1", "Attempt to modify a readonly table");
    sandboxFixtureFails("bit = 1", "Attempt to modify a readonly table");
    sandboxFixtureFails("return nothing", "Script attempted to access nonexistent global variable 'nothing'");
    sandboxFixtureGives("return tostring(bit == _G.bit) .. tostring(rawget(_G, 'bit\\0'))", "truenil");
    sandboxFixtureGives("local n = 0 for k in pairs(_G) do if k:find('%z') then n = n + 1 end end return tostring(n)",
                        "0");
    sandboxFixtureRefuseEach("local m = math return tostring(m.floor(1.5) + math.floor(2.5))");
}
