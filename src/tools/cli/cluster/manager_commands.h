/* manager_commands.h -- the subcommands of --cluster.
 *
 * Each returns the exit code of the program. `words` are those of the command line after the subcommand, checked for
 * their number.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_COMMANDS_H
#define MANAGER_COMMANDS_H

#include "manager_check.h"
#include "manager_cluster.h"

int managerCreate(const cliOptions *o, int count, char **words);
int managerAddNode(const cliOptions *o, int count, char **words);
int managerDelNode(const cliOptions *o, int count, char **words);
int managerInfo(const cliOptions *o, int count, char **words);
int managerCheckCommand(const cliOptions *o, int count, char **words);
int managerCallCommand(const cliOptions *o, int count, char **words);
int managerSetTimeout(const cliOptions *o, int count, char **words);
int managerReshard(const cliOptions *o, int count, char **words);
int managerRebalance(const cliOptions *o, int count, char **words);
int managerFix(const cliOptions *o, int count, char **words);
int managerImport(const cliOptions *o, int count, char **words);
int managerBackup(const cliOptions *o, int count, char **words);

/* --- manager_steps.c: what several subcommands do --- */
/* Connects to all nodes of the cluster of which the words name one: "HOST:PORT", or HOST and PORT. Returns false after
 * a message. */
bool managerEnter(managerCluster *m, const cliOptions *o, int count, char **words) must_check;
/* Checks the cluster and prints the result; with `nodes`, each node as well. Returns true if it is sound. */
bool managerPerformCheck(managerCluster *m, managerFaults *faults, bool nodes);
/* Counts which slots are owned, or have keys, at several primaries, and prints them. Returns true if none is. */
bool managerCheckOwners(managerCluster *m, char *shared);
/* Waits until all nodes of the view know `count` nodes and agree. Returns false after a message if they do not within a
 * minute. */
bool managerAwaitAgreement(managerCluster *m, size_t count) must_check;
/* Has a node meet the first node of the view. Returns false after a message. */
bool managerMeet(managerCluster *m, int node) must_check;
/* Makes a node a replica; waits until it knows its primary. Returns false after a message. */
bool managerReplicate(managerCluster *m, int node, const char *primary_id) must_check;
/* Returns false after a message if the node knows other nodes, or has keys. */
bool managerIsEmpty(managerCluster *m, int node) must_check;

#endif
