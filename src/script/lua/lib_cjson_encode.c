/* lib_cjson_encode.c -- cjson.encode(): a Lua value as JSON.
 *
 * A table whose keys are positive integers becomes an array, with null for missing elements; any other table, and an
 * empty one, becomes an object. Strings are bytes: those beyond ASCII are copied.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/lib_test.c, tests/script/cjson.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lib_cjson_internal.h"

#include "string_buffer.h"
#include "numbers.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_BYTES 32
#define WHOLE_MAX 1e14 /* smaller integers have at most 14 digits, all of which are shown */
#define WHOLE_DIGITS 14

typedef struct encoder {
    stringBuffer out;
    const cjsonSettings *settings;
    int depth;
} encoder;

static void encodeValue(lua_State *L, encoder *e);

static void addWord(encoder *e, const char *word) { stringBufferAdd(&e->out, word, strlen(word)); }

/* Raises the error that the value at `index` cannot be encoded. */
static void libCjsonEncodeRefuse(lua_State *L, int index, const char *why) {
    luaL_error(L, "Cannot serialise %s: %s", luaL_typename(L, index), why);
}

/* --- Strings ------------------------------------------------------------------------------------------------------ */

/* Returns true if the byte needs no escape. */
static inline bool isPlain(uint8_t byte) {
    return byte >= 32 && byte != '"' && byte != '\\' && byte != '/' && byte != 127;
}

/* Returns the letter after the backslash: 'u' for a code, 0 if the byte needs no escape. */
static char escapeOf(uint8_t byte) {
    switch (byte) {
    case '"':
    case '\\':
    case '/': return (char)byte;
    case '\b': return 'b';
    case '\t': return 't';
    case '\n': return 'n';
    case '\f': return 'f';
    case '\r': return 'r';
    case 127: return 'u';
    default: return byte < 32 ? 'u' : '\0';
    }
}

/* Copies runs of bytes without escapes at once. */
static void encodeString(lua_State *L, encoder *e, int index) {
    static const char digits[] = "0123456789abcdef";
    size_t len;
    const char *text = lua_tolstring(L, index, &len);
    stringBufferReserve(&e->out, len + 2);
    stringBufferAddByte(&e->out, '"');
    for (size_t at = 0, run = 0;; at++) {
        while (at < len && isPlain((uint8_t)text[at])) at++;
        char escape = at < len ? escapeOf((uint8_t)text[at]) : '\0';
        stringBufferAdd(&e->out, text + run, at - run);
        if (at == len) break;
        uint8_t byte = (uint8_t)text[at];
        const char code[] = {'\\', escape, '0', '0', digits[byte >> 4], digits[byte & 15]};
        stringBufferAdd(&e->out, code, escape == 'u' ? 6 : 2);
        run = at + 1;
    }
    stringBufferAddByte(&e->out, '"');
}

/* --- Numbers ------------------------------------------------------------------------------------------------------ */

static void encodeNumber(lua_State *L, encoder *e, int index) {
    lua_Number n = lua_tonumber(L, index);
    if (unlikely(!isfinite(n))) {
        if (e->settings->encode_invalid == INVALID_OFF) libCjsonEncodeRefuse(L, index, "must not be NaN or Inf");
        if (e->settings->encode_invalid == INVALID_NULL) addWord(e, "null");
        else addWord(e, isnan(n) ? "nan" : n > 0 ? "inf" : "-inf");
        return;
    }
    char digits[NUMBER_BYTES];
    if (fabs(n) < WHOLE_MAX && e->settings->number_precision >= WHOLE_DIGITS && n == (lua_Number)(long long)n &&
        !(n == 0 && signbit(n))) {
        stringBufferAdd(&e->out, digits, ll2string(digits, (long long)n));
        return;
    }
    int len = snprintf(digits, sizeof(digits), "%.*g", e->settings->number_precision, n);
    stringBufferAdd(&e->out, digits, (size_t)len);
}

/* --- Tables ------------------------------------------------------------------------------------------------------- */

/* Returns the largest key of the array on the top of the stack; 0 if the table is an object. */
static int arrayLength(lua_State *L, const encoder *e) {
    lua_Number max = 0, count = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_Number key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (!(key >= 1 && floor(key) == key)) {
            lua_pop(L, 2);
            return 0;
        }
        if (key > max) max = key;
        count++;
    }
    const cjsonSettings *s = e->settings;
    bool sparse = s->sparse_ratio > 0 && max > count * s->sparse_ratio && max > s->sparse_safe;
    if (!sparse && max <= INT_MAX) return (int)max;
    if (!s->sparse_convert) luaL_error(L, "Cannot serialise table: excessively sparse array");
    return 0;
}

static void encodeArray(lua_State *L, encoder *e, int length) {
    stringBufferAddByte(&e->out, '[');
    for (int i = 1; i <= length; i++) {
        if (i > 1) stringBufferAddByte(&e->out, ',');
        lua_rawgeti(L, -1, i);
        encodeValue(L, e);
        lua_pop(L, 1);
    }
    stringBufferAddByte(&e->out, ']');
}

static void encodeKey(lua_State *L, encoder *e, int index) {
    switch (lua_type(L, index)) {
    case LUA_TSTRING: encodeString(L, e, index); break;
    case LUA_TNUMBER:
        stringBufferAddByte(&e->out, '"');
        encodeNumber(L, e, index);
        stringBufferAddByte(&e->out, '"');
        break;
    default: libCjsonEncodeRefuse(L, index, "table key must be a number or string");
    }
}

static void encodeObject(lua_State *L, encoder *e) {
    bool first = true;
    stringBufferAddByte(&e->out, '{');
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        if (!first) stringBufferAddByte(&e->out, ',');
        first = false;
        encodeKey(L, e, -2);
        stringBufferAddByte(&e->out, ':');
        encodeValue(L, e);
    }
    stringBufferAddByte(&e->out, '}');
}

static void encodeTable(lua_State *L, encoder *e) {
    if (++e->depth > e->settings->encode_max_depth || !lua_checkstack(L, 5))
        luaL_error(L, "Cannot serialise, excessive nesting (%d)", e->depth);
    int length = arrayLength(L, e);
    if (length > 0) encodeArray(L, e, length);
    else encodeObject(L, e);
    e->depth--;
}

/* Encodes the value on the top of the stack, which stays there. */
static void encodeValue(lua_State *L, encoder *e) {
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: encodeString(L, e, -1); break;
    case LUA_TNUMBER: encodeNumber(L, e, -1); break;
    case LUA_TBOOLEAN: addWord(e, lua_toboolean(L, -1) ? "true" : "false"); break;
    case LUA_TTABLE: encodeTable(L, e); break;
    case LUA_TNIL: addWord(e, "null"); break;
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, -1)) libCjsonEncodeRefuse(L, -1, "type not supported");
        addWord(e, "null");
        break;
    default: libCjsonEncodeRefuse(L, -1, "type not supported");
    }
}

int cjsonEncode(lua_State *L) {
    encoder e; /* not zeroed, to save time: it contains the output buffer */
    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    e.settings = cjsonSettingsOf(L);
    e.depth = 0;
    stringBufferInit(&e.out, L);
    lua_pushvalue(L, 1);
    encodeValue(L, &e);
    stringBufferPush(&e.out);
    return 1;
}
