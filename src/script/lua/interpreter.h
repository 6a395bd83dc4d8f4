/* interpreter.h -- a Lua state whose memory is counted and limited, and which runs text but never bytecode.
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
    size_t memory;                 /* bytes that it has allocated */
    size_t memory_max;             /* limit of `memory` */
    unsigned runs;                 /* runs, for the rate of the garbage collector */
    bool refused;                  /* an allocation was refused since the last interpreterCollect() */
    bool insecure;                 /* its scripts have getfenv(), setfenv() and newproxy() (sandbox.c) */
    int collect_step, collect_all; /* functions of the garbage collector, in the registry */
} interpreter;

/* Creates a state without any library. The struct must not move. Ends the process if there is no memory: it runs only
 * at startup and after a flush. */
void interpreterInit(interpreter *in);
/* Ends the state and frees all of its memory. */
void interpreterFree(interpreter *in);
/* Returns the bytes that the state may still allocate. */
size_t interpreterFreeMemory(lua_State *L);
/* Returns the limit of the state's memory. */
size_t interpreterMemoryMax(lua_State *L);

/* The longest text of a script: Lua's parser has counters of type int, which must not overflow. */
#define SOURCE_MAX ((size_t)512 << 20)

/* Same as luaL_loadbuffer(), but for text only: what begins like bytecode is a syntax error. `name` is in Lua's form
 * ("@user_script"). Pushes the function or the text of the error, and returns the result of lua_load(). Throws if there
 * is no memory. */
int interpreterLoad(lua_State *L, slice text, const char *name);
/* Returns the string or number at `index`, which becomes a string on the stack; the slice is NULL for other values. */
static inline slice luaText(lua_State *L, int index) {
    slice text;
    text.ptr = lua_tolstring(L, index, &text.len);
    return text;
}
/* Calls `f` without the memory limit, and ends the process if there is no memory: for calls that must succeed after a
 * script, however much that has allocated. */
void interpreterMust(lua_State *L, lua_CFunction f);
/* Sets the field `name` of the table on the top of the stack to the function `by`. Stores the C function that was there
 * in *before, unless `before` is NULL. */
void interpreterReplace(lua_State *L, const char *name, lua_CFunction by, lua_CFunction *before);
/* Runs the garbage collector between two runs: a small step now and then, a full collection if an allocation was
 * refused. */
void interpreterCollect(interpreter *in);

#endif
