/* lua_values.h -- replies as Lua values, and Lua values as replies.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LUA_VALUES_H
#define SCRIPT_LUA_VALUES_H

#include "client.h"
#include "interpreter.h"

typedef enum { REPLY_VALUE, REPLY_ERROR, REPLY_BROKEN } replyKind;

/* Push the reply at the start of `bytes`, which is RESP2 or RESP3. An error is a table {err = text}. BROKEN: it is not
 * whole, and nothing was pushed. Throws when there is no memory or no stack. */
replyKind luaPushReply(lua_State *L, slice bytes);
/* Push {err = text} of an error with its code in front; `counted`: errorstats has it. */
void luaPushError(lua_State *L, slice text, bool counted);
/* Push {name = text}. */
void luaPushField(lua_State *L, const char *name, slice text);

/* Reply to `c` with the value on the top of the stack and pop it. `resp`: what the script has set. */
void luaReplyValue(lua_State *L, client *c, int resp);

/* The text by which a script names a value that is an argument of a command: a string, or a number in its shortest
 * form, which `digits` has room for. False: neither. The bytes live as long as the value, and `digits`. */
#define LUA_ARG_DIGITS 64
bool luaArgument(lua_State *L, int index, char digits[LUA_ARG_DIGITS], slice *out);

#endif
