/* table_functions_test.c -- compares functions on tables with those of Lua.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sandbox_fixture.h"
#include "sds.h"
#include "unit.h"

TEST(sorted_numbers_are_in_the_order_of_lua) {
    static const int lengths[] = {0, 1, 2, 3, 15, 16, 17, 31, 33, 64, 100, 127, 128, 129, 500, 1025};
    static const int ranges[] = {2, 10, 1000000};
    for (size_t i = 0; i < array_len(lengths); i++)
        for (size_t j = 0; j < array_len(ranges); j++) {
            sds code = sdsCatPrintf(sdsEmpty(),
                                    "local t, s = {}, %zu for i = 1, %d do s = s * 16807 %% 2147483647 "
                                    "t[i] = (s %% %d - %d) / 4 end table.sort(t) return table.concat(t, ' ')",
                                    i + 1, lengths[i], ranges[j], ranges[j] / 2);
            sandboxFixtureAsLua(code);
            sdsFree(code);
        }
}

TEST(other_tables_are_sorted_by_lua) {
    sandboxFixtureAsLua("local t = {'b', 'a', 'c'} table.sort(t) return table.concat(t)");
    sandboxFixtureAsLua("local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t)");
    sandboxFixtureAsLua("return select(2, pcall(table.sort, {3, 'a', 1}))");
    sandboxFixtureAsLua("return select(2, pcall(table.sort, {3, 1, {}}))");
    sandboxFixtureAsLua("return select(2, pcall(table.sort, {3, 1}, 5))");
    sandboxFixtureAsLua("return select(2, pcall(table.sort))");
    sandboxFixtureAsLua("local t = {0, -0, 0, -1} table.sort(t) return table.concat(t, ' ')");
    sandboxFixtureAsLua(
        "local n = 0 / 0 local t = {2, n, 1, 5, n, 0} pcall(table.sort, t) return table.concat(t, ' ')");
    sandboxFixtureRefuseEach("local t = {} for i = 1, 300 do t[i] = -i end table.sort(t) return tostring(t[1])");
}

TEST(insert_is_that_of_lua) {
    static const char *const codes[] = {
        "local t = {} for i = 1, 20 do table.insert(t, i) end return table.concat(t, ' ')",
        "local t = {} for i = 1, 20 do table.insert(t, 1, i) end return table.concat(t, ' ')",
        "local t = {1, 2} table.insert(t, 9, 3) table.insert(t, '2', 4) return table.concat(t, ' ') .. tostring(t[9])",
        "return select(2, pcall(table.insert, {}))",
        "return select(2, pcall(table.insert, {}, 1, 2, 3))",
        "return select(2, pcall(table.insert, 1, 2))",
        "return select(2, pcall(table.insert, {}, 'x', 3))",
        "local t = setmetatable({}, {__newindex = error}) table.insert(t, 5) return tostring(t[1])",
    };
    for (size_t i = 0; i < array_len(codes); i++) sandboxFixtureAsLua(codes[i]);
    sandboxFixtureFails("table.insert(string, 1)", "Attempt to modify a readonly table");
}

TEST(walks_are_those_of_lua) {
    static const char *const codes[] = {
        "local s = '' for i, v in ipairs({3, 4, nil, 5}) do s = s .. i .. v end return s",
        "local f, t, i = ipairs({7}) return tostring(f(t, i)) .. tostring(f(t, 1)) .. tostring(f({}, '0'))",
        "return select(2, pcall(ipairs)) .. select(2, pcall(ipairs, 1))",
        "return select(2, pcall(ipairs({}), {}, 'x'))",
        "return select(2, pcall(ipairs({}), 1, 0))",
        "local n, t = 0, {1, 2, a = 3, b = 4} for k, v in pairs(t) do n = n + v end return tostring(n)",
        "local t = {1, 2, 3, x = 1} for k in pairs(t) do t[k] = nil end return tostring(next(t))",
        "return tostring(next({})) .. tostring(next({5})) .. tostring(next({5}, 1)) .. tostring(next({5}, 1, 2))",
        "return select(2, pcall(next)) .. select(2, pcall(next, {}, 'none'))",
        "return tostring(select('#', unpack({1, nil, 3}))) .. tostring(unpack({4, 5}, 2))",
        "return tostring(unpack({}, 1, 1))",
        "return select(2, pcall(unpack)) .. select(2, pcall(unpack, {}, 'x'))",
        "return tostring(pcall(unpack, {1, 2}, 2, nil)) .. select('#', pcall(unpack, {}, nil, 3))",
        "return tostring(pcall(function() return 1, 2 end)) .. select('#', pcall(error, 'x', 0))",
        "return select(2, pcall(pcall))",
    };
    for (size_t i = 0; i < array_len(codes); i++) sandboxFixtureAsLua(codes[i]);
}
