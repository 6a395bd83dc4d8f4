/* text_functions.h -- faster versions of the most used string functions, with fewer calls of Lua's API.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_TEXT_FUNCTIONS_H
#define SCRIPT_TEXT_FUNCTIONS_H

#include "interpreter.h"

/* Puts tostring() and tonumber(), and find() and rep() of the library `string`, into the globals, which are on the top
 * of the stack. find() with a pattern calls the function that was there before. Throws if there is no memory. */
void textFunctionsInstall(lua_State *L);

#endif
