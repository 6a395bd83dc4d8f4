/* plan_create.c -- a new cluster: which nodes become primaries, with which slots, and whose replicas the others are.
 *
 * Primaries are taken from the hosts in turn, so that the loss of a host loses few of them. Replicas are first assigned
 * in turn, shifted by one in each pass, and then exchanged while an exchange helps. For replicas on the host of their
 * primary that finds the best plan: if one remains, each replica that could be exchanged for it is on the same host, or
 * is to be there.
 *
 * Tests       tests/unit/tools/manager_plan_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_plan.h"
#include "zmalloc.h"
#include <math.h>

/* Orders the nodes so that hosts alternate: the first node of each host, then the second of each, and so on. */
static void alternateHosts(const char *const *hosts, size_t count, int *order) {
    size_t *rank = zmalloc(sizeof(size_t) * (count + 1)), done = 0;
    for (size_t i = 0; i < count; i++) {
        rank[i] = 0;
        for (size_t j = 0; j < i; j++) rank[i] += strcmp(hosts[i], hosts[j]) == 0;
    }
    for (size_t turn = 0; done < count; turn++)
        for (size_t i = 0; i < count; i++)
            if (rank[i] == turn) order[done++] = (int)i;
    zfree(rank);
}

/* Returns how bad it is that replica `i` has this primary: what counts most is the host of the primary, then those of
 * its other replicas. `except` is left out of these. */
static int badness(const createPlan *p, const char *const *hosts, int i, int primary, int except) {
    int bad = strcmp(hosts[i], hosts[primary]) == 0 ? (int)p->count : 0;
    for (size_t j = 0; j < p->count; j++) {
        int other = (int)j;
        if (p->primary_of[other] != primary || other == primary || other == i || other == except) continue;
        bad += strcmp(hosts[i], hosts[other]) == 0;
    }
    return bad;
}

/* Exchanges the primaries of two replicas if that is better. */
static bool exchange(createPlan *p, const char *const *hosts, int a, int b) {
    int pa = p->primary_of[a], pb = p->primary_of[b];
    if (pa == a || pb == b || pa == pb) return false;
    int before = badness(p, hosts, a, pa, -1) + badness(p, hosts, b, pb, -1);
    int after = badness(p, hosts, a, pb, b) + badness(p, hosts, b, pa, a);
    if (after >= before) return false;
    p->primary_of[a] = pb;
    p->primary_of[b] = pa;
    return true;
}

static void spreadReplicas(createPlan *p, const char *const *hosts) {
    bool better = true;
    while (better) { /* ends: each exchange lowers the sum of all badness */
        better = false;
        for (size_t a = 0; a < p->count; a++)
            for (size_t b = a + 1; b < p->count; b++) better |= exchange(p, hosts, (int)a, (int)b);
    }
    for (size_t i = 0; i < p->count; i++) {
        int primary = p->primary_of[i];
        if (primary != (int)i && strcmp(hosts[i], hosts[primary]) == 0) p->same_host++;
    }
}

bool planCreate(createPlan *p, const char *const *hosts, size_t count, size_t replicas) {
    *p = (createPlan){.count = count, .primaries = count / (replicas + 1)};
    if (p->primaries == 0) return false;
    int *order = zmalloc(sizeof(int) * count);
    p->primary_of = zmalloc(sizeof(int) * count);
    p->first = zcalloc(count, sizeof(int));
    p->last = zcalloc(count, sizeof(int));
    alternateHosts(hosts, count, order);
    for (size_t i = 0; i < count; i++) p->primary_of[order[i]] = order[(i + i / p->primaries) % p->primaries];
    for (size_t i = 0; i < p->primaries; i++) {
        p->first[order[i]] = (int)lround((double)HASH_SLOTS * (double)i / (double)p->primaries);
        p->last[order[i]] = (int)lround((double)HASH_SLOTS * (double)(i + 1) / (double)p->primaries) - 1;
    }
    zfree(order);
    spreadReplicas(p, hosts);
    return true;
}

void createPlanFree(createPlan *p) {
    zfree(p->primary_of);
    zfree(p->first);
    zfree(p->last);
    *p = (createPlan){0};
}
