/* function_engine.h -- the interface that a scripting language implements for the table of functions.
 *
 * A language holds the code of functions. It has to run the text of a library, which registers its functions, and to
 * free functions again.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_ENGINE_H
#define SCRIPT_FUNCTION_ENGINE_H

#include "sds.h"

typedef struct functionLibrary functionLibrary;

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

#endif
