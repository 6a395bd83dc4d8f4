/* interpreter.c -- a Lua state whose memory is counted and bounded, which runs text and never bytecode.
 *
 * Lua asks for all of its memory here. What cannot be had is Lua's own error "not enough memory": it ends the script.
 *
 * Not here    what scripts find in it (sandbox.c), running them (script_run.c).
 * Owns        the states.
 * Threads     main.
 * Tests       tests/script/sandbox.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "interpreter.h"

#include "panic.h"
#include "zmalloc.h"

#define RUNS_PER_STEP 64
#define STEP_KB 16
#define BYTECODE_MARK 27 /* LUA_SIGNATURE begins with it */

static size_t memory_max;

static size_t mayHave(void) {
    if (memory_max == 0) memory_max = zmallocTotalSystemMemory() / 2;
    return memory_max;
}

/* lua_Alloc. Shrinking cannot fail, says Lua. */
static void *allocate(void *arg, void *p, size_t old, size_t size) {
    interpreter *in = arg;
    if (size == 0) {
        zfree(p); /* not by its size: a block that could not shrink is larger than Lua knows */
        in->memory -= old;
        return NULL;
    }
    if (unlikely(size > old && in->memory + (size - old) > mayHave())) return NULL;
    void *q = p ? ztryrealloc(p, size) : ztrymalloc(size);
    if (unlikely(!q)) {
        if (size > old) return NULL;
        q = p;
    }
    in->memory += size - old;
    return q;
}

/* An error outside of any protected call: a fault of ours. */
static int atPanic(lua_State *L) {
    const char *what = lua_tostring(L, -1);
    serverPanic("Lua: %s", what ? what : "an error that is no text");
    return 0;
}

void interpreterInit(interpreter *in) {
    in->memory = 0;
    in->runs = 0;
    in->L = lua_newstate(allocate, in);
    if (!in->L) serverPanic("There is no memory for a Lua interpreter.");
    lua_atpanic(in->L, atPanic);
}

void interpreterFree(interpreter *in) {
    lua_close(in->L);
    in->L = NULL;
    serverAssert(in->memory == 0);
}

/* Of a state or one of its coroutines. */
static interpreter *interpreterOf(lua_State *L) {
    void *in = NULL;
    lua_getallocf(L, &in);
    return in;
}

size_t interpreterRoom(lua_State *L) {
    const interpreter *in = interpreterOf(L);
    return in->memory < mayHave() ? mayHave() - in->memory : 0;
}

typedef struct textReader {
    slice rest;
    bool begun;
} textReader;

/* lua_Reader: a blank goes before what Lua would take for bytecode. */
static const char *readText(lua_State *L, void *arg, size_t *size) {
    unused(L);
    textReader *r = arg;
    if (!r->begun && r->rest.len && r->rest.ptr[0] == BYTECODE_MARK) {
        r->begun = true;
        *size = 1;
        return " ";
    }
    *size = r->rest.len;
    r->begun = true;
    r->rest.len = 0;
    return *size ? r->rest.ptr : NULL;
}

/* The parser does not keep the name alive, and the collector may run meanwhile: it lies on the stack until the end. */
int interpreterLoad(lua_State *L, slice text, const char *name) {
    textReader reader = {.rest = text};
    if (text.len > SOURCE_MAX) {
        lua_pushliteral(L, "chunk is too long");
        return LUA_ERRSYNTAX;
    }
    lua_pushstring(L, name);
    int result = lua_load(L, readText, &reader, name);
    lua_remove(L, -2);
    return result;
}

void interpreterPace(interpreter *in) {
    if (++in->runs % RUNS_PER_STEP == 0) lua_gc(in->L, LUA_GCSTEP, STEP_KB);
}
