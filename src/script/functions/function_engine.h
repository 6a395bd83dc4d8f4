/* function_engine.h -- what the table of functions asks of a language.
 *
 * A language keeps the code of functions and is asked for little: to run the text of a library, which registers its
 * functions, and to forget them again.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_ENGINE_H
#define SCRIPT_FUNCTION_ENGINE_H

#include "sds.h"

typedef struct functionLibrary functionLibrary;

typedef struct functionEngine {
    const char *name; /* as replies show it; in the first line of a library any case will do */
    /* Run the text of a library, without its first line. It calls functionLibraryAdd() for each function. `limited`: it
     * is stopped when it takes too long. NULL, or the text of an error, which is the caller's. */
    sds (*load)(functionLibrary *library, slice code, bool limited);
    /* Let go of a function. */
    void (*forget)(int function);
    /* Let go of all, and of what they have kept; `async`: memory is freed in the background. */
    void (*reset)(bool async);
} functionEngine;

#endif
