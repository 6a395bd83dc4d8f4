/* script_api.h -- the table `redis` (also called `server`), by which scripts use the server.
 *
 * Runs on: main, within a script that runs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_API_H
#define SCRIPT_SCRIPT_API_H

#include "interpreter.h"

/* Push the table: for functions, for scripts, which have more, and for a library while it is loaded. The last one lacks
 * register_function(), which the caller adds. */
void scriptApiPushForFunctions(lua_State *L);
void scriptApiPush(lua_State *L);
void scriptApiPushForLoading(lua_State *L);

/* --- Commands that a script executes or checks (script_call.c) --- */
/* lua_CFunctions. call() raises the error of a command, pcall() returns it as a table. */
int scriptApiCall(lua_State *L);
int scriptApiPcall(lua_State *L);
int scriptApiAclCheck(lua_State *L);
/* Call at startup. */
void scriptCallInit(void);

#endif
