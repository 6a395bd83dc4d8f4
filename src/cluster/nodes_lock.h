/* nodes_lock.h -- one server for each cluster-config-file.
 *
 * Two servers with one file would be two nodes with one name, which vote twice.
 *
 * Runs on: main, at startup.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_NODES_LOCK_H
#define CLUSTER_NODES_LOCK_H

#include "sds.h"

/* Locks the cluster-config-file `name` until this process ends. Returns false with *error, a line for the log, if
 * another process uses the file or it cannot be locked: the process must not start then. The caller frees *error. Call
 * once, after the process has become a daemon: a child does not inherit the lock. */
bool nodesLockTake(const char *name, sds *error) must_check;

#endif
