/* cluster_commands.h -- the handlers of CLUSTER's subcommands in cluster mode.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_CLUSTER_COMMANDS_H
#define CLUSTER_CLUSTER_COMMANDS_H

#include "client.h"
#include "command_table.h"
#include "cluster_types.h"
#include "sds.h"

/* --- That change something (cluster_commands.c) ------------------------------------------------------------------- */
commandHandler clusterAddslotsCommand, clusterAddslotsrangeCommand, clusterDelslotsCommand, clusterDelslotsrangeCommand,
    clusterFlushslotCommand, clusterFlushslotsCommand, clusterSetslotCommand;
commandHandler clusterMeetCommand, clusterForgetCommand, clusterReplicateCommand, clusterFailoverCommand;
commandHandler clusterBumpepochCommand, clusterSetConfigEpochCommand, clusterResetCommand, clusterSaveconfigCommand;

/* --- That read (cluster_reading.c) -------------------------------------------------------------------------------- */
commandHandler clusterInfoCommand, clusterNodesCommand, clusterMyidCommand, clusterMyshardidCommand,
    clusterReplicasCommand, clusterSlotsCommand, clusterShardsCommand, clusterLinksCommand,
    clusterCountFailureReportsCommand, clusterCountkeysinslotCommand, clusterGetkeysinslotCommand, clusterHelpCommand,
    clusterKeyslotCommand, clusterDisabledCommand;
commandHandler clusterSlotStatsCommand; /* cluster_slot_stats.c */

/* Returns the lines of CLUSTER INFO. The caller frees them. */
sds clusterInfoNow(void);

/* Return false after an error reply if the argument is no node's name (`error` gets its length and its text), or no
 * slot. */
bool clusterNodeArg(client *c, uint32_t index, const char *error, nodeId *id) must_check;
bool clusterSlotArg(client *c, uint32_t index, unsigned *slot) must_check;

#endif
