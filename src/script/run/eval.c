/* eval.c -- EVAL, EVALSHA, EVAL_RO, EVALSHA_RO: run a script that is given by its text or by the SHA1 of its text.
 *
 * Not here    the scripts themselves (eval_cache.c), running one (script_run.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/eval.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_cmds.h"

#include "debugger.h"
#include "eval_cache.h"
#include "monitor.h"
#include "reply.h"
#include "script_debug.h"
#include "script_run.h"

uint32_t evalFlags(uint32_t flags, const slice *argv, uint32_t argc) {
    scriptHead head;
    unused(argc);
    sds error = scriptReadHead(argv[SCRIPT_ARG], &head);
    if (!error) return scriptCommandFlags(flags, head.flags);
    sdsFree(error);
    return flags;
}

uint32_t evalshaFlags(uint32_t flags, const slice *argv, uint32_t argc) {
    unused(argc);
    const evalScript *s = evalCacheFind(argv[SCRIPT_ARG]);
    return s ? scriptCommandFlags(flags, s->flags) : flags;
}

static void evalRun(client *c, const evalScript *s, uint32_t keys, bool read_only) {
    const scriptCall call = {.in = evalInterpreter(),
                             .function = s->function,
                             .flags = s->flags,
                             .read_only = read_only,
                             .debugged = debuggerIsActive(),
                             .keys = keys};
    scriptCallRun(c, &call);
}

static void evalText(client *c, bool read_only) {
    uint32_t keys;
    sds error;
    if (!scriptReadKeyCount(c, NULL, &keys)) return;
    const evalScript *s = evalCacheAdd(c->argv[SCRIPT_ARG], false, &error);
    if (s) {
        evalRun(c, s, keys, read_only);
        return;
    }
    addReplyErrorSlice(c, sdsSlice(error));
    sdsFree(error);
}

static void eval(client *c, bool read_only) {
    if (unlikely(monitor_count > 0)) monitorFeed(c); /* before the commands of the script */
    if (likely(!scriptIsDebugged(c))) {
        evalText(c, read_only);
    } else if (scriptDebugBegin(c, c->argv[SCRIPT_ARG])) {
        evalText(c, read_only);
        scriptDebugEnd(c);
    }
}

static void evalSha(client *c, bool read_only) {
    uint32_t keys;
    if (unlikely(monitor_count > 0)) monitorFeed(c);
    if (unlikely(scriptIsDebugged(c))) {
        addReplyError(c, "Please use EVAL instead of EVALSHA for debugging");
        return;
    }
    evalScript *s = evalCacheFind(c->argv[SCRIPT_ARG]);
    if (s) evalCacheUsed(s);
    if (c->argv[SCRIPT_ARG].len != SHA1_HEX) {
        addReplyError(c, "-NOSCRIPT No matching script.");
    } else if (scriptReadKeyCount(c, NULL, &keys)) {
        if (s) evalRun(c, s, keys, read_only);
        else addReplyError(c, "-NOSCRIPT No matching script.");
    }
}

void evalCommand(client *c) { eval(c, false); }
void evalRoCommand(client *c) { eval(c, true); }
void evalshaCommand(client *c) { evalSha(c, false); }
void evalshaRoCommand(client *c) { evalSha(c, true); }
