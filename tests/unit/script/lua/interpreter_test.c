/* interpreter_test.c -- a Lua state without memory, with too long a text, bytecode, or an endless loop.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "string_buffer.h"
#include "sandbox_fixture.h"
#include "unit.h"
#include "zmalloc.h"

#include <string.h>

TEST(interpreter_each_allocation_of_a_program_is_refused) {
    static const char *const programs[] = {
        "return 'x'",
        "local t = {} for i = 1, 100 do t[i] = {i, tostring(i)} end return t[100][2]",
        "local t = {} for i = 1, 50 do t['k' .. i] = i end for k in pairs(t) do t[k] = nil end return 'gone'",
        "local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return tostring(f(300))",
        "return select(2, pcall(error, 'x')) == 'x' and 'same' or error('not enough memory')",
        "return tostring(#string.rep('x', 5000))",
        "return (string.gsub('a b c', '%a', {a = 'x', b = 'y'}))",
        "local f = assert(loadstring('local t = {1, 2, 3} return #t'), 'not enough memory') return tostring((f()))",
        "local n = 0 local f = assert(load(function() n = n + 1 return n < 9 and 'local x ' or nil end),"
        " 'not enough memory') return tostring((f()))",
        "local s = '' for i = 1, 30 do s = s .. i end return s",
        "local w = coroutine.wrap(function() for i = 1, 9 do coroutine.yield(i) end end) w() w() return tostring(w())",
        "local t = {} for i = 1, 60 do t[i] = 60 - i end table.sort(t, function(a, b) return a < b end)"
        " return table.concat(t, ',', 1, 5)",
        "collectgarbage() collectgarbage('step', 100) return type(collectgarbage('count'))",
        "return string.format('%s %q %5.1f', 'a', 'b\\0', 1.5)",
    };
    for (size_t i = 0; i < array_len(programs); i++) sandboxFixtureRefuseEach(programs[i]);
}

TEST(interpreter_each_allocation_of_the_sandbox_is_refused) {
    bool opened = false;
    for (long n = 1; !opened; n++) {
        interpreter in;
        interpreterInit(&in);
        zmallocFailAfter(n);
        opened = sandboxFixtureOpen(&in);
        long left = zmallocFailAfter(0);
        CHECK(opened == (left > 0));
        interpreterFree(&in);
        CHECK_EQ_INT(in.memory, 0);
    }
}

TEST(interpreter_memory_is_bounded_and_comes_back) {
    static const char *const hungry[] = {
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
        "return string.rep('x', 1000000000)",
        "local t = {} for i = 1, 1e9 do t[i .. ''] = i end",
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
        "local t, part = {}, string.rep('y', 100000) for i = 1, 1000 do t[i] = part end return table.concat(t)",
        "local s = string.rep('\\1', 1000000) while true do s = cjson.encode(s) end",
        "local t = {} t[1] = t t[2] = t t[3] = t while true do t[4] = cmsgpack.pack(t, t[4]) end",
        "return loadstring('return \"' .. string.rep('x', 3000000) .. '\"' .. string.rep(' .. x', 100000))()",
    };
    interpreter in;
    char said[200];
    interpreterInit(&in);
    CHECK(sandboxFixtureOpen(&in));
    in.memory_max = 8 << 20;
    for (size_t i = 0; i < array_len(hungry); i++) {
        CHECK(sandboxFixtureRun(&in, sliceStr(hungry[i]), said, sizeof(said)) != 0);
        CHECK(in.memory <= in.memory_max);
        interpreterCollect(&in);
        CHECK(in.memory < 1 << 20);
        CHECK_EQ_INT(sandboxFixtureRun(&in, sliceStr("return 'well'"), said, sizeof(said)), 0);
        CHECK_EQ_STR(said, "well");
    }
    interpreterFree(&in);
}

static int failWithin(lua_State *L, int depth) {
    return depth == 0 ? luaL_error(L, "from within") : failWithin(L, depth - 1) + depth;
}

static int fail(lua_State *L) { return failWithin(L, 3); }

/* C functions may be left by an error any number of times, which ThreadSanitizer tracks. */
TEST(interpreter_errors_leave_functions_of_ours_any_number_of_times) {
    interpreter in;
    interpreterInit(&in);
    for (int i = 0; i < 200000; i++) CHECK(lua_cpcall(in.L, fail, NULL) != 0 && (lua_pop(in.L, 1), true));
    CHECK_EQ_INT(lua_gettop(in.L), 0);
    interpreterFree(&in);
}

/* It runs outside of a protected call, and protects itself. */
TEST(interpreter_pace_does_without_memory) {
    interpreter in;
    char said[200];
    interpreterInit(&in);
    CHECK(sandboxFixtureOpen(&in));
    for (int i = 0; i < 3000; i++) {
        slice code = sliceStr("local t = {} for i = 1, 500 do t[i] = 'many short texts' .. i end return 'x'");
        if (i % 300 == 0) CHECK_EQ_INT(sandboxFixtureRun(&in, code, said, sizeof(said)), 0);
        zmallocFailAfter(1);
        interpreterCollect(&in);
        zmallocFailAfter(0);
    }
    interpreterFree(&in);
}

TEST(interpreter_takes_text_only) {
    interpreter in;
    char said[200];
    const slice texts[] = {{"\x1bLuaQ", 5}, {"\x1b", 1}, {"\x1bLuaQ\0\1\4\10\4\10\0", 12}};
    interpreterInit(&in);
    CHECK(sandboxFixtureOpen(&in));
    for (size_t i = 0; i < array_len(texts); i++)
        CHECK_EQ_INT(sandboxFixtureRun(&in, texts[i], said, sizeof(said)), LUA_ERRRUN);
    /* The text is not read. */
    CHECK_EQ_INT(sandboxFixtureRun(&in, sliceOf("return", SOURCE_MAX + 1), said, sizeof(said)), LUA_ERRRUN);
    CHECK_EQ_STR(said, "chunk is too long");
    interpreterFree(&in);
}

static int steps_left;

static void endSteps(lua_State *L, lua_Debug *place) {
    unused(place);
    if (--steps_left > 0) return;
    lua_sethook(L, endSteps, LUA_MASKCOUNT, 1);
    luaL_error(L, "no more steps");
}

TEST(interpreter_steps_are_limited_whatever_catches_the_error) {
    static const char *const endless[] = {
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() while true do end end while true do xpcall(f, f) end",
        "while true do pcall(coroutine.wrap(function() while true do end end)) end",
        "while true do coroutine.wrap(function() for i = 1, 900 do end end)() end",
        ("local function nest(n) return function() while true do if n == 0 then while true do end end"
         " pcall(coroutine.wrap(nest(n - 1))) end end end nest(20)()"),
        "while true do coroutine.resume(coroutine.create(function() end)) end",
        "local f f = function() return f() end f()",
    };
    for (size_t i = 0; i < array_len(endless); i++) {
        interpreter in;
        char said[200];
        interpreterInit(&in);
        CHECK(sandboxFixtureOpen(&in));
        steps_left = 5;
        lua_sethook(in.L, endSteps, LUA_MASKCOUNT, 1000);
        CHECK_EQ_INT(sandboxFixtureRun(&in, sliceStr(endless[i]), said, sizeof(said)), LUA_ERRRUN);
        CHECK(strstr(said, "no more steps") != NULL);
        interpreterFree(&in);
    }
}

static int growBeyond(lua_State *L) {
    stringBuffer t;
    stringBufferInit(&t, L);
    stringBufferReserve(&t, (size_t)300 << 20);
    t.len = (size_t)300 << 20;
    stringBufferReserve(&t, (size_t)200 << 20);
    t.len += (size_t)200 << 20;
    stringBufferReserve(&t, (size_t)13 << 20);
    return 0;
}

TEST(growing_text_ends_where_values_end) {
    interpreter in;
    interpreterInit(&in);
    in.memory_max = SIZE_MAX;
    CHECK_EQ_INT(lua_cpcall(in.L, growBeyond, NULL), LUA_ERRRUN);
    interpreterFree(&in);
}
