/* aof_files.h -- the folder of the append-only file: reads its manifest, adopts files of older servers, creates the
 * first files.
 *
 * Runs on: the owner of the folder: main before the AOF thread starts and after its end, that thread meanwhile; without
 * a log a background thread. All functions wait for the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_FILES_H
#define PERSIST_AOF_FILES_H

#include "aof_manifest.h"

#include <sys/types.h>

/* Returns the folder's absolute path, which the caller frees. Returns NULL, and logs a line, if the working directory
 * has no name. */
sds aofFolderPath(const char *dirname) must_check;
/* Reads the manifest, and creates the folder if it is missing. Without a manifest it returns one without files. An old
 * single file beside the folder becomes the first base. Returns NULL, after logging why, on failure. */
aofManifest *aofFilesFind(const char *folder, const char *stem) must_check;
/* Reads the manifest as aofFilesFind() does, but changes nothing on disk. */
aofManifest *aofFilesRead(const char *folder, const char *stem) must_check;
/* Reads the manifest as aofFilesFind() does, but leaves an old single file where it is. */
aofManifest *aofFilesInspect(const char *folder, const char *stem) must_check;
/* Writes the manifest to the disk. If that fails, returns false with errno; the manifest on the disk then names only
 * files that exist, and *replaced is true if it may be `m`. */
bool aofFilesReplaceManifest(const char *folder, const char *stem, const aofManifest *m, bool *replaced) must_check;
/* Returns whether a log could be begun in the folder now: creates it, reads its manifest, creates a file and removes it
 * again. Logs the reason if not. */
bool aofFilesTry(const char *folder, const char *stem) must_check;
/* Raises the last numbers of `m` until the next ones are not those of existing files. */
void aofFilesSkipTaken(const char *folder, const char *stem, aofManifest *m);
/* Begins an empty log: creates a base without commands and adds it to `m`, which has no files. Does not write the
 * manifest. */
bool aofFilesBegin(const char *folder, const char *stem, aofManifest *m) must_check;
/* Makes the complete file `path` the base ("rdb" or "aof") while no log is running, and deletes all other files.
 * Returns false on failure, which is logged unless the folder cannot be created; `path` may still exist then. Any
 * thread. */
bool aofFilesTakeBase(const char *folder, const char *stem, const char *path, const char *ending) must_check;
/* Deletes the history files; failures are logged. The manifest still names them. Any thread. */
void aofFilesDeleteHistory(const char *folder, const aofManifest *m);
/* Opens the last increment for appending. If there is none, creates the next one and writes the manifest. Returns the
 * descriptor, and the size in *size; -1, after logging why, on failure. */
int aofFilesOpenIncr(const char *folder, const char *stem, aofManifest *m, off_t *size) must_check;

/* --- stale_files.c ------------------------------------------------------------------------------------ */
/* Removes temporary files of processes that have ended, in the working directory and in the folder of the append-only
 * file `stem`. Waits for the disk. Call at startup, before anything is written. */
void staleFilesRemove(const char *append_folder, const char *stem);

#endif
