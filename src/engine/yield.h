/* yield.h -- lets a long job serve other clients meanwhile.
 *
 * A job that keeps the main role for long (a script, the loading of a dataset, a sort of millions) calls yieldNow()
 * again and again. From time to time that serves the clients: commands that the job allows are executed, all others get
 * its error. Nothing that the job relies on changes unless it allows a command that changes it:
 *
 *   - Commands pass GATE_BUSY.
 *   - Handlers of other descriptors (the end of a child, of a job on the link to the primary, of an RDB transfer) and
 *     timers do not run: only handlers of clients and listeners are registered with AE_REENTRANT (event/ae.h). The
 *     events of the others stay pending until the job is over.
 *   - Clients blocked for a key are served when the command that has added it is over (net/session/command_batch.c).
 *   - Replies that are sent meanwhile depend on the last complete propagation unit (persist/aof/aof.c), and the client
 *     whose command is the job gets nothing before its reply is complete (net/session/session_output.c).
 *
 * Code that changes the dataset, the role, a replication stream or its files calls assertOutsideYield().
 *
 * A job that allows nearly all commands (a dataset that is loaded while the old one is in use) may have another job, a
 * script, run by one of these commands: then a command is refused if either job refuses it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_YIELD_H
#define ENGINE_YIELD_H

#include "gates.h"
#include "panic.h"

/* One of the first three says which commands may run meanwhile. */
typedef struct yieldJob {
    uint32_t allowed;                 /* those with one of these CMD_ flags */
    uint32_t refused;                 /* if not 0: all but those with one of these flags */
    bool (*permits)(const client *c); /* if not NULL: those for which it returns true (sliced.h) */
    const char *error; /* reply to the other commands ("-BUSY ..."); NULL: they wait until the job is over */
} yieldJob;

/* Serves other clients if some milliseconds have passed since that was last done, or always with the setting "yield
 * always". Otherwise only reads the clock. Does nothing within two jobs, or within one that has no `refused` flags.
 * Frees no client. */
void yieldNow(const yieldJob *job);
/* Begins the time until yieldNow() serves others: for a job that begins now. */
void yieldLater(void);
/* Returns whether yieldNow() would serve others. */
bool yieldIsDue(void);
/* Returns whether other clients are being served in the middle of a job. */
bool yieldIsServing(void);
#define assertOutsideYield() serverAssert(!yieldIsServing())

/* The check function of GATE_BUSY. */
gateResult yieldGate(client *c);
/* Sets the function of net that serves clients. Call at startup. */
void yieldSetServe(void (*serve)(void));

#endif
