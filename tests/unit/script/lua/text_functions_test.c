/* text_functions_test.c -- compares functions on strings with those of Lua.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sandbox_fixture.h"
#include "sds.h"
#include "unit.h"

TEST(find_is_that_of_lua) {
    static const char *const arguments[] = {"'hello world', 'wor'",
                                            "'hello', 'l', 4",
                                            "'hello', 'l', 5",
                                            "'hello', 'l', -2",
                                            "'hello', 'l', -99",
                                            "'hello', '', 3",
                                            "'hello', '', 6",
                                            "'hello', '', 7",
                                            "'hello', '', -1",
                                            "'', ''",
                                            "'', 'x'",
                                            "'a.b', '.', 1, true",
                                            "'a.b', '.', 2, true",
                                            "'a.b', '.', 3, true",
                                            "'a.b', '%.'",
                                            "'abc', 'b.'",
                                            "'abc', '(b)(c)'",
                                            "'a\\0b', '\\0'",
                                            "'a\\0b', 'b'",
                                            "'a+b', 'x\\0+'",
                                            "'aaaaab', 'aab'",
                                            "'abababac', 'abac'",
                                            "12345, 34",
                                            "'hello', 'l', '3'",
                                            "'hello', 'l', nil, true",
                                            "'x', 'xx'",
                                            "('ab'):rep(50) .. 'c', ('ab'):rep(20) .. 'c'",
                                            "('a'):rep(99) .. 'b', ('a'):rep(50) .. 'b'",
                                            "('a'):rep(99), ('a'):rep(50) .. 'b'",
                                            "'hello'",
                                            "nil, 'x'",
                                            "'x', 'x', 'x'",
                                            "'x', {}",
                                            "'x', '[a'",
                                            "'[a', '[a', 1, 1",
                                            "'hello', 'lo', 2.9",
                                            "'hello', 'h', 0"};
    for (size_t i = 0; i < array_len(arguments); i++) {
        sds code = sdsCatPrintf(sdsEmpty(),
                                "local t = {pcall(string.find, %s)} for i = 1, 6 do t[i] = tostring(t[i]) end "
                                "return table.concat(t, ' ')",
                                arguments[i]);
        sandboxFixtureAsLua(code);
        sdsFree(code);
    }
}

TEST(rep_is_that_of_lua) {
    static const char *const arguments[] = {"'ab', 3",  "'ab', 0",  "'ab', -1",   "'', 5",    "'x', 511",
                                            "'x', 512", "'x', 513", "'abc', 999", "7, 3",     "'x'",
                                            "nil, 1",   "'x', '2'", "'x', 2.5",   "'a\\0', 3"};
    for (size_t i = 0; i < array_len(arguments); i++) {
        sds code = sdsCatPrintf(sdsEmpty(), "return tostring(select(2, pcall(string.rep, %s)))", arguments[i]);
        sandboxFixtureAsLua(code);
        sdsFree(code);
    }
    sandboxFixtureRefuseEach("return ('xy'):rep(2000)");
}

TEST(numbers_as_text_are_those_of_lua) {
    static const char *const values[] = {"0",
                                         "-0",
                                         "0 * -1",
                                         "1",
                                         "-1",
                                         "99999999999999",
                                         "100000000000000",
                                         "-1e14",
                                         "1e15",
                                         "2^53",
                                         "0.1",
                                         "1.5",
                                         "-2.25",
                                         "1e300",
                                         "-1e-300",
                                         "1/0",
                                         "-1/0",
                                         "123456789012.5",
                                         "'text'",
                                         "'12'",
                                         "true",
                                         "nil",
                                         "12345678901234",
                                         "-99999999999999"};
    for (size_t i = 0; i < array_len(values); i++) {
        sds code = sdsCatPrintf(sdsEmpty(), "return tostring(%s)", values[i]);
        sandboxFixtureAsLua(code);
        sdsFree(code);
    }
    sandboxFixtureAsLua("return select(2, pcall(tostring))");
    sandboxFixtureAsLua("return tostring(setmetatable({}, {__tostring = function() return 'named' end}))");
    sandboxFixtureAsLua("return type(tostring(5)) .. #tostring(12.0) .. select('#', tostring('a', 'b'))");
}

TEST(texts_as_numbers_are_those_of_lua) {
    static const char *const values[] = {"'12'",
                                         "'0'",
                                         "'007'",
                                         "''",
                                         "' 12'",
                                         "'12 '",
                                         "'1e3'",
                                         "'0x10'",
                                         "'12345678901234'",
                                         "'123456789012345678'",
                                         "'1.5'",
                                         "'-3'",
                                         "'+3'",
                                         "'1\\0'",
                                         "'\\0'",
                                         "'x'",
                                         "12",
                                         "nil",
                                         "{}",
                                         "true",
                                         "'ff', 16",
                                         "'12', 10",
                                         "'8', 8",
                                         "'z', 36",
                                         "'1', 99",
                                         "12, 10",
                                         "'12', nil"};
    for (size_t i = 0; i < array_len(values); i++) {
        sds code = sdsCatPrintf(sdsEmpty(), "return tostring(select(2, pcall(tonumber, %s)))", values[i]);
        sandboxFixtureAsLua(code);
        sdsFree(code);
    }
    sandboxFixtureAsLua("return select(2, pcall(tonumber))");
}
