/* plan_move.c -- which slots move: a number of them to one node, or as many as balance the cluster.
 *
 * Tests       tests/unit/tools/manager_plan_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_check.h"
#include "manager_plan.h"
#include "zmalloc.h"
#include <math.h>

void movePlanFree(movePlan *p) {
    zfree(p->moves);
    *p = (movePlan){0};
}

/* Divides `total` in proportion to the shares: rounds down, and gives what is left to those that lost most by it. */
static void divide(int total, const double *shares, size_t count, int *parts) {
    double sum = 0;
    int left = total;
    for (size_t i = 0; i < count; i++) sum += shares[i];
    double *lost = zmalloc(sizeof(double) * (count + 1));
    for (size_t i = 0; i < count; i++) {
        double exact = sum > 0 ? (double)total * shares[i] / sum : 0;
        parts[i] = (int)exact;
        lost[i] = exact - parts[i];
        left -= parts[i];
    }
    while (left > 0 && sum > 0) {
        size_t most = 0;
        for (size_t i = 1; i < count; i++)
            if (lost[i] > lost[most]) most = i;
        parts[most]++;
        lost[most] = -1;
        left--;
    }
    zfree(lost);
}

/* Adds moves of the lowest slots of a node that are above `after`. Returns the last one. */
static int addMoves(movePlan *p, const managerView *v, int from, int to, int count, int after) {
    p->moves = zrealloc(p->moves, sizeof(slotMove) * (p->count + (size_t)count + 1));
    for (int slot = after; count > 0 && (slot = managerSlotNext(v->nodes[from].slots, slot)) >= 0; count--) {
        p->moves[p->count++] = (slotMove){slot, from, to};
        after = slot;
    }
    return after;
}

void planReshard(movePlan *p, const managerView *v, const int *sources, size_t count, int target, int slots) {
    double *shares = zmalloc(sizeof(double) * (count + 1));
    int *parts = zmalloc(sizeof(int) * (count + 1)), all = 0;
    for (size_t i = 0; i < count; i++) {
        shares[i] = v->nodes[sources[i]].slot_count;
        all += v->nodes[sources[i]].slot_count;
    }
    divide(slots < all ? slots : all, shares, count, parts);
    *p = (movePlan){0};
    for (size_t i = 0; i < count; i++) addMoves(p, v, sources[i], target, parts[i], -1);
    zfree(shares);
    zfree(parts);
}

static bool isBeyond(int has, int wanted, double threshold) {
    if (has == 0) return wanted > 0;
    return fabs(100 - 100.0 * wanted / has) > threshold;
}

/* Moves from the node with most slots too many to the one with most too few, until none has too many. `spare` has the
 * difference for each node, and `after` the last slot that it gives. */
static void balance(movePlan *p, const managerView *v, int *spare, int *after) {
    for (;;) {
        size_t giver = 0, taker = 0;
        for (size_t i = 1; i < v->count; i++) {
            if (spare[i] > spare[giver]) giver = i;
            if (spare[i] < spare[taker]) taker = i;
        }
        if (spare[giver] <= 0 || spare[taker] >= 0) return;
        int count = spare[giver] < -spare[taker] ? spare[giver] : -spare[taker];
        after[giver] = addMoves(p, v, (int)giver, (int)taker, count, after[giver]);
        spare[giver] -= count;
        spare[taker] += count;
    }
}

void planRebalance(movePlan *p, const managerView *v, const double *weights, double threshold) {
    double *shares = zmalloc(sizeof(double) * (v->count + 1));
    int *spare = zmalloc(sizeof(int) * (v->count + 1)), *after = zmalloc(sizeof(int) * (v->count + 1)), all = 0;
    bool beyond = false;
    for (size_t i = 0; i < v->count; i++) {
        shares[i] = weights[i] > 0 ? weights[i] : 0;
        if (weights[i] >= 0) all += v->nodes[i].slot_count;
    }
    divide(all, shares, v->count, spare);
    for (size_t i = 0; i < v->count; i++) {
        after[i] = -1;
        if (weights[i] >= 0) beyond |= isBeyond(v->nodes[i].slot_count, spare[i], threshold);
        spare[i] = weights[i] >= 0 ? v->nodes[i].slot_count - spare[i] : 0;
    }
    *p = (movePlan){0};
    if (beyond) balance(p, v, spare, after);
    zfree(shares);
    zfree(spare);
    zfree(after);
}
