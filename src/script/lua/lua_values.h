/* lua_values.h -- replies as Lua values, Lua values as replies, and errors of scripts.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LUA_VALUES_H
#define SCRIPT_LUA_VALUES_H

#include "client.h"
#include "interpreter.h"

typedef enum { REPLY_VALUE, REPLY_ERROR, REPLY_BROKEN } replyKind;

/* Pushes the reply at the start of `bytes`, which is RESP2 or RESP3. An error becomes a table {err = text}. Returns
 * REPLY_BROKEN, and pushes nothing, if the reply is incomplete. Throws if there is no memory or stack. */
replyKind luaPushReply(lua_State *L, slice bytes);
/* Pushes {err = text} for an error that begins with its code; `counted` means that errorstats has counted it. */
void luaPushError(lua_State *L, slice text, bool counted);
/* Pushes {name = text}. */
void luaPushField(lua_State *L, const char *name, slice text);

/* Replies to `c` with the value on the top of the stack and pops it. `resp` is the protocol version that the script has
 * chosen. */
void luaReplyValue(lua_State *L, client *c, int resp);

/* Gets the text of a value that is an argument of a command: a string, or a number in its shortest form, which is
 * written to `digits`. Returns false if it is neither. The text is valid as long as the value and `digits`. */
#define LUA_ARG_DIGITS 64
bool luaArgument(lua_State *L, int index, char digits[LUA_ARG_DIGITS], slice *out);

/* --- Errors as tables (script_error.c) --- */
/* Raises the error {err = text}. */
int scriptRaise(lua_State *L, const char *text);
/* lua_CFunction, the error handler of runs: replaces the error on the stack by a table {err, source, line}. */
int scriptErrorHandler(lua_State *L);

#endif
