/* sandbox.h -- what scripts find in their interpreter: the libraries of Valkey's scripts, and nothing that reaches out.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SANDBOX_H
#define SCRIPT_SANDBOX_H

#include "interpreter.h"

/* Open the libraries in a fresh state. `insecure`: scripts have getfenv(), setfenv() and newproxy() as well. `open_api`
 * leaves the table `redis` (and `server`) on the stack. From then on all globals are read-only for scripts; it is
 * protected itself against want of memory: false. */
bool sandboxOpen(interpreter *in, bool insecure, void (*open_api)(lua_State *L)) must_check;
/* As interpreterLoad(), for programs that run more often than once: the function finds globals and libraries directly
 * (direct_globals.h). */
int sandboxLoad(lua_State *L, slice text, const char *name);
/* Make the globals those of sandboxOpen() again, after a script that may have called setfenv(0, ...). Never throws. */
void sandboxRestoreGlobals(lua_State *L);
/* Push the table of globals itself, past its proxy, for who sets KEYS and ARGV. */
void sandboxPushGlobals(lua_State *L);
/* Names that the table on the top of the stack does not have are an error, as with globals. */
void sandboxRefuseMissing(lua_State *L);
/* Take the table on the top of the stack: from now on it is all that code finds as globals, until the real ones are
 * shown again. */
void sandboxShowOnly(lua_State *L);
void sandboxShowGlobals(lua_State *L);

#endif
