/* call.h -- one command from record to reply: may it run, run it, account for it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CALL_H
#define ENGINE_CALL_H

#include "command_table.h"
#include "engine_settings.h"
#include "engine_stats.h"

typedef enum { CALL_DONE, CALL_POSTPONED, CALL_FOR_MAIN_THREAD } callResult;

/* Execute one parsed command for `c`. POSTPONED: the client is paused or blocked and the command stays the next to run.
 * FOR_MAIN_THREAD: the same, because only main's own thread may execute the command (REQ_MAIN_THREAD) and another one
 * acts as main. Everything else, errors too, is DONE. `*now` is the time the command starts, and is moved to when it
 * has ended, so that a run of commands reads the clock once each. */
callResult processCommand(client *c, const parsedCommand *req, monotime *now);
/* Execute a command of a transaction while its EXEC runs; the gates were asked when it was queued. */
void callQueued(client *c, const parsedCommand *req, monotime *now);
/* Run the commands of clients that waited for what has come (blocking_ready), and of those that these let run. Not
 * within a command. */
void callServeBlocked(monotime *now);
/* Run the command of a client that is held (blockingIsHeld()): what holds it has ended. */
void callResumeHeld(client *c, monotime *now);
/* Boot: who is told of each command that a primary (CLIENT_PRIMARY) has sent and that has run, or was queued, or could
 * not be run; c->req is still there. */
void callOnApplied(void (*fn)(client *c));
/* The command that runs at this moment and its client; NULL between commands. For the crash report and blocked time. */
client *callCurrentClient(void);

#endif
