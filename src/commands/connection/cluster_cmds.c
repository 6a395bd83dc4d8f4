/* cluster_cmds.c -- CLUSTER, CLUSTERSCAN and ASKING on a server that is no node of a cluster.
 *
 * There is no cluster mode yet, so each of them but CLUSTER KEYSLOT is refused, as by a server whose cluster-enabled is
 * no. They stand in the command table all the same: rules of users, renames and COMMAND name them.
 *
 * Not here    READONLY, READWRITE (repl/replica/redirect.c); wrong arities and unknown subcommands (engine/call.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/server/cluster_disabled.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "hash.h"
#include "reply.h"

void clusterKeyslotCommand(client *c) {
    addReplyLongLong(c, keyHashSlot(c->argv[2].ptr, c->argv[2].len));
}

/* Every other command here, whatever its arguments. */
void clusterDisabledCommand(client *c) {
    addReplyError(c, "This instance has cluster support disabled");
}
