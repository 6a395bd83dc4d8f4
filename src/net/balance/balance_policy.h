/* balance_policy.h -- the load balancing policy: how many threads own connections, and which connection moves where.
 *
 * It only decides, from the figures that it is given, and uses no thread, clock or connection. So it can be run against
 * loads that no available machine could produce (tests/unit/net/balance/balance_sim_test.c). docs/design/threads.md has
 * the reasons.
 *
 * Threads are numbered from 1; the first `level` of them take part. A load is a share of one thread's time: 1 is all of
 * it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_BALANCE_POLICY_H
#define NET_BALANCE_POLICY_H

#include "throughput_trial.h"
#include "platform.h"

#define BALANCE_THREADS 256 /* thread numbers are below this */

/* The work of a thread in a window. */
typedef struct balanceThread {
    uint64_t busy_ns;   /* time worked */
    uint64_t acting_ns; /* part of it as main, for connections of any thread */
} balanceThread;

/* The work and idle time of the machine in a window. */
typedef struct balanceMachine {
    long long commands; /* executed, for all connections */
    double idle;        /* number of processors that were idle recently; negative: unknown */
} balanceMachine;

/* A connection that has had a cost recently. */
typedef struct balanceClient {
    uint32_t cost;       /* decayed; in the same unit for all, never 0 */
    uint16_t thread;     /* its owner thread, 1 to BALANCE_THREADS - 1 */
    bool stays;          /* it moves already or is about to close: it counts but is not moved */
    uint32_t prev, next; /* for the policy: list of its thread */
} balanceClient;

typedef struct balanceMove {
    uint32_t io; /* index in the array given to balancePlan() */
    uint16_t to;
} balanceMove;

/* State kept between windows; all zero at first. The functions below change the fields; other code may read them. */
typedef struct balancePolicy {
    int level, most;
    bool all;                      /* always use all threads that may take part */
    double own[BALANCE_THREADS];   /* decayed load by its connections, without the thread's work as main */
    double share[BALANCE_THREADS]; /* share in the cost of all connections, at the last plan */
    double acting;                 /* decayed load of main, on all threads; divided among them by `share` */
    double load_per_cost;          /* load of a connection divided by its cost, at the last plan; 0: unknown */
    double cost_typical;           /* average of the connections that have a cost */
    uint64_t hot_ns, quiet_ns;     /* how long a thread has been near its limit; how long fewer threads would do */
    uint64_t since_plan_ns, plan_pause_ns; /* time since the last plan; least time between plans */
    double idle;                           /* as in the last window */
    throughput before;                     /* throughput while a thread was near its limit, since the last change */
    throughputTrial more, fewer; /* trials of more or fewer threads without an idle processor; at most one runs */
    int level_before;            /* level before that trial */
    bool full;                   /* all that may take part do, and all were near their limit in the last window */
} balancePolicy;

/* Sets how many threads may take part, at least 1; `all`: all of them do. */
void balanceBounds(balancePolicy *p, int most, bool all);
/* Call at the end of a window of `window_ns`, after balanceBounds(); `threads` is indexed by number. Returns true if
 * the connections should be surveyed for balancePlan(). The level may have changed. */
bool balanceWindow(balancePolicy *p, uint64_t window_ns, const balanceThread *threads, const balanceMachine *machine);
/* Decides the level and the moves that pay, at most `max`, from the connections that have a cost (in any order; `prev`
 * and `next` are overwritten). Returns the number of moves. The caller has to move connections of threads above the
 * level. */
size_t balancePlan(balancePolicy *p, balanceClient *ios, size_t n, balanceMove *moves, size_t max);
/* Returns the thread for a new connection or one that must leave its thread: the least loaded one of the level for
 * which `may` is true, of equally loaded ones the one with the fewest connections (`held`, by number); 0 if there is
 * none. The thread's load includes `cost` from now on. */
unsigned balancePick(balancePolicy *p, const bool *may, const size_t *held, double cost);

#endif
