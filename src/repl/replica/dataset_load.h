/* dataset_load.h -- the primary's snapshot takes the place of the dataset.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_DATASET_LOAD_H
#define REPL_DATASET_LOAD_H

#include "link_job.h"
#include "rdb_load.h"

/* Boot. */
void datasetLoadInit(bool (*hide_user_data)(void));
/* Load what the job has received (job->path), or what comes on its connection. `goes` is called when the dataset that
 * there was is about to go. False with lines in the log: it is still there, or nothing is, and then the files on disk
 * are kept (persist/aof/keep_files.h). Clients are served meanwhile. */
bool datasetLoad(linkJob *job, bool from_file, void (*goes)(void), rdbReplInfo *info) must_check;
/* The primary hears that this server lives, while nobody reads from its connection. */
void datasetLoadKeepAlive(void);

#endif
