/* direct_globals.h -- a second table of globals, for compiled scripts, with the values that the proxy of the globals
 * shows.
 *
 * The proxy is empty, so each global that is read through it costs a miss and a call of the metatable's __index. This
 * table has the proxy's metatable and a copy of all permanent globals, so only others (KEYS, ARGV, names that do not
 * exist) take that path. It also has the real tables of libraries, under keys that only chunkLink() uses. No script
 * may ever get the table itself.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DIRECT_GLOBALS_H
#define SCRIPT_DIRECT_GLOBALS_H

#include "interpreter.h"

/* Creates the table. Call when LUA_GLOBALSINDEX has become the proxy of the globals. Throws if there is no memory. */
void directGlobalsOpen(lua_State *L);
/* Replaces the function on the top of the stack, which was just compiled, by one that reads its globals from the table,
 * if that is possible. No-op in a state without directGlobalsOpen(). Throws if there is no memory. */
void directGlobalsLink(lua_State *L);
/* Remove the copies before the proxy shows other globals, and restore them afterwards. */
void directGlobalsHide(lua_State *L);
void directGlobalsShow(lua_State *L);
/* Call for a table on the top of the stack that the proxy is about to show: its field `name` is a protected table, and
 * linked scripts must find the real one there. */
void directGlobalsAddReal(lua_State *L, const char *name);

/* --- chunk_linker.c --- */
/* Replaces the Lua function on the top of the stack, which was just compiled, by one that does the same with the table
 * at `direct` as its environment. In that table a library `name` has a second key, the name followed by a zero byte,
 * whose value is the library's real table instead of its proxy. The new function reads that key where the table cannot
 * become visible to the script. A function that assigns a global, or that the linker cannot parse, is left as it is.
 * Throws if there is no memory. */
void chunkLink(lua_State *L, int direct);

#endif
