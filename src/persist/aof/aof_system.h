/* aof_system.h -- the system calls that touch the append-only files, each in one place, so that tests can fail them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_SYSTEM_H
#define PERSIST_AOF_SYSTEM_H

#include "slice.h"

#include <sys/types.h>
#include <sys/uio.h>

/* As the functions of the same names: -1 with errno. */
typedef struct aofSystem {
    int (*open)(const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    int (*access)(const char *path, int mode);
    ssize_t (*read)(int fd, void *bytes, size_t len);
    ssize_t (*writev)(int fd, const struct iovec *parts, int count);
    int (*sync)(int fd); /* the bytes and what it takes to find them */
    int (*truncate)(int fd, off_t size);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int (*make_folder)(const char *path, mode_t mode);
} aofSystem;

/* What is in force: the system's own, or what a test has put there. */
const aofSystem *aofSystemNow(void);
void aofSystemSet(const aofSystem *s); /* NULL: the system's own */

/* Make sure of a folder's entries. */
int aofSyncFolder(const char *path) must_check;
/* Remove a file of any size: what it takes to free its blocks, a second for a gigabyte, is done in the background. -1
 * with errno. */
int aofRemoveFile(const char *path);
/* Put `bytes` in the place of folder/name, as a whole or not at all, by way of folder/temporary: -1 with errno. When
 * the last step fails (*replaced), they stand there, and nobody knows whether after a loss of power they still do. */
int aofReplaceFile(const char *folder, const char *temporary, const char *name, slice bytes, bool *replaced) must_check;

#endif
