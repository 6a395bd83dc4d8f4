/* script_debug.h -- SCRIPT DEBUG, and the life of a debugging session: its connection, its process, its end.
 *
 * A session is one EVAL of a client that has asked for it. By itself it runs in a forked child, and what it changes is
 * gone with that. A synchronous one runs here, and the server waits for its client: nobody else is served.
 *
 * Runs on: main; scriptDebugBegin() and what follows it, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_DEBUG_H
#define SCRIPT_SCRIPT_DEBUG_H

#include "command_table.h"
#include "connection.h"

commandHandler scriptDebugCommand;

/* Returns true if the client's next EVAL is to be debugged. */
bool scriptIsDebugged(const client *c);
/* Begin a session for the EVAL of `c`. False: nothing is to be run here; the client has its error, or a child has the
 * client. */
bool scriptDebugBegin(client *c, slice text);
/* The EVAL has replied. In a child this does not return. */
void scriptDebugEnd(client *c);

/* How a command has its client's connection for itself: the net layer's part (net/balance/conn_detach.h). Boot only. */
typedef struct debugDetach {
    connection *(*take)(client *c);
    void (*giveBack)(client *c);
    void (*abandon)(client *c);
} debugDetach;
void scriptDebugInit(const debugDetach *detach);

/* Each tick: children that have ended. */
void scriptDebugTick(void);
/* Shutdown: none is left behind. */
void scriptDebugEndChildren(void);

#endif
