/* interpreter.h -- a Lua state whose memory is counted and bounded, which runs text and never bytecode.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_INTERPRETER_H
#define SCRIPT_INTERPRETER_H

#include "slice.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

typedef struct interpreter {
    lua_State *L;                  /* owns */
    size_t memory;                 /* bytes that it has */
    size_t memory_max;             /* and may have */
    unsigned runs;                 /* since the collector was last given a turn */
    bool refused;                  /* it wanted more than there was */
    bool insecure;                 /* its scripts have getfenv(), setfenv() and newproxy() (sandbox.c) */
    int collect_step, collect_all; /* functions in the registry */
} interpreter;

/* A state without any library. It stays where it is. Ends the process when there is no memory: at boot and after a
 * flush. */
void interpreterInit(interpreter *in);
/* Ends the state: all that it has is collected. */
void interpreterFree(interpreter *in);
/* Bytes that it may still have. */
size_t interpreterRoom(lua_State *L);
/* Bytes that it may have in all. */
size_t interpreterMemoryMax(lua_State *L);

/* Bytes of a program's text at most: Lua's parser counts some of them by an int. */
#define SOURCE_MAX ((size_t)512 << 20)

/* As luaL_loadbuffer(), of text only: what begins like bytecode is a syntax error. `name` is as Lua wants it
 * ("@user_script"). Leaves the function or the error's text on the stack; the result is lua_load()'s. Throws when there
 * is no memory. */
int interpreterLoad(lua_State *L, slice text, const char *name);
/* Call `f` without the limit of memory, and end the process if there is none: for what has to succeed after a script,
 * however much that has taken. */
void interpreterMust(lua_State *L, lua_CFunction f);
/* Set the field `name` of the table on the top of the stack to the function `by`. `*before`, unless `before` is NULL,
 * becomes the C function that was there. */
void interpreterReplace(lua_State *L, const char *name, lua_CFunction by, lua_CFunction *before);
/* Between two runs: the collector goes on, a little; behind one that was refused memory all is collected. */
void interpreterPace(interpreter *in);

#endif
