/* function_library.h -- one library: its name, its text, its functions.
 *
 *   #!lua name=mylib
 *   redis.register_function('myfunc', function(keys, args) return args[1] end)
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_LIBRARY_H
#define SCRIPT_FUNCTION_LIBRARY_H

#include "dict.h"
#include "function_engine.h"

typedef struct libraryFunction {
    sds name;        /* owns */
    sds description; /* owns; NULL: it has none */
    uint32_t flags;  /* SCRIPT_ */
    int function;    /* the engine's */
    const functionLibrary *library;
} libraryFunction;

struct functionLibrary {
    sds name; /* owns */
    sds text; /* owns: all of it */
    const functionEngine *engine;
    dict *functions; /* owns: libraryFunction, by their names */
    size_t bytes;    /* what it takes here */
};

/* What the first line says. */
typedef struct libraryHead {
    sds name;   /* owns */
    sds engine; /* owns */
    slice code; /* borrowed from the text: what follows, with the end of the first line */
} libraryHead;

/* NULL, or the text of an error, which is the caller's; the head is then empty. */
sds libraryReadHead(slice text, libraryHead *head) must_check;
void libraryHeadFree(libraryHead *head);

/* Run the text of a library with that head. NULL, and *error is the caller's. */
functionLibrary *functionLibraryCreate(slice text, const libraryHead *head, const functionEngine *engine, bool limited,
                                       sds *error);
/* `forget`: the engine still has its functions. Without it, on any thread. */
void functionLibraryFree(functionLibrary *library, bool forget);

/* For engines: the library that is loaded has a function. `description` may be NULL. The text of an error, which stays
 * where it is, or NULL. */
const char *functionLibraryAdd(functionLibrary *library, slice name, const slice *description, uint32_t flags,
                               int function) must_check;

#endif
