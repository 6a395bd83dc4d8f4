/* stale_files.h -- temporary files that a process which is gone has left.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_STALE_FILES_H
#define PERSIST_STALE_FILES_H

/* Remove those in the working directory, and in the folder of the append-only file `stem`. Waits for the disk; at a
 * start, before anything is written. */
void staleFilesRemove(const char *append_folder, const char *stem);

#endif
