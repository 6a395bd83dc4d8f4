/* lib_test.c -- cjson, cmsgpack, struct and bit: known results, and each of their allocations failing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sandbox_fixture.h"
#include "sds.h"
#include "unit.h"

static const char hex[] =
    "local function hex(s) return (s:gsub('.', function(c) return ('%02x'):format(c:byte()) end)) "
    "end ";

static void givesHex(const char *call, const char *want) {
    sds code = sdsCatPrintf(sdsEmpty(), "%s return hex(%s)", hex, call);
    sandboxFixtureGives(code, want);
    sdsFree(code);
}

TEST(cjson_vectors) {
    static const char *const round[] = {"{}",
                                        "[1]",
                                        "[1,2,3]",
                                        "{\"a\":[1,{\"b\":null}]}",
                                        "[true,false,null,\"x\"]",
                                        "[0.5,-1,1e+20]",
                                        "\"\\u0000\\u001f\\\"\\\\\\/\\b\\f\\n\\r\\t\\u007f\""};
    for (size_t i = 0; i < array_len(round); i++) {
        sds code = sdsCatPrintf(sdsEmpty(), "return cjson.encode(cjson.decode([==[%s]==]))", round[i]);
        sandboxFixtureGives(code, round[i]);
        sdsFree(code);
    }
    givesHex("cjson.decode([[\"\\u00e9\\u20ac\\ud83d\\ude00\"]])", "c3a9e282acf09f9880");
    sandboxFixtureFails("cjson.decode('[1,')", "Expected value but found T_END at character 4");
    sandboxFixtureFails("local t = {} t[1] = t cjson.encode(t)", "Cannot serialise, excessive nesting (1001)");
}

TEST(cmsgpack_vectors) {
    static const struct {
        const char *value, *want;
    } rows[] = {{"nil", "c0"},
                {"true", "c3"},
                {"127", "7f"},
                {"128", "cc80"},
                {"65536", "ce00010000"},
                {"-1", "ff"},
                {"-33", "d0df"},
                {"-129", "d1ff7f"},
                {"2^53", "cf0020000000000000"},
                {"1.5", "ca3fc00000"},
                {"0.1", "cb3fb999999999999a"},
                {"'abc'", "a3616263"},
                {"{1,2}", "920102"},
                {"{a=1}", "81a16101"},
                {"{}", "90"},
                {"-2^63", "d38000000000000000"},
                {"2^63", "ca5f000000"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        sds call = sdsCatPrintf(sdsEmpty(), "cmsgpack.pack(%s)", rows[i].value);
        givesHex(call, rows[i].want);
        sdsFree(call);
    }
    sandboxFixtureFails("cmsgpack.unpack('\\146\\1')", "Missing bytes in input.");
    sandboxFixtureGives("return cjson.encode(cmsgpack.unpack(cmsgpack.pack({a = {1, 'x', {b = true}}})))",
                        "{\"a\":[1,\"x\",{\"b\":true}]}");
}

TEST(struct_vectors) {
    givesHex("struct.pack('>I2<I2i1', 258, 258, -1)", "01020201ff");
    givesHex("struct.pack('!4 b i4', 1, 2)", "0100000002000000");
    givesHex("struct.pack('>d', 1.5)", "3ff8000000000000");
    givesHex("struct.pack('c0s', 'ab', 'cd')", "6162636400");
    givesHex("struct.pack('>i16', -1)", "0000000000000000ffffffffffffffff");
    sandboxFixtureGives("return table.concat({struct.unpack('>I2 b s', '\\1\\2\\255ab\\0')}, ' ')", "258 -1 ab 7");
    sandboxFixtureFails("struct.unpack('i33', '')", "integral size 33 is larger than limit of 32");
}

TEST(bit_vectors) {
    sandboxFixtureGives("return table.concat({bit.tohex(-1), bit.tohex(255, 4), bit.tohex(255, -4),"
                        " bit.tohex(1, -2^31)}, ' ')",
                        "ffffffff 00ff 00FF 00000001");
    sandboxFixtureGives(
        "return table.concat({bit.lshift(1, 31), bit.arshift(-8, 1), bit.rol(1, 33), bit.bswap(1)}, ' ')",
        "-2147483648 -4 2 16777216");
}

TEST(random_numbers_are_those_of_lrand48) {
    static const struct {
        const char *seed, *want;
    } rows[] = {{"0", "0.170828036112165 750 -4"},
                {"1", "0.041630344484761 455 4"},
                {"-1", "0.300025727273908 46 -2"},
                {"2^32 + 1", "0.041630344484761 455 4"},
                {"0/0", "0.170828036112165 750 -4"}};
    for (size_t i = 0; i < array_len(rows); i++) {
        sds code =
            sdsCatPrintf(sdsEmpty(),
                         "math.randomseed(%s) "
                         "return ('%%.15f %%d %%d'):format(math.random(), math.random(1000), math.random(-5, 5))",
                         rows[i].seed);
        sandboxFixtureGives(code, rows[i].want);
        sdsFree(code);
    }
    sandboxFixtureFails("math.random(2, 1)", "bad argument #2 to 'random' (interval is empty)");
    sandboxFixtureFails("math.random(1, 2, 3)", "wrong number of arguments");
}

TEST(decoded_numbers_are_those_of_lua) {
    sandboxFixtureGives("local s, bad = 7, '' for i = 1, 3000 do "
                        "s = s * 16807 % 2147483647 local whole = string.rep(tostring(s), s % 3):sub(1, s % 17) "
                        "s = s * 16807 % 2147483647 local rest = string.rep(tostring(s), 2):sub(1, s % 18) "
                        "local n = (s % 2 == 0 and '-' or '') .. '1' .. whole "
                        "if s % 3 > 0 then n = n .. '.0' .. rest end if s % 7 == 0 then n = n .. 'e' .. s % 300 end "
                        "if cjson.decode('[' .. n .. ']')[1] ~= loadstring('return ' .. n)() then bad = n end end "
                        "return bad",
                        "");
    sandboxFixtureGives("return tostring(1 / cjson.decode('[-0]')[1]) .. cjson.decode('[0.5]')[1] .. "
                        "cjson.decode('[1.]')[1] .. cjson.decode('[007]')[1] .. cjson.decode('[0x1f]')[1]",
                        "-inf0.51731");
}

TEST(decoded_tables_have_all_their_elements) {
    sandboxFixtureGives("for n = 0, 80 do local list, object = {}, {} "
                        "for i = 1, n do list[i] = i object[i] = '\"k' .. i .. '\":' .. i end "
                        "local a = cjson.decode('[' .. table.concat(list, ',') .. ']') "
                        "local o = cjson.decode('{' .. table.concat(object, ',') .. '}') "
                        "local m = cmsgpack.unpack(cmsgpack.pack(a)) local p = cmsgpack.unpack(cmsgpack.pack(o)) "
                        "local count = 0 for k, v in pairs(o) do count = count + 1 end "
                        "for i = 1, n do if a[i] ~= i or o['k' .. i] ~= i or m[i] ~= i or p['k' .. i] ~= i then "
                        "return 'wrong at ' .. n end end "
                        "if #a ~= n or #m ~= n or count ~= n then return 'length ' .. n end end return 'good'",
                        "good");
    sandboxFixtureGives("return cjson.decode('{\"a\":1,\"b\":2,\"a\":3}').a .. ''", "3");
    sandboxFixtureGives("local s = '1' for i = 1, 30 do s = '[' .. s .. ',{\"k\":' .. i .. '}]' end "
                        "local v = cjson.decode(s) for i = 30, 1, -1 do if v[2].k ~= i then return 'k' .. i end "
                        "v = v[1] end return tostring(v)",
                        "1");
    sandboxFixtureGives("local t = cmsgpack.unpack('\\147\\1\\192\\3') return t[1] .. tostring(t[2]) .. t[3]", "1nil3");
}

TEST(packed_integers_are_their_bytes) {
    sandboxFixtureGives(
        "for size = 1, 16 do for _, order in ipairs({'<', '>'}) do for _, n in ipairs({0, 1, 200, 65537, 2^40 + 3}) do "
        "local s, want, rest = struct.pack(order .. 'I' .. size, n), '', n "
        "for i = 1, size do local c = string.char(rest % 256) rest = math.floor(rest / 256) "
        "want = order == '<' and want .. c or c .. want end "
        "if s ~= want then return order .. size .. ' ' .. n end "
        "if n < 256 ^ size and n ~= struct.unpack(order .. 'I' .. size, s) then return 'un' .. order .. size end "
        "end end end return tostring(struct.unpack('<i4', struct.pack('<i4', -5)) + struct.unpack('>h', "
        "struct.pack('>h', -3)))",
        "-8");
}

TEST(libraries_each_allocation_is_refused) {
    static const char *const programs[] = {
        "return cjson.encode({a = {1, 2, {b = 'x\\n'}}, c = string.rep('\\0', 300)}):sub(1, 1)",
        "return cjson.decode('{\"a\":[1,2,{\"b\":\"' .. string.rep('\\\\n', 300) .. '\"}]}').a[3].b:sub(1, 2)",
        "return type(cjson.new().encode({1, 2, 3}))",
        "return cmsgpack.pack({1, 'x', {a = {b = {}}}}, string.rep('y', 600)):sub(1, 1)",
        "return type(cmsgpack.unpack(cmsgpack.pack({1, 'x', {a = {b = {}}}, string.rep('y', 600)})))",
        "return type(struct.pack('>I4sc0d', 1, string.rep('x', 2000), 'abc', 1.5))",
        "return (select(3, struct.unpack('>I4c3s', '\\0\\0\\0\\1abcdef\\0')))",
        "return bit.tohex(bit.bxor(1, 2, 4))",
    };
    for (size_t i = 0; i < array_len(programs); i++) sandboxFixtureRefuseEach(programs[i]);
}
