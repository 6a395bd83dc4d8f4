/* direct_globals.h -- a second table of globals, for compiled programs, which has what the proxy of the globals shows.
 *
 * The proxy is empty, so each global that is read through it costs a miss and a call of the metatable's __index. This
 * table has the proxy's metatable and a copy of all globals that stay, so only the others (KEYS, ARGV, names that do
 * not exist) go that way. It also has the real tables of libraries, by keys that programs get from chunk_linker.h
 * alone: no script may ever hold the table itself.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DIRECT_GLOBALS_H
#define SCRIPT_DIRECT_GLOBALS_H

#include "interpreter.h"

/* Make the table, when LUA_GLOBALSINDEX has become the proxy of the globals. Throws when there is no memory. */
void directGlobalsOpen(lua_State *L);
/* Take the function on the top of the stack, which has just been compiled, and leave one that has its globals from the
 * table, if it can. A state without directGlobalsOpen() leaves it as it is. Throws when there is no memory. */
void directGlobalsLink(lua_State *L);
/* Take the copies away, before the proxy shows other globals, and put them back. */
void directGlobalsHide(lua_State *L);
void directGlobalsShow(lua_State *L);
/* The table on the top of the stack is to be shown by the proxy, and its field `name` is a protected table, which
 * linked programs must find there. */
void directGlobalsAddReal(lua_State *L, const char *name);

#endif
