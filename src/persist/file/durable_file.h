/* durable_file.h -- replace a file so that at each moment, and after a loss of power, there is the old one or the new.
 *
 *   create a temporary file -> write -> sync, close, rename over the old one, sync the folder
 *
 * Functions that return bool keep errno when they fail, and name the step in which it happened.
 *
 * Threads     any; one owner of a file at a time. All of it waits for the disk. A forked child may call all of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_DURABLE_FILE_H
#define PERSIST_DURABLE_FILE_H

#include "sds.h"

#include <sys/types.h>

typedef struct durableFile {
    int fd;
    char *temporary;  /* owns; NULL: it is not there (any more) */
    const char *step; /* the last one tried: "open", "write", "sync" ... */
} durableFile;

/* Make a new file of that name, in the folder of the file that it will replace. One that is there already is emptied; a
 * symbolic link is refused. `mode` is cut by the process's umask. After false there is nothing to end. */
bool durableCreate(durableFile *f, const char *temporary, mode_t mode) must_check;
/* Append all of it. */
bool durableWrite(durableFile *f, slice bytes) must_check;
/* Put it in the place of `path`, for good. Ends `f` in any case; when it fails the old file is as it was (but for the
 * last step: then the new one is there, and a loss of power may bring the old one back). */
bool durableReplace(durableFile *f, const char *path) must_check;
/* End it, and remove the temporary file, if it is still there. Keeps errno. */
void durableAbandon(durableFile *f);

/* Remove a file, takes `path`: elsewhere, because to free the blocks of a large one takes a while. Main. */
void removeInBackground(sds path);

#endif
