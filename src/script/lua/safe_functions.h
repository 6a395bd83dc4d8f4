/* safe_functions.h -- functions of Lua's own libraries in a form that cannot harm the server.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SAFE_FUNCTIONS_H
#define SCRIPT_SAFE_FUNCTIONS_H

#include "interpreter.h"

/* A script is looked at by a count hook. Its count, in steps of the interpreter, says in which of three states it is:
 * each count must differ, since xpcall and the coroutines recognize a script that is being ended by it. */
enum {
    HOOK_OF_END = 1,         /* the hook raises an error at each step, until no pcall is left to catch it */
    HOOK_OF_YIELD = 2,       /* the setting `yield always`: serve others at every second step */
    STEPS_PER_LOOK = 100000, /* look whether the script has become slow */
};

/* Put them in the place of Lua's, among the globals and in their libraries, all of which are open. */
void safeFunctionsInstall(lua_State *L);

#endif
