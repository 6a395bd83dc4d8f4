/* function_register.h -- redis.register_function(): a library that is loaded names its functions.
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

/* From now on functions are registered with `library`; NULL: with none, and the attempt is an error. */
void functionRegisterFor(functionLibrary *library);
/* Why the library has refused a function since then; NULL: it has not. */
const char *functionRegisterRefused(void);
/* lua_CFunction. */
int functionRegister(lua_State *L);

#endif
