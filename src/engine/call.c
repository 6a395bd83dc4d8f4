/* call.c -- one command from record to reply: checks whether it may run, runs it, accounts for it.
 *
 * Properties that depend on the request alone were determined when it was parsed (REQ_ flags); the gates that are
 * enabled (gates.h) check the rest. An ordinary command costs one branch for both.
 *
 * Not here    what a command does (commands/), what a gate checks (its owner), the order in which commands run
 *             (net/session/command_batch.c).
 * Owns        nothing but counters.
 * Threads     main.
 * Cost        one clock reading per command, two for one of a script; no allocation; a command's counters are one line.
 * Tests       all of tests/engine
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include "acl.h"
#include "blocking.h"
#include "call_after.h"
#include "client_check.h"
#include "command_memory.h"
#include "commandlog.h"
#include "gates.h"
#include "hot_keys.h"
#include "key_check.h"
#include "latency.h"
#include "lru.h"
#include "memory_gate.h"
#include "monitor.h"
#include "panic.h"
#include "pause.h"
#include "propagate.h"
#include "redact.h"
#include "reply.h"
#include "slot_check.h"
#include "slot_stats.h"
#include "sliced.h"
#include "tracking.h"
#include "transaction_queue.h"
#include "yield.h"

unsigned call_after;

static client *current_client; /* borrowed: the client whose command is running; or NULL */

client *callCurrentClient(void) {
    assertMainRole();
    return current_client;
}

/* --- Whether it may run -------------------------------------------------------------------------------- */

/* Replies "unknown command" with the beginning of the request: at most 128 bytes of the name and of the arguments. */
static void replyUnknownCommand(client *c, const parsedCommand *req) {
    sds args = sdsEmpty();
    for (uint32_t i = 1; i < req->argc && sdsLen(args) < 128; i++) {
        size_t left = 128 - sdsLen(args);
        size_t n = req->argv[i].len < left ? req->argv[i].len : left;
        args = sdsCatPrintf(args, "'%.*s' ", (int)n, req->argv[i].ptr);
    }
    slice name = req->argv[0];
    addReplyErrorFormat(c, "unknown command '%.*s', with args beginning with: %s",
                        (int)(name.len < 128 ? name.len : 128), name.ptr, args);
    sdsFree(args);
}

static void refuseMalformed(client *c, const parsedCommand *req) {
    if (req->flags & REQ_PROTOCOL_ERROR) {
        addReplyErrorSlice(c, req->argv[0]);
        c->flags |= CLIENT_CLOSE_AFTER_REPLY | CLIENT_PROTOCOL_ERROR;
    } else if (req->flags & REQ_UNKNOWN_COMMAND) {
        replyUnknownCommand(c, req);
    } else if (req->flags & REQ_UNKNOWN_SUBCOMMAND) {
        addReplyUnknownSubcommand(c);
    } else if (transactionIsExec(c)) {
        transactionRefuseExec(c, "wrong number of arguments for 'exec' command");
    } else {
        addReplyErrorArity(c);
    }
}

/* Reserves memory for a large command, which may copy its arguments, names as well as values, and make an object of
 * each. A value that was built when the request was read exists already. Returns false after an error reply. */
static bool beginLarge(client *c, const parsedCommand *req) {
    size_t bytes = (req->value ? 0 : 2 * (size_t)req->wire_len) + 64 * (size_t)req->argc;
    if (!commandMemoryReserve(c, bytes)) return false;
    memoryGateUpdate();
    return true;
}

/* Flags of a request that needs checks even if no gate is enabled. */
#define SPECIAL (REQ_MALFORMED | REQ_MAIN_THREAD | REQ_GATED | REQ_LARGE | REQ_CROSS_SLOT)

/* Authentication precedes all errors but those of the protocol: a client that is not authenticated does not even learn
 * which commands exist. */
static gateResult checkCommand(client *c, const parsedCommand *req) {
    if (req->flags & REQ_MAIN_THREAD && !panicOnMainThread()) return GATE_FOR_MAIN_THREAD;
    gateResult result = gatesRun(c, GATE_AUTH, GATE_AUTH);
    if (result != GATE_PASSED) return result;
    if (req->flags & REQ_MALFORMED) {
        refuseMalformed(c, req);
        return GATE_REFUSED;
    }
    if (req->flags & REQ_LARGE && !beginLarge(c, req)) return GATE_REFUSED;
    return gatesRun(c, GATE_AUTH + 1, GATE_STAGES - 1);
}

/* Checks a command of a primary, which may do everything, as the primary has accepted it already. It waits while the
 * dataset must not be touched, and is queued within a transaction as any other client's. */
static gateResult checkApplied(client *c, const parsedCommand *req) {
    if (req->flags & REQ_MAIN_THREAD && !panicOnMainThread()) return GATE_FOR_MAIN_THREAD;
    if (gates_enabled & (1u << GATE_BUSY | 1u << GATE_LOADING)) return GATE_POSTPONED;
    gateResult result = gatesRun(c, GATE_PAUSE, GATE_PAUSE);
    if (result != GATE_PASSED) return result;
    if (req->flags & REQ_EMPTY) return GATE_DIVERTED; /* a part of the replication stream without a command */
    if (req->flags & REQ_MALFORMED) {
        refuseMalformed(c, req);
        return GATE_REFUSED;
    }
    if (req->flags & REQ_LARGE && !beginLarge(c, req)) return GATE_REFUSED;
    return gatesRun(c, GATE_QUEUE, GATE_QUEUE);
}

/* --- Running it ---------------------------------------------------------------------------------------- */

/* CLIENT NO-TOUCH: lookups do not update the time of last use, except by TOUCH itself. */
static void callUntouched(client *c) {
    bool before = lru_frozen & LRU_FROZEN_BY_CLIENT;
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, before || strcmp(c->cmd->fullname, "touch") != 0);
    c->cmd->proc(c);
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, before);
}

/* Slow path: changes are propagated, or CLIENT NO-TOUCH is on. Not inlined, to keep call() cheap. */
static __attribute__((noinline)) void callSlowPath(client *c) {
    commandHandler *run = unlikely(c->flags & CLIENT_NO_TOUCH) ? callUntouched : c->cmd->proc;
    if (propagateWanted()) propagateRun(c, run);
    else run(c);
}

/* Not inlined, to keep call() cheap. */
static __attribute__((noinline)) void callAfter(client *c, uint64_t ns, size_t reply_bytes) {
    if (call_after & CALL_AFTER_HOT_KEYS) hotKeysRan(c, ns, reply_bytes);
    if (slotStatsAreOn()) slotStatsRan(c, ns, reply_bytes);
    if (unlikely(call_after & CALL_AFTER_WIPE)) redactWipe(c);
}

static void call(client *c, monotime *now) {
    const serverCommand *cmd = c->cmd;
    size_t output_before = c->output_bytes;
    uint32_t errors_before = c->error_replies;
    long long dirty_before = store_stats.dirty, commands_before = engine_stats.commands_processed;

#ifdef DEBUG_ASSERTIONS
    readonlyMark mark = readonlyBegin(c, commands_before);
#endif
    keyMark keys;
    keyCheckBegin(&keys, c);
    if (unlikely(propagateWanted() || c->flags & CLIENT_NO_TOUCH)) callSlowPath(c);
    else cmd->proc(c);
    keyCheckEnd(&keys);
#ifdef DEBUG_ASSERTIONS
    readonlyEnd(c, &mark, engine_stats.commands_processed);
#endif
    debugAssert(keyspaceAllNotified());
    debugAssert(store_stats.dirty <= dirty_before || cmd->flags & (CMD_WRITE | CMD_MAY_REPLICATE) ||
                c->flags & (CLIENT_PRIMARY | CLIENT_REPLAYS) || engine_stats.commands_processed != commands_before);
    /* After the handler: by then arguments are hidden (redact.h) and SELECT has taken effect. */
    if (unlikely(monitor_count > 0) && !(cmd->flags & (CMD_SKIP_MONITOR | CMD_ADMIN)) && !blockingRunsAgain(c) &&
        !(c->flags & CLIENT_POSTPONED))
        monitorFeed(c);

    monotime end = clockTicks();
    uint64_t ns = clockTicksToNs(end - *now);
    *now = end;
    engine_stats.command_ns += ns;
    commandStats *stats = cmd->stats;
    if (unlikely(c->flags & (CLIENT_BLOCKED | CLIENT_TRACKING | CLIENT_SLICED | CLIENT_POSTPONED))) {
        if (c->flags & CLIENT_POSTPONED) return;
        if (c->flags & CLIENT_SLICED) ns -= slicedTakeOthersNs(c);
        if (c->flags & CLIENT_TRACKING) trackingRemember(c, c->db, c->req);
        if (c->flags & CLIENT_BLOCKED) { /* counts when it is served */
            stats->ns += ns;
            blockingNoteTime(c, ns);
            if (slotStatsAreOn()) slotStatsWaits(c, ns);
            return;
        }
    }
    stats->ns += ns;
    stats->calls++;
    if (unlikely(c->error_replies != errors_before)) stats->failed_calls++;
    if (engine_settings.latency_tracking) latencyTrackCommand(stats, ns);
    engine_stats.commands_processed++;
    if (engine_settings.latency_monitor_threshold_ms)
        latencyAddSampleIfNeeded(cmd->flags & CMD_FAST ? "fast-command" : "command", (long long)(ns / 1000000));
    size_t reply_bytes = c->output_bytes - output_before;
    if (unlikely(commandlogWanted(ns, c->req->wire_len, reply_bytes)) && !(cmd->flags & CMD_SKIP_COMMANDLOG))
        commandlogRecord(c, ns, c->req->wire_len, reply_bytes);
    if (unlikely(call_after)) callAfter(c, ns, reply_bytes);
}

/* Commands of a primary, or of a client that imports a dataset: no key expires before the source sends its DEL. */
static void callWithoutExpiry(client *c, monotime *now) {
    storeSetExpireIgnored(true);
    call(c, now);
    storeSetExpireIgnored(false);
}

static void (*on_applied)(client *c); /* const after startup */

void callOnApplied(void (*fn)(client *c)) {
    debugAssert(!on_applied);
    on_applied = fn;
}

static void callRejected(client *c) {
    transactionRefused(c);
    /* CLIENT LIST shows no command for an unknown one. */
    if (c->req->flags & (REQ_UNKNOWN_COMMAND | REQ_UNKNOWN_SUBCOMMAND)) c->cmd = c->last_cmd = NULL;
    else if (c->cmd && c->cmd->stats) c->cmd->stats->rejected_calls++;
    /* A replica reads its input as the replication stream, which must not contain an error: close the connection. */
    if (unlikely(c->flags & CLIENT_REPLICA) && !(c->flags & CLIENT_MONITOR)) clientCloseAsap(c);
}

#define RELEASE_AT_END (CLIENT_RESERVED | CLIENT_ARGS_TAKEN)
#define CLEAR_AT_END                                                                                      \
    (CLIENT_REPLY_SKIP | CLIENT_REPLY_SKIP_NEXT | RELEASE_AT_END | CLIENT_PUSHES_HELD | CLIENT_TRACKING | \
     CLIENT_POSTPONED | CLIENT_ASKING)

static void releaseTaken(client *c) {
    if (c->flags & CLIENT_RESERVED) {
        commandMemoryEnd(c);
        memoryGateUpdate();
    }
    if (c->flags & CLIENT_ARGS_TAKEN) clientArgsEnd(c);
}

/* Call if the handler has postponed its command. */
static void commandPostponed(client *c) {
    c->flags &= ~CLIENT_POSTPONED;
    c->commands--;
}

/* CLIENT REPLY SKIP suppresses the reply of the next command and no other, also if that command blocks first. */
static void commandEnded(client *c, bool postponed) {
    releaseTaken(c);
    if (c->flags & CLIENT_PUSHES_HELD) trackingReleasePushes(c);
    if (c->flags & CLIENT_ASKING && (!postponed || c->flags & CLIENT_BLOCKED)) slotAskingEnd(c);
    if (postponed) return;
    if (c->flags & CLIENT_TRACKING) trackingCommandEnded(c);
    c->flags &= ~CLIENT_REPLY_SKIP;
    if (c->flags & CLIENT_REPLY_SKIP_NEXT) {
        c->flags |= CLIENT_REPLY_SKIP;
        c->flags &= ~CLIENT_REPLY_SKIP_NEXT;
    }
}

/* Runs a command that was read earlier, and restores the client's current command afterwards. */
static void runRecord(client *c, const parsedCommand *req, monotime *now) {
    const parsedCommand *outer_req = c->req;
    const serverCommand *outer_cmd = c->cmd;
    debugAssert(req->cmd && !(req->flags & REQ_MALFORMED));
    slice *outer_argv = c->argv;
    uint32_t outer_argc = c->argc;
    c->req = req;
    c->argv = req->argv;
    c->argc = req->argc;
    c->cmd = req->cmd;
    if (!(req->flags & REQ_LARGE) || beginLarge(c, req)) call(c, now);
    if (unlikely(c->flags & RELEASE_AT_END)) releaseTaken(c);
    c->req = outer_req;
    c->argv = outer_argv;
    c->argc = outer_argc;
    c->cmd = outer_cmd;
}

void callQueued(client *c, const parsedCommand *req, monotime *now) {
    uint64_t ns_before = engine_stats.command_ns;
    runRecord(c, req, now);
    c->commands++;
    engine_stats.command_ns = ns_before; /* EXEC's time includes it */
}

/* Holds a client whose key has become ready while it is paused. Returns whether it is held. */
static bool holdIfPaused(client *c) {
    const parsedCommand *req = blockingCommand(c);
    if (!pauseHolds(c, commandFlags(req->cmd, req->argv, req->argc))) return false;
    blockingHold(c);
    return true;
}

void callServeBlocked(monotime *now) {
    assertMainRole();
    client *outer = current_client;
    debugAssert(!outer || yieldIsServing());
    /* The command that has made the keys ready saw one time from start to end: some may have expired since. */
    storeSetNowMs(clockWallMs());
    for (client *c; (c = blockingNext()) != NULL;) {
        if (unlikely(pause_any) && holdIfPaused(c)) continue;
        current_client = c;
        const parsedCommand *req = blockingRun(c);
        if (aclMayBeServed(c, req)) runRecord(c, req, now);
        if (unlikely(c->flags & CLIENT_PUSHES_HELD)) trackingReleasePushes(c);
        blockingHasRun(c);
        if (unlikely(c->flags & CLIENT_TRACKING)) trackingCommandEnded(c);
        clientDebugCheck(c);
    }
    current_client = outer;
}

void callResumeHeld(client *c, monotime *now) {
    assertMainRole();
    debugAssert(blockingIsHeld(c));
    const parsedCommand *req = blockingRun(c);
    if (processCommand(c, req, now) == CALL_DONE) blockingHasRun(c);
    else blockingHold(c); /* another pause; no command that blocks for keys needs main's own thread */
    if (blocking_ready) callServeBlocked(now);
}

callResult processCommand(client *c, const parsedCommand *req, monotime *now) {
    assertMainRole();
    client *outer = current_client; /* a long command may serve other clients meanwhile */
    debugAssert(!c->req && outer != c && (!outer || yieldIsServing()));
    c->req = req;
    c->argv = req->argv;
    c->argc = req->argc;
    c->cmd = req->cmd;
    current_client = c;
    gateResult result = GATE_PASSED;
    bool applied = c->flags & CLIENT_PRIMARY;
    if (unlikely(applied)) result = checkApplied(c, req);
    else if (unlikely(req->flags & SPECIAL)) result = checkCommand(c, req);
    else if (unlikely(gatesEnabledFor(c)) && unlikely(!slotGateIsPassed(c, req))) result = checkCommand(c, req);
    if (likely(result == GATE_PASSED)) {
        c->last_cmd = c->cmd;
        if (unlikely(applied || (c->flags & CLIENT_IMPORT_SOURCE && store_following.imports)))
            callWithoutExpiry(c, now);
        else call(c, now);
        c->commands++;
    } else if (result == GATE_REFUSED) {
        callRejected(c);
    }
    c->last_interaction = *now;
    bool postponed = result == GATE_POSTPONED || result == GATE_FOR_MAIN_THREAD;
    if (unlikely(applied) && !postponed) on_applied(c);
    if (unlikely(c->flags & CLEAR_AT_END)) {
        if (c->flags & CLIENT_POSTPONED) {
            commandPostponed(c);
            result = GATE_POSTPONED;
            postponed = true;
        }
        commandEnded(c, postponed || c->flags & CLIENT_BLOCKED);
    }
    c->req = NULL;
    current_client = outer;
    clientDebugCheck(c);
    if (likely(!postponed)) return CALL_DONE;
    return result == GATE_POSTPONED ? CALL_POSTPONED : CALL_FOR_MAIN_THREAD;
}
