/* function_library.h -- one library: its name, its text, its functions, and the language that they are written in.
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
#include "sds.h"

typedef struct functionLibrary functionLibrary;

/* The interface that a scripting language implements: it holds the code of functions, runs the text of a library, which
 * registers its functions, and frees functions again. */
typedef struct functionEngine {
    const char *name; /* as replies show it; the first line of a library may write it in any case */
    /* Runs the text of a library without its first line. It calls functionLibraryAdd() for each function. `limited`
     * stops it if it takes too long. Returns NULL, or the text of an error, which the caller frees. */
    sds (*load)(functionLibrary *library, slice code, bool limited);
    /* Frees a function. */
    void (*forget)(int function);
    /* Frees all functions and the state that they have built up; a background thread frees the memory if `async`. */
    void (*reset)(bool async);
} functionEngine;

typedef struct libraryFunction {
    sds name;                       /* owns */
    sds description;                /* owns; NULL if there is none */
    uint32_t flags;                 /* SCRIPT_ */
    int function;                   /* reference of the engine */
    const functionLibrary *library; /* borrowed: the library that it belongs to */
} libraryFunction;

struct functionLibrary {
    sds name; /* owns */
    sds text; /* owns: the whole text */
    const functionEngine *engine;
    dict *functions; /* owns: libraryFunction, by name */
    size_t bytes;    /* memory that the library takes, without the engine's */
};

/* The contents of a library's first line. */
typedef struct libraryHead {
    sds name;   /* owns */
    sds engine; /* owns */
    slice code; /* borrowed from the text: what follows the name, from the end of the first line on */
} libraryHead;

/* Parses the first line of a library. Returns NULL, or the text of an error, which the caller frees; the head is then
 * empty. */
sds libraryReadHead(slice text, libraryHead *head) must_check;
void libraryHeadFree(libraryHead *head); /* frees its strings and empties it */

/* Creates a library by running its text, whose first line is `head`. Returns NULL on an error, with its text in *error,
 * which the caller frees. */
functionLibrary *functionLibraryCreate(slice text, const libraryHead *head, const functionEngine *engine, bool limited,
                                       sds *error);
/* Frees a library. With `forget` the engine frees its functions, too; call on main then, else on any thread. */
void functionLibraryFree(functionLibrary *library, bool forget);

/* Adds a function to the library that is being loaded; engines call it. `description` may be NULL. Returns NULL, or the
 * text of an error, which is a constant. */
const char *functionLibraryAdd(functionLibrary *library, slice name, const slice *description, uint32_t flags,
                               int function) must_check;

#endif
