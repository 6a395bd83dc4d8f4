/* safe_functions_test.c -- functions of Lua's libraries at their limits.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sandbox_fixture.h"
#include "sds.h"
#include "unit.h"

TEST(unpack_counts_without_overflow) {
    sandboxFixtureGives("return tostring(select('#', unpack({}, 1, 7000)))", "7000");
    sandboxFixtureGives("return tostring(select('#', unpack({}, 5, 4)))", "0");
    static const char *const ranges[] = {"1, 2^31 - 1", "-2^31, 2^31 - 1", "-2^31, -1", "0, 2^31 - 1", "1, 1e6"};
    for (size_t i = 0; i < array_len(ranges); i++) {
        sds code = sdsCatPrintf(sdsEmpty(), "unpack({}, %s)", ranges[i]);
        sandboxFixtureFails(code, "too many results to unpack");
        sdsFree(code);
    }
}

TEST(rep_refuses_before_it_begins) {
    sandboxFixtureGives("return string.rep('ab', 3)", "ababab");
    sandboxFixtureGives("return string.rep('x', 2^32 + 2)", "xx");
    sandboxFixtureGives("return string.rep('', 2^31 - 1)", "");
    sandboxFixtureGives("return string.rep('x', -1) .. string.rep('x', 0/0)", "");
    sandboxFixtureFails("string.rep(string.rep('x', 1000000), 2^31 - 1)", "not enough memory");
    sandboxFixtureFails("string.rep(string.rep('x', 1000000), -2^31 - 1)", "not enough memory");
}

TEST(patterns_have_so_many_repetitions) {
    sandboxFixtureGives("return tostring(('a'):rep(9):find(('a*'):rep(100) .. '$'))", "1");
    static const char *const calls[] = {"find", "match", "gmatch", "gsub"};
    for (size_t i = 0; i < array_len(calls); i++)
        for (int kind = 0; kind < 2; kind++) {
            sds code =
                sdsCatPrintf(sdsEmpty(), "('a'):rep(200000):%s(('%s'):rep(100000), '')", calls[i], kind ? "a?" : "a-");
            sandboxFixtureFails(code, "pattern too complex");
            sdsFree(code);
        }
    sandboxFixtureGives("return tostring(('a'):rep(200000):find(('a?'):rep(100000), 1, true))", "nil");
}

TEST(insert_walks_no_further_than_it_must) {
    sandboxFixtureFails("table.insert({}, -2^31, 1)", "bad argument #2 to 'insert' (position out of bounds)");
    sandboxFixtureGives("local t = {1, 3} table.insert(t, 2, 2) table.insert(t, 4) return table.concat(t)", "1234");
    sandboxFixtureGives("local t = {} table.insert(t, -3, 'x') return t[-3]", "x");
}

TEST(wrap_and_resume_are_what_they_were) {
    sandboxFixtureGives("return table.concat({coroutine.wrap(function(...) return ... end)(1, 2, 3)})", "123");
    sandboxFixtureGives("return select(2, coroutine.resume(coroutine.create(function() error('x', 0) end)))", "x");
    sandboxFixtureGives(
        "local w = coroutine.wrap(function() error('x') end) return select(2, pcall(function() w() end))",
        "test:1: test:1: x");
    sandboxFixtureFails("coroutine.resume(1)", "bad argument #1 to 'resume' (coroutine expected)");
    sandboxFixtureFails("coroutine.wrap(1)", "bad argument #1 to 'wrap' (Lua function expected)");
}
