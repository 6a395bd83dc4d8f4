/* text_functions.c -- faster versions of the most used string functions, with fewer calls of Lua's API.
 *
 * Results and errors are those of Lua 5.1, except that rep() fails before it begins if there is no memory for the
 * result.
 *
 * Not here    patterns (safe_functions.c, and Lua's own matcher).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/lua/text_functions_test.c, tests/unit/script/lua/safe_functions_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include "numbers.h"

#include <math.h>
#include <string.h>

#define REP_ON_STACK 512
#define PLAIN_INTEGER_MAX 1e14 /* Lua shows 14 digits: all digits of smaller integers are shown */
#define PLAIN_DIGITS 14
#define LONG_COMPARE 16 /* a partial match of this length makes the search continue with a linear algorithm */

static lua_CFunction plain_find, plain_tostring, plain_tonumber;

/* --- find --------------------------------------------------------------------------------------------------------- */

/* Returns the offset of a position in Lua's sense: from the end if it is negative, and limited to the string. */
static size_t offsetOf(ptrdiff_t position, size_t len) {
    if (position < 0) position += (ptrdiff_t)len + 1;
    if (position < 1) return 0;
    return (size_t)position - 1 < len ? (size_t)position - 1 : len;
}

/* Returns true if one of the bytes before the first zero byte is special in a pattern. */
static bool isPattern(const char *p) {
    static const bool special[256] = {['^'] = true, ['$'] = true, ['*'] = true, ['+'] = true, ['?'] = true,
                                      ['.'] = true, ['('] = true, ['['] = true, ['%'] = true, ['-'] = true};
    for (; *p; p++)
        if (special[(uint8_t)*p]) return true;
    return false;
}

/* Returns the first occurrence of `wanted` in the text, or NULL. */
static const char *findBytes(const char *text, size_t len, const char *wanted, size_t wanted_len) {
    if (wanted_len == 0) return text;
    if (wanted_len > len) return NULL;
    const char *last = text + len - wanted_len;
    while (text <= last && (text = memchr(text, *wanted, (size_t)(last - text) + 1)) != NULL) {
        size_t same = 1;
        while (same < wanted_len && text[same] == wanted[same]) same++;
        if (same == wanted_len) return text;
        if (same > LONG_COMPARE) return memmem(text + 1, (size_t)(last - text) + wanted_len - 1, wanted, wanted_len);
        text++;
    }
    return NULL;
}

static int textFind(lua_State *L) {
    size_t len, wanted_len;
    const char *text = luaL_checklstring(L, 1, &len), *wanted = luaL_checklstring(L, 2, &wanted_len);
    int count = lua_gettop(L);
    if (!(count > 3 && lua_toboolean(L, 4)) && isPattern(wanted)) return plain_find(L);
    size_t from = count > 2 ? offsetOf(luaL_optinteger(L, 3, 1), len) : 0;
    const char *found = findBytes(text + from, len - from, wanted, wanted_len);
    if (!found) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, found - text + 1);
    lua_pushinteger(L, found - text + (ptrdiff_t)wanted_len);
    return 2;
}

/* --- rep ---------------------------------------------------------------------------------------------------------- */

static int textRep(lua_State *L) {
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    int times = luaL_checkint(L, 2);
    if (len == 0 || times <= 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (len > interpreterFreeMemory(L) / (size_t)times) return luaL_error(L, "not enough memory");
    size_t size = len * (size_t)times, done = len;
    char on_stack[REP_ON_STACK], *out = size <= sizeof(on_stack) ? on_stack : lua_newuserdata(L, size);
    memcpy(out, text, len);
    while (done < size) {
        size_t more = done < size - done ? done : size - done;
        memcpy(out + done, out, more);
        done += more;
    }
    lua_pushlstring(L, out, size);
    return 1;
}

/* --- Numbers ------------------------------------------------------------------------------------------------------ */

/* No script can give strings and numbers a field __tostring, so metatables are not checked. */
static int textTostring(lua_State *L) {
    char digits[LONG_STR_SIZE];
    switch (lua_type(L, 1)) {
    case LUA_TSTRING: lua_settop(L, 1); return 1;
    case LUA_TNUMBER: {
        lua_Number n = lua_tonumber(L, 1);
        if (!(fabs(n) < PLAIN_INTEGER_MAX) || n != (lua_Number)(long long)n || (n == 0 && signbit(n)))
            return plain_tostring(L);
        lua_pushlstring(L, digits, ll2string(digits, (long long)n));
        return 1;
    }
    default: return plain_tostring(L);
    }
}

/* Returns true, and the value, if the text is only digits, few enough for the number to be exact. */
static bool readDigits(const char *text, size_t len, lua_Number *n) {
    long long value = 0;
    if (len == 0 || len > PLAIN_DIGITS) return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (text[i] - '0');
    }
    *n = (lua_Number)value;
    return true;
}

static int textTonumber(lua_State *L) {
    size_t len;
    lua_Number n;
    if (lua_gettop(L) != 1) return plain_tonumber(L);
    switch (lua_type(L, 1)) {
    case LUA_TNUMBER: return 1;
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, 1, &len);
        if (!readDigits(text, len, &n)) return plain_tonumber(L);
        lua_pushnumber(L, n);
        return 1;
    }
    default: return plain_tonumber(L);
    }
}

/* --- Installing --------------------------------------------------------------------------------------------------- */

void textFunctionsInstall(lua_State *L) {
    interpreterReplace(L, "tostring", textTostring, &plain_tostring);
    interpreterReplace(L, "tonumber", textTonumber, &plain_tonumber);
    lua_getfield(L, -1, "string");
    interpreterReplace(L, "find", textFind, &plain_find);
    interpreterReplace(L, "rep", textRep, NULL);
    lua_pop(L, 1);
}
