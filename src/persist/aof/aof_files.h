/* aof_files.h -- the folder of the append-only file: found, taken over from older servers, begun.
 *
 * Runs on: who owns the folder: main before the AOF thread and after its end, that thread meanwhile; without a log the
 * thread of background work. All of it waits for the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_FILES_H
#define PERSIST_AOF_FILES_H

#include "aof_manifest.h"

#include <sys/types.h>

/* The folder's absolute path, owned by the caller. NULL with a line in the log. */
sds aofFolderPath(const char *dirname) must_check;
/* What the folder says: a manifest without files when there is none. An old single file beside the folder becomes the
 * first base. NULL with lines in the log when something is wrong. */
aofManifest *aofFilesFind(const char *folder, const char *stem) must_check;
/* Only what its manifest says; nothing is made. */
aofManifest *aofFilesRead(const char *folder, const char *stem) must_check;
/* As aofFilesFind(), but an old single file stays where it is. */
aofManifest *aofFilesInspect(const char *folder, const char *stem) must_check;
/* Whether a log can be begun there at present: makes the folder, reads its manifest, makes a file and removes it again.
 * False with lines in the log. */
bool aofFilesTry(const char *folder, const char *stem) must_check;
/* The next numbers of `m` are those of files that are not there. */
void aofFilesSkipTaken(const char *folder, const char *stem, aofManifest *m);
/* Begin a log of nothing: a base without commands, in `m`, which has no files. The manifest is not written yet. */
bool aofFilesBegin(const char *folder, const char *stem, aofManifest *m) must_check;
/* Without a running log: the complete file `path` becomes the base ("rdb" or "aof"), and all that was there is deleted.
 * False with lines in the log: `path` may still be there. Any thread. */
bool aofFilesTakeBase(const char *folder, const char *stem, const char *path, const char *ending) must_check;
/* Delete the files that are history; what fails is told by the log. The manifest still names them. Any thread. */
void aofFilesDeleteHistory(const char *folder, const aofManifest *m);
/* Open the last increment to append to it; when there is none make the next one, and write the manifest. Gives its
 * descriptor and *size; -1 with a line in the log. */
int aofFilesOpenIncr(const char *folder, const char *stem, aofManifest *m, off_t *size) must_check;

#endif
