/* chunk_linker.h -- compiled programs that find globals and library functions in one look-up each.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_CHUNK_LINKER_H
#define SCRIPT_CHUNK_LINKER_H

#include "interpreter.h"

/* Take the Lua function on the top of the stack, which has just been compiled, and leave one that does the same with
 * the table at `direct` as its environment. In that table a library `name` has a second key: the name with a zero
 * byte after it, with the library's real table in place of its proxy as the value. The function reads that key where
 * the table cannot get into any value of the script. A function that assigns a global, or that the linker does not
 * parseDebugCommand, stays as it is. Throws when there is no memory. */
void chunkLink(lua_State *L, int direct);

#endif
