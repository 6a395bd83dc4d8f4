/* script_error.h -- errors of scripts as tables: the text, and the line that raised the error.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_ERROR_H
#define SCRIPT_SCRIPT_ERROR_H

#include "interpreter.h"

/* Raises the error {err = text}. */
int scriptRaise(lua_State *L, const char *text);
/* lua_CFunction, the error handler of runs: replaces the error on the stack by a table {err, source, line}. */
int scriptErrorHandler(lua_State *L);

#endif
