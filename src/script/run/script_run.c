/* script_run.c -- runs a script or function: what it may do, how it is called, how it is killed.
 *
 * All that can fail for lack of memory happens in one protected call: the tables KEYS and ARGV, the function, and the
 * reply with its result. After many steps a hook reads the clock. Past the threshold it lets other clients be served,
 * and if one of them kills the script, it raises an error at each step from then on, so that no pcall() can catch the
 * end.
 *
 * Not here    the commands that run scripts (eval.c), the commands that scripts run (script_call.c).
 * Owns        the client that executes commands for scripts.
 * Threads     main.
 *   IDLE --scriptCallRun()--> RUNS --past the threshold--> SLOW (other clients are served)
 *    ^                          '--------- ended, killed ------'--scriptKill()--> KILLED: ends at its next step
 * Invariants  1. `running` is set exactly while a script runs; no second one runs meanwhile.
 *             2. Between two scripts that client has no replies, and the interpreter's stack has only its bottom.
 *             3. A script that has written is not killed.
 * Tests       tests/script/eval.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_run.h"

#include "bio.h"
#include "command_table.h"
#include "debugger.h"
#include "engine_settings.h"
#include "log.h"
#include "lua_values.h"
#include "panic.h"
#include "reply.h"
#include "safe_functions.h"
#include "sandbox.h"
#include "script_settings.h"
#include "store_state.h"
#include "yield.h"
#include "zmalloc.h"

static client *self;       /* owns */
static scriptRun *running; /* borrowed */

/* Asserts the invariants. Called before and after each function that runs a script or that other clients may call
 * meanwhile. */
static void runCheck(void) {
    if (!running) {
        debugAssert(!self || self->output_bytes == 0);
        return;
    }
    const scriptCall *call = running->call;
    const scriptContext *p = &running->context;
    debugAssert(p->self == self && p->caller != self && (running->resp == 2 || running->resp == 3));
    debugAssert(FIRST_KEY_ARG + call->keys <= p->caller->argc);
    debugAssert(p->read_only == (call->read_only || call->flags & SCRIPT_NO_WRITES));
    debugAssert(!running->killed || !p->has_written);
    debugAssert(!p->has_written || !p->read_only);
    unused(call), unused(p);
}

scriptRun *scriptRunning(void) { return running; }

void scriptRunInit(void) {
    assertMainRole();
    self = scriptContextClientCreate();
}

/* --- Long ones --------------------------------------------------------------------------------------------------- */

const char *scriptBusyError(void) {
    if (!running) return NULL;
    return running->call->name
               ? "-BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
               : "-BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
}

/* Serves other clients. Below the threshold, where only the setting "yield always" does this, clients whose commands
 * may not run have to wait. */
static void serveOthers(void) {
    const yieldJob job = {.allowed = CMD_ALLOW_BUSY, .error = running->slow ? scriptBusyError() : NULL};
    int64_t now_ms = storeNowMs(); /* a script sees keys expire as of one moment, from its start to its end */
    const scriptRun *before = running;
    runCheck();
    yieldNow(&job);
    debugAssert(running == before);
    runCheck();
    storeSetNowMs(now_ms);
    if (running->slow) scriptContextClockUpdate();
}

static void checkSlow(void) {
    long long threshold = script_settings.busy_reply_threshold_ms;
    uint64_t ms = clockTicksToNs(clockTicks() - running->started) / 1000000;
    if (threshold == 0 || ms < (uint64_t)threshold) return;
    running->slow = true;
    serverLog(LL_WARNING,
              "Slow script detected: still in execution after %llu milliseconds. You can try killing the script "
              "using the %s KILL command.",
              (unsigned long long)ms, running->call->name ? "FUNCTION" : "SCRIPT");
}

static void onSteps(lua_State *L, lua_Debug *frame) {
    unused(frame);
    if (!running->slow) checkSlow();
    if (!running->killed && (running->slow || engine_settings.yield == YIELD_ALWAYS)) serveOthers();
    if (!running->killed) return;
    lua_sethook(L, onSteps, LUA_MASKCOUNT, HOOK_OF_END);
    luaPushError(L,
                 sliceStr(running->call->name ? "ERR Script killed by user with FUNCTION KILL."
                                              : "ERR Script killed by user with SCRIPT KILL."),
                 false);
    lua_error(L);
}

killResult scriptKill(bool function) {
    assertMainRole();
    runCheck();
    if (!running) return KILL_NOTHING;
    if (function != (running->call->name != NULL)) return KILL_OTHER_KIND;
    if (running->context.has_written) return KILL_HAS_WRITTEN;
    running->killed = true;
    runCheck();
    return KILL_DONE;
}

/* --- Running ------------------------------------------------------------------------------------------------------ */

bool scriptReadKeyCount(client *c, const char *not_number, uint32_t *keys) {
    long long count;
    if (!getLongLongFromArg(c, NUMKEYS_ARG, &count, not_number)) return false;
    *keys = (uint32_t)count;
    if (count >= 0 && count <= (long long)c->argc - FIRST_KEY_ARG) return true;
    addReplyError(c, count < 0 ? "Number of keys can't be negative"
                               : "Number of keys can't be greater than number of args");
    return false;
}

static void pushArguments(lua_State *L, const client *c, uint32_t from, uint32_t end) {
    lua_createtable(L, (int)(end - from), 0);
    for (uint32_t i = from; i < end; i++) {
        lua_pushlstring(L, c->argv[i].ptr, c->argv[i].len);
        lua_rawseti(L, -2, (int)(i - from) + 1);
    }
}

/* The bottom of the interpreter's stack, which each run needs, and the upvalues of the function at RUN_AT. */
enum { HANDLER_AT = 1, RUN_AT, ERROR_AT, BOTTOM = ERROR_AT };
#define GLOBALS lua_upvalueindex(1)
#define KEYS_NAME lua_upvalueindex(2)
#define ARGV_NAME lua_upvalueindex(3)

/* lua_CFunction of the protected call: passes the arguments, calls the function, and replies with its result. */
static int runAll(lua_State *L) {
    const scriptCall *call = running->call;
    client *c = running->context.caller;
    uint32_t keys_end = FIRST_KEY_ARG + call->keys;
    if (call->name) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, call->function);
        pushArguments(L, c, FIRST_KEY_ARG, keys_end);
        pushArguments(L, c, keys_end, c->argc);
        lua_call(L, 2, 1);
    } else {
        lua_pushvalue(L, KEYS_NAME);
        pushArguments(L, c, FIRST_KEY_ARG, keys_end);
        lua_rawset(L, GLOBALS);
        lua_pushvalue(L, ARGV_NAME);
        pushArguments(L, c, keys_end, c->argc);
        lua_rawset(L, GLOBALS);
        lua_rawgeti(L, LUA_REGISTRYINDEX, call->function);
        lua_call(L, 0, 1);
    }
    luaReplyValue(L, c, running->resp);
    return 0;
}

/* Pushes a field of the error table at index 1 and returns it as text if it is a string or a number, else NULL. */
static const char *errorField(lua_State *L, const char *name) {
    lua_pushstring(L, name);
    lua_rawget(L, 1);
    return lua_tostring(L, -1);
}

/* lua_CFunction: replies with the error table. All that needs memory of Lua comes first and stays on the stack: a field
 * that is a number has its text only there. */
static int replyErrorTable(lua_State *L) {
    client *c = running->context.caller;
    const char *text = errorField(L, "err"), *source = errorField(L, "source");
    errorField(L, "line");
    int line = (int)lua_tointeger(L, -1);
    lua_pushliteral(L, "ignore_error_stats_update");
    lua_rawget(L, 1);
    bool counted = lua_toboolean(L, -1);
    if (!text) text = "ERR unknown error";
    if (source) lua_pushfstring(L, "-%s script: on %s:%d.", text, source, line);
    else lua_pushfstring(L, "-%s", text);
    if (counted) addReplyErrorCounted(c, luaText(L, -1));
    else addReplyErrorOfScript(c, luaText(L, -1));
    return 0;
}

/* Replies with the error on the top of the stack. `outer` is the innermost deferred length that was open before the
 * script. */
static void replyError(lua_State *L, client *c, const void *outer) {
    if (addReplyGiveUp(c, outer)) return;
    if (lua_istable(L, -1)) {
        lua_pushvalue(L, ERROR_AT);
        lua_insert(L, -2);
        if (lua_pcall(L, 1, 0, 0) == 0) return;
    }
    const char *text = lua_tostring(L, -1); /* lack of memory, or an error within the handler */
    addReplyError(c, text ? text : "unknown error");
}

static void scriptRunCall(scriptRun *run) {
    lua_State *L = run->call->in->L;
    const void *outer = run->context.caller->deferred;
    bool at_each_step = engine_settings.yield == YIELD_ALWAYS;
    debugAssert(lua_gettop(L) == BOTTOM && lua_iscfunction(L, RUN_AT));
    lua_pushvalue(L, RUN_AT);
    if (unlikely(at_each_step)) lua_sethook(L, onSteps, LUA_MASKCOUNT, HOOK_OF_YIELD);
    if (unlikely(run->call->debugged)) lua_sethook(L, debuggerHook, DEBUGGER_HOOK_MASK, STEPS_PER_CHECK);
    if (unlikely(lua_pcall(L, 0, 0, HANDLER_AT) != 0)) replyError(L, run->context.caller, outer);
    lua_settop(L, BOTTOM);
    if (unlikely(run->call->in->insecure)) sandboxRestoreGlobals(L);
    if (unlikely(run->killed || run->call->debugged || at_each_step))
        lua_sethook(L, onSteps, LUA_MASKCOUNT, STEPS_PER_CHECK);
}

void scriptCallRun(client *c, const scriptCall *what) {
    assertMainRole();
    scriptRun run = {.call = what, .resp = 2, .started = clockTicks()};
    serverAssert(!running && FIRST_KEY_ARG + what->keys <= c->argc);
    runCheck();
    scriptContextBegin(&run.context, self, c);
    if (!scriptMayRun(c, what->flags, what->read_only, run.context.memory_full)) return;
    run.context.read_only = what->read_only || what->flags & SCRIPT_NO_WRITES;
    run.context.allow_oom = what->flags & SCRIPT_ALLOW_OOM;
    run.context.one_slot = !(what->flags & (SCRIPT_UNDECLARED | SCRIPT_ALLOW_CROSS_SLOT_KEYS));
    running = &run;
    runCheck();
    scriptRunCall(&run);
    debugAssert(running == &run);
    runCheck();
    running = NULL;
    clientDropReplies(self);
    runCheck();
    interpreterCollect(what->in);
}

static int prepare(lua_State *L) {
    sandboxPushGlobals(L);
    lua_pushliteral(L, "KEYS");
    lua_pushliteral(L, "ARGV");
    lua_pushcclosure(L, runAll, 3);
    lua_pushcfunction(L, scriptErrorHandler);
    lua_insert(L, -2);
    lua_pushcfunction(L, replyErrorTable);
    return BOTTOM;
}

interpreter *scriptInterpreterCreate(void (*open_api)(lua_State *L)) {
    interpreter *in = zmalloc(sizeof(*in));
    interpreterInit(in);
    bool opened = sandboxOpen(in, script_settings.lua_enable_insecure_api, open_api);
    lua_pushcfunction(in->L, prepare);
    if (!opened || lua_pcall(in->L, 0, BOTTOM, 0) != 0) serverPanic("Cannot create a Lua interpreter: out of memory");
    serverAssert(lua_gettop(in->L) == BOTTOM);
    lua_sethook(in->L, onSteps, LUA_MASKCOUNT, STEPS_PER_CHECK);
    return in;
}

static void freeInterpreter(void *in) {
    interpreterFree(in);
    zfree(in);
}

void scriptInterpreterRelease(interpreter *in, bool async) {
    if (async) bioSubmit(BIO_LAZY_FREE, freeInterpreter, in);
    else freeInterpreter(in);
}
