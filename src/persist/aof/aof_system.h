/* aof_system.h -- the system calls that touch the append-only files, in one table, so that tests can make them fail.
 *
 * Runs on: any thread; aofSystemSet() only while no other thread uses the table.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_SYSTEM_H
#define PERSIST_AOF_SYSTEM_H

#include "slice.h"

#include <sys/types.h>
#include <sys/uio.h>

/* Like the functions of the same names: -1 with errno on failure. */
typedef struct aofSystem {
    int (*open)(const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    int (*access)(const char *path, int mode);
    ssize_t (*read)(int fd, void *bytes, size_t len);
    ssize_t (*writev)(int fd, const struct iovec *parts, int count);
    int (*sync)(int fd); /* the bytes, and the metadata needed to read them */
    int (*truncate)(int fd, off_t size);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int (*make_folder)(const char *path, mode_t mode);
    off_t (*size)(const char *path); /* of the file; -1 with errno */
} aofSystem;

/* Returns the functions in use: the system's own, or those that a test has set. */
const aofSystem *aofSystemNow(void);
void aofSystemSet(const aofSystem *s); /* NULL sets the system's own */

/* Syncs the entries of a folder. */
int aofSyncFolder(const char *path) must_check;
/* Removes a file of any size. Its blocks are freed in the background, which takes a second for a gigabyte. Returns -1
 * with errno on failure. */
int aofRemoveFile(const char *path);
/* Replaces folder/name by a file with `bytes`, as a whole or not at all, through folder/temporary. Returns -1 with
 * errno on failure. If *replaced is true then, only the last step has failed: the file has been replaced, but a loss of
 * power may undo that. */
int aofReplaceFile(const char *folder, const char *temporary, const char *name, slice bytes, bool *replaced) must_check;

#endif
