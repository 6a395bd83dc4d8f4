/* balance_policy.h -- how many threads hold streams, and which stream goes where: the decision, and nothing else.
 *
 * It knows no thread, no clock and no stream but the figures that it is given, so that it can be run against loads that
 * no machine at hand could make (tests/unit/net/balance/balance_sim_test.c). docs/design/threads.md has the reasons.
 *
 * Threads are numbered from 1; the first `level` of them take part. A load is a share of one thread's time: 1 is all.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_BALANCE_POLICY_H
#define NET_BALANCE_POLICY_H

#include "throughput_trial.h"
#include "platform.h"

#define BALANCE_THREADS 256 /* numbers are below this */

/* What a thread has done in a window. */
typedef struct balanceThread {
    uint64_t busy_ns;   /* worked */
    uint64_t acting_ns; /* of that: as main, for streams of whichever thread */
} balanceThread;

/* What the machine has done in a window. */
typedef struct balanceMachine {
    long long commands; /* executed, for all streams */
    double idle;        /* processors that nobody has used lately, as a number; negative: not known */
} balanceMachine;

/* A stream that has cost something lately. */
typedef struct balanceClient {
    uint32_t cost;   /* decayed; in a unit that is the same for all, never 0 */
    uint16_t thread; /* that holds it, 1 to BALANCE_THREADS - 1 */
    bool stays;      /* it is on its way already, or is about to end: it counts and is not moved */
    uint32_t next;   /* the policy's: list of its thread */
} balanceClient;

typedef struct balanceMove {
    uint32_t io; /* index */
    uint16_t to;
} balanceMove;

/* What is remembered between windows; all zero at first. Fields are read by others, changed by the functions below. */
typedef struct balancePolicy {
    int level, most;
    bool all;                      /* always have all that may take part */
    double own[BALANCE_THREADS];   /* decayed load: its streams', without what the thread does as main */
    double share[BALANCE_THREADS]; /* of the cost of all streams, when they were looked at last */
    double acting;                 /* decayed load of main on all threads; its streams' share is each thread's */
    double load_per_cost;          /* of a stream, when they were looked at last; 0: not known */
    double cost_typical;           /* of one that costs something */
    uint64_t hot_ns, quiet_ns;     /* for how long a thread has been near its limit; there have been too many */
    uint64_t looked_ns, again_ns;  /* since streams were looked at; when they are to be again */
    double idle;                   /* as told last */
    throughput asking;             /* what has been done while a thread was near its limit, since the last change */
    throughputTrial more, fewer;   /* threads, where no processor is idle; one at a time is under way */
    int level_before;              /* that one */
    bool full;                     /* all that may take part do, and all were near their limit in the last window */
} balancePolicy;

/* How many threads may take part, at least 1; `all`: all of them are to. */
void balanceBounds(balancePolicy *p, int most, bool all);
/* A window of `window_ns` is over; `threads` by number; the bounds as above have been told. True when the streams
 * should be looked at, for balancePlan(). The level may have changed. */
bool balanceWindow(balancePolicy *p, uint64_t window_ns, const balanceThread *threads, const balanceMachine *machine);
/* Decide by the streams that cost anything (in any order; `next` is overwritten): the level, and the moves that pay, at
 * most `max`. Returns how many. What threads above the level hold is for the caller to place. */
size_t balancePlan(balancePolicy *p, balanceClient *ios, size_t n, balanceMove *moves, size_t max);
/* The thread for a stream that comes or has to leave its own: the least loaded one of the level that `may` have it, of
 * those the one with the fewest streams (`held`, by number). 0 when none may. `cost`: its own, which the thread's load
 * includes from now on. */
unsigned balancePick(balancePolicy *p, const bool *may, const size_t *held, double cost);

#endif
