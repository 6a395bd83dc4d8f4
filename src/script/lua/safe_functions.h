/* safe_functions.h -- replacements for functions of Lua's own libraries that could harm the server.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SAFE_FUNCTIONS_H
#define SCRIPT_SAFE_FUNCTIONS_H

#include "interpreter.h"

/* A count hook watches each script. Its count, in steps of the interpreter, tells in which of three states the script
 * is. The counts must differ: xpcall() and coroutines recognize by the count that a script is being killed. */
enum {
    HOOK_OF_END = 1,          /* the hook raises an error at each step, until no pcall() is left to catch it */
    HOOK_OF_YIELD = 2,        /* the setting `yield always`: other clients are served at every second step */
    STEPS_PER_CHECK = 100000, /* check whether the script has become slow */
};

/* Replaces Lua's functions among the globals and in the libraries, all of which must be open. */
void safeFunctionsInstall(lua_State *L);

#endif
