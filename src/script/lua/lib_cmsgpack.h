/* lib_cmsgpack.h -- the Lua library `cmsgpack`: values as MessagePack and back.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_CMSGPACK_H
#define SCRIPT_LIB_CMSGPACK_H

#include "interpreter.h"

/* Pushes the library's table. */
void luaOpenCmsgpack(lua_State *L);

#endif
