/* lib_bit.h -- the Lua library `bit`: operations on 32 bits, with the results of Lua BitOp.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_BIT_H
#define SCRIPT_LIB_BIT_H

#include "interpreter.h"

/* Leave its table on the stack. */
void luaOpenBit(lua_State *L);

#endif
