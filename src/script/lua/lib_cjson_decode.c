/* lib_cjson_decode.c -- cjson.decode(): JSON as a Lua value.
 *
 * null becomes a light userdata that is NULL, so that it can be an element. A zero byte ends the text.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/lib_test.c, tests/script/cjson.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lib_cjson_internal.h"

#include "slice.h"
#include "string_buffer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BATCH_DEPTH 8   /* down to this depth, elements stay on the stack of Lua until their number is known */
#define BATCH_ITEMS 32  /* most elements of such an array; an object has half as many pairs */
#define EXACT_DIGITS 15 /* integers of up to 15 digits, and powers of ten up to 10^15, are exact as doubles */

typedef enum {
    OBJECT_BEGIN,
    OBJECT_END,
    ARRAY_BEGIN,
    ARRAY_END,
    STRING,
    NUMBER,
    BOOLEAN,
    NULL_WORD,
    COLON,
    COMMA,
    END,
    BROKEN
} tokenKind;

static const char *const token_names[] = {[OBJECT_BEGIN] = "T_OBJ_BEGIN",
                                          [OBJECT_END] = "T_OBJ_END",
                                          [ARRAY_BEGIN] = "T_ARR_BEGIN",
                                          [ARRAY_END] = "T_ARR_END",
                                          [STRING] = "T_STRING",
                                          [NUMBER] = "T_NUMBER",
                                          [BOOLEAN] = "T_BOOLEAN",
                                          [NULL_WORD] = "T_NULL",
                                          [COLON] = "T_COLON",
                                          [COMMA] = "T_COMMA",
                                          [END] = "T_END"};

typedef struct token {
    tokenKind kind;
    size_t at;        /* where it begins, or where the error is */
    const char *what; /* BROKEN: what is wrong */
    slice text;       /* STRING: in the input or in the decoder's scratch */
    lua_Number number;
    bool truth;
} token;

typedef struct decoder {
    const char *text; /* ends in a zero byte */
    size_t at;
    const cjsonSettings *settings;
    stringBuffer scratch; /* bytes of a string with escapes */
    int depth;
} decoder;

static void libCjsonDecodeBroken(token *t, size_t at, const char *what) {
    *t = (token){.kind = BROKEN, .at = at, .what = what};
}

/* --- Strings ------------------------------------------------------------------------------------------------------ */

/* Returns the code of four hexadecimal digits, or -1 if they are not that. */
static int hexCode(const char *p) {
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hexDigit(p[i]);
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

static void addUtf8(stringBuffer *out, unsigned code) {
    if (code < 0x80) {
        stringBufferAddByte(out, (uint8_t)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    stringBufferAddByte(out, (uint8_t)(heads[more] | code >> 6 * more));
    while (more--) stringBufferAddByte(out, (uint8_t)(0x80 | (code >> 6 * more & 0x3f)));
}

/* Adds the character of the \uXXXX at the current position, or of a surrogate pair. Returns false if it is invalid. */
static bool addCode(decoder *d) {
    const char *p = d->text + d->at;
    int code = hexCode(p + 2);
    if (code < 0 || (code >= 0xdc00 && code <= 0xdfff)) return false;
    d->at += 6;
    if (code >= 0xd800 && code <= 0xdbff) {
        int low = p[6] == '\\' && p[7] == 'u' ? hexCode(p + 8) : -1;
        if (low < 0xdc00 || low > 0xdfff) return false;
        code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
        d->at += 6;
    }
    addUtf8(&d->scratch, (unsigned)code);
    return true;
}

/* Adds the escape at the current position. Returns false, with the error in `t`, if it is invalid. */
static bool addEscape(decoder *d, token *t) {
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    size_t start = d->at;
    char c = d->text[start + 1];
    if (c == 'u') {
        if (addCode(d)) return true;
        libCjsonDecodeBroken(t, start, "invalid unicode escape code");
        return false;
    }
    const char *known = c ? strchr(letters, c) : NULL;
    if (!known) {
        libCjsonDecodeBroken(t, start, "invalid escape code");
        return false;
    }
    stringBufferAddByte(&d->scratch, (uint8_t)bytes[known - letters]);
    d->at += 2;
    return true;
}

static void readString(decoder *d, token *t) {
    size_t start = ++d->at, run = start;
    bool escaped = false;
    d->scratch.len = 0;
    for (;;) {
        const char *p = d->text + d->at;
        while (*p != '"' && *p != '\\' && *p != '\0') p++;
        d->at = (size_t)(p - d->text);
        char c = *p;
        if (c == '\0') {
            libCjsonDecodeBroken(t, d->at, "unexpected end of string");
            return;
        }
        if (escaped || c == '\\') stringBufferAdd(&d->scratch, d->text + run, d->at - run);
        if (c == '"') break;
        escaped = true;
        if (!addEscape(d, t)) return;
        run = d->at;
    }
    t->kind = STRING;
    t->text = escaped ? sliceOf(d->scratch.bytes, d->scratch.len) : sliceOf(d->text + start, d->at - start);
    d->at++;
}

/* --- Numbers ------------------------------------------------------------------------------------------------------ */

/* Returns true for numbers that strtod() accepts but JSON does not: a plus sign, leading zeros, hexadecimal,
 * infinities, NaN. */
static bool isNonJsonNumber(const char *p) {
    if (*p == '+') return true;
    if (*p == '-') p++;
    if (*p == '0') return p[1] == 'x' || p[1] == 'X' || isDigit(p[1]);
    return strncasecmp(p, "inf", 3) == 0 || strncasecmp(p, "nan", 3) == 0;
}

/* Reads a number with few digits: both parts of the quotient are exact, so it is rounded once, as strtod() does.
 * Returns its end, or NULL if it is another kind of number. */
static const char *readShort(const char *p, lua_Number *n) {
    static const lua_Number powers[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool negative = *p == '-';
    const char *start = p += negative;
    uint64_t digits = 0;
    size_t fraction = 0, count;
    for (; isDigit(*p) && p - start <= EXACT_DIGITS; p++) digits = digits * 10 + (uint64_t)(*p - '0');
    count = (size_t)(p - start);
    if (count == 0) return NULL;
    if (*p == '.') {
        const char *point = p++;
        for (; isDigit(*p) && p - point <= EXACT_DIGITS; p++) digits = digits * 10 + (uint64_t)(*p - '0');
        fraction = (size_t)(p - point) - 1;
        count += fraction;
    }
    if (count > EXACT_DIGITS || isDigit(*p) || *p == 'e' || *p == 'E' || *p == 'x' || *p == 'X') return NULL;
    *n = (lua_Number)digits / powers[fraction];
    if (negative) *n = -*n;
    return p;
}

static void readNumber(decoder *d, token *t) {
    const char *start = d->text + d->at, *after = NULL;
    char *end;
    if (d->settings->decode_invalid == INVALID_ON) after = readShort(start, &t->number);
    if (likely(after != NULL)) {
        t->kind = NUMBER;
        d->at += (size_t)(after - start);
        return;
    }
    bool allowed = d->settings->decode_invalid == INVALID_ON || !isNonJsonNumber(start);
    t->number = allowed ? strtod(start, &end) : 0;
    if (!allowed || end == start) {
        libCjsonDecodeBroken(t, d->at, "invalid number");
        return;
    }
    t->kind = NUMBER;
    d->at += (size_t)(end - start);
}

/* --- Tokens ------------------------------------------------------------------------------------------------------- */

static bool readWord(decoder *d, const char *word) {
    size_t len = strlen(word);
    if (strncmp(d->text + d->at, word, len) != 0) return false;
    d->at += len;
    return true;
}

static void readWords(decoder *d, token *t) {
    if (readWord(d, "true")) t->kind = BOOLEAN, t->truth = true;
    else if (readWord(d, "false")) t->kind = BOOLEAN, t->truth = false;
    else if (readWord(d, "null")) t->kind = NULL_WORD;
    else if (d->settings->decode_invalid == INVALID_ON && isNonJsonNumber(d->text + d->at)) readNumber(d, t);
    else libCjsonDecodeBroken(t, d->at, "invalid token");
}

static void next(decoder *d, token *t) {
    const char *p = d->text + d->at;
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') p++;
    d->at = t->at = (size_t)(p - d->text);
    switch (*p) {
    case '\0': t->kind = END; break;
    case '{': t->kind = OBJECT_BEGIN, d->at++; break;
    case '}': t->kind = OBJECT_END, d->at++; break;
    case '[': t->kind = ARRAY_BEGIN, d->at++; break;
    case ']': t->kind = ARRAY_END, d->at++; break;
    case ':': t->kind = COLON, d->at++; break;
    case ',': t->kind = COMMA, d->at++; break;
    case '"': readString(d, t); break;
    case '+':
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': readNumber(d, t); break;
    default: readWords(d, t);
    }
}

/* --- Values ------------------------------------------------------------------------------------------------------- */

static void pushValue(lua_State *L, decoder *d, const token *t);

static void libCjsonDecodeExpected(lua_State *L, const char *what, const token *t) {
    luaL_error(L, "Expected %s but found %s at character %d", what, t->kind == BROKEN ? t->what : token_names[t->kind],
               (int)t->at + 1);
}

static void libCjsonDecodeDescend(lua_State *L, decoder *d) {
    if (++d->depth > d->settings->decode_max_depth || !lua_checkstack(L, 4))
        luaL_error(L, "Found too many nested data structures (%d) at character %d", d->depth, (int)d->at);
}

/* Returns true if elements may stay on the stack: a table that is created when their number is known need not grow. */
static bool canBatch(lua_State *L, const decoder *d) {
    return d->depth <= BATCH_DEPTH && lua_checkstack(L, BATCH_ITEMS + 8);
}

/* Makes a table of the keys and values on the top of the stack. The last of equal keys wins. */
static void gatherObject(lua_State *L, int pairs) {
    int first = lua_gettop(L) - 2 * pairs + 1;
    lua_createtable(L, 0, pairs);
    lua_insert(L, first);
    for (int i = 0; i < pairs; i++) {
        lua_pushvalue(L, first + 1 + 2 * i);
        lua_pushvalue(L, first + 2 + 2 * i);
        lua_rawset(L, first);
    }
    lua_settop(L, first);
}

/* Makes a table of the elements on the top of the stack. */
static void gatherArray(lua_State *L, int count) {
    int first = lua_gettop(L) - count + 1;
    lua_createtable(L, count, 0);
    lua_insert(L, first);
    for (int i = count; i > 0; i--) lua_rawseti(L, first, i);
}

/* Reads what follows an element, and the first token of the next one. Returns false at the end of the container. */
static bool nextElement(lua_State *L, decoder *d, token *t, tokenKind end) {
    next(d, t);
    if (t->kind == end) return false;
    if (t->kind != COMMA)
        libCjsonDecodeExpected(L, end == OBJECT_END ? "comma or object end" : "comma or array end", t);
    next(d, t);
    if (t->kind == end) libCjsonDecodeExpected(L, end == OBJECT_END ? "object key string" : "value", t);
    return true;
}

static void pushObject(lua_State *L, decoder *d) {
    token t;
    int batched = 0;
    libCjsonDecodeDescend(L, d);
    bool batches = canBatch(L, d);
    if (!batches) lua_newtable(L);
    next(d, &t);
    for (bool more = t.kind != OBJECT_END; more; more = nextElement(L, d, &t, OBJECT_END)) {
        if (t.kind != STRING) libCjsonDecodeExpected(L, "object key string", &t);
        lua_pushlstring(L, t.text.ptr, t.text.len);
        next(d, &t);
        if (t.kind != COLON) libCjsonDecodeExpected(L, "colon", &t);
        next(d, &t);
        pushValue(L, d, &t);
        if (!batches) {
            lua_rawset(L, -3);
        } else if (++batched == BATCH_ITEMS / 2) {
            gatherObject(L, batched);
            batches = false;
        }
    }
    if (batches) gatherObject(L, batched);
    d->depth--;
}

static void pushArray(lua_State *L, decoder *d) {
    token t;
    int batched = 0;
    libCjsonDecodeDescend(L, d);
    bool batches = canBatch(L, d);
    if (!batches) lua_newtable(L);
    next(d, &t);
    bool more = t.kind != ARRAY_END;
    for (int i = 1; more; i++, more = nextElement(L, d, &t, ARRAY_END)) {
        pushValue(L, d, &t);
        if (!batches) {
            lua_rawseti(L, -2, i);
        } else if (++batched == BATCH_ITEMS) {
            gatherArray(L, batched);
            batches = false;
        }
    }
    if (batches) gatherArray(L, batched);
    d->depth--;
}

static void pushValue(lua_State *L, decoder *d, const token *t) {
    switch (t->kind) {
    case STRING: lua_pushlstring(L, t->text.ptr, t->text.len); break;
    case NUMBER: lua_pushnumber(L, t->number); break;
    case BOOLEAN: lua_pushboolean(L, t->truth); break;
    case OBJECT_BEGIN: pushObject(L, d); break;
    case ARRAY_BEGIN: pushArray(L, d); break;
    case NULL_WORD: lua_pushlightuserdata(L, NULL); break;
    default: libCjsonDecodeExpected(L, "value", t);
    }
}

int cjsonDecode(lua_State *L) {
    decoder d; /* not zeroed, to save time: it contains the scratch buffer */
    token t;
    size_t len;
    luaL_argcheck(L, lua_gettop(L) == 1, 1, "expected 1 argument");
    d.text = luaL_checklstring(L, 1, &len);
    if (len >= 2 && (!d.text[0] || !d.text[1])) luaL_error(L, "JSON parser does not support UTF-16 or UTF-32");
    d.settings = cjsonSettingsOf(L);
    d.at = 0;
    d.depth = 0;
    stringBufferInit(&d.scratch, L);
    next(&d, &t);
    pushValue(L, &d, &t);
    next(&d, &t);
    if (t.kind != END) libCjsonDecodeExpected(L, "the end", &t);
    return 1;
}
