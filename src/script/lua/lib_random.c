/* lib_random.c -- math.random() and math.randomseed(), which give the same numbers on every machine.
 *
 * The generator is the linear congruential one of 48 bits that POSIX publishes for lrand48():
 *
 *   X(n+1) = (0x5DEECE66D * X(n) + 0xB) mod 2^48;   a number is the upper 31 bits of X
 *
 * A seed s sets X to s * 2^16 + 0x330E. The state belongs to the process: each script continues where the previous one
 * stopped, and SCRIPT FLUSH does not change it. As in Lua 5.1, arguments are converted to a C int: modulo 2^32.
 *
 * Owns        the state of the generator.
 * Threads     main.
 * Tests       tests/unit/script/lib_test.c, tests/script/sandbox.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_libraries.h"

#include <math.h>

#define MULTIPLIER 0x5DEECE66Dull
#define INCREMENT 0xBull
#define STATE_BITS 48
#define SEED_LOW 0x330Eull
#define NUMBER_MAX 0x7fffffff

static uint64_t state = 0x1234ABCDull << 16 | SEED_LOW; /* lrand48() begins with it */

/* Returns the argument without its fraction, modulo 2^32; 0 if it does not fit into 64 bits. */
static uint32_t libRandomArgument(lua_State *L, int index) {
    lua_Number n = luaL_checknumber(L, index);
    if (!(n > -0x1p63 && n < 0x1p63)) return 0;
    return (uint32_t)(int64_t)n;
}

/* Pushes the number that `fraction` selects in [first, last], both included; the width is an int that wraps around. */
static int pushWithin(lua_State *L, lua_Number fraction, uint32_t first, uint32_t last) {
    lua_pushnumber(L, floor(fraction * (int32_t)(last - first + 1)) + (int32_t)first);
    return 1;
}

static int mathRandom(lua_State *L) {
    state = (state * MULTIPLIER + INCREMENT) & ((1ull << STATE_BITS) - 1);
    uint32_t number = (uint32_t)(state >> 17) % NUMBER_MAX; /* the largest counts as 0: the fraction stays below 1 */
    lua_Number fraction = (lua_Number)number / NUMBER_MAX;
    uint32_t first = 1, last;
    switch (lua_gettop(L)) {
    case 0: lua_pushnumber(L, fraction); return 1;
    case 1:
        last = libRandomArgument(L, 1);
        luaL_argcheck(L, (int32_t)last >= 1, 1, "interval is empty");
        return pushWithin(L, fraction, first, last);
    case 2:
        first = libRandomArgument(L, 1);
        last = libRandomArgument(L, 2);
        luaL_argcheck(L, (int32_t)first <= (int32_t)last, 2, "interval is empty");
        return pushWithin(L, fraction, first, last);
    default: return luaL_error(L, "wrong number of arguments");
    }
}

static int mathRandomseed(lua_State *L) {
    state = (uint64_t)libRandomArgument(L, 1) << 16 | SEED_LOW;
    return 0;
}

void luaInstallRandom(lua_State *L) {
    static const luaL_Reg functions[] = {{"random", mathRandom}, {"randomseed", mathRandomseed}, {NULL, NULL}};
    lua_getfield(L, LUA_GLOBALSINDEX, "math");
    luaL_register(L, NULL, functions);
    lua_pop(L, 1);
}
