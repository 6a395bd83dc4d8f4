/* toy_engine.h -- a language for tests: each word of a library's text is a function; "!" in front of one is an error.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOY_ENGINE_H
#define TOY_ENGINE_H

#include "function_table.h"

/* Functions that the toy has and has not been told to forget. */
extern int toy_functions;
void toyEngineUse(void);
/* The text of a library in that language; "#!toy name=NAME\nwords". Loads it into `t` and checks the error. */
void toyLoad(functionTable *t, const char *text, bool replace, const char *want_error);

#endif
