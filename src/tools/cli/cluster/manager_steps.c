/* manager_steps.c -- what several subcommands of the cluster manager do.
 *
 * Tests       tests/tools/cluster_create.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bits.h"
#include "cli_connection.h"
#include "clock.h"
#include "manager_commands.h"
#include "manager_text.h"
#include "numbers.h"
#include "resp_format.h"
#include "zmalloc.h"
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

#define JOIN_LIMIT_MS 120000
#define JOIN_STEP_S 0.2
#define COUNT_BATCH 1024 /* requests that are sent before their replies are read */

/* ---- Entering and checking --------------------------------------------------------------------------------------- */

bool managerEnter(managerCluster *m, const cliOptions *o, int count, char **words) {
    sds host = NULL;
    int port;
    long long number;
    *m = (managerCluster){.options = o};
    if (count == 2 && string2ll(words[1], strlen(words[1]), &number) && number > 0 && number <= 65535) {
        host = sdsNew(words[0]);
        port = (int)number;
    } else if (count != 1 || !managerAddress(words[0], &host, &port)) {
        fputs("[ERR] Invalid arguments: the address of a node is HOST:PORT, or HOST PORT\n", stderr);
        return false;
    }
    bool ok = managerLoad(m, o, host, port);
    sdsFree(host);
    return ok;
}

bool managerPerformCheck(managerCluster *m, managerFaults *faults, bool nodes) {
    const managerView *v = &m->view;
    managerCheck(v, faults);
    managerSay(SAY_STEP, "Performing Cluster Check (using node %s:%d)", v->nodes[0].host, v->nodes[0].port);
    for (size_t i = 0; nodes && i < v->count; i++) managerPrintNode(&v->nodes[i], "");
    managerPrintFaults(v, faults);
    managerPrintCoverage(faults);
    return managerIsSound(faults);
}

/* Asks a node for the number of keys of each slot in first..last. Returns false if the connection breaks. */
static bool countRange(serverLink *l, int first, int last, long long *keys) {
    sds requests = sdsEmpty();
    bool ok = true;
    for (int slot = first; slot <= last; slot++) {
        char number[LONG_STR_SIZE];
        size_t len = ll2string(number, slot);
        slice words[] = {sliceStr("CLUSTER"), sliceStr("COUNTKEYSINSLOT"), sliceOf(number, len)};
        requests = respCatRequest(requests, array_len(words), words);
    }
    ok = linkSendBytes(l, requests, sdsLen(requests));
    for (int slot = first; ok && slot <= last; slot++) {
        replyValue *v = linkRead(l);
        ok = v && v->type == ':';
        keys[slot] = ok ? v->integer : 0;
        replyValueFree(v);
    }
    sdsFree(requests);
    return ok;
}

bool managerCheckOwners(managerCluster *m, char *shared) {
    long long *keys = zmalloc(sizeof(long long) * HASH_SLOTS);
    int *owners = zcalloc(HASH_SLOTS, sizeof(int)), found = 0;
    bool ok = true;
    managerSay(SAY_STEP, "Check for multiple slot owners...");
    memset(shared, 0, HASH_SLOTS / 8);
    for (size_t i = 0; ok && i < m->view.count; i++) {
        const managerNode *n = &m->view.nodes[i];
        if (!managerIsPrimary(n)) continue;
        for (int first = 0; ok && first < HASH_SLOTS; first += COUNT_BATCH)
            ok = countRange(m->links[i], first, first + COUNT_BATCH - 1, keys);
        for (int slot = 0; ok && slot < HASH_SLOTS; slot++) owners[slot] += keys[slot] > 0 || managerOwns(n, slot);
        if (!ok) managerSay(SAY_ERROR, "%s:%d does not count the keys of its slots.", n->host, n->port);
    }
    for (int slot = 0; ok && slot < HASH_SLOTS; slot++) {
        if (owners[slot] < 2) continue;
        managerSay(SAY_WARNING, "Slot %d has %d owners, or nodes with keys of it.", slot, owners[slot]);
        bitsSetField(shared, HASH_SLOTS / 8, (uint64_t)slot, 1, 1);
        found++;
    }
    if (ok && found == 0) managerSay(SAY_GOOD, "No multiple owners found.");
    zfree(owners);
    zfree(keys);
    return ok && found == 0;
}

/* ---- Joining ----------------------------------------------------------------------------------------------------- */

bool managerIsEmpty(managerCluster *m, int node) {
    const managerNode *n = &m->view.nodes[node];
    replyValue *v = managerCall(m, node, "DBSIZE", NULL);
    if (!v) return false;
    bool empty = n->knows <= 1 && v->type == ':' && v->integer == 0;
    if (!empty)
        managerSay(SAY_ERROR,
                   "Node %s:%d is not empty. Either the node already knows other nodes (check with CLUSTER NODES) or "
                   "contains some key in database 0.",
                   n->host, n->port);
    replyValueFree(v);
    return empty;
}

/* Writes the numeric address of a host, which CLUSTER MEET wants. Returns false after a message. */
static bool resolve(const cliOptions *o, const char *host, char *address, size_t size) {
    struct addrinfo hints = {.ai_family = o->target.family, .ai_socktype = SOCK_STREAM}, *list;
    int rc = getaddrinfo(host, NULL, &hints, &list);
    if (rc == 0) {
        rc = getnameinfo(list->ai_addr, list->ai_addrlen, address, (socklen_t)size, NULL, 0, NI_NUMERICHOST);
        freeaddrinfo(list);
    }
    if (rc != 0) managerSay(SAY_ERROR, "The address of %s is unknown: %s", host, gai_strerror(rc));
    return rc == 0;
}

bool managerMeet(managerCluster *m, int node) {
    const managerNode *first = &m->view.nodes[0];
    char address[NI_MAXHOST], port[LONG_STR_SIZE], bus_port[LONG_STR_SIZE];
    if (!resolve(m->options, first->host, address, sizeof(address))) return false;
    ll2string(port, first->port);
    ll2string(bus_port, first->bus_port);
    bool usual = first->bus_port == 0 || first->bus_port == first->port + 10000;
    return managerDo(m, node, "CLUSTER", "MEET", address, port, usual ? NULL : bus_port, NULL);
}

static bool agree(const managerView *v, size_t count) {
    for (size_t i = 0; i < v->count; i++) {
        const managerNode *n = &v->nodes[i];
        if (n->knows < count || sdsCmp(n->opinion, v->nodes[0].opinion) != 0) return false;
    }
    return true;
}

/* Repeats MEET for nodes that still know no other. Servers ignore a node for a minute after CLUSTER FORGET. */
static bool meetAgain(managerCluster *m) {
    for (size_t i = 1; i < m->view.count; i++)
        if (m->view.nodes[i].knows <= 1 && !managerMeet(m, (int)i)) return false;
    return true;
}

bool managerAwaitAgreement(managerCluster *m, size_t count) {
    uint64_t began_ms = clockMonotonicMs();
    printf("Waiting for the cluster to join\n");
    for (int round = 0;; round++) {
        if (!managerRefresh(m)) return false;
        if (agree(&m->view, count)) break;
        if (clockMonotonicMs() - began_ms > JOIN_LIMIT_MS) {
            managerSay(SAY_ERROR, "The nodes do not agree after %d seconds. Are their bus ports open to each other?",
                       JOIN_LIMIT_MS / 1000);
            return false;
        }
        if (round % 5 == 4) putchar('.');
        if (round % 25 == 24 && !meetAgain(m)) return false;
        fflush(stdout);
        cliPause(JOIN_STEP_S);
    }
    putchar('\n');
    return true;
}

bool managerReplicate(managerCluster *m, int node, const char *primary_id) {
    const managerNode *n = &m->view.nodes[node];
    uint64_t began_ms = clockMonotonicMs();
    for (;;) {
        replyValue *v = managerCall(m, node, "CLUSTER", "REPLICATE", primary_id, NULL);
        if (!v) return false;
        bool ok = !replyIsError(v), unknown = !ok && strstr(v->str, "Unknown node");
        if (!ok && (!unknown || clockMonotonicMs() - began_ms > JOIN_LIMIT_MS)) {
            managerSay(SAY_ERROR, "CLUSTER REPLICATE at %s:%d: %s", n->host, n->port, v->str);
            unknown = false;
        }
        replyValueFree(v);
        if (ok || !unknown) return ok;
        cliPause(JOIN_STEP_S);
    }
}
