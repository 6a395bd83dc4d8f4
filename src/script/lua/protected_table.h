/* protected_table.h -- tables that scripts can read but not change.
 *
 * Lua 5.1 has no such tables, so a script gets a proxy: an empty table whose metatable reads from the real one and
 * refuses writes. Functions that access tables without their metatables (rawget, next, table.insert ...) are replaced
 * by functions that recognize a proxy.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_PROTECTED_TABLE_H
#define SCRIPT_PROTECTED_TABLE_H

#include "interpreter.h"

/* Replaces the table on the top of the stack by its proxy. */
void protectTable(lua_State *L);
/* Same, with the table at `index` as the metatable that scripts see, which is protected as well. With protectTable()
 * getmetatable() returns nil. */
void protectTableWith(lua_State *L, int index);
/* Pops the table on the top of the stack and makes it the real table of the proxy at `index`. */
void protectExchange(lua_State *L, int index);
/* Pushes the real table if the value at `index` is a proxy; otherwise pushes nothing and returns false. */
bool protectPushReal(lua_State *L, int index);
/* Raises the error of a function that was asked to change a protected table. As in Valkey 9.1 it has no line number. */
int protectRefuse(lua_State *L);
/* Puts the functions that recognize proxies into the table of globals, which is on the top of the stack, and into its
 * library `table`. */
void protectedInstall(lua_State *L);

#endif
