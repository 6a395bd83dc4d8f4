/* sandbox.h -- what scripts find in their interpreter: the libraries of Valkey's scripts, and nothing that reaches out.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SANDBOX_H
#define SCRIPT_SANDBOX_H

#include "interpreter.h"

/* Open the libraries in a fresh state. `open_api` leaves the table `redis` (and `server`) on the stack. From then on
 * all globals are read-only for scripts; it is protected itself against want of memory: false. */
bool sandboxOpen(interpreter *in, void (*open_api)(lua_State *L)) must_check;
/* Push the table of globals itself, past its proxy, for who sets KEYS and ARGV. */
void sandboxPushGlobals(lua_State *L);

#endif
