/* nodes_load.h -- reads cluster-config-file at startup.
 *
 * Runs on: main, at startup.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_NODES_LOAD_H
#define CLUSTER_NODES_LOAD_H

#include "nodes_file.h"

/* Reads and parses the cluster-config-file `name`. Returns false with *error, a line for the log, if it cannot be read
 * or is damaged: the process must not start then, as a node without its knowledge could vote twice. A file that is
 * absent or empty gives no nodes; for an empty one beside a dataset (`has_dataset`) a warning is logged. The caller
 * frees *error, and *file by nodesFileFree(), also after false. The file is not changed. */
bool nodesLoad(const char *name, bool has_dataset, nodesFile *file, sds *error) must_check;

#endif
