/* functions.h -- the libraries whose functions clients can call.
 *
 * Runs on: main; functionsEach() also the only thread of a child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTIONS_H
#define SCRIPT_FUNCTIONS_H

#include "function_table.h"

/* Creates the table. Call at startup. */
void functionsInit(void);
functionTable *functionsInUse(void); /* the table whose functions clients call */
/* Removes all libraries and the state that they have built up; a background thread frees the memory if `async`. Must
 * not be called while a function runs. */
void functionsFlush(bool async);
/* Replaces all libraries by those of `with`, which it takes. */
void functionsExchange(functionTable *with);

/* --- Libraries in files (persist/file/libraries.h) ----------------------------------------------------------- */

/* Calls `take` with the text of each library. */
void functionsEach(void (*take)(void *arg, slice text), void *arg);
/* Adds a library that was read from a file. Returns NULL, or the text of an error, which the caller frees. */
sds functionsTake(slice text, bool replace);
/* Removes all libraries before a file is read. */
void functionsClear(void);

#endif
