/* fcall.c -- FCALL, FCALL_RO: call a function of a library.
 *
 * Not here    the table of functions (functions.c), running one (script_run.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_cmds.h"

#include "function_lua.h"
#include "functions.h"
#include "monitor.h"
#include "reply.h"
#include "script_run.h"

enum { FUNCTION_ARG = 1, NUMKEYS_ARG, FIRST_KEY_ARG };

uint32_t fcallFlags(uint32_t flags, const slice *argv, uint32_t argc) {
    unused(argc);
    const libraryFunction *f = functionTableFind(functionsInUse(), argv[FUNCTION_ARG]);
    return f ? scriptCommandFlags(flags, f->flags) : flags;
}

static bool countKeys(client *c, uint32_t *keys) {
    long long count;
    if (!getLongLongFromArg(c, NUMKEYS_ARG, &count, "Bad number of keys provided")) return false;
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

static void fcall(client *c, bool read_only) {
    uint32_t keys;
    if (unlikely(monitor_count > 0)) monitorFeed(c); /* MONITOR shows the function's own commands after it */
    const libraryFunction *f = functionTableFind(functionsInUse(), c->argv[FUNCTION_ARG]);
    if (!f) {
        addReplyError(c, "Function not found");
        return;
    }
    if (!countKeys(c, &keys)) return;
    const scriptCall call = {.in = functionLuaInterpreter(),
                             .function = f->function,
                             .flags = f->flags,
                             .name = f->name,
                             .as_arguments = true,
                             .read_only = read_only,
                             .first = FIRST_KEY_ARG,
                             .keys = keys};
    scriptCallRun(c, &call);
}

void fcallCommand(client *c) { fcall(c, false); }
void fcallRoCommand(client *c) { fcall(c, true); }
