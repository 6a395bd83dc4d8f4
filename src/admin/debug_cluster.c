/* debug_cluster.c -- the subcommands of DEBUG about the cluster bus: faults for tests of clusters.
 *
 * The switches exist without cluster mode too, where they have no effect, as in Valkey.
 *
 * Threads     main.
 * Tests       tests/cluster/debug.tcl, tests/server/debug.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_internal.h"

#include "cluster.h"
#include "cluster_commands.h"
#include "reply.h"

#include <limits.h>

static bool isMyself(const nodeId *id) {
    bool same = nodeIdEqual(&clusterMyself(clusterLock())->id, id);
    clusterUnlock();
    return same;
}

static void closeLinks(client *c, slice direction, const nodeId *id) {
    bool all = sliceIs(direction, "all"), to = all || sliceIs(direction, "to"),
         from = all || sliceIs(direction, "from");
    int shown = (int)(direction.len < 128 ? direction.len : 128);
    if (!clusterCloseLinks(id, to, from)) addReplyErrorFormat(c, "Unknown node %.40s", id->text);
    else if (isMyself(id)) addReplyError(c, "Cannot free cluster link(s) to myself");
    else if (!to && !from) addReplyErrorFormat(c, "Unknown direction %.*s", shown, direction.ptr);
    else addReplyOk(c);
}

void debugClusterlink(client *c) {
    nodeId id;
    if (!sliceIs(c->argv[2], "kill")) addReplySubcommandSyntaxError(c);
    else if (!clusterIsEnabled()) addReplyError(c, "Debug option only available for cluster mode enabled setup!");
    else if (clusterNodeArg(c, 4, "Unknown node %.*s", &id)) closeLinks(c, c->argv[3], &id);
}

void debugDropFilter(client *c) {
    long long type;
    if (!getLongLongFromArg(c, 2, &type, NULL)) return;
    cluster_switches.dropped_type = type >= INT_MIN && type <= INT_MAX ? (int)type : BUS_DROP_NONE;
    clusterSwitch();
    addReplyOk(c);
}

void debugDropCloses(bool on) {
    cluster_switches.drop_closes = on;
    clusterSwitch();
}

void debugNoConnects(bool on) {
    cluster_switches.no_connects = on;
    clusterSwitch();
}

void debugNoRandomPings(bool on) {
    cluster_switches.no_random_pings = on;
    clusterSwitch();
}
