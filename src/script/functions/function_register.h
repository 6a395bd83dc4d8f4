/* function_register.h -- redis.register_function(): a library names its functions while it is loaded.
 *
 *   redis.register_function('name', callback)
 *   redis.register_function{function_name='name', callback=f, flags={'no-writes'}, description='what it does'}
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_REGISTER_H
#define SCRIPT_FUNCTION_REGISTER_H

#include "function_library.h"
#include "interpreter.h"

/* Sets the library to which functions are added from now on; with NULL each attempt is an error. */
void functionRegisterFor(functionLibrary *library);
/* Returns the error with which the library has refused the last function since then, or NULL. */
const char *functionRegisterRefused(void);
/* lua_CFunction. */
int functionRegister(lua_State *L);

#endif
