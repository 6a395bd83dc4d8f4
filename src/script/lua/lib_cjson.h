/* lib_cjson.h -- the Lua library `cjson`: values as JSON and back.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_CJSON_H
#define SCRIPT_LIB_CJSON_H

#include "interpreter.h"

/* Pushes the library's table. */
void luaOpenCjson(lua_State *L);

#endif
