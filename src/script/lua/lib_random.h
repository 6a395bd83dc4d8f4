/* lib_random.h -- math.random() and math.randomseed(), which give the same numbers on every machine.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LIB_RANDOM_H
#define SCRIPT_LIB_RANDOM_H

#include "interpreter.h"

/* Puts both functions into the global table `math`, which must exist. */
void luaInstallRandom(lua_State *L);

#endif
