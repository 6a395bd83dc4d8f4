/* manager_fix.c -- --cluster fix: repairs slots that are open, without an owner, or with several.
 *
 *   check --> slots without an owner, by who has keys: ask, take --> open slots --> slots with several owners --> check
 *
 * Slots without an owner come first: keys do not move while the cluster is down for lack of them.
 * Before each step the nodes are asked again, and no slot changes its owner without its keys being counted at every
 * primary.
 *
 * Tests       tests/tools/cluster_fix.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bits.h"
#include "manager_commands.h"
#include "manager_move.h"
#include "manager_plan.h"
#include "manager_text.h"
#include "numbers.h"
#include "resp_format.h"
#include "zmalloc.h"
#include <stdio.h>

/* ---- One slot ---------------------------------------------------------------------------------------------------- */

/* Appends CLUSTER with a subcommand and slots: all of `slots`, or those that are in the set `only`. Appends nothing if
 * there are none. */
static sds addRequest(sds requests, const char *subcommand, const int *slots, size_t count, const char *only) {
    slice *words = zmalloc(sizeof(slice) * (count + 2));
    char(*numbers)[LONG_STR_SIZE] = zmalloc(sizeof(*numbers) * (count + 1));
    size_t n = 0;
    words[n++] = sliceStr("CLUSTER");
    words[n++] = sliceStr(subcommand);
    for (size_t i = 0; i < count; i++) {
        if (only && !bitsTest(only, (uint64_t)slots[i])) continue;
        size_t len = ll2string(numbers[i], slots[i]);
        words[n++] = sliceOf(numbers[i], len);
    }
    if (n > 2 || count == 0) requests = respCatRequest(requests, n, words);
    zfree(numbers);
    zfree(words);
    return requests;
}

/* Has a node take slots with a new epoch, in one transaction, which first frees those that it ascribes to others.
 * Returns false after a message. */
static bool takeSlots(managerCluster *m, int node, const int *slots, size_t count) {
    char owned[HASH_SLOTS / 8];
    const managerNode *n = &m->view.nodes[node];
    if (!managerAskOwned(m, node, owned)) return false;
    sds requests = addRequest(sdsEmpty(), "DELSLOTS", slots, count, owned);
    bool frees = sdsLen(requests) > 0;
    requests = addRequest(requests, "ADDSLOTS", slots, count, NULL);
    requests = addRequest(requests, "BUMPEPOCH", NULL, 0, NULL);
    if (!managerDo(m, node, "MULTI", NULL)) {
        sdsFree(requests);
        return false;
    }
    bool ok = linkSendBytes(m->links[node], requests, sdsLen(requests));
    for (int i = frees ? 0 : 1; ok && i < 3; i++) {
        replyValue *queued = linkRead(m->links[node]);
        ok = queued != NULL;
        replyValueFree(queued);
    }
    sdsFree(requests);
    replyValue *v = ok ? managerCall(m, node, "EXEC", NULL) : NULL;
    const replyValue *failed = v;
    if (v && replyIsList(v)) {
        failed = NULL;
        for (size_t i = 0; i < v->count; i++)
            if (replyIsError(&v->items[i])) failed = &v->items[i];
    }
    ok = v && !failed;
    if (!ok)
        managerSay(SAY_ERROR, "%s:%d does not take slots: %s", n->host, n->port,
                   failed && failed->str ? failed->str : linkError(m->links[node]));
    replyValueFree(v);
    return ok;
}

/* Opens the slot at the nodes whose keys are to move to `owner`. A node that does not own it has to import it before
 * another node takes it: it might delete its keys otherwise. */
static bool openGivers(managerCluster *m, int slot, const fixPlan *p) {
    const char *id = m->view.nodes[p->owner].id;
    for (size_t i = 0; i < p->giver_count; i++) {
        const managerNode *n = &m->view.nodes[p->givers[i]];
        const openSlot *open = managerOpenSlot(n, slot);
        bool owns = managerOwns(n, slot);
        if (open && open->importing != owns) continue;
        if (!managerSetSlotState(m, p->givers[i], slot, owns ? "MIGRATING" : "IMPORTING", id)) return false;
    }
    return true;
}

/* An owner that is migrating the slot takes no key of it: it redirects to where the slot goes. */
static bool closeOwner(managerCluster *m, int slot, const fixPlan *p) {
    const openSlot *open = managerOpenSlot(&m->view.nodes[p->owner], slot);
    if (!open || open->importing || p->giver_count == 0) return true;
    return managerSetSlotState(m, p->owner, slot, "STABLE", NULL);
}

static bool collectKeys(managerCluster *m, int slot, const fixPlan *p) {
    const managerNode *owner = &m->view.nodes[p->owner];
    for (size_t i = 0; i < p->giver_count; i++) {
        const managerNode *n = &m->view.nodes[p->givers[i]];
        printf("Moving the keys of slot %d from %s:%d to %s:%d\n", slot, n->host, n->port, owner->host, owner->port);
        if (!managerMoveKeys(m, slot, p->givers[i], p->owner)) return false;
    }
    return true;
}

/* Executes the plan for a slot. An owner among several takes it when it has all keys, as the others delete theirs then;
 * where there is none, it takes it first, because a server accepts no keys of a slot that is not its own. */
static bool executeFix(managerCluster *m, int slot, const fixPlan *p) {
    const managerNode *owner = &m->view.nodes[p->owner];
    bool owns = managerOwns(owner, slot);
    if (!openGivers(m, slot, p) || !closeOwner(m, slot, p)) return false;
    if (p->take) managerSay(SAY_STEP, "Covering slot %d with %s:%d", slot, owner->host, owner->port);
    if (p->take && !owns && !takeSlots(m, p->owner, &slot, 1)) return false;
    if (!collectKeys(m, slot, p)) return false;
    if (p->take && owns && !takeSlots(m, p->owner, &slot, 1)) return false;
    if (p->finish) {
        managerSay(SAY_STEP, "The slot %d goes to %s:%d, which was importing it", slot, owner->host, owner->port);
        if (!managerSetSlotState(m, p->owner, slot, "NODE", owner->id)) return false;
    }
    for (size_t i = 0; i < p->loser_count; i++) {
        const managerNode *n = &m->view.nodes[p->losers[i]];
        managerSay(SAY_STEP, "Setting %d as STABLE in %s:%d", slot, n->host, n->port);
        if (!managerSetSlotState(m, p->losers[i], slot, "STABLE", NULL)) return false;
        if (p->losers[i] != p->owner && !managerSetSlotState(m, p->losers[i], slot, "NODE", owner->id)) return false;
    }
    return true;
}

/* Counts, plans and repairs. */
static bool fixSlot(managerCluster *m, int slot) {
    fixPlan p;
    long long *keys = zcalloc(m->view.count + 1, sizeof(*keys));
    bool ok = managerRefresh(m) && managerCountSlotKeys(m, slot, keys);
    if (ok) {
        planFix(&p, &m->view, slot, keys);
        if (p.owner < 0) managerSay(SAY_ERROR, "No primary can be reached.");
        ok = p.owner >= 0 && executeFix(m, slot, &p);
        fixPlanFree(&p);
    }
    zfree(keys);
    return ok;
}

static bool fixSlots(managerCluster *m, const char *set, const char *what) {
    bool ok = true;
    for (int slot = -1; (slot = managerSlotNext(set, slot)) >= 0;) {
        managerSay(SAY_STEP, "Fixing %s %d", what, slot);
        ok = fixSlot(m, slot) && ok;
    }
    return ok;
}

/* ---- Slots without an owner -------------------------------------------------------------------------------------- */

typedef struct uncoveredSlots {
    char empty[HASH_SLOTS / 8], single[HASH_SLOTS / 8], several[HASH_SLOTS / 8]; /* by the primaries that have keys */
    int *owners;                                                                 /* owns: of each empty slot */
    int counts[3];
} uncoveredSlots;

/* Counts the keys of a slot, and sorts it in. */
static bool sortSlot(managerCluster *m, int slot, uncoveredSlots *u, long long *keys) {
    int holders = 0;
    fixPlan p;
    if (!managerCountSlotKeys(m, slot, keys)) return false;
    for (size_t i = 0; i < m->view.count; i++) holders += keys[i] > 0;
    char *set = holders == 0 ? u->empty : holders == 1 ? u->single : u->several;
    bitsSetField(set, HASH_SLOTS / 8, (uint64_t)slot, 1, 1);
    u->counts[holders > 2 ? 2 : holders]++;
    if (holders) return true;
    planFix(&p, &m->view, slot, keys);
    u->owners[slot] = p.owner;
    if (p.owner >= 0) managerSetSlot(&m->view.nodes[p.owner], slot, true); /* so that the next goes to another */
    fixPlanFree(&p);
    return true;
}

/* Has each node take as many of the empty slots as are planned for it, in one run and at once. */
static bool coverEmpty(managerCluster *m, const uncoveredSlots *u) {
    int *slots = zmalloc(sizeof(int) * HASH_SLOTS), next = -1;
    bool ok = true;
    for (size_t i = 0; ok && i < m->view.count; i++) {
        size_t planned = 0, count = 0;
        for (int slot = -1; (slot = managerSlotNext(u->empty, slot)) >= 0;) planned += u->owners[slot] == (int)i;
        while (count < planned && (next = managerSlotNext(u->empty, next)) >= 0) slots[count++] = next;
        if (count == 0) continue;
        managerSay(SAY_STEP, "Covering %zu slots with %s:%d", count, m->view.nodes[i].host, m->view.nodes[i].port);
        ok = takeSlots(m, (int)i, slots, count);
    }
    zfree(slots);
    return ok;
}

/* Prints slots and asks whether to repair them. */
static bool mayFix(const managerOptions *o, const char *set, const char *which, const char *question) {
    sds list = managerCatSlots(sdsEmpty(), set);
    printf("The following uncovered slots have %s:\n%s\n", which, list);
    sdsFree(list);
    return managerConfirm(o, question) == ANSWER_YES;
}

static bool fixUncovered(managerCluster *m, const managerFaults *faults) {
    const managerOptions *o = &m->options->manager;
    uncoveredSlots u = {0};
    long long *keys = zcalloc(m->view.count + 1, sizeof(*keys));
    u.owners = zmalloc(sizeof(int) * HASH_SLOTS);
    managerSay(SAY_STEP, "Fixing slots coverage...");
    bool ok = true;
    for (int slot = 0; ok && slot < HASH_SLOTS; slot++)
        if (!bitsTest(faults->owned, (uint64_t)slot)) ok = sortSlot(m, slot, &u, keys);
    if (ok && u.counts[0])
        ok = mayFix(o, u.empty, "no keys across the cluster", "Fix these slots by covering with the smallest nodes?") &&
             coverEmpty(m, &u);
    if (ok && u.counts[1])
        ok = mayFix(o, u.single, "keys in just one node", "Fix these slots by covering with those nodes?") &&
             fixSlots(m, u.single, "uncovered slot");
    if (ok && u.counts[2])
        ok = mayFix(o, u.several, "keys in multiple nodes", "Fix these slots by moving keys into a single node?") &&
             fixSlots(m, u.several, "uncovered slot");
    zfree(u.owners);
    zfree(keys);
    return ok;
}

/* ---- The command ------------------------------------------------------------------------------------------------- */

/* Returns false after a message if unreachable primaries forbid repairs. */
static bool mayAssign(const managerCluster *m) {
    int lost = managerLostPrimaries(m);
    if (lost == 0 || m->options->manager.fix_unreachable) return true;
    printf(
        "*** Fixing slots with %d unreachable primaries is dangerous: their slots would be given to others, and their "
        "keys would be lost. If they will not come back, use --cluster-fix-with-unreachable-primaries.\n",
        lost);
    return false;
}

/* Repairs what was found. Returns true if all slots are closed and have one owner afterwards. */
static bool fix(managerCluster *m, managerFaults *faults) {
    char shared[HASH_SLOTS / 8];
    bool search = m->options->manager.search_owners, ok = true;
    if (faults->open_count || faults->owned_count < HASH_SLOTS || search) {
        if (!mayAssign(m)) return false;
    }
    if (faults->owned_count < HASH_SLOTS) ok = fixUncovered(m, faults);
    if (!managerRefresh(m)) return false;
    managerCheck(&m->view, faults);
    ok = fixSlots(m, faults->open, "open slot") && ok;
    if (!managerRefresh(m)) return false;
    managerCheck(&m->view, faults);
    memcpy(shared, faults->shared, sizeof(shared));
    if (search) managerCheckOwners(m, shared);
    ok = fixSlots(m, shared, "slot with multiple owners") && ok;
    if (!managerRefresh(m)) return false;
    managerCheck(&m->view, faults);
    return ok && faults->open_count == 0 && faults->owned_count == HASH_SLOTS && faults->shared_count == 0;
}

int managerFix(const cliOptions *o, int count, char **words) {
    managerCluster m;
    managerFaults faults;
    bool ok = managerEnter(&m, o, count, words) && managerCountKeys(&m);
    if (ok) {
        managerPrintInfo(&m.view);
        managerPerformCheck(&m, &faults, true);
        ok = fix(&m, &faults);
    }
    managerUnload(&m);
    return ok ? 0 : 1;
}
