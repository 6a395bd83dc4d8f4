/* cluster_cmds.c -- CLUSTER, CLUSTERSCAN and ASKING on a server that is no node of a cluster.
 *
 * There is no cluster mode yet, so all of them except CLUSTER KEYSLOT are refused, as by Valkey with cluster-enabled
 * no. They are in the command table nevertheless, because ACL rules, renames and COMMAND refer to them.
 *
 * Not here    READONLY, READWRITE (repl/role_cmds.c); wrong arities and unknown subcommands (engine/call.c).
 * Threads     main.
 * Tests       tests/server/cluster_disabled.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "hash.h"
#include "reply.h"

void clusterKeyslotCommand(client *c) { addReplyLongLong(c, keyHashSlot(c->argv[2].ptr, c->argv[2].len)); }

/* Handles every other command of this file, whatever its arguments. */
void clusterDisabledCommand(client *c) { addReplyError(c, "This instance has cluster support disabled"); }
