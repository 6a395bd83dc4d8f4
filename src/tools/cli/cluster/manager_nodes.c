/* manager_nodes.c -- --cluster add-node, del-node, info, check, call and set-timeout.
 *
 * Tests       tests/tools/cluster_create.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_commands.h"
#include "manager_text.h"
#include "numbers.h"
#include "reply_text.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

int managerInfo(const cliOptions *o, int count, char **words) {
    managerCluster m;
    bool ok = managerEnter(&m, o, count, words) && managerCountKeys(&m);
    if (ok) managerPrintInfo(&m.view);
    managerUnload(&m);
    return ok ? 0 : 1;
}

int managerCheckCommand(const cliOptions *o, int count, char **words) {
    managerCluster m;
    managerFaults faults;
    char shared[HASH_SLOTS / 8];
    bool ok = managerEnter(&m, o, count, words) && managerCountKeys(&m);
    if (ok) {
        managerPrintInfo(&m.view);
        ok = managerPerformCheck(&m, &faults, true);
        if (o->manager.search_owners && !managerCheckOwners(&m, shared)) ok = false;
    }
    managerUnload(&m);
    return ok ? 0 : 1;
}

/* ---- The same command for all ------------------------------------------------------------------------------------ */

int managerCallCommand(const cliOptions *o, int count, char **words) {
    managerCluster m;
    bool ok = managerEnter(&m, o, 1, words);
    slice *argv = zmalloc(sizeof(slice) * (size_t)count);
    for (int i = 1; i < count; i++) argv[i - 1] = sliceStr(words[i]);
    sds line = sdsJoin(words + 1, count - 1, " ");
    if (ok) managerSay(SAY_STEP, "Calling %s", line);
    for (size_t i = 0; ok && i < m.view.count; i++) {
        const managerNode *n = &m.view.nodes[i];
        bool primary = managerIsPrimary(n);
        if (primary ? o->manager.only_replicas : o->manager.only_primaries) continue;
        replyValue *v = linkCallWords(m.links[i], count - 1, argv);
        sds text = v ? replyTextRaw(sdsEmpty(), v, "\n") : sdsNew(linkError(m.links[i]));
        printf("%s:%d: ", n->host, n->port);
        fwrite(text, sdsLen(text), 1, stdout);
        putchar('\n');
        sdsFree(text);
        replyValueFree(v);
    }
    sdsFree(line);
    zfree(argv);
    managerUnload(&m);
    return ok ? 0 : 1;
}

int managerSetTimeout(const cliOptions *o, int count, char **words) {
    managerCluster m;
    long long ms;
    int set = 0, failed = 0;
    if (!string2ll(words[count - 1], strlen(words[count - 1]), &ms) || ms < 100) {
        fputs("A node timeout is a number of milliseconds, 100 at least.\n", stderr);
        return 1;
    }
    bool ok = managerEnter(&m, o, count - 1, words);
    if (ok) managerSay(SAY_STEP, "Reconfiguring node timeout in every cluster node...");
    for (size_t i = 0; ok && i < m.view.count; i++) {
        const managerNode *n = &m.view.nodes[i];
        if (!managerDo(&m, (int)i, "CONFIG", "SET", "cluster-node-timeout", words[count - 1], NULL) ||
            !managerDo(&m, (int)i, "CONFIG", "REWRITE", NULL)) {
            failed++;
            continue;
        }
        managerSay(SAY_STEP, "New timeout set for %s:%d", n->host, n->port);
        set++;
    }
    if (ok) managerSay(SAY_STEP, "New node timeout set. %d OK, %d ERR.", set, failed);
    managerUnload(&m);
    return ok && failed == 0 ? 0 : 1;
}

/* ---- Adding ------------------------------------------------------------------------------------------------------ */

/* Returns the primary with fewest replicas, but for the node `except`; -1 if there is none. */
static int leastReplicated(const managerView *v, int except) {
    int best = -1;
    for (size_t i = 0; i < v->count; i++) {
        if (!managerIsPrimary(&v->nodes[i]) || (int)i == except) continue;
        if (best < 0 || v->nodes[i].replicas < v->nodes[best].replicas) best = (int)i;
    }
    return best;
}

/* Returns the primary of the new replica, -1 after a message. */
static int choosePrimary(const managerCluster *m) {
    const char *id = m->options->manager.primary_id;
    int primary = id ? managerFind(&m->view, id) : leastReplicated(&m->view, -1);
    if (primary >= 0 && !managerIsPrimary(&m->view.nodes[primary])) primary = -1;
    if (primary < 0) managerSay(SAY_ERROR, "No such primary ID %s", id ? id : "");
    else if (!id)
        printf("Automatically selected primary %s:%d\n", m->view.nodes[primary].host, m->view.nodes[primary].port);
    return primary;
}

/* Copies the libraries of functions of the cluster's first primary to the new node, which must have none. */
static bool copyFunctions(managerCluster *m, int node) {
    int from = 0;
    while (from < node && !managerIsPrimary(&m->view.nodes[from])) from++;
    managerSay(SAY_STEP, "Getting functions from cluster");
    replyValue *dump = managerCall(m, from, "FUNCTION", "DUMP", NULL);
    replyValue *list = dump ? managerCall(m, node, "FUNCTION", "LIST", NULL) : NULL;
    bool ok = dump && list && dump->type == '$';
    if (ok && replyIsList(list) && list->count > 0) {
        managerSay(SAY_ERROR, "The new node has functions already.");
        ok = false;
    } else if (ok) {
        slice words[] = {sliceStr("FUNCTION"), sliceStr("RESTORE"), sliceOf(dump->str, dump->len)};
        replyValue *v = linkCallWords(m->links[node], array_len(words), words);
        ok = v && !replyIsError(v);
        if (!ok) managerSay(SAY_ERROR, "FUNCTION RESTORE: %s", v ? v->str : linkError(m->links[node]));
        replyValueFree(v);
    } else if (dump && dump->type == '-') {
        managerSay(SAY_ERROR, "FUNCTION DUMP: %s", dump->str);
    }
    replyValueFree(list);
    replyValueFree(dump);
    return ok;
}

/* Adds the node `node`, the last of the view, to the cluster of the others. */
static bool addNode(managerCluster *m, int node, int primary) {
    const managerNode *n = &m->view.nodes[node];
    if (!managerIsEmpty(m, node)) return false;
    if (primary < 0 && !copyFunctions(m, node)) return false;
    managerSay(SAY_STEP, "Send CLUSTER MEET to node %s:%d to make it join the cluster.", n->host, n->port);
    if (!managerMeet(m, node) || !managerAwaitAgreement(m, m->view.count)) return false;
    if (primary >= 0) {
        const managerNode *p = &m->view.nodes[primary];
        managerSay(SAY_STEP, "Configure node as replica of %s:%d.", p->host, p->port);
        if (!managerReplicate(m, node, p->id)) return false;
    }
    managerSay(SAY_GOOD, "New node added correctly.");
    return true;
}

int managerAddNode(const cliOptions *o, int count, char **words) {
    managerCluster m, one = {0};
    managerFaults faults;
    sds host;
    int port, primary = -1;
    bool replica = o->manager.as_replica || o->manager.primary_id;
    unused(count);
    if (!managerAddress(words[0], &host, &port)) {
        fprintf(stderr, "Invalid address format: %s\n", words[0]);
        return 1;
    }
    managerSay(SAY_STEP, "Adding node %s to cluster %s", words[0], words[1]);
    bool ok = managerEnter(&m, o, 1, words + 1) && managerPerformCheck(&m, &faults, true);
    if (ok && replica) ok = (primary = choosePrimary(&m)) >= 0;
    if (ok) ok = managerLoadOne(&one, o, host, port);
    if (ok) {
        managerAppend(&m, &one);
        ok = addNode(&m, (int)m.view.count - 1, primary);
    }
    managerUnload(&m);
    managerUnload(&one);
    sdsFree(host);
    return ok ? 0 : 1;
}

/* ---- Deleting ---------------------------------------------------------------------------------------------------- */

/* Gives the replicas of a node other primaries. */
static bool moveReplicas(managerCluster *m, int node) {
    for (size_t i = 0; i < m->view.count; i++) {
        managerNode *n = &m->view.nodes[i];
        if (managerIsPrimary(n) || strcmp(n->primary_id, m->view.nodes[node].id) != 0) continue;
        int primary = leastReplicated(&m->view, node);
        if (primary < 0) {
            managerSay(SAY_ERROR, "There is no other primary for the replica %s:%d.", n->host, n->port);
            return false;
        }
        managerNode *p = &m->view.nodes[primary];
        managerSay(SAY_STEP, "%s:%d as replica of %s:%d", n->host, n->port, p->host, p->port);
        if (!managerReplicate(m, (int)i, p->id)) return false;
        memcpy(n->primary_id, p->id, sizeof(n->primary_id));
        p->replicas++;
    }
    return true;
}

/* Has all nodes but `node` forget the one with this id. A node that does not know it is right already. */
static bool forget(managerCluster *m, int node, const char *id) {
    managerSay(SAY_STEP, "Sending CLUSTER FORGET messages to the cluster...");
    for (size_t i = 0; i < m->view.count; i++) {
        if ((int)i == node) continue;
        replyValue *v = managerCall(m, (int)i, "CLUSTER", "FORGET", id, NULL);
        bool ok = v && (!replyIsError(v) || strstr(v->str, "Unknown node"));
        if (v && !ok)
            managerSay(SAY_ERROR, "CLUSTER FORGET at %s:%d: %s", m->view.nodes[i].host, m->view.nodes[i].port, v->str);
        replyValueFree(v);
        if (!ok) return false;
    }
    return true;
}

/* Deletes the node `node`, or, if that is -1, the node `lost` that cannot be reached. */
static bool deleteNode(managerCluster *m, int node, const managerNode *lost) {
    const managerNode *n = node >= 0 ? &m->view.nodes[node] : lost;
    if (n->slot_count) {
        managerSay(SAY_ERROR, "Node %s:%d is not empty! Reshard data away and try again.", n->host, n->port);
        return false;
    }
    if (node >= 0 && !moveReplicas(m, node)) return false;
    if (!forget(m, node, n->id)) return false;
    if (node < 0) {
        managerSay(SAY_WARNING, "%s:%d cannot be reached: reset it before it starts again.", n->host, n->port);
        return true;
    }
    managerSay(SAY_STEP, "Sending CLUSTER RESET SOFT to the deleted node.");
    return managerDo(m, node, "CLUSTER", "RESET", "SOFT", NULL);
}

int managerDelNode(const cliOptions *o, int count, char **words) {
    managerCluster m;
    const char *id = words[count - 1];
    managerSay(SAY_STEP, "Removing node %s from cluster %s", id, words[0]);
    bool ok = managerEnter(&m, o, count - 1, words);
    if (ok) {
        int node = managerFind(&m.view, id), lost = managerFind(&m.lost, id);
        if (node < 0 && lost < 0) managerSay(SAY_ERROR, "No such node ID %s", id);
        ok = (node >= 0 || lost >= 0) && deleteNode(&m, node, lost >= 0 ? &m.lost.nodes[lost] : NULL);
    }
    if (ok) managerSay(SAY_GOOD, "Node %s removed from the cluster.", id);
    managerUnload(&m);
    return ok ? 0 : 1;
}
