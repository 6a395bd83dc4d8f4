/* script_call.h -- redis.call(), redis.pcall() and redis.acl_check_cmd(): commands that a script executes or checks.
 *
 * Runs on: main, within a script that runs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_CALL_H
#define SCRIPT_SCRIPT_CALL_H

#include "interpreter.h"

/* lua_CFunctions. call() raises the error of a command, pcall() returns it as a table. */
int scriptApiCall(lua_State *L);
int scriptApiPcall(lua_State *L);
int scriptApiAclCheck(lua_State *L);

/* Call at startup. */
void scriptCallInit(void);

#endif
