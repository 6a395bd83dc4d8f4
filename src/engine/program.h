/* program.h -- commands that a program (a script, a function) runs for a client.
 *
 * A program has a client of its own, without a connection, in whose name its commands run and which gets their replies.
 * What it may do is what the client may that has called it, and what its kind allows.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PROGRAM_H
#define ENGINE_PROGRAM_H

#include "client.h"

typedef struct program {
    client *caller;   /* borrowed: whose command runs the program */
    client *self;     /* borrowed: the program's own client */
    bool read_only;   /* it may not write */
    bool allow_oom;   /* it may take memory although there is none left */
    bool memory_full; /* maxmemory was reached when it began */
    bool has_written; /* a command that writes has begun: it cannot be ended halfway */
    uint32_t targets; /* PROPAGATE_: who gets what it does */
    monotime now;     /* when its command began, or ended */
} program;

/* The client for programs: no list has it, it is never blocked, it is in RESP2 and database 0. Made once, at boot. */
client *programClientCreate(void);
/* Whether the client is the one in whose name programs run their commands. */
bool programOwns(const client *c);
/* Whether the command that runs is a program's, and so one of several of a unit. */
bool programIsRunning(void);
/* The product's name in the error about commands that are not for programs: "Valkey". Boot only. */
void programInit(const char *(*product)(void));

/* With `on`, programs may run the commands that are flagged noscript, too, except for those that are CMD_UNSCRIPTABLE
 * (DEBUG SET-DISABLE-DENY-SCRIPTS, for tests). A command that may be switched off (CMD_PROTECTED) still asks its gate.
 */
void programLiftNoScript(bool on);

/* Begin to run something for `caller`: its client is in the caller's database and RESP2. The other fields are false. */
void programBegin(program *p, client *self, client *caller);
/* Run the command of a record that recordComplete() has made. Its reply, or the error that keeps it from running, is
 * the whole output of p->self. */
void programCall(program *p, const parsedCommand *req);
/* What TIME says to the program, in us of the wall clock. It stands still from programBegin() on, so that a program
 * sees one time. programClockMove() sets it to the present: call it when a slow program has let others in, because the
 * program may wait for a time. */
int64_t programClockUs(void);
void programClockMove(void);
/* Whether the caller may run such a command: what is wrong otherwise is no concern of a program. */
bool programMayCall(const program *p, const parsedCommand *req);

#endif
