/* script_error.h -- errors of scripts as tables: the text, and the place that raised it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_ERROR_H
#define SCRIPT_SCRIPT_ERROR_H

#include "interpreter.h"

/* Raise the error {err = text}. */
int scriptRaise(lua_State *L, const char *text);
/* lua_CFunction: the error on the stack becomes a table {err, source, line} of the place that raised it. What runs is
 * called with it as its error handler. */
int scriptErrorHandler(lua_State *L);

#endif
