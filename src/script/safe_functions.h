/* safe_functions.h -- functions of Lua's own libraries in a form that cannot harm the server.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SAFE_FUNCTIONS_H
#define SCRIPT_SAFE_FUNCTIONS_H

#include "interpreter.h"

/* Put them in the place of Lua's, among the globals and in their libraries, all of which are open. */
void safeFunctionsInstall(lua_State *L);

#endif
