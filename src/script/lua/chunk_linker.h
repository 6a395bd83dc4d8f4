/* chunk_linker.h -- lets compiled scripts find globals and library functions in one lookup each.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_CHUNK_LINKER_H
#define SCRIPT_CHUNK_LINKER_H

#include "interpreter.h"

/* Replaces the Lua function on the top of the stack, which was just compiled, by one that does the same with the table
 * at `direct` as its environment. In that table a library `name` has a second key, the name followed by a zero byte,
 * whose value is the library's real table instead of its proxy. The new function reads that key where the table cannot
 * become visible to the script. A function that assigns a global, or that the linker cannot parse, is left as it is.
 * Throws if there is no memory. */
void chunkLink(lua_State *L, int direct);

#endif
