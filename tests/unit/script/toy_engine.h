/* toy_engine.h -- a language for tests: each word of a library's text is a function; a word with "!" before it is an
 * error.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOY_ENGINE_H
#define TOY_ENGINE_H

#include "function_table.h"

/* Functions that the engine has created and not yet freed. */
extern int toy_functions;
void toyEngineUse(void);
/* Loads a library in that language, "#!toy name=NAME
 * words", into `t` and checks the error. */
void toyLoad(functionTable *t, const char *text, bool replace, const char *want_error);

#endif
