/* lib_cmsgpack.c -- the Lua library `cmsgpack`: values as MessagePack and back.
 *
 * A table whose keys are 1 to n becomes an array, any other a map. A number becomes an integer if it is one of 64 bits,
 * else the shorter of float and double that has its value. Types without a representation (functions) become nil, and
 * so do tables within more than sixteen others. Binaries and extensions are not supported.
 *
 * Format of MessagePack: https://github.com/msgpack/msgpack/blob/master/spec.md
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/lib_test.c, tests/script/packing.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include "string_buffer.h"

#include <string.h>

#define NESTING_MAX 16
#define GATHERED_MAX 128 /* most elements of a table that is created with its final size */
#define GATHER_BELOW 500 /* only while Lua's stack has fewer values: nested tables need space there */

/* --- Packing ------------------------------------------------------------------------------------------------------ */

static void packValue(lua_State *L, stringBuffer *out, int level);

/* Appends a type byte and a number of `bytes` bytes. */
static void packHead(stringBuffer *out, uint8_t what, uint64_t n, unsigned bytes) {
    stringBufferReserve(out, 1 + bytes);
    out->bytes[out->len++] = (char)what;
    for (unsigned shift = bytes * 8; shift;) out->bytes[out->len++] = (char)(n >> (shift -= 8));
}

static void packInteger(stringBuffer *out, int64_t n) {
    if (n >= 0) {
        if (n <= 127) stringBufferAddByte(out, (uint8_t)n);
        else if (n <= UINT8_MAX) packHead(out, 0xcc, (uint64_t)n, 1);
        else if (n <= UINT16_MAX) packHead(out, 0xcd, (uint64_t)n, 2);
        else if (n <= UINT32_MAX) packHead(out, 0xce, (uint64_t)n, 4);
        else packHead(out, 0xcf, (uint64_t)n, 8);
    } else if (n >= -32) stringBufferAddByte(out, (uint8_t)n);
    else if (n >= INT8_MIN) packHead(out, 0xd0, (uint64_t)n, 1);
    else if (n >= INT16_MIN) packHead(out, 0xd1, (uint64_t)n, 2);
    else if (n >= INT32_MIN) packHead(out, 0xd2, (uint64_t)n, 4);
    else packHead(out, 0xd3, (uint64_t)n, 8);
}

static bool isInteger(lua_Number n) {
    return n >= -9223372036854775808.0 && n < 9223372036854775808.0 && n == (lua_Number)(int64_t)n;
}

static void packNumber(stringBuffer *out, lua_Number n) {
    if (isInteger(n)) {
        packInteger(out, (int64_t)n);
        return;
    }
    float narrow = (float)n;
    if ((double)narrow == n) {
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof(bits));
        packHead(out, 0xca, bits, 4);
    } else {
        uint64_t bits;
        memcpy(&bits, &n, sizeof(bits));
        packHead(out, 0xcb, bits, 8);
    }
}

static void packString(lua_State *L, stringBuffer *out) {
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    if (len < 32) stringBufferAddByte(out, (uint8_t)(0xa0 | len));
    else if (len <= UINT8_MAX) packHead(out, 0xd9, len, 1);
    else if (len <= UINT16_MAX) packHead(out, 0xda, len, 2);
    else packHead(out, 0xdb, len, 4);
    stringBufferAdd(out, text, len);
}

/* Returns the number of elements of the table on the top of the stack; *is_array tells whether their keys are 1 to
 * that. */
static size_t countElements(lua_State *L, bool *is_array) {
    size_t count = 0;
    lua_Number largest = 0;
    *is_array = true;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        count++;
        lua_Number key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (!(key > 0 && isInteger(key))) *is_array = false;
        else if (key > largest) largest = key;
    }
    if (largest != (lua_Number)count) *is_array = false;
    return count;
}

static void packArray(lua_State *L, stringBuffer *out, size_t count, int level) {
    if (count <= 15) stringBufferAddByte(out, (uint8_t)(0x90 | count));
    else if (count <= UINT16_MAX) packHead(out, 0xdc, count, 2);
    else packHead(out, 0xdd, count, 4);
    for (size_t i = 1; i <= count; i++) {
        lua_rawgeti(L, -1, (int)i);
        packValue(L, out, level + 1);
    }
}

static void packMap(lua_State *L, stringBuffer *out, size_t count, int level) {
    if (count <= 15) stringBufferAddByte(out, (uint8_t)(0x80 | count));
    else if (count <= UINT16_MAX) packHead(out, 0xde, count, 2);
    else packHead(out, 0xdf, count, 4);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pushvalue(L, -2); /* key, value, key */
        packValue(L, out, level + 1);
        packValue(L, out, level + 1);
    }
}

static void packTable(lua_State *L, stringBuffer *out, int level) {
    bool is_array;
    size_t count = countElements(L, &is_array);
    if (is_array) packArray(L, out, count, level);
    else packMap(L, out, count, level);
}

/* Packs the value on the top of the stack and pops it. */
static void packValue(lua_State *L, stringBuffer *out, int level) {
    luaL_checkstack(L, 5, "in function mp_encode_lua_type");
    int type = lua_type(L, -1);
    if (type == LUA_TTABLE && level == NESTING_MAX) type = LUA_TNIL;
    switch (type) {
    case LUA_TSTRING: packString(L, out); break;
    case LUA_TBOOLEAN: stringBufferAddByte(out, lua_toboolean(L, -1) ? 0xc3 : 0xc2); break;
    case LUA_TNUMBER: packNumber(out, lua_tonumber(L, -1)); break;
    case LUA_TTABLE: packTable(L, out, level); break;
    default: stringBufferAddByte(out, 0xc0);
    }
    lua_pop(L, 1);
}

static int cmsgpackPack(lua_State *L) {
    int count = lua_gettop(L);
    stringBuffer out;
    if (count == 0) return luaL_argerror(L, 0, "MessagePack pack needs input.");
    luaL_checkstack(L, 3, "Too many arguments for MessagePack pack.");
    stringBufferInit(&out, L);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(L, i);
        packValue(L, &out, 0);
    }
    stringBufferPush(&out);
    return 1;
}

/* --- Unpacking ---------------------------------------------------------------------------------------------------- */

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static void unpackValue(lua_State *L, input *in);

static const uint8_t *libCmsgpackTake(lua_State *L, input *in, size_t count) {
    if (in->left < count) luaL_error(L, "Missing bytes in input.");
    const uint8_t *p = in->at;
    in->at += count;
    in->left -= count;
    return p;
}

static uint64_t takeNumber(lua_State *L, input *in, unsigned bytes) {
    const uint8_t *p = libCmsgpackTake(L, in, bytes);
    uint64_t n = 0;
    for (unsigned i = 0; i < bytes; i++) n = n << 8 | p[i];
    return n;
}

static void unpackString(lua_State *L, input *in, size_t len) {
    lua_pushlstring(L, (const char *)libCmsgpackTake(L, in, len), len);
}

static void unpackFloat(lua_State *L, input *in) {
    uint32_t bits = (uint32_t)takeNumber(L, in, 4);
    float n;
    memcpy(&n, &bits, sizeof(n));
    lua_pushnumber(L, n);
}

static void unpackDouble(lua_State *L, input *in) {
    uint64_t bits = takeNumber(L, in, 8);
    double n;
    memcpy(&n, &bits, sizeof(n));
    lua_pushnumber(L, n);
}

/* Reads a few elements onto the stack, so that the table is created with its final size. If a nil is among them, the
 * table grows element by element instead, because its length depends on how it has grown. The slot of the table is
 * taken first: nested arrays must use as much of the stack as tables would, because the stack limits their depth. */
static void gatherArray(lua_State *L, input *in, int count) {
    lua_pushnil(L);
    int slot = lua_gettop(L);
    bool has_nil = false;
    for (int i = 0; i < count; i++) {
        unpackValue(L, in);
        has_nil |= lua_type(L, -1) == LUA_TNIL;
    }
    lua_createtable(L, has_nil ? 0 : count, 0);
    lua_replace(L, slot);
    for (int i = 1; i <= count; i++) {
        lua_pushvalue(L, slot + i);
        lua_rawseti(L, slot, i);
    }
    lua_settop(L, slot);
}

/* Unpacks an array. The count that the input claims allocates no memory before its elements are read. */
static void unpackArray(lua_State *L, input *in, size_t count) {
    luaL_checkstack(L, 2, "in function mp_decode_to_lua_array");
    if (count > 0 && count <= GATHERED_MAX && lua_gettop(L) < GATHER_BELOW && lua_checkstack(L, GATHERED_MAX + 8)) {
        gatherArray(L, in, (int)count);
        return;
    }
    lua_newtable(L);
    for (size_t i = 1; i <= count; i++) {
        unpackValue(L, in);
        lua_rawseti(L, -2, (int)i);
    }
}

static void unpackMap(lua_State *L, input *in, size_t count) {
    luaL_checkstack(L, 3, "in function mp_decode_to_lua_hash");
    /* A table that is created with its final size would iterate over integer keys in another order than one that has
     * grown. */
    bool text = in->left && ((*in->at >= 0xa0 && *in->at <= 0xbf) || *in->at == 0xd9);
    lua_createtable(L, 0, text && count <= GATHERED_MAX ? (int)count : 0);
    while (count--) {
        unpackValue(L, in);
        unpackValue(L, in);
        lua_rawset(L, -3);
    }
}

static void pushSigned(lua_State *L, int64_t n) { lua_pushnumber(L, (lua_Number)n); }

static void unpackLong(lua_State *L, input *in, uint8_t what) {
    switch (what) {
    case 0xc0: lua_pushnil(L); break;
    case 0xc2: lua_pushboolean(L, 0); break;
    case 0xc3: lua_pushboolean(L, 1); break;
    case 0xca: unpackFloat(L, in); break;
    case 0xcb: unpackDouble(L, in); break;
    case 0xcc: pushSigned(L, (int64_t)takeNumber(L, in, 1)); break;
    case 0xcd: pushSigned(L, (int64_t)takeNumber(L, in, 2)); break;
    case 0xce: pushSigned(L, (int64_t)takeNumber(L, in, 4)); break;
    case 0xcf:
    case 0xd3: pushSigned(L, (int64_t)takeNumber(L, in, 8)); break;
    case 0xd0: pushSigned(L, (int8_t)takeNumber(L, in, 1)); break;
    case 0xd1: pushSigned(L, (int16_t)takeNumber(L, in, 2)); break;
    case 0xd2: pushSigned(L, (int32_t)takeNumber(L, in, 4)); break;
    case 0xd9: unpackString(L, in, takeNumber(L, in, 1)); break;
    case 0xda: unpackString(L, in, takeNumber(L, in, 2)); break;
    case 0xdb: unpackString(L, in, takeNumber(L, in, 4)); break;
    case 0xdc: unpackArray(L, in, takeNumber(L, in, 2)); break;
    case 0xdd: unpackArray(L, in, takeNumber(L, in, 4)); break;
    case 0xde: unpackMap(L, in, takeNumber(L, in, 2)); break;
    case 0xdf: unpackMap(L, in, takeNumber(L, in, 4)); break;
    default: luaL_error(L, "Bad data format in input.");
    }
}

/* Pushes the next value. */
static void unpackValue(lua_State *L, input *in) {
    luaL_checkstack(L, 1, "too many return values at once; use unpack_one or unpack_limit instead.");
    uint8_t what = *libCmsgpackTake(L, in, 1);
    if (what <= 0x7f) lua_pushnumber(L, what);
    else if (what >= 0xe0) pushSigned(L, (int8_t)what);
    else if (what <= 0x8f) unpackMap(L, in, what & 0x0f);
    else if (what <= 0x9f) unpackArray(L, in, what & 0x0f);
    else if (what <= 0xbf) unpackString(L, in, what & 0x1f);
    else unpackLong(L, in, what);
}

/* Unpacks up to `limit` values from `offset` on. If both are 0 it unpacks all values; otherwise the results begin with
 * the offset after the last value, or -1 at the end. */
static int libCmsgpackUnpack(lua_State *L, int limit, int offset) {
    size_t len;
    const char *bytes = luaL_checklstring(L, 1, &len);
    bool all = limit == 0 && offset == 0;
    if (offset < 0 || limit < 0)
        return luaL_error(L, "Invalid request to unpack with offset of %d and limit of %d.", offset, (int)len);
    if ((size_t)offset > len) return luaL_error(L, "Start offset %d greater than input length %d.", offset, (int)len);
    input in = {(const uint8_t *)bytes + offset, len - (size_t)offset};
    int count = 0;
    lua_settop(L, 1);
    if (!all) lua_pushnil(L);
    for (; in.left && (all || count < limit); count++) unpackValue(L, &in);
    if (all) return count;
    lua_pushnumber(L, in.left ? (lua_Number)(len - in.left) : -1);
    lua_replace(L, 2);
    return count + 1;
}

static int cmsgpackUnpack(lua_State *L) { return libCmsgpackUnpack(L, 0, 0); }

static int cmsgpackUnpackOne(lua_State *L) {
    luaL_checkstring(L, 1);
    return libCmsgpackUnpack(L, 1, luaL_optint(L, 2, 0));
}

static int cmsgpackUnpackLimit(lua_State *L) {
    luaL_checkstring(L, 1);
    int limit = luaL_checkint(L, 2);
    return libCmsgpackUnpack(L, limit, luaL_optint(L, 3, 0));
}

void luaOpenCmsgpack(lua_State *L) {
    static const luaL_Reg functions[] = {{"pack", cmsgpackPack},
                                         {"unpack", cmsgpackUnpack},
                                         {"unpack_one", cmsgpackUnpackOne},
                                         {"unpack_limit", cmsgpackUnpackLimit},
                                         {NULL, NULL}};
    static const char *const texts[][2] = {{"_NAME", "cmsgpack"},
                                           {"_VERSION", "lua-cmsgpack 0.4.0"},
                                           {"_COPYRIGHT", "Copyright (C) 2012, Redis Ltd."},
                                           {"_DESCRIPTION", "MessagePack C implementation for Lua"}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    for (size_t i = 0; i < array_len(texts); i++) {
        lua_pushstring(L, texts[i][1]);
        lua_setfield(L, -2, texts[i][0]);
    }
}
