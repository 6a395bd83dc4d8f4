/* manager_create.c -- --cluster create: makes a cluster of empty nodes.
 *
 *   look at each node --> plan, ask --> slots --> epochs --> MEET --> all agree --> replicas --> all serve --> check
 *
 * Tests       tests/tools/cluster_create.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli_connection.h"
#include "clock.h"
#include "manager_commands.h"
#include "manager_plan.h"
#include "manager_text.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdio.h>

#define SERVE_LIMIT_MS 60000
#define SERVE_STEP_S 0.1

/* Connects to each node of the command line. Returns false after a message. */
static bool loadNodes(managerCluster *m, const cliOptions *o, int count, char **words) {
    *m = (managerCluster){.options = o};
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        managerCluster one;
        sds host;
        int port;
        if (!managerAddress(words[i], &host, &port)) {
            fprintf(stderr, "Invalid address format: %s\n", words[i]);
            return false;
        }
        ok = managerLoadOne(&one, o, host, port) && managerIsEmpty(&one, 0);
        if (ok && managerFind(&m->view, one.view.nodes[0].id) >= 0) {
            managerSay(SAY_ERROR, "%s is named twice.", words[i]);
            ok = false;
        }
        if (ok) managerAppend(m, &one);
        managerUnload(&one);
        sdsFree(host);
    }
    return ok;
}

/* Prints the plan, and enters it into the view. */
static void showPlan(managerView *v, const createPlan *p) {
    int number = 0, replicas = 0;
    managerSay(SAY_STEP, "Performing hash slots allocation on %zu node(s)...", v->count);
    for (size_t i = 0; i < v->count; i++) {
        managerNode *n = &v->nodes[i];
        if (p->primary_of[i] != (int)i) continue;
        printf("Primary[%d] -> Slots %d - %d\n", number++, p->first[i], p->last[i]);
        for (int slot = p->first[i]; slot <= p->last[i]; slot++) managerSetSlot(n, slot, true);
    }
    for (size_t i = 0; i < v->count; i++) {
        managerNode *n = &v->nodes[i], *primary = &v->nodes[p->primary_of[i]];
        if (n == primary) continue;
        printf("Adding replica %s:%d to %s:%d\n", n->host, n->port, primary->host, primary->port);
        n->flags = (n->flags & ~(unsigned)NODE_PRIMARY) | NODE_REPLICA;
        memcpy(n->primary_id, primary->id, sizeof(n->primary_id));
        replicas++;
    }
    if (p->same_host) managerSay(SAY_WARNING, "Some replicas are in the same host as their primary");
    for (size_t i = 0; i < v->count; i++) managerPrintNode(&v->nodes[i], "");
}

static bool assignSlots(managerCluster *m, const createPlan *p) {
    char first[LONG_STR_SIZE], last[LONG_STR_SIZE];
    for (size_t i = 0; i < p->count; i++) {
        if (p->primary_of[i] != (int)i) continue;
        ll2string(first, p->first[i]);
        ll2string(last, p->last[i]);
        if (!managerDo(m, (int)i, "CLUSTER", "ADDSLOTSRANGE", first, last, NULL)) return false;
    }
    managerSay(SAY_STEP, "Nodes configuration updated");
    return true;
}

static bool join(managerCluster *m) {
    char epoch[LONG_STR_SIZE];
    managerSay(SAY_STEP, "Assign a different config epoch to each node");
    for (size_t i = 0; i < m->view.count; i++) {
        ll2string(epoch, (long long)i + 1);
        if (!managerDo(m, (int)i, "CLUSTER", "SET-CONFIG-EPOCH", epoch, NULL)) return false;
    }
    managerSay(SAY_STEP, "Sending CLUSTER MEET messages to join the cluster");
    for (size_t i = 1; i < m->view.count; i++)
        if (!managerMeet(m, (int)i)) return false;
    return managerAwaitAgreement(m, m->view.count);
}

/* Waits until all nodes serve: a node does so a moment after it has heard of the others. Returns false after a message
 * if one does not. */
static bool awaitService(managerCluster *m) {
    uint64_t began_ms = clockMonotonicMs();
    for (size_t i = 0; i < m->view.count;) {
        const managerNode *n = &m->view.nodes[i];
        replyValue *v = managerCall(m, (int)i, "CLUSTER", "INFO", NULL);
        bool broken = !v, answers = v && replyIsText(v), serves = answers && strstr(v->str, "cluster_state:ok");
        replyValueFree(v);
        if (broken) return false;
        if (!answers || (!serves && clockMonotonicMs() - began_ms > SERVE_LIMIT_MS)) {
            managerSay(SAY_ERROR, "%s:%d does not say that the cluster is up (CLUSTER INFO).", n->host, n->port);
            return false;
        }
        if (serves) i++;
        else cliPause(SERVE_STEP_S);
    }
    return true;
}

static bool execute(managerCluster *m, const createPlan *p) {
    if (!assignSlots(m, p) || !join(m)) return false;
    for (size_t i = 0; i < p->count; i++)
        if (p->primary_of[i] != (int)i && !managerReplicate(m, (int)i, m->view.nodes[p->primary_of[i]].id))
            return false;
    managerFaults faults;
    return awaitService(m) && managerRefresh(m) && managerPerformCheck(m, &faults, true);
}

int managerCreate(const cliOptions *o, int count, char **words) {
    managerCluster m;
    createPlan p = {0};
    int code = 1;
    if (loadNodes(&m, o, count, words)) {
        const char **hosts = zmalloc(sizeof(*hosts) * m.view.count);
        for (size_t i = 0; i < m.view.count; i++) hosts[i] = m.view.nodes[i].host;
        bool enough = planCreate(&p, hosts, m.view.count, (size_t)o->manager.replicas);
        zfree(hosts);
        if (p.primaries < 3)
            printf("Requested to create a cluster with %zu primaries and %lld replicas per primary.\n", p.primaries,
                   o->manager.replicas);
        if (!enough) {
            managerSay(SAY_ERROR, "There are too few nodes: a primary and its replicas need %lld.",
                       o->manager.replicas + 1);
        } else if (p.primaries >= 3 ||
                   managerConfirm(&o->manager, "With fewer than 3 primaries none can be replaced automatically when it "
                                               "fails. Are you sure?") == ANSWER_YES) {
            showPlan(&m.view, &p);
            if (managerConfirm(&o->manager, "Can I set the above configuration?") == ANSWER_YES)
                code = execute(&m, &p) ? 0 : 1;
            else code = 0;
        }
    }
    createPlanFree(&p);
    managerUnload(&m);
    return code;
}
