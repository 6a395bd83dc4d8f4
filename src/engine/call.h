/* call.h -- one command from record to reply: checks whether it may run, runs it, accounts for it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CALL_H
#define ENGINE_CALL_H

#include "command_table.h"
#include "engine_settings.h"

typedef enum { CALL_DONE, CALL_POSTPONED, CALL_FOR_MAIN_THREAD } callResult;

/* Executes one parsed command for `c`. Returns CALL_POSTPONED if the client is paused or blocked, and
 * CALL_FOR_MAIN_THREAD if only main's own thread may execute the command (REQ_MAIN_THREAD) and this is another one:
 * then the command remains the next to run. Returns CALL_DONE otherwise, also after an error. `*now` is the start time
 * of the command and is set to its end, so that a series of commands reads the clock once for each. */
callResult processCommand(client *c, const parsedCommand *req, monotime *now);
/* Executes a queued command of a transaction while its EXEC runs. Checks no gates: they were checked when it was
 * queued. */
void callQueued(client *c, const parsedCommand *req, monotime *now);
/* Runs the commands of clients whose keys have become ready (blocking_ready), and of the clients that these unblock in
 * turn. Do not call within a command, except one that serves other clients meanwhile (yield.h). */
void callServeBlocked(monotime *now);
/* Runs the command of a held client (blockingIsHeld()). Call when the pause that holds it has ended. */
void callResumeHeld(client *c, monotime *now);
/* Sets a function that is called after each command of a primary (CLIENT_PRIMARY), whether it has run, was queued or
 * could not be run; c->req is still set. Call at startup. */
void callOnApplied(void (*fn)(client *c));
/* Returns the client whose command is running; NULL between commands. For the crash report and blocked time. */
client *callCurrentClient(void);

#endif
