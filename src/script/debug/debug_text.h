/* debug_text.h -- Lua values and replies of commands as text for the user of the debugger.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUG_TEXT_H
#define SCRIPT_DEBUG_TEXT_H

#include "interpreter.h"
#include "sds.h"

/* Appends the value at `index` to `out` in the form `{[name]=x; }` and returns `out`. Calls no metamethod. Stops once
 * `out` is longer than `most`. */
sds debugCatValue(sds out, lua_State *L, int index, size_t most);
/* Appends a reply, RESP2 or RESP3, to `out` in the form `["a",1]` and returns `out`. Stops as debugCatValue() does. */
sds debugCatReply(sds out, slice reply, size_t most);

#endif
