/* script_context.h -- commands that a script or function runs for a client: checks and runs them.
 *
 * Scripts have a client of their own, without a connection, which runs their commands and gets the replies. A script
 * may do what the client that called it may do, as far as its kind allows.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SCRIPT_CONTEXT_H
#define ENGINE_SCRIPT_CONTEXT_H

#include "client.h"

typedef struct scriptContext {
    client *caller;   /* borrowed: the client whose command runs the script */
    client *self;     /* borrowed: the client of scripts */
    bool read_only;   /* it may not write */
    bool allow_oom;   /* it may use memory although maxmemory is reached */
    bool memory_full; /* maxmemory was reached when it began */
    bool one_slot;    /* cluster mode: all keys that it touches must have one slot */
    bool has_written; /* it has begun a command that writes: it cannot be aborted any more */
    int slot;         /* of the first key that was declared or touched; -1: none so far, or no cluster */
    uint32_t targets; /* PROPAGATE_: the targets of its changes */
    monotime now;     /* when its last command began, or ended */
} scriptContext;

/* Creates the client of scripts: it is in no list, is never blocked, and uses RESP2 and database 0. Call once, at
 * startup. */
client *scriptContextClientCreate(void);
/* Returns whether `c` is the client of scripts. */
bool scriptContextIsClient(const client *c);
/* Returns whether the running command is a script's, and so one of several in a propagation unit. */
bool scriptContextIsRunning(void);
/* Sets the function that returns the product's name ("Valkey") for the error about commands that scripts may not run.
 * Call at startup. */
void scriptContextInit(const char *(*product)(void));

/* Sets whether scripts may also run commands with CMD_NOSCRIPT, except those with CMD_UNSCRIPTABLE (DEBUG
 * SET-DISABLE-DENY-SCRIPTS, for tests). Commands with CMD_PROTECTED still have to pass their gate. */
void scriptContextAllowNoScript(bool on);

/* Begins a script of `caller`: puts `self` into the caller's database and RESP2, and initializes `script`. The caller
 * of the function may then set read_only, allow_oom, one_slot and targets. */
void scriptContextBegin(scriptContext *script, client *self, client *caller);
/* Runs the command of a record that recordComplete() has made. Its reply, or the error if it may not run, is the whole
 * output of script->self. */
void scriptContextCall(scriptContext *script, const parsedCommand *req);
/* Returns the time that TIME shows to the script, in us of the wall clock. It does not change after
 * scriptContextBegin(), so that a script sees one time. */
int64_t scriptContextClockUs(void);
/* Sets that time to the present. Call after a slow script has let other clients run: it may wait for a time to come. */
void scriptContextClockUpdate(void);
/* Returns whether ACL lets the caller run such a command; other errors are not checked. */
bool scriptContextMayCall(const scriptContext *script, const parsedCommand *req);

#endif
