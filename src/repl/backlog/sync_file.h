/* sync_file.h -- a snapshot on disk that only a synchronization has made (rdb-del-sync-files).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SYNC_FILE_H
#define REPL_SYNC_FILE_H

#include "platform.h"

/* Call when the snapshot `file` has been loaded, or is open for all replicas that get it: removes it where nothing is
 * persisted and rdb-del-sync-files says so. An open descriptor reads on to its end. */
void syncFileRelease(const char *file);

#endif
