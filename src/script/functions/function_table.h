/* function_table.h -- libraries by their names, and functions of all of them by theirs.
 *
 * There is one that clients call functions of; others are made to be joined with it, so that what is wrong with one
 * library of many changes nothing.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_TABLE_H
#define SCRIPT_FUNCTION_TABLE_H

#include "function_library.h"

typedef struct functionTable {
    dict *libraries; /* owns: functionLibrary */
    dict *functions; /* libraryFunction, any case; of two of one library that differ by case alone, one */
    size_t bytes;    /* of libraries */
    size_t count;    /* of functions */
} functionTable;

functionTable *functionTableCreate(void);
/* `forget`: as in functionLibraryFree(). */
void functionTableFree(functionTable *t, bool forget);

/* How a text becomes a library. */
typedef struct functionLoading {
    bool replace; /* one of that name goes */
    bool limited; /* the text may not run for long */
} functionLoading;

/* Make a library of `text`. The table is unchanged when there is an error: NULL, and *error is the caller's. */
const functionLibrary *functionTableLoad(functionTable *t, slice text, functionLoading how, sds *error);
/* Take over the libraries of `from`, all of them or none. NULL: `from` is empty now; or the text of an error, which is
 * the caller's. */
sds functionTableJoin(functionTable *t, functionTable *from, bool replace) must_check;
/* False: there is none. */
bool functionTableDelete(functionTable *t, slice name);

/* Any case; NULL: there is none. */
const libraryFunction *functionTableFind(const functionTable *t, slice name);
/* What keeping them takes here. */
size_t functionTableMemory(const functionTable *t);

/* Boot: the language. */
void functionEngineSet(const functionEngine *engine);
const functionEngine *functionEngineOnly(void);

#endif
