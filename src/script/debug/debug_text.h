/* debug_text.h -- values of Lua and replies of commands as people read them in the debugger.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUG_TEXT_H
#define SCRIPT_DEBUG_TEXT_H

#include "interpreter.h"
#include "sds.h"

/* The value at `index`, behind what `out` has (takes it, and gives it back): `{[name]=x; }`. No metatable is asked. It
 * is left off where `out` has grown past `most`. */
sds debugCatValue(sds out, lua_State *L, int index, size_t most);
/* A reply, RESP2 or RESP3: `["a",1]`. */
sds debugCatReply(sds out, slice reply, size_t most);

#endif
