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

enum { SCRIPT_ARG = 1, NUMKEYS_ARG, FIRST_KEY_ARG };

static bool countKeys(client *c, uint32_t *keys) {
    long long count;
    if (!getLongLongFromArg(c, NUMKEYS_ARG, &count, NULL)) return false;
    if (count > (long long)c->argc - FIRST_KEY_ARG) {
        addReplyError(c, "Number of keys can't be greater than number of args");
        return false;
    }
    if (count < 0) {
        addReplyError(c, "Number of keys can't be negative");
        return false;
    }
    *keys = (uint32_t)count;
    return true;
}

/* Shows EVAL to MONITOR before the commands of the script. */
static void evalShow(client *c) {
    if (unlikely(monitor_count > 0)) monitorFeed(c);
}

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
                             .first = FIRST_KEY_ARG,
                             .keys = keys};
    scriptCallRun(c, &call);
}

static void evalText(client *c, bool read_only) {
    uint32_t keys;
    sds error;
    if (!countKeys(c, &keys)) return;
    const evalScript *s = evalCacheAdd(c->argv[SCRIPT_ARG], false, &error);
    if (s) {
        evalRun(c, s, keys, read_only);
        return;
    }
    addReplyErrorSlice(c, sdsSlice(error));
    sdsFree(error);
}

static void eval(client *c, bool read_only) {
    evalShow(c);
    if (likely(!scriptIsDebugged(c))) {
        evalText(c, read_only);
    } else if (scriptDebugBegin(c, c->argv[SCRIPT_ARG])) {
        evalText(c, read_only);
        scriptDebugEnd(c);
    }
}

static void evalSha(client *c, bool read_only) {
    uint32_t keys;
    evalShow(c);
    if (unlikely(scriptIsDebugged(c))) {
        addReplyError(c, "Please use EVAL instead of EVALSHA for debugging");
        return;
    }
    evalScript *s = evalCacheFind(c->argv[SCRIPT_ARG]);
    if (s) evalCacheUsed(s);
    if (c->argv[SCRIPT_ARG].len != SHA1_HEX) {
        addReplyError(c, "-NOSCRIPT No matching script.");
    } else if (countKeys(c, &keys)) {
        if (s) evalRun(c, s, keys, read_only);
        else addReplyError(c, "-NOSCRIPT No matching script.");
    }
}

void evalCommand(client *c) { eval(c, false); }
void evalRoCommand(client *c) { eval(c, true); }
void evalshaCommand(client *c) { evalSha(c, false); }
void evalshaRoCommand(client *c) { evalSha(c, true); }
