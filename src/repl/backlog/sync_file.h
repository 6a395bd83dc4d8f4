/* sync_file.h -- deletes RDB files that were written only for a full synchronization (rdb-del-sync-files).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SYNC_FILE_H
#define REPL_SYNC_FILE_H

#include "platform.h"

/* Call when the snapshot `file` has been loaded, or is open for all replicas that get it. Deletes it if
 * rdb-del-sync-files is on and this server has neither save points nor an append-only file. Open descriptors can still
 * read it to its end. */
void syncFileRelease(const char *file);

#endif
