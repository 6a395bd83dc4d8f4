/* debugger.h -- the debugger: runs a script line by line, as its client commands.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUGGER_H
#define SCRIPT_DEBUGGER_H

#include "connection.h"
#include "interpreter.h"

typedef enum { ON_CLOSE_CONTINUE, ON_CLOSE_END } closeAction;
/* Begins a debugger run: a script with debuggerHook() stops before its first line. The connection is borrowed.
 * `on_close` says whether the script continues or ends if the client closes the connection. Only one run at a time. */
void debuggerBegin(connection *conn, slice text, closeAction on_close);
/* Reports the end of the run to the client. If `closes`, the bytes `last` follow, nothing is sent after them, and the
 * peer gets a moment to read it all. */
void debuggerEnd(slice last, bool closes);
bool debuggerIsActive(void); /* between debuggerBegin() and debuggerEnd() */

#define DEBUGGER_HOOK_MASK (LUA_MASKLINE | LUA_MASKCOUNT)
/* lua_Hook of a debugged script, for these events. */
void debuggerHook(lua_State *L, lua_Debug *frame);

/* redis.breakpoint(): stops at the next line. Returns false without a debugger run. */
bool debuggerBreak(void);
/* redis.debug(): prints the values on the stack. No-op without a debugger run. */
void debuggerPrintValues(lua_State *L);
/* Print a command of the script and its reply, if the client is stepping. */
void debuggerPrintCommand(const slice *argv, uint32_t argc);
void debuggerPrintReply(slice reply);

#endif
