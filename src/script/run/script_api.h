/* script_api.h -- the table `redis` (and `server`) that scripts talk to the server with.
 *
 * Runs on: main, within a script that runs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_API_H
#define SCRIPT_SCRIPT_API_H

#include "interpreter.h"

/* Leave the table on the stack: of scripts, of functions, and, without register_function(), of a library that is
 * loaded. */
void scriptApiPush(lua_State *L);
void scriptApiPushForFunctions(lua_State *L);
void scriptApiPushForLoading(lua_State *L);

#endif
