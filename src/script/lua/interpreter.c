/* interpreter.c -- a Lua state whose memory is counted and limited, and which runs text but never bytecode.
 *
 * Lua allocates all of its memory here. If that fails Lua raises its own error "not enough memory", which ends the
 * script.
 *
 * Not here    the libraries of scripts (sandbox.c), running scripts (script_run.c).
 * Owns        the states.
 * Threads     main.
 * Tests       tests/unit/script/lua/interpreter_test.c, tests/script/sandbox.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "interpreter.h"

#include "long_brackets.h"
#include "panic.h"
#include "zmalloc.h"

#include <setjmp.h>

#define RUNS_PER_STEP 64
#define STEP_KB 16
#define BYTECODE_MARK 27 /* LUA_SIGNATURE begins with it */

#ifdef BUILT_WITH_TSAN
/* A hardened Lua raises its errors with this function. ThreadSanitizer knows longjmp only by its other names, and would
 * count the frames that are left here as still running until it runs out of space for them. */
__attribute__((visibility("default"))) noreturn_fn void __longjmp_chk(jmp_buf env, int value);

void __longjmp_chk(jmp_buf env, int value) { longjmp(env, value); }
#endif

/* lua_Alloc. Lua assumes that shrinking cannot fail. */
static void *allocate(void *arg, void *p, size_t old, size_t size) {
    interpreter *in = arg;
    if (size == 0) {
        zfree(p); /* without a size: a block that could not shrink is larger than Lua knows */
        in->memory -= old;
        return NULL;
    }
    bool allowed = size <= old || in->memory + (size - old) <= in->memory_max;
    void *q = !allowed ? NULL : p ? ztryrealloc(p, size) : ztrymalloc(size);
    if (unlikely(!q)) {
        in->refused = true;
        if (size > old) return NULL;
        q = p;
    }
    in->memory += size - old;
    return q;
}

/* Called for an error outside of any protected call, which is a bug in this program. */
static int onPanic(lua_State *L) {
    const char *what = lua_tostring(L, -1);
    serverPanic("Lua: %s", what ? what : "error object is not a string");
    return 0;
}

static int collectStep(lua_State *L) {
    lua_gc(L, LUA_GCSTEP, STEP_KB);
    return 0;
}

static int collectAll(lua_State *L) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    return 0;
}

/* Keeps functions that call the collector, because no memory may be left to create them when they are needed. */
static int keepCollectors(lua_State *L) {
    interpreter *in = lua_touserdata(L, 1);
    lua_pushcfunction(L, collectStep);
    in->collect_step = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushcfunction(L, collectAll);
    in->collect_all = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

void interpreterInit(interpreter *in) {
    in->memory = 0;
    in->memory_max = zmallocTotalSystemMemory() / 2;
    in->runs = 0;
    in->refused = in->insecure = false;
    in->L = lua_newstate(allocate, in);
    if (!in->L) serverPanic("Cannot create a Lua interpreter: out of memory");
    lua_atpanic(in->L, onPanic);
    if (lua_cpcall(in->L, keepCollectors, in) != 0) serverPanic("Cannot create a Lua interpreter: out of memory");
}

void interpreterFree(interpreter *in) {
    lua_close(in->L);
    in->L = NULL;
    serverAssert(in->memory == 0);
}

/* Returns the interpreter of a state or of one of its coroutines. */
static interpreter *interpreterOf(lua_State *L) {
    void *in = NULL;
    lua_getallocf(L, &in);
    return in;
}

size_t interpreterFreeMemory(lua_State *L) {
    const interpreter *in = interpreterOf(L);
    return in->memory < in->memory_max ? in->memory_max - in->memory : 0;
}

size_t interpreterMemoryMax(lua_State *L) { return interpreterOf(L)->memory_max; }

typedef struct textReader {
    slice text;
    size_t at;       /* bytes of it that are in pieces */
    slice pieces[5]; /* to be read next; borrowed */
    int count, next;
} textReader;

static void addPiece(textReader *r, const char *ptr, size_t len) { r->pieces[r->count++] = sliceOf(ptr, len); }

/* Cuts the text into pieces: inserts a blank before what Lua would take for bytecode, and equals signs into long
 * brackets that Lua would refuse. */
static void cutPieces(textReader *r) {
    static const char equals[LONG_BRACKET_LEVEL_MAX + 1] = "================================";
    const char *text = r->text.ptr;
    longBracket b;
    r->next = r->count = 0;
    if (r->at == 0 && r->text.len && text[0] == BYTECODE_MARK) addPiece(r, " ", 1);
    if (longBracketsFind(r->text, r->at, &b)) {
        addPiece(r, text + r->at, b.begin - r->at);
        addPiece(r, equals, (size_t)b.level);
        addPiece(r, text + b.begin, b.end - b.begin);
        addPiece(r, equals, (size_t)b.level);
        r->at = b.end;
    } else if (r->at < r->text.len) {
        addPiece(r, text + r->at, r->text.len - r->at);
        r->at = r->text.len;
    }
}

/* lua_Reader. */
static const char *readText(lua_State *L, void *arg, size_t *size) {
    unused(L);
    textReader *r = arg;
    if (r->next == r->count) cutPieces(r);
    if (r->next == r->count) return NULL;
    *size = r->pieces[r->next].len;
    return r->pieces[r->next++].ptr;
}

/* The parser does not keep the name alive, and the collector may run meanwhile: so the name stays on the stack until
 * the end. */
int interpreterLoad(lua_State *L, slice text, const char *name) {
    textReader reader = {.text = text};
    if (text.len > SOURCE_MAX) {
        lua_pushliteral(L, "chunk is too long");
        return LUA_ERRSYNTAX;
    }
    lua_pushstring(L, name);
    int result = lua_load(L, readText, &reader, name);
    lua_remove(L, -2);
    return result;
}

void interpreterReplace(lua_State *L, const char *name, lua_CFunction by, lua_CFunction *before) {
    if (before) {
        lua_getfield(L, -1, name);
        *before = lua_tocfunction(L, -1);
        lua_pop(L, 1);
    }
    lua_pushcfunction(L, by);
    lua_setfield(L, -2, name);
}

void interpreterMust(lua_State *L, lua_CFunction f) {
    interpreter *in = interpreterOf(L);
    size_t max = in->memory_max;
    in->memory_max = SIZE_MAX;
    if (lua_cpcall(L, f, NULL) != 0) serverPanic("Cannot create a Lua interpreter: out of memory");
    in->memory_max = max;
}

/* The collector may need memory, for a smaller table of strings, and makes no progress without it: so the limit of
 * scripts does not apply to it. */
void interpreterCollect(interpreter *in) {
    if (likely(++in->runs % RUNS_PER_STEP != 0 && !in->refused)) return;
    size_t max = in->memory_max;
    in->memory_max = SIZE_MAX;
    lua_rawgeti(in->L, LUA_REGISTRYINDEX, in->refused ? in->collect_all : in->collect_step);
    if (lua_pcall(in->L, 0, 0, 0) != 0) lua_pop(in->L, 1);
    in->memory_max = max;
    in->refused = false;
}
