/* function_lua.h -- functions written in Lua: the interpreter of all libraries.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_LUA_H
#define SCRIPT_FUNCTION_LUA_H

#include "function_engine.h"
#include "interpreter.h"

/* Creates the interpreter. Call at startup. */
void functionLuaInit(void);
extern const functionEngine function_lua;
interpreter *functionLuaInterpreter(void);

#endif
