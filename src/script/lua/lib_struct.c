/* lib_struct.c -- the Lua library `struct`: values as bytes and back, by a format.
 *
 *   <  >    little and big endian        !n   align to n at most, a power of two (default: that of doubles)
 *   b B     byte, signed and unsigned    h H  2 bytes       l L  8 bytes      T  8 bytes, a size
 *   in In   n bytes (default 4)          f d  float, double
 *   x       a byte of padding            s    text up to a zero byte
 *   cn      n bytes of text; c0: all of it, or as many bytes as the number before it
 *
 * Sizes and positions are checked in 64 bits before they are used.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/lib_test.c, tests/script/packing.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include "slice.h"
#include "endian.h"
#include "string_buffer.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define INTEGER_BYTES_MAX 32
#define ALIGN_DEFAULT 8
#define FREE_SLOTS (LUA_MINSTACK - 4) /* values that any C function may push without lua_checkstack() */

typedef struct format {
    const char *at;
    bool big_endian;
    size_t align;
} format;

/* One item of the format. */
typedef struct option {
    char letter;
    bool known;
    size_t size;  /* its bytes; 0 for 's' and "c0" */
    size_t align; /* it is padded so that its offset is a multiple of this */
} option;

/* Returns the number at the current position of the format, or `otherwise` if there is none. */
static inline size_t libStructNumber(lua_State *L, format *f, size_t otherwise) {
    if (!isDigit(*f->at)) return otherwise;
    long long n = 0;
    for (; isDigit(*f->at); f->at++) {
        n = n * 10 + (*f->at - '0');
        if (n > INT_MAX) luaL_error(L, "integral size overflow");
    }
    return (size_t)n;
}

static size_t integerSize(lua_State *L, format *f) {
    size_t size = libStructNumber(L, f, sizeof(int));
    if (size > INTEGER_BYTES_MAX)
        luaL_error(L, "integral size %d is larger than limit of %d", (int)size, INTEGER_BYTES_MAX);
    return size;
}

static void setAlign(lua_State *L, format *f) {
    size_t align = libStructNumber(L, f, ALIGN_DEFAULT);
    if (align == 0 || (align & (align - 1)) != 0) luaL_error(L, "alignment %d is not a power of 2", (int)align);
    f->align = align;
}

static void libStructRefuse(lua_State *L, const option *o) {
    luaL_argerror(L, 1, lua_pushfstring(L, "invalid format option '%c'", o->letter));
}

/* Reads the next option; one that only changes the format's state has letter 0. Returns false at the end. */
static inline bool nextOption(lua_State *L, format *f, option *o) {
    bool aligned = true;
    if (*f->at == '\0') return false;
    *o = (option){.letter = *f->at++, .known = true, .align = 1};
    switch (o->letter) {
    case 'b':
    case 'B': o->size = 1; break;
    case 'h':
    case 'H': o->size = 2; break;
    case 'l':
    case 'L':
    case 'T': o->size = 8; break;
    case 'i':
    case 'I': o->size = integerSize(L, f); break;
    case 'f': o->size = sizeof(float); break;
    case 'd': o->size = sizeof(double); break;
    case 'x': o->size = 1; break;
    case 'c': o->size = libStructNumber(L, f, 1), aligned = false; break;
    case 's': aligned = false; break;
    case '<': f->big_endian = false, o->letter = 0; break;
    case '>': f->big_endian = true, o->letter = 0; break;
    case '!': setAlign(L, f), o->letter = 0; break;
    case ' ': o->letter = 0; break;
    default: o->known = false; /* size 0; the caller decides whether it is an error */
    }
    if (aligned && o->size > 1) o->align = o->size < f->align ? o->size : f->align;
    return true;
}

/* Returns the bytes of padding before an item. Sizes that are not powers of two are aligned by their bits, as the
 * original library does. */
static inline size_t padding(const option *o, size_t at) {
    return o->align > 1 ? (o->align - (at & (o->align - 1))) & (o->align - 1) : 0;
}

static format formatArgument(lua_State *L) { return (format){.at = luaL_checkstring(L, 1), .align = 1}; }

/* --- Packing ------------------------------------------------------------------------------------------------------ */

static uint64_t integerOf(lua_Number n) {
    if (n < 0) return n > -9223372036854775808.0 ? (uint64_t)(int64_t)n : (uint64_t)1 << 63;
    return n < 18446744073709551616.0 ? (uint64_t)n : 0;
}

/* Appends an integer; bytes beyond the eighth are zeros. */
static void addInteger(stringBuffer *b, uint64_t n, size_t size, bool big_endian) {
    stringBufferReserve(b, size < 8 ? 8 : size);
    char *to = b->bytes + b->len;
    if (likely(size <= 8)) {
        if (big_endian && size > 0) n = __builtin_bswap64(n) >> (8 - size) * 8;
        storeLe64(to, n);
    } else {
        for (size_t i = 0; i < size; i++, n >>= 8) to[big_endian ? size - 1 - i : i] = (char)(i < 8 ? n : 0);
    }
    b->len += size;
}

static void addFloat(stringBuffer *b, const void *value, size_t size, bool big_endian) {
    const char *p = value;
    char bytes[sizeof(double)];
    for (size_t i = 0; i < size; i++) bytes[i] = p[big_endian ? size - 1 - i : i];
    stringBufferAdd(b, bytes, size);
}

/* Appends the text and returns the number of bytes added. */
static size_t addText(lua_State *L, stringBuffer *b, const option *o, int index) {
    size_t len;
    const char *text = luaL_checklstring(L, index, &len);
    size_t size = o->letter == 'c' && o->size ? o->size : len;
    luaL_argcheck(L, len >= size, index + 1, "string too short");
    stringBufferAdd(b, text, size);
    if (o->letter == 'c') return size;
    stringBufferAddByte(b, '\0');
    return size + 1;
}

/* Appends an argument. Arguments are read from below the buffer's own slots on the stack. */
static size_t addValue(lua_State *L, stringBuffer *b, const format *f, const option *o, int *index) {
    if (o->letter == 'x') {
        stringBufferAddByte(b, '\0');
        return 1;
    }
    int at = (*index)++;
    if (o->letter == 's' || o->letter == 'c') return addText(L, b, o, at);
    double value = lua_tonumber(L, at);
    if (unlikely(value == 0)) value = luaL_checknumber(L, at); /* 0 may also mean that it is not a number */
    float narrow = (float)value;
    if (o->letter == 'f') addFloat(b, &narrow, sizeof(narrow), f->big_endian);
    else if (o->letter == 'd') addFloat(b, &value, sizeof(value), f->big_endian);
    else addInteger(b, integerOf(value), o->size, f->big_endian);
    return o->size;
}

static int structPack(lua_State *L) {
    format f = formatArgument(L);
    option o;
    stringBuffer b;
    int index = 2;
    size_t total = 0;
    lua_pushnil(L); /* makes a missing argument nil instead of the buffer's slot */
    stringBufferInit(&b, L);
    while (nextOption(L, &f, &o)) {
        if (!o.letter) continue;
        if (!o.known) libStructRefuse(L, &o);
        size_t pad = padding(&o, total);
        for (size_t i = 0; i < pad; i++) stringBufferAddByte(&b, '\0');
        total += pad + addValue(L, &b, &f, &o, &index);
    }
    stringBufferPush(&b);
    return 1;
}

/* --- Unpacking ---------------------------------------------------------------------------------------------------- */

static void pushInteger(lua_State *L, const char *p, size_t size, bool big_endian, bool is_signed) {
    uint64_t n = 0;
    size_t used = size < 8 ? size : 8;
    if (big_endian) p += size - used;
    if (used == 4) n = big_endian ? __builtin_bswap32(loadLe32(p)) : loadLe32(p);
    else if (used == 8) n = big_endian ? __builtin_bswap64(loadLe64(p)) : loadLe64(p);
    else
        for (size_t i = 0; i < used; i++) n = n << 8 | (uint8_t)(big_endian ? p[i] : p[used - 1 - i]);
    if (!is_signed) {
        lua_pushnumber(L, (lua_Number)n);
        return;
    }
    if (used && used < 8 && n >> (used * 8 - 1)) n |= ~(uint64_t)0 << (used * 8);
    lua_pushnumber(L, (lua_Number)(int64_t)n);
}

static void pushFloat(lua_State *L, const char *p, size_t size, bool big_endian) {
    char bytes[sizeof(double)];
    float narrow;
    double value;
    for (size_t i = 0; i < size; i++) bytes[i] = p[big_endian ? size - 1 - i : i];
    memcpy(size == sizeof(narrow) ? (void *)&narrow : (void *)&value, bytes, size);
    lua_pushnumber(L, size == sizeof(narrow) ? (lua_Number)narrow : value);
}

/* The input, and the position in it, which never exceeds the length. */
typedef struct input {
    const char *bytes;
    size_t len, at;
    int pushed; /* values on the stack */
} input;

static void checkInput(lua_State *L, const input *in, size_t size) {
    luaL_argcheck(L, size <= in->len && in->at <= in->len - size, 2, "data string too short");
}

/* Returns the size for "c0": pops the number that was read last. */
static size_t sizeBefore(lua_State *L, input *in) {
    if (in->pushed == 0 || lua_type(L, -1) != LUA_TNUMBER) luaL_error(L, "format 'c0' needs a previous size");
    lua_Number n = lua_tonumber(L, -1);
    lua_pop(L, 1);
    in->pushed--;
    return n > -1 && n < 4611686018427387904.0 ? (size_t)(n < 0 ? 0 : n) : SIZE_MAX;
}

static void pushText(lua_State *L, input *in, const option *o) {
    if (o->letter == 'c') {
        size_t size = o->size ? o->size : sizeBefore(L, in);
        checkInput(L, in, size);
        lua_pushlstring(L, in->bytes + in->at, size);
        in->at += size;
        return;
    }
    const char *start = in->bytes + in->at, *end = memchr(start, '\0', in->len - in->at);
    if (!end) luaL_error(L, "unfinished string in data");
    lua_pushlstring(L, start, (size_t)(end - start));
    in->at += (size_t)(end - start) + 1;
}

static void unpackOption(lua_State *L, input *in, const format *f, const option *o) {
    size_t pad = padding(o, in->at);
    checkInput(L, in, pad);
    in->at += pad;
    checkInput(L, in, o->size);
    if (o->letter == 'x') {
        in->at++;
        return;
    }
    if (in->pushed >= FREE_SLOTS) luaL_checkstack(L, 2, "too many results");
    const char *p = in->bytes + in->at;
    switch (o->letter) {
    case 's':
    case 'c': pushText(L, in, o); break;
    case 'f':
    case 'd': pushFloat(L, p, o->size, f->big_endian); break;
    default: pushInteger(L, p, o->size, f->big_endian, o->letter >= 'a');
    }
    if (o->letter != 's' && o->letter != 'c') in->at += o->size;
    in->pushed++;
}

static int structUnpack(lua_State *L) {
    format f = formatArgument(L);
    option o;
    input in = {.at = 0};
    in.bytes = luaL_checklstring(L, 2, &in.len);
    lua_Number from = lua_gettop(L) > 2 ? luaL_optnumber(L, 3, 1) : 1;
    luaL_argcheck(L, !(from >= 0 && from < 1), 3, "offset must be 1 or greater");
    in.at = from >= 1 && from - 1 <= (lua_Number)in.len ? (size_t)(from - 1) : SIZE_MAX;
    lua_settop(L, 2);
    while (nextOption(L, &f, &o)) {
        luaL_argcheck(L, in.at <= in.len, 2, "data string too short");
        if (!o.letter) continue;
        if (!o.known) libStructRefuse(L, &o);
        unpackOption(L, &in, &f, &o);
    }
    lua_pushnumber(L, in.at <= in.len ? (lua_Number)in.at + 1 : from); /* an empty format reads nothing, whatever the
                                                                        * position */
    return in.pushed + 1;
}

static int structSize(lua_State *L) {
    format f = formatArgument(L);
    option o;
    size_t total = 0;
    while (nextOption(L, &f, &o)) {
        if (!o.letter) continue;
        bool ignored = isascii((unsigned char)o.letter) && isalnum((unsigned char)o.letter); /* here only */
        if (!o.known && !ignored) libStructRefuse(L, &o);
        luaL_argcheck(L, o.letter != 's', 1, "option 's' has no fixed size");
        luaL_argcheck(L, o.letter != 'c' || o.size, 1, "option 'c0' has no fixed size");
        total += padding(&o, total) + o.size;
    }
    lua_pushnumber(L, (lua_Number)total);
    return 1;
}

void luaOpenStruct(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"pack", structPack}, {"unpack", structUnpack}, {"size", structSize}, {NULL, NULL}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
}
