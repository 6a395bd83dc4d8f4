/* aof_system.c -- the system calls that touch the append-only files, in one table, so that tests can make them fail.
 *
 * Owns        the table that is in use.
 * Threads     any.
 * Tests       tests/unit/persist/aof/aof_thread_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_system.h"

#include "aof_manifest.h"
#include "bio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int openFile(const char *path, int flags, mode_t mode) { return open(path, flags | O_CLOEXEC, mode); }

/* Syncs a file. Where fdatasync() is missing or weak, fsync() does more than is needed. */
static int syncFile(int fd) {
#ifdef __linux__
    return fdatasync(fd);
#else
    return fsync(fd);
#endif
}

static off_t fileSize(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static const aofSystem real_system = {.open = openFile,
                                      .close = close,
                                      .access = access,
                                      .read = read,
                                      .writev = writev,
                                      .sync = syncFile,
                                      .truncate = ftruncate,
                                      .rename = rename,
                                      .unlink = unlink,
                                      .make_folder = mkdir,
                                      .size = fileSize};
static const aofSystem *current = &real_system;

const aofSystem *aofSystemNow(void) { return current; }

void aofSystemSet(const aofSystem *s) { current = s ? s : &real_system; }

int aofSyncFolder(const char *path) {
    int fd = current->open(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) return -1;
    int rc = current->sync(fd), error = errno;
    current->close(fd);
    errno = error;
    return rc;
}

static void closeInBackground(void *fd) { current->close((int)(intptr_t)fd); }

/* Opens the file before it removes the name, which is quick then. Closing it is slow. */
int aofRemoveFile(const char *path) {
    int fd = current->open(path, O_RDONLY | O_NONBLOCK, 0);
    int rc = current->unlink(path), error = errno;
    if (fd >= 0) bioSubmit(BIO_CLOSE_FILE, closeInBackground, (void *)(intptr_t)fd);
    errno = error;
    return rc;
}

static int writeAll(int fd, slice bytes) {
    while (bytes.len > 0) {
        struct iovec part = {(void *)bytes.ptr, bytes.len};
        ssize_t n = current->writev(fd, &part, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        bytes.ptr += n;
        bytes.len -= (size_t)n;
    }
    return 0;
}

int aofReplaceFile(const char *folder, const char *temporary, const char *name, slice bytes, bool *replaced) {
    sds from = aofPath(folder, temporary), to = aofPath(folder, name);
    *replaced = false;
    int rc = -1, fd = current->open(from, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) goto cleanup;
    if (writeAll(fd, bytes) == 0 && current->sync(fd) == 0) rc = 0;
    int error = errno;
    current->close(fd);
    errno = error;
    if (rc == 0) rc = current->rename(from, to);
    *replaced = rc == 0;
    if (rc == 0) rc = aofSyncFolder(folder);
cleanup:;
    int kept = errno;
    if (fd >= 0 && !*replaced) current->unlink(from);
    sdsFree(from);
    sdsFree(to);
    errno = kept;
    return rc;
}
