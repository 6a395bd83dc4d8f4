/* program.c -- commands that a script runs for a client ("program": a script or a function).
 *
 * They pass the gates whose result may differ from command to command (gatesAskForScript()); the command that runs the
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
#include "program.h"

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
#include "store_state.h"
#include "tracking.h"

#include <stdio.h>

static const char *(*product_name)(void);
static const client *program_client;                         /* borrowed: made by programClientCreate() */
static const program *current_program;                       /* borrowed: the one that began last */
static bool is_running;                                      /* a script's command is running */
static uint32_t barred_flags = CMD_NOSCRIPT | CMD_PROTECTED; /* of commands that scripts may not run */
static int64_t program_clock_us;                             /* wall clock; see programClockUs() */

static gateResult refuseScript(client *self, const char *error) {
    addReplyError(self, error);
    return GATE_REFUSED;
}

/* A script that has written may go on over maxmemory: a half-applied script is worse. */
static gateResult scriptMemoryGate(client *self) {
    bool full = current_program->memory_full && !current_program->allow_oom && !current_program->has_written;
    if (!full || !(self->cmd->flags & CMD_DENYOOM)) return GATE_PASSED;
    return refuseScript(self, "-OOM command not allowed when used memory > 'maxmemory'.");
}

static gateResult scriptAclGate(client *self) {
    return aclAskScript(current_program->caller, self, self->req) ? GATE_PASSED : GATE_REFUSED;
}

static gateResult scriptStaleGate(client *self) {
    if (self->cmd->flags & CMD_STALE) return GATE_PASSED;
    return refuseScript(self, "Can not execute the command on a stale replica");
}

void programInit(const char *(*product)(void)) {
    product_name = product;
    gateSetForScript(GATE_MEMORY, scriptMemoryGate);
    gateSetForScript(GATE_ACL, scriptAclGate);
    gateSetForScript(GATE_STALE, scriptStaleGate);
}

client *programClientCreate(void) {
    assertMainRole();
    client *c = clientCreate(NULL, -1, "lua", "", false);
    c->flags |= CLIENT_DENY_BLOCKING;
    serverAssert(!program_client);
    program_client = c;
    return c;
}

void programLiftNoScript(bool on) {
    assertMainRole();
    barred_flags = on ? CMD_UNSCRIPTABLE : CMD_NOSCRIPT | CMD_PROTECTED;
}

bool programIsRunning(void) { return is_running; }

bool programOwns(const client *c) { return c == program_client; }

static void setUser(client *self, const client *caller) {
    self->user = caller->user;
    gateArmClient(self, GATE_ACL, caller->gates >> GATE_ACL & 1);
}

void programBegin(program *p, client *self, client *caller) {
    *p = (program){.caller = caller, .self = self, .memory_full = memoryGateIsFull(caller), .targets = PROPAGATE_ALL};
    debugAssert(self != caller && !is_running);
    current_program = p;
    program_clock_us = storeNowMs() * 1000;
    self->db = caller->db;
    self->resp = 2;
    setUser(self, caller);
    gateArmClient(self, GATE_MEMORY, p->memory_full);
    if (unlikely((self->flags ^ caller->flags) & CLIENT_NO_TOUCH)) self->flags ^= CLIENT_NO_TOUCH;
}

int64_t programClockUs(void) { return program_clock_us; }

void programClockMove(void) { program_clock_us = clockWallUs(); }

static bool programRefused(program *p, const char *error) {
    addReplyError(p->self, error);
    return false;
}

static bool isForPrograms(program *p, const parsedCommand *req) {
    char error[128];
    bool here = !(req->flags & REQ_MAIN_THREAD) || panicOnMainThread();
    if (likely(here && !(req->cmd->flags & barred_flags))) return true;
    snprintf(error, sizeof(error), "This %s command is not allowed from script", product_name());
    return programRefused(p, error);
}

static bool readOnlyAllows(program *p, const parsedCommand *req) {
    if (likely(!p->read_only) || !(req->cmd->flags & (CMD_WRITE | CMD_MAY_REPLICATE))) return true;
    return programRefused(p, "Write commands are not allowed from read-only scripts.");
}

/* Makes the command the one that the client executes, for gates and errors. */
static void setCommand(client *self, const parsedCommand *req) {
    self->req = req;
    self->cmd = req->cmd;
    self->argv = req->argv;
    self->argc = req->argc;
}

/* A script that has written goes on if replicas are lost meanwhile: a half-applied script is worse. */
static bool gatesPass(program *p, const parsedCommand *req) {
    unsigned stages = p->has_written ? ~(1u << GATE_REPLICAS) : ~0u;
    unsigned first = p->read_only ? 1u << GATE_MEMORY | 1u << GATE_ACL : ~0u; /* checked before the read-only check */
    setCommand(p->self, req);
    bool pass = gatesAskForScript(p->self, stages & first) == GATE_PASSED;
    if (p->read_only)
        pass = pass && readOnlyAllows(p, req) && gatesAskForScript(p->self, stages & ~first) == GATE_PASSED;
    p->self->req = NULL;
    return pass;
}

static bool programMayRun(program *p, const parsedCommand *req) {
    if (unlikely(!isForPrograms(p, req))) return false;
    if (likely(!gatesArmedFor(p->self) && !(req->flags & REQ_GATED))) return readOnlyAllows(p, req);
    return gatesPass(p, req);
}

static void refuseMalformed(program *p, const parsedCommand *req) {
    if (req->flags & REQ_UNKNOWN_COMMAND) {
        addReplyError(p->self, "Unknown command called from script");
    } else if (req->flags & REQ_UNKNOWN_SUBCOMMAND) {
        setCommand(p->self, req);
        addReplyUnknownSubcommand(p->self);
        p->self->req = NULL;
    } else {
        req->cmd->stats->rejected_calls++;
        addReplyError(p->self, "Wrong number of args calling command from script");
    }
}

/* Adds the keys of a script's command to those tracked for the caller, which may cache them. */
static void track(client *caller, serverDb *db, const parsedCommand *req) {
    keyMark mark;
    keyCheckPause(&mark);
    trackingRememberProgram(caller, db, req);
    keyCheckEnd(&mark);
}

void programCall(program *p, const parsedCommand *req) {
    assertMainRole();
    client *self = p->self;
    debugAssert(!is_running && self == program_client);
    if (unlikely(req->flags & REQ_MALFORMED)) {
        refuseMalformed(p, req);
        return;
    }
    if (unlikely(!programMayRun(p, req))) {
        req->cmd->stats->rejected_calls++;
        return;
    }
    if (req->cmd->flags & CMD_WRITE) p->has_written = true;
    p->now = clockTicks(); /* time between its commands is the script's own */
    is_running = true;
    if (likely(p->targets == PROPAGATE_ALL || !propagateWanted())) {
        callQueued(self, req, &p->now);
    } else {
        uint32_t before = propagateLimit(p->targets);
        callQueued(self, req, &p->now);
        propagateLimit(before);
    }
    is_running = false;
    if (unlikely(req->cmd->flags & CMD_NOSCRIPT)) setUser(self, p->caller); /* ACL may have changed the user */
    if (unlikely(p->caller->flags & CLIENT_TRACKING)) track(p->caller, self->db, req);
    debugAssert(!(self->flags & CLIENT_BLOCKED));
}

bool programMayCall(const program *p, const parsedCommand *req) {
    const client *c = p->caller;
    if (likely(!(c->gates >> GATE_ACL & 1))) return true;
    aclQuestion q = {.cmd = req->cmd,
                     .argv = req->argv,
                     .argc = req->argc,
                     .keys = req->keys,
                     .nkeys = req->nkeys,
                     .dbid = dbId(p->self->db)};
    uint32_t index;
    return aclCheck(c->user, &q, &index) == ACL_ALLOWED;
}
