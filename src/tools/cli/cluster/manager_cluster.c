/* manager_cluster.c -- connections to all nodes of a cluster, and what these nodes say.
 *
 * A node is reached at the address that the others use, or, if that fails, by the hostname that it announces. The first
 * one is reached at the address of the command line, and shown with it.
 *
 * Tests       tests/tools/cluster_create.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_cluster.h"
#include "manager_text.h"
#include "numbers.h"
#include "zmalloc.h"
#include <stdio.h>

bool managerAddress(const char *text, sds *host, int *port) {
    const char *colon = strrchr(text, ':');
    long long n;
    *host = NULL;
    if (!colon || colon == text || !string2ll(colon + 1, strlen(colon + 1), &n) || n < 1 || n > 65535) return false;
    slice name = sliceOf(text, (size_t)(colon - text));
    if (name.len > 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']') name = sliceOf(name.ptr + 1, name.len - 2);
    *host = sdsFromSlice(name);
    *port = (int)n;
    return true;
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

/* Logs in. Returns false after a line on stderr. */
static bool logIn(serverLink *l, const cliOptions *o, const char *host, int port) {
    if (!o->login.password) return true;
    replyValue *v = toolLogIn(l, &o->login);
    bool ok = v && !replyIsError(v);
    if (!ok) fprintf(stderr, "AUTH failed at %s:%d: %s\n", host, port, v ? v->str : linkError(l));
    replyValueFree(v);
    return ok;
}

static serverLink *openAt(const cliOptions *o, const char *host, int port, bool quiet) {
    char err[LINK_ERR_LEN];
    linkTarget target = o->target;
    target.host = host;
    target.port = port;
    target.unix_path = NULL;
    serverLink *l = linkOpen(&target, err);
    if (!l && !quiet) fprintf(stderr, "Could not connect to Valkey at %s:%d: %s\n", host, port, err);
    if (!l || logIn(l, o, host, port)) return l;
    linkClose(l);
    return NULL;
}

serverLink *managerConnect(const cliOptions *o, const char *host, int port) { return openAt(o, host, port, false); }

static serverLink *openNode(const cliOptions *o, const managerNode *n) {
    serverLink *l = n->hostname ? openAt(o, n->host, n->port, true) : NULL;
    if (!l && n->hostname) l = openAt(o, n->hostname, n->port, true);
    return l ? l : openAt(o, n->host, n->port, false);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static void sayBroken(const managerNode *n, const serverLink *l) {
    managerSay(SAY_ERROR, "The connection to %s:%d is broken: %s", n->host, n->port, linkError(l));
}

static replyValue *callList(managerCluster *m, int node, const char *word, va_list more) {
    replyValue *v = linkCallList(m->links[node], word, more);
    if (!v) sayBroken(&m->view.nodes[node], m->links[node]);
    return v;
}

replyValue *managerCall(managerCluster *m, int node, const char *word, ...) {
    va_list more;
    va_start(more, word);
    replyValue *v = callList(m, node, word, more);
    va_end(more);
    return v;
}

bool managerDo(managerCluster *m, int node, const char *word, ...) {
    va_list more;
    va_start(more, word);
    replyValue *v = callList(m, node, word, more);
    va_end(more);
    bool ok = v && !replyIsError(v);
    if (v && !ok) managerSay(SAY_ERROR, "%s:%d: %s", m->view.nodes[node].host, m->view.nodes[node].port, v->str);
    replyValueFree(v);
    return ok;
}

bool managerCountKeys(managerCluster *m) {
    for (size_t i = 0; i < m->view.count; i++) {
        managerNode *n = &m->view.nodes[i];
        if (!managerIsPrimary(n)) continue;
        replyValue *v = managerCall(m, (int)i, "DBSIZE", NULL);
        bool ok = v && v->type == ':';
        if (v && !ok) managerSay(SAY_ERROR, "DBSIZE at %s:%d: %s", n->host, n->port, v->str ? v->str : "no number");
        n->keys = ok ? v->integer : 0;
        replyValueFree(v);
        if (!ok) return false;
    }
    return true;
}

bool managerCountSlotKeys(managerCluster *m, int slot, long long *keys) {
    char number[LONG_STR_SIZE];
    ll2string(number, slot);
    for (size_t i = 0; i < m->view.count; i++) {
        keys[i] = 0;
        if (!managerIsPrimary(&m->view.nodes[i])) continue;
        replyValue *v = managerCall(m, (int)i, "CLUSTER", "COUNTKEYSINSLOT", number, NULL);
        bool ok = v && v->type == ':';
        if (v && !ok) managerSay(SAY_ERROR, "CLUSTER COUNTKEYSINSLOT: %s", v->str ? v->str : "no number");
        if (ok) keys[i] = v->integer;
        replyValueFree(v);
        if (!ok) return false;
    }
    return true;
}

/* Asks a server for its list of nodes. Returns false after a message. */
static bool askNodes(serverLink *l, const char *host, int port, managerView *nodes) {
    *nodes = (managerView){0};
    replyValue *v = linkCall(l, "CLUSTER", "NODES", NULL);
    bool ok = v && replyIsText(v) && managerViewParse(nodes, sliceOf(v->str, v->len));
    if (v && replyIsError(v) && strstr(v->str, "cluster support disabled"))
        managerSay(SAY_ERROR, "Node %s:%d is not configured as a cluster node.", host, port);
    else if (v && replyIsError(v)) managerSay(SAY_ERROR, "CLUSTER NODES at %s:%d: %s", host, port, v->str);
    else if (!v) managerSay(SAY_ERROR, "The connection to %s:%d is broken: %s", host, port, linkError(l));
    else if (!ok) managerSay(SAY_ERROR, "The reply of %s:%d to CLUSTER NODES has an unknown form.", host, port);
    replyValueFree(v);
    if (ok && managerFindMyself(nodes) < 0) {
        managerSay(SAY_ERROR, "The reply of %s:%d to CLUSTER NODES does not name itself.", host, port);
        managerViewFree(nodes);
        ok = false;
    }
    return ok;
}

bool managerAskOwned(managerCluster *m, int node, char *slots) {
    managerView nodes;
    const managerNode *n = &m->view.nodes[node];
    memset(slots, 0, HASH_SLOTS / 8);
    if (!askNodes(m->links[node], n->host, n->port, &nodes)) return false;
    for (size_t i = 0; i < nodes.count; i++)
        for (size_t j = 0; j < HASH_SLOTS / 8; j++) slots[j] = (char)(slots[j] | nodes.nodes[i].slots[j]);
    managerViewFree(&nodes);
    return true;
}

/* Replaces what is known of a node by what its own list says, and frees the list. The address stays. */
static void takeOwn(managerNode *n, managerView *nodes) {
    managerNode own = nodes->nodes[managerFindMyself(nodes)];
    size_t knows = 0;
    for (size_t i = 0; i < nodes->count; i++) knows += !(nodes->nodes[i].flags & NODE_UNKNOWN);
    sds opinion = managerOpinion(nodes);
    managerNode *listed = &nodes->nodes[managerFindMyself(nodes)];
    listed->open = NULL; /* belongs to `own` now */
    listed->hostname = NULL;
    own.address = sdsLen(listed->host) ? sdsDup(listed->host) : NULL;
    own.host = sdsDup(n->host);
    own.port = n->port;
    own.opinion = opinion;
    own.knows = knows;
    managerNodeFree(n);
    *n = own;
    managerViewFree(nodes);
}

/* Adds a node at this address with its connection and its own list. Takes ownership of both. */
static void addNode(managerCluster *m, const char *host, int port, serverLink *l, managerView *nodes) {
    size_t i = m->view.count++;
    m->view.nodes = zrealloc(m->view.nodes, sizeof(managerNode) * (i + 1));
    m->links = zrealloc(m->links, sizeof(serverLink *) * (i + 1));
    m->links[i] = l;
    m->view.nodes[i] = (managerNode){.host = sdsNew(host), .port = port};
    takeOwn(&m->view.nodes[i], nodes);
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

/* Adds a node that the first one knows. If it cannot be reached, its description is moved to the lost ones. */
static void loadKnown(managerCluster *m, managerNode *known) {
    managerView nodes;
    serverLink *l = sdsLen(known->host) ? openNode(m->options, known) : NULL;
    if (l && askNodes(l, known->host, known->port, &nodes)) {
        addNode(m, known->host, known->port, l, &nodes);
        return;
    }
    linkClose(l);
    m->lost.nodes = zrealloc(m->lost.nodes, sizeof(managerNode) * (m->lost.count + 1));
    m->lost.nodes[m->lost.count++] = *known;
    known->host = known->address = known->hostname = known->opinion = NULL;
    known->open = NULL;
}

int managerLostPrimaries(const managerCluster *m) {
    int count = 0;
    for (size_t i = 0; i < m->lost.count; i++) count += managerIsPrimary(&m->lost.nodes[i]);
    return count;
}

static bool load(managerCluster *m, const cliOptions *o, const char *host, int port, bool all) {
    managerView first, known;
    *m = (managerCluster){.options = o};
    serverLink *l = managerConnect(o, host, port);
    if (!l) return false;
    if (!askNodes(l, host, port, &first)) {
        linkClose(l);
        return false;
    }
    if (all && !askNodes(l, host, port, &known)) {
        managerViewFree(&first);
        linkClose(l);
        return false;
    }
    addNode(m, host, port, l, &first);
    for (size_t i = 0; all && i < known.count; i++)
        if (!(known.nodes[i].flags & (NODE_MYSELF | NODE_UNKNOWN))) loadKnown(m, &known.nodes[i]);
    if (all) managerViewFree(&known);
    managerCountReplicas(&m->view);
    return true;
}

bool managerLoad(managerCluster *m, const cliOptions *o, const char *host, int port) {
    return load(m, o, host, port, true);
}

bool managerLoadOne(managerCluster *m, const cliOptions *o, const char *host, int port) {
    return load(m, o, host, port, false);
}

bool managerRefresh(managerCluster *m) {
    managerView nodes;
    for (size_t i = 0; i < m->view.count; i++) {
        managerNode *n = &m->view.nodes[i];
        if (!askNodes(m->links[i], n->host, n->port, &nodes)) return false;
        takeOwn(n, &nodes);
    }
    managerCountReplicas(&m->view);
    return true;
}

void managerAppend(managerCluster *m, managerCluster *from) {
    size_t count = m->view.count, more = from->view.count;
    m->view.nodes = zrealloc(m->view.nodes, sizeof(managerNode) * (count + more + 1));
    m->links = zrealloc(m->links, sizeof(serverLink *) * (count + more + 1));
    for (size_t i = 0; i < more; i++) {
        m->view.nodes[count + i] = from->view.nodes[i];
        m->links[count + i] = from->links[i];
    }
    m->view.count += more;
    zfree(from->view.nodes);
    zfree(from->links);
    *from = (managerCluster){.options = from->options};
}

void managerUnload(managerCluster *m) {
    for (size_t i = 0; i < m->view.count; i++) linkClose(m->links[i]);
    zfree(m->links);
    managerViewFree(&m->view);
    managerViewFree(&m->lost);
    *m = (managerCluster){.options = m->options};
}
