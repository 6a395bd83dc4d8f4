/* program.c -- commands that a program (a script, a function) runs for a client.
 *
 * They pass few of the gates: those in front of the program's own command have been asked, and what may change with
 * each command is asked here, in the order in which programs know the errors.
 *
 * Not here    what a program is (script/), how a command runs (call.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        beyond call(): some branches.
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
static const client *program_client;                         /* borrowed: the one that programClientCreate() has made */
static bool is_running;                                      /* a command of a program */
static uint32_t barred_flags = CMD_NOSCRIPT | CMD_PROTECTED; /* of commands that no program runs */
static int64_t program_clock_us;                             /* of the wall clock */

void programInit(const char *(*product)(void)) {
    product_name = product;
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

bool programIsRunning(void) {
    return is_running;
}

bool programOwns(const client *c) {
    return c == program_client;
}

void programBegin(program *p, client *self, client *caller) {
    *p = (program){.caller = caller, .self = self, .memory_full = memoryGateIsFull(caller), .targets = PROPAGATE_ALL};
    program_clock_us = storeNowMs() * 1000;
    self->db = caller->db;
    self->user = caller->user;
    self->resp = 2;
    if (unlikely((self->flags ^ caller->flags) & CLIENT_NO_TOUCH)) self->flags ^= CLIENT_NO_TOUCH;
}

int64_t programClockUs(void) {
    return program_clock_us;
}

void programClockMove(void) {
    program_clock_us = clockWallUs();
}

static bool refused(program *p, const parsedCommand *req, const char *error) {
    if (req->cmd && req->cmd->stats) req->cmd->stats->rejected_calls++;
    addReplyError(p->self, error);
    return false;
}

static bool isForPrograms(program *p, const parsedCommand *req) {
    char error[128];
    bool here = !(req->flags & REQ_MAIN_THREAD) || panicOnMainThread();
    if (likely(here && !(req->cmd->flags & barred_flags))) return true;
    snprintf(error, sizeof(error), "This %s command is not allowed from script", product_name());
    return refused(p, req, error);
}

/* A script that has written may go on over maxmemory: a half-applied script is worse. */
static bool lacksMemory(const program *p, uint32_t flags) {
    return flags & CMD_DENYOOM && unlikely(p->memory_full) && !p->allow_oom && !p->has_written;
}

/* The stages look at the command that the client executes. A program that has written goes on when replicas are lost
 * meanwhile: half of what it does is worse. */
static bool gatesPass(const program *p, const parsedCommand *req) {
    client *self = p->self;
    if (likely(!gatesArmedFor(self) && !(req->flags & REQ_GATED))) return true;
    self->req = req;
    self->cmd = req->cmd;
    self->argv = req->argv;
    self->argc = req->argc;
    bool pass = gatesAsk(self, GATE_PROTECTED, GATE_PROTECTED) == GATE_PASSED &&
                gatesAsk(self, GATE_CLUSTER, GATE_CLUSTER) == GATE_PASSED &&
                gatesAsk(self, GATE_DISK, GATE_DISK) == GATE_PASSED &&
                (p->has_written || gatesAsk(self, GATE_REPLICAS, GATE_REPLICAS) == GATE_PASSED);
    if (!pass) req->cmd->stats->rejected_calls++;
    self->req = NULL;
    return pass;
}

static bool mayRun(program *p, const parsedCommand *req) {
    if (unlikely(req->flags & REQ_MALFORMED)) {
        if (req->flags & REQ_UNKNOWN_COMMAND) return refused(p, req, "Unknown command called from script");
        if (req->flags & REQ_UNKNOWN_SUBCOMMAND) {
            p->self->cmd = req->cmd;
            p->self->argv = req->argv;
            p->self->argc = req->argc;
            addReplyUnknownSubcommand(p->self);
            return false;
        }
        return refused(p, req, "Wrong number of args calling command from script");
    }
    if (unlikely(!isForPrograms(p, req))) return false;
    const uint32_t flags = req->cmd->flags;
    if (unlikely(lacksMemory(p, flags)))
        return refused(p, req, "-OOM command not allowed when used memory > 'maxmemory'.");
    if (unlikely(!aclMayRunProgram(p->caller, p->self, req))) {
        req->cmd->stats->rejected_calls++;
        return false;
    }
    if (flags & (CMD_WRITE | CMD_MAY_REPLICATE) && unlikely(p->read_only))
        return refused(p, req, "Write commands are not allowed from read-only scripts.");
    if (gateStaleIsArmed() && !(flags & CMD_STALE))
        return refused(p, req, "Can not execute the command on a stale replica");
    return gatesPass(p, req);
}

/* A program names the keys it was given, and its client tracks what it reads. */
static void track(client *caller, serverDb *db, const parsedCommand *req) {
    keyMark mark;
    keyCheckPause(&mark);
    trackingRememberProgram(caller, db, req);
    keyCheckEnd(&mark);
}

void programCall(program *p, const parsedCommand *req) {
    assertMainRole();
    client *self = p->self;
    if (unlikely(!mayRun(p, req))) return;
    if (req->cmd->flags & CMD_WRITE) p->has_written = true;
    p->now = clockTicks(); /* what the program has done since its last command is its own time */
    is_running = true;
    if (likely(p->targets == PROPAGATE_ALL || !propagateWanted())) {
        callQueued(self, req, &p->now);
    } else {
        uint32_t before = propagateLimit(p->targets);
        callQueued(self, req, &p->now);
        propagateLimit(before);
    }
    is_running = false;
    if (unlikely(req->cmd->flags & CMD_NOSCRIPT)) self->user = p->caller->user; /* ACL DELUSER exchanges it */
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
