/* script_context.c -- commands that a script or function runs for a client: checks and runs them.
 *
 * They pass the gates whose result may differ from command to command (gatesRunForScript()); the command that runs the
 * script has passed the others. Three gates have a check function here, because scripts expect other errors, or because
 * the result depends on the script.
 *
 * Not here    what a script is (script/), how a command runs (call.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        some branches in addition to call().
 * Tests       tests/script/eval.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_context.h"

#include "acl.h"
#include "acl_check.h"
#include "call.h"
#include "clock.h"
#include "gates.h"
#include "key_check.h"
#include "memory_gate.h"
#include "panic.h"
#include "propagate.h"
#include "reply.h"
#include "slot_check.h"
#include "store_state.h"
#include "tracking.h"

static const char *(*product_name)(void);
static const client *script_client;                          /* borrowed: made by scriptContextClientCreate() */
static const scriptContext *current_context;                 /* borrowed: the one that began last */
static bool is_running;                                      /* a script's command is running */
static uint32_t barred_flags = CMD_NOSCRIPT | CMD_PROTECTED; /* of commands that scripts may not run */
static int64_t script_clock_us;                              /* wall clock; see scriptContextClockUs() */

static gateResult refuseScript(client *self, const char *error) {
    addReplyError(self, error);
    return GATE_REFUSED;
}

/* A script that has written may go on over maxmemory: a half-applied script is worse. */
static gateResult scriptMemoryGate(client *self) {
    bool full = current_context->memory_full && !current_context->allow_oom && !current_context->has_written;
    if (!full || !(self->cmd->flags & CMD_DENYOOM)) return GATE_PASSED;
    return refuseScript(self, "-OOM command not allowed when used memory > 'maxmemory'.");
}

static gateResult scriptAclGate(client *self) {
    return aclAllowsScript(current_context->caller, self, self->req) ? GATE_PASSED : GATE_REFUSED;
}

/* The answer for a client would name another node: a script cannot go there. */
static gateResult scriptClusterGate(client *self) {
    switch (slotCheckScript(self, current_context->caller)) {
    case SLOT_SERVED: return GATE_PASSED;
    case SLOT_DOWN:
        addReplyErrorFormat(self, "Can not execute a command '%s' while the cluster is down", self->cmd->fullname);
        return GATE_REFUSED;
    case SLOT_DOWN_READS:
        addReplyErrorFormat(self, "Can not execute a write command '%s' while the cluster is down and readonly",
                            self->cmd->fullname);
        return GATE_REFUSED;
    default: return refuseScript(self, "Attempted to access a non local key in a cluster node");
    }
}

static gateResult scriptStaleGate(client *self) {
    if (self->cmd->flags & CMD_STALE) return GATE_PASSED;
    return refuseScript(self, "Can not execute the command on a stale replica");
}

void scriptContextInit(const char *(*product)(void)) {
    product_name = product;
    gateSetForScript(GATE_MEMORY, scriptMemoryGate);
    gateSetForScript(GATE_ACL, scriptAclGate);
    gateSetForScript(GATE_CLUSTER, scriptClusterGate);
    gateSetForScript(GATE_STALE, scriptStaleGate);
}

client *scriptContextClientCreate(void) {
    assertMainRole();
    client *c = clientCreate(NULL, -1, "lua", "", false);
    c->flags |= CLIENT_DENY_BLOCKING;
    serverAssert(!script_client);
    script_client = c;
    return c;
}

void scriptContextAllowNoScript(bool on) {
    assertMainRole();
    barred_flags = on ? CMD_UNSCRIPTABLE : CMD_NOSCRIPT | CMD_PROTECTED;
}

bool scriptContextIsRunning(void) { return is_running; }

bool scriptContextIsClient(const client *c) { return c == script_client; }

static void setUser(client *self, const client *caller) {
    self->user = caller->user;
    gateEnableClient(self, GATE_ACL, caller->gates >> GATE_ACL & 1);
}

void scriptContextBegin(scriptContext *script, client *self, client *caller) {
    *script = (scriptContext){
        .caller = caller, .self = self, .memory_full = memoryGateIsFull(caller), .targets = PROPAGATE_ALL};
    script->slot = caller->req ? caller->req->slot : -1;
    debugAssert(self != caller && !is_running);
    current_context = script;
    script_clock_us = storeNowMs() * 1000;
    self->db = caller->db;
    self->resp = 2;
    setUser(self, caller);
    gateEnableClient(self, GATE_MEMORY, script->memory_full);
    if (unlikely((self->flags ^ caller->flags) & CLIENT_NO_TOUCH)) self->flags ^= CLIENT_NO_TOUCH;
}

int64_t scriptContextClockUs(void) { return script_clock_us; }

void scriptContextClockUpdate(void) { script_clock_us = clockWallUs(); }

static bool isForScripts(scriptContext *script, const parsedCommand *req) {
    bool here = !(req->flags & REQ_MAIN_THREAD) || panicOnMainThread();
    if (likely(here && !(req->cmd->flags & barred_flags))) return true;
    return addReplyErrorFormat(script->self, "This %s command is not allowed from script", product_name());
}

static bool readOnlyAllows(scriptContext *script, const parsedCommand *req) {
    if (likely(!script->read_only) || !(req->cmd->flags & (CMD_WRITE | CMD_MAY_REPLICATE))) return true;
    return addReplyError(script->self, "Write commands are not allowed from read-only scripts.");
}

/* Makes the command the one that the client executes, for gates and errors. */
static void setCommand(client *self, const parsedCommand *req) {
    self->req = req;
    self->cmd = req->cmd;
    self->argv = req->argv;
    self->argc = req->argc;
}

/* The keys that a script declares and touches have one slot, unless it is a script that may cross slots. */
static bool slotAllows(scriptContext *script, const parsedCommand *req) {
    if (req->slot < 0) return true;
    if (script->slot < 0) script->slot = req->slot;
    if (likely(!script->one_slot || script->slot == req->slot)) return true;
    return addReplyError(script->self, "Script attempted to access keys that do not hash to the same slot");
}

/* A script that has written goes on if replicas are lost meanwhile: a half-applied script is worse. */
static bool gatesPass(scriptContext *script, const parsedCommand *req) {
    unsigned stages = script->has_written ? ~(1u << GATE_REPLICAS) : ~0u;
    const unsigned before_read_only = 1u << GATE_MEMORY | 1u << GATE_ACL | 1u << GATE_CLUSTER;
    unsigned first = script->read_only ? before_read_only : ~0u;
    setCommand(script->self, req);
    bool pass = gatesRunForScript(script->self, stages & first) == GATE_PASSED;
    if (script->read_only)
        pass = pass && readOnlyAllows(script, req) && gatesRunForScript(script->self, stages & ~first) == GATE_PASSED;
    script->self->req = NULL;
    return pass && slotAllows(script, req);
}

static bool commandMayRun(scriptContext *script, const parsedCommand *req) {
    if (unlikely(!isForScripts(script, req))) return false;
    if (likely(!gatesEnabledFor(script->self) && !(req->flags & REQ_GATED))) return readOnlyAllows(script, req);
    return gatesPass(script, req);
}

static void refuseMalformed(scriptContext *script, const parsedCommand *req) {
    if (req->flags & REQ_UNKNOWN_COMMAND) {
        addReplyError(script->self, "Unknown command called from script");
    } else if (req->flags & REQ_UNKNOWN_SUBCOMMAND) {
        setCommand(script->self, req);
        addReplyUnknownSubcommand(script->self);
        script->self->req = NULL;
    } else {
        req->cmd->stats->rejected_calls++;
        addReplyError(script->self, "Wrong number of args calling command from script");
    }
}

/* Adds the keys of a script's command to those tracked for the caller, which may cache them. */
static void trackKeys(client *caller, serverDb *db, const parsedCommand *req) {
    keyMark mark;
    keyCheckPause(&mark);
    trackingRemember(caller, db, req);
    keyCheckEnd(&mark);
}

void scriptContextCall(scriptContext *script, const parsedCommand *req) {
    assertMainRole();
    client *self = script->self;
    debugAssert(!is_running && self == script_client);
    if (unlikely(req->flags & REQ_MALFORMED)) {
        refuseMalformed(script, req);
        return;
    }
    if (unlikely(!commandMayRun(script, req))) {
        req->cmd->stats->rejected_calls++;
        return;
    }
    if (req->cmd->flags & CMD_WRITE) script->has_written = true;
    script->now = clockTicks(); /* the time between two commands belongs to the script */
    is_running = true;
    if (likely(script->targets == PROPAGATE_ALL || !propagateWanted())) {
        callQueued(self, req, &script->now);
    } else {
        uint32_t before = propagateLimit(script->targets);
        callQueued(self, req, &script->now);
        propagateLimit(before);
    }
    is_running = false;
    if (unlikely(req->cmd->flags & CMD_NOSCRIPT)) setUser(self, script->caller); /* ACL may have changed the user */
    if (unlikely(script->caller->flags & CLIENT_TRACKING)) trackKeys(script->caller, self->db, req);
    debugAssert(!(self->flags & CLIENT_BLOCKED));
}

bool scriptContextMayCall(const scriptContext *script, const parsedCommand *req) {
    const client *c = script->caller;
    if (likely(!(c->gates >> GATE_ACL & 1))) return true;
    aclQuestion q = {.cmd = req->cmd,
                     .argv = req->argv,
                     .argc = req->argc,
                     .keys = req->keys,
                     .nkeys = req->nkeys,
                     .dbid = dbId(script->self->db)};
    uint32_t index;
    return aclCheck(c->user, &q, &index) == ACL_ALLOWED;
}
