/* manager_plan.h -- what to change in a cluster: who becomes what, which slots move, how damage is repaired.
 *
 * Each function computes a plan from a view and changes nothing. Nodes are indexes of the view.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_PLAN_H
#define MANAGER_PLAN_H

#include "manager_view.h"

/* --- plan_create.c: a new cluster --------------------------------------------------------------------------------- */

typedef struct createPlan {
    size_t count, primaries;
    int *primary_of;   /* owns: for each node its primary, which is itself for a primary */
    int *first, *last; /* own: for each primary its slots, both inclusive */
    int same_host;     /* replicas on the host of their primary */
} createPlan;

/* Chooses primaries, each with at least `replicas` replicas, from nodes on `hosts`. The primaries are spread over the
 * hosts; as few replicas as possible are on the host of their primary, and few on that of another replica of it.
 * Returns false if there are too few nodes for one primary. createPlanFree() frees the plan in either case. */
bool planCreate(createPlan *p, const char *const *hosts, size_t count, size_t replicas) must_check;
void createPlanFree(createPlan *p);

/* --- plan_move.c: moving slots ------------------------------------------------------------------------------------ */

typedef struct slotMove {
    int slot, from, to;
} slotMove;

typedef struct movePlan {
    slotMove *moves; /* owns */
    size_t count;
} movePlan;
void movePlanFree(movePlan *p);

/* Takes `slots` slots from the sources, or all that they have if these are fewer: from each in proportion to what it
 * has, the lowest first. The target must not be a source. */
void planReshard(movePlan *p, const managerView *v, const int *sources, size_t count, int target, int slots);

/* Distributes the slots over the nodes in proportion to their weights. `weights` has one for each node of the view;
 * below 0: the node neither gives nor gets any. Does nothing unless one node at least has `threshold` percent more or
 * fewer slots than it should have. The moves of each pair of nodes stand together. */
void planRebalance(movePlan *p, const managerView *v, const double *weights, double threshold);

/* --- plan_fix.c: repairing a slot --------------------------------------------------------------------------------- */

/* How to repair a slot. With `take`, `owner` first takes the slot with a new epoch. Then the keys of the nodes in
 * `givers` move to it. With `finish`, a move that was begun ends: `owner` takes the slot as the target of a move does.
 * At last the nodes in `losers`, to which `owner` may belong, give up the slot or its open state. */
typedef struct fixPlan {
    int owner; /* -1: no primary can be reached */
    bool take, finish;
    int *givers, *losers; /* own */
    size_t giver_count, loser_count;
} fixPlan;

/* Plans for a slot that is open, that several nodes own, or that none owns. `keys` has for each node of the view how
 * many keys of the slot it has; those of replicas do not count. */
void planFix(fixPlan *p, const managerView *v, int slot, const long long *keys);
void fixPlanFree(fixPlan *p);

#endif
