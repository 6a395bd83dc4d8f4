/* debugger.c -- the debugger: runs a script line by line, as its client commands.
 *
 *     running --a line: step, breakpoint, redis.breakpoint()--> stopped: commands of the client
 *             --100,000 steps, too long----------------------->    |
 *        ^                                                         |
 *        '---------------- step, continue -------------------------+---- abort, bad input ----> the script's error
 *
 * No hook runs within a hook, so code that the client runs while the script is stopped (eval, redis) runs in a
 * coroutine with a hook of its own, which stops it if it takes too long.
 *
 * Not here    the connection and the process (script_debug.c), the protocol (debug_wire.c).
 * Owns        the state of the debug_run.
 * Threads     main's own, or a forked child's only one.
 * Invariants  1. An error that ends the script is raised again at each step, so that no pcall() can catch it.
 * Tests       tests/script/debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debugger.h"

#include "clock.h"
#include "debug_source.h"
#include "debug_wire.h"
#include "lua_values.h"
#include "numbers.h"
#include "panic.h"
#include "safe_functions.h"
#include "sandbox.h"
#include "script_settings.h"

#include <limits.h>
#include <string.h>

#define LIST_CONTEXT 5
#define CUT_LEAST 60
#define LOCALS_MAX 1000

static struct {
    bool active;
    bool stepping;          /* stop at the next line */
    bool breakpoint_called; /* redis.breakpoint() was called */
    bool prints_commands;   /* the script's commands are shown */
    closeAction on_close;   /* what the script does if the client closes the connection */
    int line;               /* the line at which the script is */
    monotime since;         /* when the script last began to run */
    const char *end;        /* the error that ends the script; NULL while it may run */
} debug_run;

static bool ranTooLong(void) {
    long long threshold = script_settings.busy_reply_threshold_ms;
    return threshold > 0 && clockTicksToNs(clockTicks() - debug_run.since) / 1000000 >= (uint64_t)threshold;
}

/* ---- Where it is ------------------------------------------------------------------------------------------------- */

static bool isScriptFrame(const lua_Debug *frame) { return strcmp(frame->short_src, "user_script") == 0; }

static void printTrace(lua_State *L) {
    lua_Debug frame;
    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Snl", &frame);
        if (!isScriptFrame(&frame)) continue;
        debugPrintFormat("%s %s:", level == 0 ? "In" : "From", frame.name ? frame.name : "top level");
        debugPrintLine(frame.currentline, debug_run.line);
    }
}

static void printValue(lua_State *L, const char *before, const char *name) {
    sds line = sdsNew(before);
    if (name) line = sdsCatPrintf(line, "%s = ", name);
    debugPrintCut(debugCatValue(line, L, -1, sdsLen(line) + debugPrintMax()));
    lua_pop(L, 1);
}

static void printLocals(lua_State *L) {
    lua_Debug frame;
    const char *name = NULL;
    int shown = 0;
    if (!lua_getstack(L, 0, &frame)) return;
    for (int i = 1; i < LOCALS_MAX && (name = lua_getlocal(L, &frame, i)) != NULL; i++) {
        if (strcmp(name, "(*temporary)") == 0) {
            lua_pop(L, 1);
        } else {
            printValue(L, "<value> ", name);
            shown++;
        }
    }
    if (shown == 0) debugPrintFormat("No local variables in the current context.");
}

/* Returns the index of the innermost local variable of that name in the call of `frame`, or 0. */
static int findLocal(lua_State *L, lua_Debug *frame, slice variable) {
    const char *name;
    int found = 0;
    for (int i = 1; i < LOCALS_MAX && (name = lua_getlocal(L, frame, i)) != NULL; i++) {
        lua_pop(L, 1);
        if (sliceEq(sliceStr(name), variable)) found = i;
    }
    return found;
}

/* Pushes the upvalue of that name of the called function; returns false if there is none. */
static bool pushUpvalue(lua_State *L, lua_Debug *frame, slice variable) {
    const char *name;
    lua_getinfo(L, "f", frame);
    for (int i = 1; (name = lua_getupvalue(L, -1, i)) != NULL; i++) {
        if (sliceEq(sliceStr(name), variable)) {
            lua_remove(L, -2);
            return true;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return false;
}

static bool pushVariable(lua_State *L, slice variable) {
    lua_Debug frame;
    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        int found = findLocal(L, &frame, variable);
        if (found) {
            lua_getlocal(L, &frame, found);
            return true;
        }
        if (level == 0 && pushUpvalue(L, &frame, variable)) return true;
    }
    if (!sliceEq(variable, sliceStr("KEYS")) && !sliceEq(variable, sliceStr("ARGV"))) return false;
    sandboxPushGlobals(L);
    lua_pushlstring(L, variable.ptr, variable.len);
    lua_rawget(L, -2);
    lua_remove(L, -2);
    return true;
}

/* ---- Code that the client runs ----------------------------------------------------------------------------------- */

typedef struct clientCode {
    const slice *words;
    int count;
} clientCode;

/* lua_Hook */
static void onCodeSteps(lua_State *L, lua_Debug *frame) {
    unused(frame);
    if (ranTooLong()) luaL_error(L, "stopped: the code ran too long");
}

static int printCodeError(lua_State *L) {
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "err");
        lua_rawget(L, -2);
    }
    const char *text = lua_tostring(L, -1);
    debugPrintCut(sdsCat(sdsNew("<error> "), text ? text : "error object is not a string"));
    return 0;
}

/* lua_CFunction: evaluates the words as an expression, or else as statements. */
static int runEval(lua_State *L) {
    const clientCode *c = lua_touserdata(L, 1);
    sds code = sdsNew("return ");
    size_t before = sdsLen(code);
    for (int i = 1; i < c->count; i++) {
        if (i > 1) code = sdsCat(code, " ");
        code = sdsCatLen(code, c->words[i].ptr, c->words[i].len);
    }
    lua_pushlstring(L, code, sdsLen(code)); /* from here on the collector frees it, even after an error */
    sdsFree(code);
    slice text = luaText(L, -1);
    if (interpreterLoad(L, text, "@ldb_eval") != 0) {
        lua_pop(L, 1);
        if (interpreterLoad(L, sliceOf(text.ptr + before, text.len - before), "@ldb_eval") != 0) {
            debugPrintCut(sdsCat(sdsNew("Error compiling code: "), lua_tostring(L, -1)));
            return 0;
        }
    }
    if (lua_pcall(L, 0, 1, 0) != 0) return printCodeError(L);
    printValue(L, "<retval> ", NULL);
    return 0;
}

/* lua_CFunction: calls redis.pcall() with the words. */
static int runRedis(lua_State *L) {
    const clientCode *c = lua_touserdata(L, 1);
    luaL_checkstack(L, c->count + 4, "too many arguments");
    sandboxPushGlobals(L);
    lua_getfield(L, -1, "redis");
    lua_getfield(L, -1, "pcall");
    for (int i = 1; i < c->count; i++) lua_pushlstring(L, c->words[i].ptr, c->words[i].len);
    debug_run.prints_commands = true;
    int failed = lua_pcall(L, c->count - 1, 1, 0);
    debug_run.prints_commands = false;
    return failed ? printCodeError(L) : 0;
}

static void runClientCode(lua_State *L, lua_CFunction execute, const slice *words, int count) {
    clientCode c = {.words = words, .count = count};
    lua_State *thread = lua_newthread(L);
    lua_sethook(thread, onCodeSteps, LUA_MASKCOUNT, STEPS_PER_CHECK);
    debug_run.since = clockTicks();
    if (lua_cpcall(thread, execute, &c) != 0) printCodeError(thread);
    lua_pop(L, 1);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static int numberOf(slice word) {
    long long number;
    return string2ll(word.ptr, word.len, &number) && number > -INT_MAX && number < INT_MAX ? (int)number : 0;
}

static void doHelp(void) {
    static const char *const lines[] = {
        "Debugger commands ([x] is the short form):",
        "[s]tep, [n]ext        Run the current line and stop at the next one.",
        "[c]ontinue            Run to the next breakpoint or to the end.",
        "[l]ist [line] [ctx]   Show the lines around a line (default: the current one),",
        "                      ctx lines before and after it.",
        "[w]hole               Show the whole script.",
        "[p]rint [var]         Show a variable, KEYS or ARGV; without var all locals.",
        "[b]reak [line|-line]  Add or remove a breakpoint; 0 removes all. Without line",
        "                      show the breakpoints.",
        "[t]race               Show the call stack.",
        "[e]val <code>         Run Lua code, which does not see the script's locals.",
        "[v]alkey <cmd>        Run a command; so do [r]edis and server.",
        "[max]len [len]        Trim replies and values to len bytes; 0 disables trimming.",
        "                      Without len show the current length.",
        "[a]bort               Stop the script. In a synchronous session dataset changes",
        "                      are retained.",
        "[h]elp                Show this help.",
        "A script stops itself by redis.breakpoint() and prints values by redis.debug(...).",
        "The commands restart and quit are those of the client.",
    };
    for (size_t i = 0; i < array_len(lines); i++) debugPrint(sdsNew(lines[i]));
}

static void doMaxlen(const slice *words, int count) {
    long long len;
    if (count == 1) {
        debugPrintFormat("Current maxlen is %zu", debugCutAt());
    } else if (!string2ll(words[1].ptr, words[1].len, &len) || len < 0) {
        debugPrintFormat("<error> Invalid maxlen value.");
    } else if (len == 0) {
        debugSetCut(0);
        debugPrintFormat("<value> replies are not truncated.");
    } else {
        debugSetCut(len < CUT_LEAST ? CUT_LEAST : (size_t)len);
        debugPrintFormat("<value> replies are truncated at %zu bytes.", debugCutAt());
    }
}

static void doPrint(lua_State *L, const slice *words, int count) {
    if (count == 1) printLocals(L);
    else if (pushVariable(L, words[1])) printValue(L, "<value> ", NULL);
    else debugPrintFormat("No such variable.");
}

typedef enum {
    DO_HELP,
    DO_STEP,
    DO_CONTINUE,
    DO_LIST,
    DO_WHOLE,
    DO_PRINT,
    DO_BREAK,
    DO_TRACE,
    DO_EVAL,
    DO_REDIS,
    DO_MAXLEN,
    DO_ABORT,
    DO_NOTHING
} debugAction;

/* Returns the action of a command; DO_NOTHING if no command has that name and number of words. */
static debugAction parseDebugCommand(const slice *words, int count) {
    static const struct {
        const char *name, *short_name;
        debugAction action;
        int least, most;
    } commands[] = {
        {"step", "s", DO_STEP, 1, 1},
        {"next", "n", DO_STEP, 1, 1},
        {"continue", "c", DO_CONTINUE, 1, 1},
        {"list", "l", DO_LIST, 1, 3},
        {"whole", "w", DO_WHOLE, 1, 1},
        {"print", "p", DO_PRINT, 1, 2},
        {"break", "b", DO_BREAK, 1, 2},
        {"trace", "t", DO_TRACE, 1, 1},
        {"eval", "e", DO_EVAL, 2, DEBUG_WORDS_MAX},
        {"valkey", "v", DO_REDIS, 2, DEBUG_WORDS_MAX},
        {"redis", "r", DO_REDIS, 2, DEBUG_WORDS_MAX},
        {"server", "server", DO_REDIS, 2, DEBUG_WORDS_MAX},
        {"maxlen", "max", DO_MAXLEN, 1, 2},
        {"abort", "a", DO_ABORT, 1, 1},
        {"help", "h", DO_HELP, 1, 1},
    };
    for (size_t i = 0; i < array_len(commands); i++) {
        if (!sliceIs(words[0], commands[i].name) && !sliceIs(words[0], commands[i].short_name)) continue;
        return count >= commands[i].least && count <= commands[i].most ? commands[i].action : DO_NOTHING;
    }
    return DO_NOTHING;
}

/* Executes a command of the client. Returns false if the script is to continue. */
static bool dispatchCommand(lua_State *L, const slice *words, int count) {
    int first = count > 1 ? numberOf(words[1]) : 0;
    switch (parseDebugCommand(words, count)) {
    case DO_STEP: debug_run.stepping = true; return false;
    case DO_CONTINUE: return false;
    case DO_ABORT: debug_run.end = "ERR script aborted for user request"; return false;
    case DO_HELP: doHelp(); break;
    case DO_LIST:
        debugPrintLinesAround(first > 0 ? first : debug_run.line, count > 2 ? numberOf(words[2]) : LIST_CONTEXT,
                              debug_run.line);
        break;
    case DO_WHOLE: debugPrintLinesAround(1, INT_MAX, debug_run.line); break;
    case DO_PRINT: doPrint(L, words, count); break;
    case DO_BREAK:
        if (count == 1) debugPrintBreakpoints(debug_run.line);
        else debugBreakCommand(words[1], debug_run.line);
        break;
    case DO_TRACE: printTrace(L); break;
    case DO_EVAL: runClientCode(L, runEval, words, count); break;
    case DO_REDIS: runClientCode(L, runRedis, words, count); break;
    case DO_MAXLEN: doMaxlen(words, count); break;
    case DO_NOTHING: debugPrintFormat("<error> Unknown debugger command or wrong number of arguments."); break;
    }
    return true;
}

/* ---- Stopping ---------------------------------------------------------------------------------------------------- */

static void onPeerClosed(void) {
    debugRemoveBreakpoints();
    if (debug_run.on_close == ON_CLOSE_END) debug_run.end = "ERR the client of the debugging session has disconnected";
}

static void debuggerLoop(lua_State *L) {
    const slice *words;
    int count;
    while (debugSend()) {
        switch (debugReceive(&words, &count)) {
        case DEBUG_COMMAND:
            if (!dispatchCommand(L, words, count)) return;
            break;
        case DEBUG_CLOSED: onPeerClosed(); return;
        case DEBUG_MALFORMED: debug_run.end = "ERR protocol error"; return;
        case DEBUG_TOO_LONG: debug_run.end = "ERR max client buffer reached"; return;
        }
    }
    onPeerClosed();
}

static void raiseEnd(lua_State *L) {
    lua_sethook(L, debuggerHook, DEBUGGER_HOOK_MASK, HOOK_OF_END);
    luaPushError(L, sliceStr(debug_run.end), false);
    lua_error(L);
}

static void debuggerStop(lua_State *L, const char *reason) {
    debugPrintFormat("* Stopped at %d, stop reason = %s", debug_run.line, reason);
    debugPrintLine(debug_run.line, debug_run.line);
    debug_run.stepping = debug_run.breakpoint_called = debug_run.prints_commands = false;
    debuggerLoop(L);
    debug_run.prints_commands = debug_run.stepping;
    debug_run.since = clockTicks();
}

void debuggerHook(lua_State *L, lua_Debug *frame) {
    if (debug_run.end) raiseEnd(L);
    lua_getinfo(L, "Sl", frame);
    if (!isScriptFrame(frame)) return;
    debug_run.line = frame->currentline;
    if (frame->event == LUA_HOOKCOUNT) {
        if (ranTooLong()) debuggerStop(L, "timeout reached, infinite loop?");
    } else if (debug_run.breakpoint_called) {
        debuggerStop(L, "server.breakpoint() called");
    } else if (debugHasBreakpoints() && debugHasBreakpoint(debug_run.line)) {
        debuggerStop(L, "break point");
    } else if (debug_run.stepping) {
        debuggerStop(L, "step over");
    }
    if (debug_run.end) raiseEnd(L);
}

/* ---- Calls from the script --------------------------------------------------------------------------------------- */

bool debuggerBreak(void) {
    if (debug_run.active) debug_run.breakpoint_called = true;
    return debug_run.active;
}

void debuggerPrintValues(lua_State *L) {
    if (!debug_run.active) return;
    int count = lua_gettop(L);
    sds line = sdsCatPrintf(sdsEmpty(), "<debug> line %d: ", debug_run.line);
    for (int i = 1; i <= count; i++) {
        if (i > 1) line = sdsCat(line, ", ");
        line = debugCatValue(line, L, i, (size_t)1 << 20);
    }
    debugPrint(line);
}

void debuggerPrintCommand(const slice *argv, uint32_t argc) {
    if (!debug_run.prints_commands) return;
    sds line = sdsNew("<command>");
    for (uint32_t i = 0; i < argc; i++) line = sdsCatLen(sdsCat(line, " "), argv[i].ptr, argv[i].len);
    debugPrint(line);
}

void debuggerPrintReply(slice reply) {
    if (!debug_run.prints_commands) return;
    debugPrintCut(debugCatReply(sdsNew("<reply> "), reply, debugPrintMax()));
    if (reply.len && reply.ptr[0] == '-') debugPrint(sdsCatLen(sdsNew("<error> "), reply.ptr, reply.len));
}

/* ---- The debugger run -------------------------------------------------------------------------------------------- */

void debuggerBegin(connection *conn, slice text, closeAction on_close) {
    serverAssert(!debug_run.active);
    debugWireBegin(conn);
    debugSourceBegin(text);
    debug_run.active = debug_run.stepping = true;
    debug_run.breakpoint_called = debug_run.prints_commands = false;
    debug_run.on_close = on_close;
    debug_run.line = 0;
    debug_run.end = NULL;
    debug_run.since = clockTicks();
}

void debuggerEnd(slice last, bool closes) {
    debugPrintFormat("<endsession>");
    if (debugSend() && closes) debugSendLast(last);
    debugWireEnd();
    debugSourceEnd();
    debug_run.active = debug_run.stepping = debug_run.breakpoint_called = debug_run.prints_commands = false;
    debug_run.end = NULL;
}

bool debuggerIsActive(void) { return debug_run.active; }
