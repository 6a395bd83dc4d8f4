/* quiet_moment.h -- lets an automatic fork begin when few clients have to wait for it (save-when-quiet).
 *
 * Runs on: main's own thread; functions that only read, main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_QUIET_MOMENT_H
#define PERSIST_QUIET_MOMENT_H

#include "ae.h"

/* Call at startup. `again` is called every few milliseconds while a fork waits, and must ask again for each fork that
 * is still due: a wait of which nothing asks any more is over. */
void quietInit(aeEventLoop *loop, void (*again)(void));
/* Call at each tick: observes the load, so that a quiet moment is known when it comes. */
void quietTick(void);
/* Returns true if a child may be forked now: the server is quiet, or the fork has waited for `bound_ms`. Otherwise the
 * wait begins or continues. */
bool quietMayFork(long long bound_ms);
/* Ends the wait. Call when a child is forked, for whatever reason. */
void quietEnd(void);

/* INFO fields. */
typedef struct quietFigures {
    bool waiting;
    long long found, missed; /* waits that ended at a quiet moment, or at their bound */
} quietFigures;
quietFigures quietFiguresNow(void);
void quietResetStats(void); /* for CONFIG RESETSTAT */

/* --- its parts, for tests --------------------------------------------------------------------------------- */
typedef struct quietWatch {
    bool waits;
    uint64_t since_us;  /* the wait began */
    uint64_t at_us;     /* last sample; 0: none yet */
    uint64_t commands;  /* executed by then */
    double peak_per_ms; /* the highest rate of late */
    int quiet;          /* samples in a row that were quiet */
} quietWatch;
typedef enum { QUIET_WAIT, QUIET_FOUND, QUIET_MISSED } quietVerdict;
/* Decides whether a fork that is due begins at `now_us`; `commands` is the number of commands that were executed so
 * far, `few_per_ms` the rate that is quiet in any case; negative: none is. All but QUIET_WAIT end the wait. */
quietVerdict quietStep(quietWatch *w, uint64_t now_us, uint64_t commands, uint64_t bound_us, long long few_per_ms);
/* Observes the load while no fork waits. */
void quietObserve(quietWatch *w, uint64_t now_us, uint64_t commands);

#endif
