/* table_functions.h -- faster versions of the most used table functions, with fewer calls of Lua's API.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_TABLE_FUNCTIONS_H
#define SCRIPT_TABLE_FUNCTIONS_H

#include "interpreter.h"

/* Puts ipairs() and unpack(), and insert() and sort() of the library `table`, into the globals, which are on the top of
 * the stack. Throws if there is no memory. */
void tableFunctionsInstall(lua_State *L);

#endif
