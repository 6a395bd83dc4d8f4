/* lib_bit.c -- the Lua library `bit`: operations on 32 bits, with the results of Lua BitOp.
 *
 * Numbers are rounded to the nearest integer, half to even, and taken modulo 2^32; results are signed. The number of
 * digits of tohex() may be any 32-bit number, also the smallest one, which cannot be negated.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/script/lib_test.c, tests/script/packing.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include <string.h>

/* 2^52 + 2^51: the low bits of the sum are those of the integer. */
#define LOW_BITS 6755399441055744.0

static inline uint32_t libBitArgument(lua_State *L, int index) {
    lua_Number n = lua_tonumber(L, index);
    if (unlikely(n == 0)) n = luaL_checknumber(L, index); /* 0 may also mean that it is not a number */
    double sum = n + LOW_BITS;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    return (uint32_t)bits;
}

static int result(lua_State *L, uint32_t bits) {
    lua_pushnumber(L, (lua_Number)(int32_t)bits);
    return 1;
}

static int bitTobit(lua_State *L) { return result(L, libBitArgument(L, 1)); }

static int bitNot(lua_State *L) { return result(L, ~libBitArgument(L, 1)); }

static int bitAnd(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    for (int i = lua_gettop(L); i > 1; i--) bits &= libBitArgument(L, i);
    return result(L, bits);
}

static int bitOr(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    for (int i = lua_gettop(L); i > 1; i--) bits |= libBitArgument(L, i);
    return result(L, bits);
}

static int bitXor(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    for (int i = lua_gettop(L); i > 1; i--) bits ^= libBitArgument(L, i);
    return result(L, bits);
}

/* Shifts and rotations use only the low five bits of their count. */
static int bitLshift(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    return result(L, bits << (libBitArgument(L, 2) & 31));
}

static int bitRshift(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    return result(L, bits >> (libBitArgument(L, 2) & 31));
}

static int bitArshift(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1), count = libBitArgument(L, 2) & 31;
    uint32_t sign = bits >> 31 && count ? ~(UINT32_MAX >> count) : 0;
    return result(L, bits >> count | sign);
}

static uint32_t rotateLeft(uint32_t bits, uint32_t count) {
    count &= 31;
    return count ? bits << count | bits >> (32 - count) : bits;
}

static int bitRol(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    return result(L, rotateLeft(bits, libBitArgument(L, 2)));
}

static int bitRor(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    return result(L, rotateLeft(bits, 0 - libBitArgument(L, 2)));
}

static int bitBswap(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    return result(L, bits >> 24 | (bits >> 8 & 0xff00) | (bits << 8 & 0xff0000) | bits << 24);
}

/* Returns the low digits as text; a negative count gives capitals. */
static int bitTohex(lua_State *L) {
    uint32_t bits = libBitArgument(L, 1);
    int32_t count = lua_isnone(L, 2) ? 8 : (int32_t)libBitArgument(L, 2);
    const char *digits = count < 0 ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[8];
    if (count < -8 || count > 8) count = 8;
    if (count < 0) count = -count;
    for (int i = count; i > 0; i--, bits >>= 4) text[i - 1] = digits[bits & 15];
    lua_pushlstring(L, text, (size_t)count);
    return 1;
}

void luaOpenBit(lua_State *L) {
    static const luaL_Reg functions[] = {{"tobit", bitTobit},   {"bnot", bitNot},        {"band", bitAnd},
                                         {"bor", bitOr},        {"bxor", bitXor},        {"lshift", bitLshift},
                                         {"rshift", bitRshift}, {"arshift", bitArshift}, {"rol", bitRol},
                                         {"ror", bitRor},       {"bswap", bitBswap},     {"tohex", bitTohex},
                                         {NULL, NULL}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
}
