/* plan_fix.c -- how to repair a slot that is open, that several nodes own, or that none owns.
 *
 *     owners  also                                    the slot goes to
 *     one     it migrates to T, which imports from it   T: the move ends
 *     one     anything else                             the owner: the move is undone
 *     several                                           the owner with most keys, then with the greatest epoch
 *     none                                              the primary with most keys, then one that imports it, then one
 *                                                       that migrates it, then the one with fewest slots
 *
 * In each case the keys of all others move to it, so that none is hidden at a node that does not serve the slot.
 *
 * Tests       tests/unit/tools/manager_plan_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_plan.h"
#include "zmalloc.h"

/* Returns the node to which the only owner is moving the slot, if that one agrees; -1 if there is none. */
static int moveTarget(const managerView *v, int slot, int owner) {
    const openSlot *here = managerOpenSlot(&v->nodes[owner], slot);
    int target = here && !here->importing ? managerFind(v, here->other) : -1;
    if (target < 0 || target == owner || !managerIsPrimary(&v->nodes[target])) return -1;
    const openSlot *there = managerOpenSlot(&v->nodes[target], slot);
    bool agrees = there && there->importing && strcmp(there->other, v->nodes[owner].id) == 0;
    return agrees ? target : -1;
}

/* Returns a number that is greater for 1: importing, and for 2: migrating, than for a closed slot. */
static int openRank(const managerNode *n, int slot) {
    const openSlot *open = managerOpenSlot(n, slot);
    return !open ? 0 : open->importing ? 2 : 1;
}

/* Returns true if `a` is a better owner than `b`. */
static bool isBetter(const managerView *v, int slot, const long long *keys, int a, int b, bool owners) {
    const managerNode *x = &v->nodes[a], *y = &v->nodes[b];
    if (keys[a] != keys[b]) return keys[a] > keys[b];
    if (owners) return x->epoch > y->epoch;
    int rank_x = openRank(x, slot), rank_y = openRank(y, slot);
    if (rank_x != rank_y) return rank_x > rank_y;
    return x->slot_count < y->slot_count;
}

/* Chooses the owner. */
static void choose(fixPlan *p, const managerView *v, int slot, const long long *keys) {
    int owners = 0;
    for (size_t i = 0; i < v->count; i++) owners += managerIsPrimary(&v->nodes[i]) && managerOwns(&v->nodes[i], slot);
    p->owner = -1;
    for (size_t i = 0; i < v->count; i++) {
        const managerNode *n = &v->nodes[i];
        if (!managerIsPrimary(n) || (owners > 0 && !managerOwns(n, slot))) continue;
        if (p->owner < 0 || isBetter(v, slot, keys, (int)i, p->owner, owners > 0)) p->owner = (int)i;
    }
    p->take = owners != 1 && p->owner >= 0;
    int target = owners == 1 ? moveTarget(v, slot, p->owner) : -1;
    if (target < 0) return;
    p->owner = target;
    p->finish = true;
}

/* Returns true if the slot is open at the node, or at a replica of it. */
static bool isOpenInShard(const managerView *v, int slot, size_t i) {
    for (size_t j = 0; j < v->count; j++) {
        bool member = j == i || strcmp(v->nodes[j].primary_id, v->nodes[i].id) == 0;
        if (member && managerOpenSlot(&v->nodes[j], slot)) return true;
    }
    return false;
}

void planFix(fixPlan *p, const managerView *v, int slot, const long long *keys) {
    *p = (fixPlan){0};
    p->givers = zmalloc(sizeof(int) * (v->count + 1));
    p->losers = zmalloc(sizeof(int) * (v->count + 1));
    choose(p, v, slot, keys);
    for (size_t i = 0; i < v->count; i++) {
        const managerNode *n = &v->nodes[i];
        bool owner = (int)i == p->owner;
        if (!managerIsPrimary(n)) continue;
        bool gives = !owner && keys[i] > 0, open = isOpenInShard(v, slot, i);
        if (gives) p->givers[p->giver_count++] = (int)i;
        if (owner ? open && !p->finish : gives || open || managerOwns(n, slot)) p->losers[p->loser_count++] = (int)i;
    }
}

void fixPlanFree(fixPlan *p) {
    zfree(p->givers);
    zfree(p->losers);
    *p = (fixPlan){0};
}
