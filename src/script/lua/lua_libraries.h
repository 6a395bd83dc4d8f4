/* lua_libraries.h -- libraries that scripts have in addition to Lua's own, and other versions of Lua's functions.
 *
 * Each function throws if there is no memory.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LUA_LIBRARIES_H
#define SCRIPT_LUA_LIBRARIES_H

#include "interpreter.h"

/* Push the table of a library that Valkey gives to scripts. */
void luaOpenBit(lua_State *L);      /* lib_bit.c */
void luaOpenCjson(lua_State *L);    /* lib_cjson.c */
void luaOpenCmsgpack(lua_State *L); /* lib_cmsgpack.c */
void luaOpenStruct(lua_State *L);   /* lib_struct.c */

/* --- lib_random.c --- */
/* Puts math.random() and math.randomseed() into the global table `math`, which must exist. */
void luaInstallRandom(lua_State *L);

/* --- proxy_object.c --- */
/* lua_CFunction: newproxy([boolean or proxy]). Finalizers (`__gc`) are ignored. */
int proxyObjectNew(lua_State *L);

/* --- table_functions.c, text_functions.c: the table of globals is on the top of the stack --- */
/* Puts ipairs() and unpack() into the globals, and insert() and sort() into their library `table`. */
void tableFunctionsInstall(lua_State *L);
/* Puts tostring() and tonumber() into the globals, and find() and rep() into their library `string`. find() with a
 * pattern calls the function that was there before. */
void textFunctionsInstall(lua_State *L);

#endif
