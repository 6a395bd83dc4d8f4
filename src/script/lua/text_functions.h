/* text_functions.h -- functions on strings that scripts call most, with fewer calls of Lua's API than Lua's own.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_TEXT_FUNCTIONS_H
#define SCRIPT_TEXT_FUNCTIONS_H

#include "interpreter.h"

/* Put tostring() and tonumber(), and find() and rep() of the library `string`, into the globals, which are on the top
 * of the stack. What find() does with a pattern stays with the function that was there. Throws when there is no
 * memory. */
void textFunctionsInstall(lua_State *L);

#endif
