/* sandbox.h -- the globals and libraries of scripts: those of Valkey, and none that reaches outside of the interpreter.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SANDBOX_H
#define SCRIPT_SANDBOX_H

#include "interpreter.h"

/* Opens the libraries in a fresh state. With `insecure` scripts also have getfenv(), setfenv() and newproxy().
 * `open_api` pushes the table `redis` (also called `server`). Afterwards all globals are read-only for scripts. Returns
 * false if there is no memory. */
bool sandboxOpen(interpreter *in, bool insecure, void (*open_api)(lua_State *L)) must_check;
/* Same as interpreterLoad(), for scripts that run more than once: the function finds globals and libraries directly
 * (direct_globals.h). */
int sandboxLoad(lua_State *L, slice text, const char *name);
/* Makes the globals those of sandboxOpen() again, after a script that may have called setfenv(0, ...). Never throws. */
void sandboxRestoreGlobals(lua_State *L);
/* Pushes the real table of globals instead of its proxy, to set KEYS and ARGV. */
void sandboxPushGlobals(lua_State *L);
/* Makes it an error to read a missing field of the table on the top of the stack, as with globals. */
void sandboxRefuseMissing(lua_State *L);
/* Pops the table on the top of the stack and makes it the only globals that code sees, until sandboxShowGlobals(). */
void sandboxShowOnly(lua_State *L);
void sandboxShowGlobals(lua_State *L); /* makes the real globals visible again */

#endif
