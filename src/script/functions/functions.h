/* functions.h -- the libraries that clients call functions of.
 *
 * Runs on: main; functionsEach() also the only thread of a child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTIONS_H
#define SCRIPT_FUNCTIONS_H

#include "function_table.h"

/* Boot. */
void functionsInit(void);
functionTable *functionsInUse(void);
/* All go, and what they have kept; `async`: memory is freed in the background. Not while one runs. */
void functionsFlush(bool async);
/* The libraries of `with` take the place of all. */
void functionsExchange(functionTable *with);

/* --- What files keep of them (persist/file/libraries.h)
 * ---------------------------------------------------------------- */

void functionsEach(void (*take)(void *arg, slice text), void *arg);
/* A file has a library. NULL, or the text of an error, which is the caller's. */
sds functionsTake(slice text, bool replace);
/* A file is read, and what is there goes. */
void functionsClear(void);

#endif
