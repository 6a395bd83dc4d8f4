/* lib_struct.h -- the Lua library `struct`: values as bytes and back, by a format.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_STRUCT_H
#define SCRIPT_LIB_STRUCT_H

#include "interpreter.h"

/* Pushes the library's table. */
void luaOpenStruct(lua_State *L);

#endif
