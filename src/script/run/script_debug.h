/* script_debug.h -- SCRIPT DEBUG, and a debugger run: its connection, its process, its end.
 *
 * A debugger run is one EVAL of a client that has asked for it. Normally it executes in a forked child, and its changes
 * are lost with the child. A synchronous run executes in the server, which serves no other client meanwhile.
 *
 * Runs on: main; scriptDebugBegin() and scriptDebugEnd(): main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_DEBUG_H
#define SCRIPT_SCRIPT_DEBUG_H

#include "command_table.h"
#include "connection.h"

commandHandler scriptDebugCommand;

/* Returns true if the client's next EVAL is to be debugged. */
bool scriptIsDebugged(const client *c);
/* Begins a debugger run for the EVAL of `c`. Returns false if the caller must not run the script: the client got an
 * error, or a child process serves it now. */
bool scriptDebugBegin(client *c, slice text);
/* Ends the run after EVAL has replied. Does not return in a child. */
void scriptDebugEnd(client *c);

/* The functions of the net layer by which a command gets its client's connection for itself, returns it, or abandons it
 * to a child process (net/balance/conn_detach.h). */
typedef struct debugDetach {
    connection *(*take)(client *c);
    void (*giveBack)(client *c);
    void (*abandon)(client *c);
} debugDetach;
void scriptDebugInit(const debugDetach *detach); /* copies them; call at startup */

/* Forgets child processes that have ended. Call at each tick. */
void scriptDebugTick(void);
/* Kills all child processes and waits for their end. Call at shutdown. */
void scriptDebugEndChildren(void);

#endif
