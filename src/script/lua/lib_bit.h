/* lib_bit.h -- the Lua library `bit`: operations on 32 bits, with the results of Lua BitOp.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_BIT_H
#define SCRIPT_LIB_BIT_H

#include "interpreter.h"

/* Pushes the library's table. */
void luaOpenBit(lua_State *L);

#endif
