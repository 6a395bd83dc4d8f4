/* protected_table.h -- tables that scripts can read and not change.
 *
 * Lua 5.1 has no such thing, so a script gets a proxy: an empty table whose metatable reads from the real one and
 * refuses to write. What reads and writes tables past their metatables (rawget, next, table.insert ...) is replaced by
 * functions that know a proxy when they see one.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_PROTECTED_TABLE_H
#define SCRIPT_PROTECTED_TABLE_H

#include "interpreter.h"

/* Take the table on the top of the stack and leave its proxy. */
void protectTable(lua_State *L);
/* The same with the table at `index` as the metatable that scripts see; it is protected itself. Without, getmetatable()
 * says nil. */
void protectTableWith(lua_State *L, int index);
/* Take the table on the top of the stack and put it in the place of the real one behind the proxy at `index`. */
void protectExchange(lua_State *L, int index);
/* If the value at `index` is a proxy push the real table; else push nothing. */
bool protectPushReal(lua_State *L, int index);
/* Raise the error of a function that was asked to change a protected table. Valkey 9.1 gives it no place. */
int protectRefuse(lua_State *L);
/* Put the functions that know proxies into the table of globals, which is on the top of the stack, and into its
 * "table". */
void protectedInstall(lua_State *L);

#endif
