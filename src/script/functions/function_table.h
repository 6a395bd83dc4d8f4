/* function_table.h -- libraries by their names, and the functions of all of them by theirs.
 *
 * Clients call the functions of one such table. Other tables are made to be joined with it, so that an error in one of
 * several libraries changes nothing.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_TABLE_H
#define SCRIPT_FUNCTION_TABLE_H

#include "function_library.h"

typedef struct functionTable {
    dict *libraries; /* owns: functionLibrary, by name */
    dict *functions; /* borrowed: libraryFunction, by name in any case; of two in one library that differ only by case,
                      * one */
    size_t bytes;    /* memory of all libraries */
    size_t count;    /* number of functions in all libraries */
} functionTable;

functionTable *functionTableCreate(void); /* returns an empty table */
/* Frees a table and its libraries. `forget` is that of functionLibraryFree(). */
void functionTableFree(functionTable *t, bool forget);

/* Options for loading a library. */
typedef struct functionLoading {
    bool replace; /* a library of the same name is replaced */
    bool limited; /* the text may not run for long */
} functionLoading;

/* Adds the library that `text` defines. Returns NULL on an error, which leaves the table unchanged; the caller frees
 * *error. */
const functionLibrary *functionTableLoad(functionTable *t, slice text, functionLoading how, sds *error);
/* Moves all libraries of `from` into `t`, or none. Returns NULL if it has: `from` is then empty. Otherwise returns the
 * text of an error, which the caller frees. */
sds functionTableJoin(functionTable *t, functionTable *from, bool replace) must_check;
/* Removes and frees a library. Returns false if there is none of that name. */
bool functionTableDelete(functionTable *t, slice name);

/* Returns the function of that name in any case, or NULL. */
const libraryFunction *functionTableFind(const functionTable *t, slice name);
/* Returns the memory of the table and its libraries. */
size_t functionTableMemory(const functionTable *t);

/* Sets the only scripting language. Call at startup. */
void functionEngineSet(const functionEngine *engine);
const functionEngine *functionEngineOnly(void); /* returns it */

/* --- Libraries as bytes (function_dump.c) --- */
/* Returns the payload, which the caller frees. */
sds functionDump(const functionTable *t);
/* Loads the libraries of a payload of functionDump() into `t`. `relaxed` accepts any RDB version. Returns NULL, or the
 * text of an error, which the caller frees; the table may then have some of the libraries. */
sds functionDumpLoad(functionTable *t, slice payload, bool relaxed, functionLoading how) must_check;

#endif
