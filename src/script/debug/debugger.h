/* debugger.h -- a script that runs line by line at the word of its client.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUGGER_H
#define SCRIPT_DEBUGGER_H

#include "connection.h"
#include "interpreter.h"

typedef enum { PEER_GONE_RUNS_ON, PEER_GONE_ENDS } peerGone;
/* One session at a time: from here on what runs with debuggerHook() stops before its first line. The connection is
 * borrowed; `gone`: what the script does when there is nobody at its other end any more. */
void debuggerBegin(connection *conn, slice text, peerGone gone);
/* Tell the client that this was all; `last` goes behind it as it is. `closes`: nothing follows, so the peer is given a
 * moment to read it all. */
void debuggerEnd(slice last, bool closes);
bool debuggerIsActive(void);

#define DEBUGGER_HOOK_MASK (LUA_MASKLINE | LUA_MASKCOUNT)
/* lua_Hook of what is debugged, for these events. */
void debuggerHook(lua_State *L, lua_Debug *place);

/* redis.breakpoint(): stop at the next line. False: there is no session. */
bool debuggerBreak(void);
/* redis.debug(): the values on the stack. Nothing, without a session. */
void debuggerNote(lua_State *L);
/* A command of the script, and its reply: shown when the client steps over it. */
void debuggerNoteCommand(const slice *argv, uint32_t argc);
void debuggerNoteReply(slice reply);

#endif
