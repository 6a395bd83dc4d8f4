/* call.c -- one command from record to reply: may it run, run it, account for it.
 *
 * The checks come in the order in which clients know their errors: unknown, arity, authentication,
 * memory, pause. What needs only the request was decided when it was parsed (REQ_ flags).
 *
 * Not here    what a command does (commands/), in which order commands come (net/command_batch.c).
 * Owns        nothing but counters.
 * Threads     main.
 * Cost        one clock reading per command; no allocation; a command's counters are one line.
 * Tests       the whole of tests/engine
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include "commandlog.h"
#include "evict.h"
#include "latency.h"
#include "lru.h"
#include "monitor.h"
#include "panic.h"
#include "pause.h"
#include "reply.h"

#define GATES_MAX 4

engineStats engine_stats;

static struct {
    bool (*auth_required)(void);
    const char *(*gates[GATES_MAX])(client *c);
    int ngates;
    client *current;
    bool refused; /* the handler that runs has said so */
} state;

void callSetAuthRequired(bool (*required)(void)) {
    state.auth_required = required;
}

bool callAuthRequired(void) {
    return state.auth_required && state.auth_required();
}

void callAddGate(const char *(*gate)(client *c)) {
    serverAssert(state.ngates < GATES_MAX);
    state.gates[state.ngates++] = gate;
}

client *callCurrentClient(void) {
    return state.current;
}

/* --- may it run? ---------------------------------------------------------------------------------- */

/* The first words of what the client sent, for "unknown command": at most 128 bytes of name and of arguments. */
static void replyUnknownCommand(client *c, const parsedCommand *req) {
    sds args = sdsEmpty();
    for (uint32_t i = 1; i < req->argc && sdsLen(args) < 128; i++) {
        size_t room = 128 - sdsLen(args);
        size_t n = req->argv[i].len < room ? req->argv[i].len : room;
        args = sdsCatPrintf(args, "'%.*s' ", (int)n, req->argv[i].ptr);
    }
    slice name = req->argv[0];
    addReplyErrorFormat(c, "unknown command '%.*s', with args beginning with: %s",
                        (int)(name.len < 128 ? name.len : 128), name.ptr, args);
    sdsFree(args);
}

static bool refuseMalformed(client *c, const parsedCommand *req) {
    if (req->flags & REQ_PROTOCOL_ERROR) {
        addReplyErrorSlice(c, req->argv[0]);
        c->flags |= CLIENT_CLOSE_AFTER_REPLY | CLIENT_PROTOCOL_ERROR;
    } else if (!req->cmd) {
        replyUnknownCommand(c, req);
    } else if (req->flags & REQ_UNKNOWN_SUBCOMMAND) {
        addReplyUnknownSubcommand(c);
    } else if (req->flags & REQ_BAD_ARITY || !req->cmd->proc) {
        addReplyErrorArity(c);
    } else {
        return false;
    }
    return true;
}

/* Comes before all errors but that of the protocol: a stranger does not even learn which commands there are. */
static bool refuseUnauthenticated(client *c) {
    if (likely(c->authenticated) || !callAuthRequired() || (c->cmd && c->cmd->flags & CMD_NO_AUTH)) return false;
    if (c->req->flags & REQ_PROTOCOL_ERROR) return false;
    addReplyError(c, "-NOAUTH Authentication required.");
    return true;
}

/* Keep memory below maxmemory before a command that may need more. */
static bool refuseOutOfMemory(client *c) {
    if (store_settings.maxmemory == 0) return false;
    bool full = evictPerform() == EVICT_FAIL;
    if (!full || !(c->cmd->flags & CMD_DENYOOM)) return false;
    addReplyError(c, "-OOM command not allowed when used memory > 'maxmemory'.");
    return true;
}

static bool refuseByGate(client *c) {
    for (int i = 0; i < state.ngates; i++) {
        const char *text = state.gates[i](c);
        if (!text) continue;
        addReplyError(c, text);
        return true;
    }
    return false;
}

/* A replica is sent the dataset and a monitor the commands; neither asks for keys. */
static bool refuseToReplica(client *c) {
    if (likely(!(c->flags & CLIENT_REPLICA)) || !(c->cmd->flags & (CMD_WRITE | CMD_READONLY | CMD_MAY_REPLICATE)))
        return false;
    addReplyError(c, "Replica can't interact with the keyspace");
    return true;
}

static bool mustWait(client *c) {
    pauseKind kind = pauseInForce();
    if (likely(kind == PAUSE_NONE)) return false;
    /* In a pause of all, CLIENT UNPAUSE waits too: only one of writes can be ended early. Who feeds on commands is not
     * paused. */
    if (c->flags & CLIENT_REPLICA) return false;
    return kind == PAUSE_ALL || c->cmd->flags & (CMD_WRITE | CMD_MAY_REPLICATE);
}

/* --- run it ---------------------------------------------------------------------------------------- */

/* CLIENT NO-TOUCH: look-ups leave the time of last use alone, but for TOUCH itself. */
static void callUntouched(client *c) {
    bool before = lru_frozen;
    lruSetFrozen(before || c->cmd != commandLookupByName(sliceStr("touch")));
    c->cmd->proc(c);
    lruSetFrozen(before);
}

void callRefused(void) {
    state.refused = true;
}

/* False when the handler found that the command may not run. */
static bool call(client *c, monotime *now) {
    const serverCommand *cmd = c->cmd;
    size_t output_before = c->output_bytes;
    unsigned long errors_before = c->error_replies;

    if (unlikely(c->flags & CLIENT_NO_TOUCH)) callUntouched(c);
    else cmd->proc(c);
    bool failed = c->error_replies != errors_before;
    if (unlikely(failed) && state.refused) {
        state.refused = false;
        return false;
    }
    /* After the handler, which says what must not be shown, and with the database it has selected. */
    if (unlikely(monitor_count > 0) && !(cmd->flags & (CMD_SKIP_MONITOR | CMD_ADMIN))) monitorFeed(c);

    monotime end = clockTicks();
    uint64_t ns = clockTicksToNs(end - *now);
    *now = end;
    long long us = (long long)(ns / 1000);
    commandStats *stats = cmd->stats;
    stats->calls++;
    stats->microseconds += us;
    if (unlikely(failed)) stats->failed_calls++;
    if (engine_settings.latency_tracking) latencyTrackCommand(stats, ns);
    engine_stats.command_ns += ns;
    engine_stats.commands_processed++;
    if (engine_settings.latency_monitor_threshold_ms)
        latencyAddSampleIfNeeded(cmd->flags & CMD_FAST ? "fast-command" : "command", us / 1000);
    size_t reply_bytes = c->output_bytes - output_before;
    if (unlikely(commandlogWanted(us, c->req->wire_len, reply_bytes)) && !(cmd->flags & CMD_SKIP_COMMANDLOG))
        commandlogRecord(c, us, c->req->wire_len, reply_bytes);
    return true;
}

static void rejected(client *c) {
    if (c->cmd && c->cmd->stats) c->cmd->stats->rejected_calls++;
}

callResult processCommand(client *c, const parsedCommand *req, monotime *now) {
    assertMainRole();
    if (unlikely(req->flags & REQ_MAIN_THREAD) && !panicOnMainThread()) return CALL_FOR_MAIN_THREAD;
    c->req = req;
    c->argv = req->argv;
    c->argc = req->argc;
    c->cmd = req->cmd;
    state.current = c;
    callResult result = CALL_DONE;
    if (unlikely(refuseUnauthenticated(c))) {
        rejected(c);
    } else if (unlikely(req->flags & (REQ_PROTOCOL_ERROR | REQ_BAD_ARITY | REQ_UNKNOWN_SUBCOMMAND) || !req->cmd ||
                        !req->cmd->proc)) {
        refuseMalformed(c, req);
        rejected(c);
    } else if (unlikely(refuseOutOfMemory(c) || refuseToReplica(c) || refuseByGate(c))) {
        rejected(c);
    } else if (unlikely(mustWait(c))) {
        pausePostpone(c);
        result = CALL_POSTPONED;
    } else {
        c->last_cmd = c->cmd;
        if (likely(call(c, now))) c->commands++;
        else rejected(c);
    }
    c->last_interaction = *now;
    /* CLIENT REPLY SKIP silences the command behind it, and only that. */
    if (unlikely(c->flags & (CLIENT_REPLY_SKIP | CLIENT_REPLY_SKIP_NEXT)) && result == CALL_DONE) {
        c->flags &= ~(uint32_t)CLIENT_REPLY_SKIP;
        if (c->flags & CLIENT_REPLY_SKIP_NEXT) {
            c->flags |= CLIENT_REPLY_SKIP;
            c->flags &= ~(uint32_t)CLIENT_REPLY_SKIP_NEXT;
        }
    }
    c->req = NULL;
    state.current = NULL;
    return result;
}
