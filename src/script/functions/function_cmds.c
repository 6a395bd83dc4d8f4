/* function_cmds.c -- FUNCTION LOAD, DELETE, FLUSH, LIST, STATS, DUMP, RESTORE, KILL; FCALL, FCALL_RO.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_cmds.h"

#include "clock.h"
#include "function_lua.h"
#include "functions.h"
#include "monitor.h"
#include "slice.h"
#include "object_settings.h"
#include "reply.h"
#include "script_cmds.h"
#include "script_flags.h"
#include "script_run.h"
#include "store_settings.h"
#include "store_state.h"

static bool repliedError(client *c, sds error) {
    if (!error) return false;
    addReplyErrorSlice(c, sdsSlice(error));
    sdsFree(error);
    return true;
}

/* Counts a change, so that it is saved and propagated. */
static void functionChanged(void) { store_stats.dirty++; }

static bool isReplayed(const client *c) { return c->flags & (CLIENT_REPLAYS | CLIENT_PRIMARY); }

/* --- Changes ------------------------------------------------------------------------------------------------------ */

void functionLoadCommand(client *c) {
    functionLoading how = {.limited = !isReplayed(c)};
    for (uint32_t i = 2; i < c->argc - 1; i++) {
        if (!sliceIs(c->argv[i], "replace")) {
            addReplyErrorFormat(c, "Unknown option given: %.*s", (int)c->argv[i].len, c->argv[i].ptr);
            return;
        }
        how.replace = true;
    }
    sds error;
    const functionLibrary *library = functionTableLoad(functionsInUse(), c->argv[c->argc - 1], how, &error);
    if (repliedError(c, error)) return;
    functionChanged();
    addReplyBulk(c, sdsSlice(library->name));
}

void functionDeleteCommand(client *c) {
    if (!functionTableDelete(functionsInUse(), c->argv[2])) {
        addReplyError(c, "Library not found");
        return;
    }
    functionChanged();
    addReplyOk(c);
}

static void replyUnknownForm(client *c) {
    addReplyErrorFormat(c, "unknown subcommand or wrong number of arguments for '%.*s'. Try FUNCTION HELP.",
                        (int)c->argv[1].len, c->argv[1].ptr);
}

void functionFlushCommand(client *c) {
    bool async = store_settings.lazyfree_user_flush;
    if (c->argc > 3) {
        replyUnknownForm(c);
        return;
    }
    if (c->argc == 3) {
        async = sliceIs(c->argv[2], "async");
        if (!async && !sliceIs(c->argv[2], "sync")) {
            addReplyError(c, "FUNCTION FLUSH only supports SYNC|ASYNC option");
            return;
        }
    }
    functionsFlush(async);
    functionChanged();
    addReplyOk(c);
}

typedef enum { RESTORE_APPEND, RESTORE_REPLACE, RESTORE_FLUSH, RESTORE_UNKNOWN } restorePolicy;

static restorePolicy policyOf(const client *c) {
    if (c->argc == 3 || sliceIs(c->argv[3], "append")) return RESTORE_APPEND;
    if (sliceIs(c->argv[3], "replace")) return RESTORE_REPLACE;
    return sliceIs(c->argv[3], "flush") ? RESTORE_FLUSH : RESTORE_UNKNOWN;
}

/* Returns the libraries of the payload in a table of their own, or NULL and the error. */
static functionTable *readPayload(const client *c, sds *error) {
    functionTable *t = functionTableCreate();
    bool relaxed = object_settings.version_check == RDB_VERSION_CHECK_RELAXED || c->flags & CLIENT_REPLAYS;
    *error = functionDumpLoad(t, c->argv[2], relaxed, (functionLoading){.limited = !isReplayed(c)});
    if (!*error) return t;
    functionTableFree(t, true);
    return NULL;
}

void functionRestoreCommand(client *c) {
    if (c->argc > 4) {
        replyUnknownForm(c);
        return;
    }
    restorePolicy policy = policyOf(c);
    if (policy == RESTORE_UNKNOWN) {
        addReplyError(c, "Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
        return;
    }
    sds error;
    functionTable *t = readPayload(c, &error);
    if (t && policy == RESTORE_FLUSH) {
        functionsExchange(t);
    } else if (t) {
        error = functionTableJoin(functionsInUse(), t, policy == RESTORE_REPLACE);
        functionTableFree(t, true);
    }
    if (repliedError(c, error)) return;
    functionChanged();
    addReplyOk(c);
}

/* --- Queries ------------------------------------------------------------------------------------------------------ */

void functionDumpCommand(client *c) { addReplyBulkSds(c, functionDump(functionsInUse())); }

static void replyFlags(client *c, uint32_t flags) {
    addReplySetLen(c, __builtin_popcount(flags));
    for (unsigned i = 0; i < SCRIPT_FLAGS; i++)
        if (flags & 1u << i) addReplyStatus(c, scriptFlagName(i));
}

static void replyFunctions(client *c, const functionLibrary *library) {
    dictIterator it;
    const libraryFunction *f;
    addReplyArrayLen(c, (long long)dictSize(library->functions));
    dictIterBegin(&it, library->functions, false);
    while ((f = dictIterNext(&it))) {
        addReplyMapLen(c, 3);
        addReplyBulkCString(c, "name");
        addReplyBulk(c, sdsSlice(f->name));
        addReplyBulkCString(c, "description");
        if (f->description) addReplyBulk(c, sdsSlice(f->description));
        else addReplyNull(c);
        addReplyBulkCString(c, "flags");
        replyFlags(c, f->flags);
    }
    dictIterEnd(&it);
}

static void replyLibrary(client *c, const functionLibrary *library, bool with_code) {
    addReplyMapLen(c, with_code ? 4 : 3);
    addReplyBulkCString(c, "library_name");
    addReplyBulk(c, sdsSlice(library->name));
    addReplyBulkCString(c, "engine");
    addReplyBulkCString(c, library->engine->name);
    addReplyBulkCString(c, "functions");
    replyFunctions(c, library);
    if (!with_code) return;
    addReplyBulkCString(c, "library_code");
    addReplyBulk(c, sdsSlice(library->text));
}

typedef struct listOptions {
    bool with_code, by_name;
    slice pattern;
} listOptions;

/* Parses the options, each at most once. Returns false after an error reply. */
static bool listArgs(client *c, listOptions *o) {
    for (uint32_t i = 2; i < c->argc; i++) {
        if (!o->with_code && sliceIs(c->argv[i], "withcode")) {
            o->with_code = true;
        } else if (!o->by_name && sliceIs(c->argv[i], "libraryname")) {
            if (++i == c->argc) {
                addReplyError(c, "library name argument was not given");
                return false;
            }
            o->by_name = true;
            o->pattern = c->argv[i];
        } else {
            addReplyErrorFormat(c, "Unknown argument %.*s", (int)c->argv[i].len, c->argv[i].ptr);
            return false;
        }
    }
    return true;
}

/* Returns the number of libraries that match the options; with `reply` it adds them to the reply. */
static long long listed(client *c, const listOptions *o, bool reply) {
    dictIterator it;
    const functionLibrary *library;
    long long count = 0;
    dictIterBegin(&it, functionsInUse()->libraries, false);
    while ((library = dictIterNext(&it))) {
        if (o->by_name && !globMatch(o->pattern, sdsSlice(library->name), true)) continue;
        count++;
        if (reply) replyLibrary(c, library, o->with_code);
    }
    dictIterEnd(&it);
    return count;
}

void functionListCommand(client *c) {
    listOptions o = {.by_name = false};
    if (!listArgs(c, &o)) return;
    addReplyArrayLen(c, listed(c, &o, false));
    listed(c, &o, true);
}

static void replyRunning(client *c, const scriptRun *run) {
    const client *caller = run->context.caller;
    addReplyMapLen(c, 3);
    addReplyBulkCString(c, "name");
    addReplyBulkCString(c, run->call->name);
    addReplyBulkCString(c, "command");
    addReplyArrayLen(c, caller->argc);
    for (uint32_t i = 0; i < caller->argc; i++) addReplyBulk(c, caller->argv[i]);
    addReplyBulkCString(c, "duration_ms");
    addReplyLongLong(c, (long long)(clockTicksToNs(clockTicks() - run->started) / 1000000));
}

void functionStatsCommand(client *c) {
    const scriptRun *run = scriptRunning();
    if (run && !run->call->name) {
        addReplyError(c, scriptBusyError());
        return;
    }
    const functionTable *t = functionsInUse();
    addReplyMapLen(c, 2);
    addReplyBulkCString(c, "running_script");
    if (run) replyRunning(c, run);
    else addReplyNull(c);
    addReplyBulkCString(c, "engines");
    addReplyMapLen(c, 1);
    addReplyBulkCString(c, functionEngineOnly()->name);
    addReplyMapLen(c, 2);
    addReplyBulkCString(c, "libraries_count");
    addReplyLongLong(c, (long long)dictSize(t->libraries));
    addReplyBulkCString(c, "functions_count");
    addReplyLongLong(c, (long long)t->count);
}

void functionKillCommand(client *c) { scriptReplyKilled(c, scriptKill(true)); }

/* --- FCALL -------------------------------------------------------------------------------------------------------- */

uint32_t fcallFlags(uint32_t flags, const slice *argv, uint32_t argc) {
    unused(argc);
    const libraryFunction *f = functionTableFind(functionsInUse(), argv[SCRIPT_ARG]);
    return f ? scriptCommandFlags(flags, f->flags) : flags;
}

static void fcall(client *c, bool read_only) {
    uint32_t keys;
    if (unlikely(monitor_count > 0)) monitorFeed(c); /* MONITOR shows the function's own commands after it */
    const libraryFunction *f = functionTableFind(functionsInUse(), c->argv[SCRIPT_ARG]);
    if (!f) {
        addReplyError(c, "Function not found");
        return;
    }
    if (!scriptReadKeyCount(c, "Bad number of keys provided", &keys)) return;
    const scriptCall call = {.in = functionLuaInterpreter(),
                             .function = f->function,
                             .flags = f->flags,
                             .name = f->name,
                             .read_only = read_only,
                             .keys = keys};
    scriptCallRun(c, &call);
}

void fcallCommand(client *c) { fcall(c, false); }
void fcallRoCommand(client *c) { fcall(c, true); }
