/* manager_reshard.c -- --cluster reshard and rebalance: move slots between primaries.
 *
 * Tests       tests/tools/cluster_move.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_commands.h"
#include "manager_move.h"
#include "manager_plan.h"
#include "manager_text.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdio.h>

/* Returns false after a line on stderr if an option asks for what servers of this kind cannot do yet. */
static bool isClassic(const cliOptions *o) {
    if (!o->manager.atomic) return true;
    fputs("Option '--cluster-use-atomic-slot-migration' is not supported yet. Without it slots move key by key.\n",
          stderr);
    return false;
}

/* ---- Options and questions ----------------------------------------------------------------------------------------*/

/* Returns the primary with this id; -1 after a message. */
static int primaryOf(const managerView *v, const char *id) {
    int node = managerFind(v, id);
    if (node >= 0 && managerIsPrimary(&v->nodes[node])) return node;
    printf("*** The specified node (%s) is not known or not a primary, please retry.\n", id);
    return -1;
}

/* Returns how many slots to move; 0 after a message. */
static int wantedSlots(const managerOptions *o) {
    long long n = o->slots;
    while (n < 1) {
        sds word = managerAskWord("How many slots do you want to move (from 1 to 16384)?");
        if (!word) return 0;
        if (!string2ll(word, sdsLen(word), &n) || n > HASH_SLOTS) n = 0;
        sdsFree(word);
    }
    return n < HASH_SLOTS ? (int)n : HASH_SLOTS;
}

/* Returns the target; -1 after a message. */
static int wantedTarget(const managerOptions *o, const managerView *v) {
    if (o->to) return primaryOf(v, o->to);
    for (;;) {
        sds word = managerAskWord("What is the receiving node ID?");
        if (!word) return -1;
        int node = primaryOf(v, word);
        sdsFree(word);
        if (node >= 0) return node;
    }
}

/* Adds a source, or all primaries with slots. Returns false after a message. */
static bool addSource(const managerView *v, const char *word, int target, int *sources, size_t *count) {
    if (strcasecmp(word, "all") == 0) {
        for (size_t i = 0; i < v->count; i++)
            if (managerIsPrimary(&v->nodes[i]) && (int)i != target && v->nodes[i].slot_count)
                sources[(*count)++] = (int)i;
        return true;
    }
    int node = primaryOf(v, word);
    if (node < 0) return false;
    if (node == target) {
        printf("*** It is not possible to use the target node as source node.\n");
        return false;
    }
    for (size_t i = 0; i < *count; i++)
        if (sources[i] == node) return true;
    sources[(*count)++] = node;
    return true;
}

/* Asks for sources until "all" or "done". */
static bool askSources(const managerView *v, int target, int *sources, size_t *count) {
    printf("Enter the ID of each node that gives slots, and then 'done'; or 'all' for all primaries.\n");
    for (int number = 1;; number++) {
        char question[40];
        snprintf(question, sizeof(question), "Source node #%d:", number);
        sds word = managerAskWord(question);
        if (!word) return false;
        bool all = strcasecmp(word, "all") == 0, done = all || strcasecmp(word, "done") == 0;
        if (all) *count = 0;
        if (all || !done) addSource(v, word, target, sources, count);
        sdsFree(word);
        if (done) return true;
    }
}

/* Stores the sources, at most one for each node. Returns false after a message. */
static bool wantedSources(const managerOptions *o, const managerView *v, int target, int *sources, size_t *count) {
    *count = 0;
    if (!o->from) {
        if (!askSources(v, target, sources, count)) return false;
    } else {
        slice rest = sliceStr(o->from);
        while (rest.len) {
            sds word = sdsFromSlice(sliceTakeUntil(&rest, ','));
            bool ok = addSource(v, word, target, sources, count);
            bool all = strcasecmp(word, "all") == 0;
            sdsFree(word);
            if (!ok) *count = 0;
            if (!ok || all) break;
        }
    }
    if (*count == 0) fputs("*** No source nodes given, operation aborted.\n", stderr);
    return *count > 0;
}

/* ---- reshard ----------------------------------------------------------------------------------------------------- */

static void showMoves(const managerView *v, const int *sources, size_t count, int target, const movePlan *p) {
    printf("\nReady to move %zu slots.\n  Source nodes:\n", p->count);
    for (size_t i = 0; i < count; i++) managerPrintNode(&v->nodes[sources[i]], "    ");
    printf("  Destination node:\n");
    managerPrintNode(&v->nodes[target], "    ");
    printf("  Resharding plan:\n");
    for (size_t i = 0; i < p->count;) {
        size_t end = i + 1;
        while (end < p->count && p->moves[end].slot == p->moves[end - 1].slot + 1 &&
               p->moves[end].from == p->moves[i].from)
            end++;
        printf("    Moving slot range %d-%d from %s\n", p->moves[i].slot, p->moves[end - 1].slot,
               v->nodes[p->moves[i].from].id);
        i = end;
    }
}

static bool reshard(managerCluster *m, const movePlan *p) {
    for (size_t i = 0; i < p->count; i++) {
        const slotMove *move = &p->moves[i];
        const managerNode *from = &m->view.nodes[move->from], *to = &m->view.nodes[move->to];
        printf("Moving slot %d from %s:%d to %s:%d\n", move->slot, from->host, from->port, to->host, to->port);
        fflush(stdout);
        if (!managerMoveSlot(m, move->slot, move->from, move->to)) return false;
    }
    return true;
}

int managerReshard(const cliOptions *o, int count, char **words) {
    managerCluster m;
    managerFaults faults;
    if (!isClassic(o)) return 1;
    bool ok = managerEnter(&m, o, count, words);
    if (ok && !managerPerformCheck(&m, &faults, true)) {
        fputs("*** Please fix your cluster problems before resharding\n", stderr);
        ok = false;
    }
    int *sources = zmalloc(sizeof(int) * (m.view.count * 2 + 1)), slots = ok ? wantedSlots(&o->manager) : 0;
    int target = slots > 0 ? wantedTarget(&o->manager, &m.view) : -1;
    size_t source_count;
    movePlan p = {0};
    ok = target >= 0 && wantedSources(&o->manager, &m.view, target, sources, &source_count);
    if (ok) {
        planReshard(&p, &m.view, sources, source_count, target, slots);
        showMoves(&m.view, sources, source_count, target, &p);
        ok = managerConfirm(&o->manager, "Do you want to proceed with the proposed reshard plan?") == ANSWER_YES &&
             reshard(&m, &p);
    }
    movePlanFree(&p);
    zfree(sources);
    managerUnload(&m);
    return ok ? 0 : 1;
}

/* ---- rebalance --------------------------------------------------------------------------------------------------- */

/* Returns the only primary whose id begins with these characters, -1 if there is none. */
static int abbreviated(const managerView *v, const char *id, size_t len) {
    int found = -1;
    for (size_t i = 0; len > 0 && i < v->count; i++) {
        if (!managerIsPrimary(&v->nodes[i]) || strncasecmp(v->nodes[i].id, id, len) != 0) continue;
        if (found >= 0) return -1;
        found = (int)i;
    }
    return found;
}

/* Computes the weight of each node: 1, what the command line says, or -1 for those that take no part. Returns false
 * after a message. */
static bool wantedWeights(const managerOptions *o, const managerView *v, double *weights) {
    for (size_t i = 0; i < v->count; i++) {
        const managerNode *n = &v->nodes[i];
        weights[i] = managerIsPrimary(n) && (n->slot_count || o->use_empty) ? 1 : -1;
    }
    for (int i = 0; i < o->weight_count; i++) {
        const char *equals = strchr(o->weights[i], '=');
        size_t len = (size_t)(equals - o->weights[i]);
        int node = abbreviated(v, o->weights[i], len);
        double weight;
        if (node < 0) {
            printf("*** No such primary node %.*s\n", (int)len, o->weights[i]);
            return false;
        }
        if (!string2d(equals + 1, strlen(equals + 1), &weight) || weight < 0 || weight > 1e6) {
            fprintf(stderr, "Invalid weight '%s' for option '--cluster-weight'\n", equals + 1);
            return false;
        }
        weights[node] = weight;
    }
    return true;
}

static bool executeMoves(managerCluster *m, const movePlan *p) {
    for (size_t i = 0; i < p->count;) {
        const slotMove *first = &p->moves[i];
        const managerNode *from = &m->view.nodes[first->from], *to = &m->view.nodes[first->to];
        size_t end = i;
        while (end < p->count && p->moves[end].from == first->from && p->moves[end].to == first->to) end++;
        printf("Moving %zu slots from %s:%d to %s:%d\n", end - i, from->host, from->port, to->host, to->port);
        for (; i < end; i++) {
            if (!m->options->manager.simulate &&
                !managerMoveSlot(m, p->moves[i].slot, p->moves[i].from, p->moves[i].to))
                return false;
            putchar('#');
            fflush(stdout);
        }
        putchar('\n');
    }
    return true;
}

static bool rebalance(managerCluster *m, const double *weights) {
    movePlan p;
    double sum = 0;
    int nodes = 0;
    for (size_t i = 0; i < m->view.count; i++) {
        nodes += weights[i] > 0;
        sum += weights[i] > 0 ? weights[i] : 0;
    }
    if (sum <= 0) {
        managerSay(SAY_ERROR, "No primary has a weight above 0.");
        return false;
    }
    planRebalance(&p, &m->view, weights, m->options->manager.threshold);
    if (p.count == 0) {
        printf("*** No rebalancing needed! All nodes are within the %.2f%% threshold.\n",
               m->options->manager.threshold);
    } else {
        managerSay(SAY_STEP, "Rebalancing across %d nodes. Total weight = %.2f", nodes, sum);
    }
    bool ok = executeMoves(m, &p);
    movePlanFree(&p);
    return ok;
}

int managerRebalance(const cliOptions *o, int count, char **words) {
    managerCluster m;
    managerFaults faults;
    if (!isClassic(o)) return 1;
    bool ok = managerEnter(&m, o, count, words);
    double *weights = zcalloc(m.view.count + 1, sizeof(double));
    ok = ok && wantedWeights(&o->manager, &m.view, weights);
    if (ok && !managerPerformCheck(&m, &faults, false)) {
        printf("*** Please fix your cluster problems before rebalancing\n");
        ok = false;
    }
    ok = ok && rebalance(&m, weights);
    zfree(weights);
    managerUnload(&m);
    return ok ? 0 : 1;
}
