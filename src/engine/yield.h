/* yield.h -- a long job lets others in between.
 *
 * Whoever works for long under main's role (a program, the reading of a dataset, a sort of millions) calls yieldNow()
 * again and again. Now and then that serves the clients: what the job allows is executed, all else is answered with
 * its error. Nothing that the job relies on changes unless it allows a command that changes it:
 *
 *   - Commands pass GATE_BUSY.
 *   - Handlers of other descriptors (the end of a child, of a job on the link to the primary, of a transfer) and timers
 *     do not run: only handlers of clients and listeners are registered with AE_REENTRANT (event/ae.h). What these wait
 *     for stays pending until the job is over.
 *   - Clients that wait for a key are served when the command that has brought it is over
 *     (net/session/command_batch.c).
 *   - Replies that leave meanwhile are judged by the last complete unit of what is propagated (persist/aof/aof.c), and
 *     the client whose command is the job gets nothing before its reply is whole (net/session/session_output.c).
 *
 * assertOutsideYield() says so where something changes the dataset, the role, a stream or its files.
 *
 * Jobs that let nearly all commands run (a dataset that is loaded beside the one there is) may have another one among
 * these, a script: then what either of the two refuses is refused.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_YIELD_H
#define ENGINE_YIELD_H

#include "gates.h"
#include "panic.h"

typedef struct yieldJob {
    uint32_t allowed;  /* commands with one of these CMD_ flags may run meanwhile */
    uint32_t refused;  /* if not 0: all may but those with one of these */
    const char *error; /* the others get this text ("-BUSY ..."); NULL: they wait until the job is over */
} yieldJob;

/* Serve others if some milliseconds have passed since the job last did; else it is one reading of the clock. It does
 * nothing within a job that allows but some commands. No client is freed by it. With the setting "yield always" it
 * serves others in each call. */
void yieldNow(const yieldJob *job);
/* Whether others are being served in the middle of a job. */
bool yieldIsServing(void);
#define assertOutsideYield() serverAssert(!yieldIsServing())

/* The entry of GATE_BUSY. */
gateResult yieldGate(client *c);
/* How others are served: the net layer's part. Boot only. */
void yieldSetServe(void (*serve)(void));

#endif
