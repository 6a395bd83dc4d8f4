/* proxy_object.h -- newproxy(): a userdata whose metatable a script can change.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_PROXY_OBJECT_H
#define SCRIPT_PROXY_OBJECT_H

#include "interpreter.h"

/* lua_CFunction: newproxy([boolean or proxy]). Finalizers (`__gc`) are ignored. */
int proxyObjectNew(lua_State *L);

#endif
