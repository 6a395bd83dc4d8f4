/* stale_files.h -- removes temporary files of processes that have ended.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_STALE_FILES_H
#define PERSIST_STALE_FILES_H

/* Removes those in the working directory, and in the folder of the append-only file `stem`. Waits for the disk. Call at
 * startup, before anything is written. */
void staleFilesRemove(const char *append_folder, const char *stem);

#endif
