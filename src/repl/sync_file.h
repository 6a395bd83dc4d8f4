/* sync_file.h -- a snapshot on disk that only a synchronization has made (rdb-del-sync-files).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SYNC_FILE_H
#define REPL_SYNC_FILE_H

#include "platform.h"

/* It has been loaded, or opened for all who get it: where nothing is persisted it goes, if so asked for. Who has it
 * open reads it to its end. */
void syncFileRelease(void);

#endif
