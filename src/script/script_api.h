/* script_api.h -- the table `redis` (and `server`) that scripts talk to the server with.
 *
 * Runs on: main, within a script that runs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_API_H
#define SCRIPT_SCRIPT_API_H

#include "interpreter.h"

/* Leave the table of what both scripts and functions have on the stack. */
void scriptApiPush(lua_State *L);
#endif
