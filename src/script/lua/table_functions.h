/* table_functions.h -- functions on tables that scripts call most, with fewer calls of Lua's API than Lua's own.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_TABLE_FUNCTIONS_H
#define SCRIPT_TABLE_FUNCTIONS_H

#include "interpreter.h"

/* Put ipairs(), unpack(), and insert() and sort() of the library `table`, into the globals, which are on the top of the
 * stack. Throws when there is no memory. */
void tableFunctionsInstall(lua_State *L);

#endif
