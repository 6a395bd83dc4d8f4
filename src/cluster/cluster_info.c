/* cluster_info.c -- the INFO fields of the cluster.
 *
 * Threads     main; the section "cluster" in crash reports also a thread that crashes.
 * Tests       tests/cluster/basics.tcl, tests/server/info.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster.h"

#include "cluster_commands.h"
#include "info_table.h"
#include "zmalloc.h"

static const infoSection sections[] = {
    {"cluster", "Cluster", 140, INFO_DEFAULT | INFO_IN_CRASH},
    {"cluster_info", "Cluster Info", 150, 0}, /* empty outside a cluster */
    {.name = NULL},
};

typedef struct linkTotals {
    size_t links, bytes;
} linkTotals;

static linkTotals totals(void) {
    busLinkFigures *list;
    linkTotals t = {0};
    if (!clusterIsEnabled()) return t;
    t.links = clusterLinks(&list);
    for (size_t i = 0; i < t.links; i++) t.bytes += list[i].memory;
    zfree(list);
    return t;
}

static void connections(infoOut *o) {
    infoGauge(o, "cluster_connections", totals().links, "Connections of the cluster's own bus.");
}

static void memory(infoOut *o) {
    infoSize(o, "mem_cluster_links", totals().bytes, "Memory of links of the cluster's bus.");
}

static void cluster(infoOut *o) {
    infoGauge(o, "cluster_enabled", clusterIsEnabled(), "Whether the server is part of a cluster.");
}

static void state(infoOut *o) {
    if (!clusterIsEnabled()) return;
    sds text = clusterInfoNow();
    slice rest = sdsSlice(text);
    while (rest.len) {
        slice line = sliceTakeUntil(&rest, '\n');
        if (line.len) infoLine(o, "%.*s", (int)line.len - 1, line.ptr); /* it ends with CR */
    }
    sdsFree(text);
}

static const infoFields fields[] = {{"clients", 20, connections},
                                    {"memory", 480, memory},
                                    {"cluster", 10, cluster},
                                    {"cluster_info", 10, state},
                                    {.section = NULL}};

void clusterInfoRegister(void) {
    infoTableAddSections(sections);
    infoTableAddFields(fields);
}
