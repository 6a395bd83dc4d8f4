/* durable_file.h -- replaces a file atomically: at each moment, and after a loss of power, the old or the new one
 * exists.
 *
 *   create a temporary file -> write -> sync, close, rename over the old one, sync the folder
 *
 * Functions that return bool set errno when they fail, and record in `step` the step that failed.
 *
 * Runs on: any thread, also of a forked child; a file has one owner at a time. Functions that write wait for the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_DURABLE_FILE_H
#define PERSIST_DURABLE_FILE_H

#include "sds.h"

#include <sys/types.h>

typedef enum {
    DURABLE_OPEN,
    DURABLE_WRITE,
    DURABLE_SYNC,
    DURABLE_CLOSE,
    DURABLE_RENAME,
    DURABLE_SYNC_FOLDER,
    DURABLE_UNLINK, /* of the temporary file, after a failure */
    DURABLE_STEPS
} durableStep;

typedef struct durableFile {
    int fd;
    char *temporary;            /* owns; NULL if there is no temporary file (any more) */
    durableStep at;             /* the last one tried */
    const char *step;           /* its name: "open", "write", "sync" ... */
    uint64_t us[DURABLE_STEPS]; /* how long the steps have taken */
} durableFile;

/* Creates the temporary file, in the folder of the file that it will replace. An existing file of that name is emptied;
 * a symbolic link is refused. The umask applies to `mode`. After false there is nothing to abandon. */
bool durableCreate(durableFile *f, const char *temporary, mode_t mode) must_check;
/* Appends all bytes. */
bool durableWrite(durableFile *f, slice bytes) must_check;
/* Renames the file to `path`, durably. `f` is done afterwards, also on failure. If it fails, the old file is unchanged,
 * except if only the sync of the folder failed: the new file has its name then, but a loss of power may bring the old
 * one back. */
bool durableReplace(durableFile *f, const char *path) must_check;
/* Closes the file and removes the temporary file, if it still exists. Keeps errno. */
void durableAbandon(durableFile *f);

/* The system calls of these steps, so that tests can make them fail or wait. Like the functions of the same names: -1
 * with errno on failure. */
typedef struct durableSystem {
    int (*open)(const char *path, int flags, mode_t mode);
    ssize_t (*write)(int fd, const void *bytes, size_t len);
    int (*sync)(int fd);
    int (*close)(int fd);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
} durableSystem;
/* Sets the functions in use; NULL: the system's own. Call only while no other thread replaces a file. */
void durableSystemSet(const durableSystem *s);

/* Deletes the file `path` on a background thread, because freeing the blocks of a large file takes a while. Takes
 * ownership of `path`. Main. */
void removeInBackground(sds path);

#endif
