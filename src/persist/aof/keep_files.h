/* keep_files.h -- protects the files that a start reads while the dataset in memory must not replace them.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_KEEP_FILES_H
#define PERSIST_KEEP_FILES_H

#include "platform.h"

/* Call before the dataset is removed to load another one, or after a load has failed and left nothing. Until
 * keepFilesEnd() the append-only file is suspended, and save points and shutdown write no snapshot. Commands that ask
 * for a rewrite or a snapshot still get one. Calling it again has no effect. */
void keepFilesBegin(void);
/* Call when a load has succeeded, or when this server becomes a primary with the dataset that it has: the append-only
 * file is turned on again if `appendonly` is yes, and save points count. Does nothing without keepFilesBegin().
 * `received`, NULL or the path of the snapshot that was loaded (complete and synced), may become the base of the
 * append-only file. Returns whether it does: then the file belongs to the log, and the caller must not touch it. */
bool keepFilesEnd(const char *received);

#endif
