/* function_lua.h -- functions written in Lua: the interpreter of all libraries.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_LUA_H
#define SCRIPT_FUNCTION_LUA_H

#include "function_library.h"
#include "interpreter.h"

/* Creates the interpreter. Call at startup. */
void functionLuaInit(void);
extern const functionEngine function_lua;
interpreter *functionLuaInterpreter(void); /* the present one; a reset replaces it */

/* --- redis.register_function() (function_register.c) ---
 *   redis.register_function('name', callback)
 *   redis.register_function{function_name='name', callback=f, flags={'no-writes'}, description='what it does'} */
/* Sets the library to which functions are added from now on; with NULL each attempt is an error. */
void functionRegisterFor(functionLibrary *library);
/* Returns the error with which the library has refused the last function since then, or NULL. */
const char *functionRegisterError(void);
/* lua_CFunction. */
int functionRegister(lua_State *L);

#endif
