/* dataset_load.h -- replaces the dataset by the RDB that the primary sends.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_DATASET_LOAD_H
#define REPL_DATASET_LOAD_H

#include "link_job.h"
#include "rdb_load.h"

/* Loads the file at job->path, or reads the RDB from the job's connection, and sets `info` to the replication data in
 * it. Calls `on_leave` just before the present dataset is removed. Logs a failure and returns false: then the present
 * dataset is unchanged, or the dataset is empty and the files on disk are kept (keepFilesBegin()). Clients are
 * served during the load. */
bool datasetLoad(linkJob *job, bool from_file, void (*on_leave)(void), rdbReplInfo *info) must_check;
/* Sends the primary a newline, so that it does not time this replica out. Does nothing unless a file is loaded. */
void datasetLoadKeepAlive(void);

#endif
