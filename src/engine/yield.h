/* yield.h -- a long job lets others in between.
 *
 * Whoever works for long under main's role (a program, the reading of a dataset, a sort of millions) calls yieldNow()
 * again and again. Now and then that serves the clients: what the job allows is executed, all else is answered with
 * its error. Nothing that the job relies on changes unless it allows a command that changes it.
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

typedef struct yieldJob {
    uint32_t allowed;  /* commands with one of these CMD_ flags may run meanwhile */
    uint32_t refused;  /* if not 0: all may but those with one of these */
    const char *error; /* the others get this text ("-BUSY ...") */
} yieldJob;

/* Serve others if some milliseconds have gone since the job last did; else it is one reading of the clock. It does
 * nothing within a job that allows but some commands. No client is freed by it. */
void yieldNow(const yieldJob *job);

/* The entry of GATE_BUSY. */
gateResult yieldGate(client *c);
/* How others are served: the net layer's part. Boot only. */
void yieldSetServe(void (*serve)(void));

#endif
