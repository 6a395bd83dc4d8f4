/* durable_file.c -- the steps by which a file is replaced.
 *
 * A file that was renamed before its bytes were on disk may be empty after a loss of power, and a rename is durable
 * only when the folder has been synced. So no step is left out, and the first failure ends the sequence.
 *
 * Owns        nothing but the open file; the table of system calls.
 * Threads     any.
 * Invariants  1. temporary is set and fd >= 0 exactly while the temporary file is being written.
 * Tests       tests/unit/persist/file/durable_file_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "durable_file.h"

#include "bio.h"
#include "clock.h"
#include "forked.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int openFile(const char *path, int flags, mode_t mode) { return open(path, flags | O_CLOEXEC, mode); }

static const durableSystem real_system = {
    .open = openFile, .write = write, .sync = fsync, .close = close, .rename = rename, .unlink = unlink};
static const durableSystem *current = &real_system;

void durableSystemSet(const durableSystem *s) { current = s ? s : &real_system; }

/* Asserts invariant 1, at both ends of the functions of the header. Only between close and rename is the name set
 * alone. */
static void durableCheck(const durableFile *f, bool open) {
    debugAssert((f->temporary != NULL) == open && (f->fd >= 0) == open);
    unused(f), unused(open);
}

static const char *const step_names[DURABLE_STEPS] = {
    [DURABLE_OPEN] = "open",   [DURABLE_WRITE] = "write",   [DURABLE_SYNC] = "sync",
    [DURABLE_CLOSE] = "close", [DURABLE_RENAME] = "rename", [DURABLE_SYNC_FOLDER] = "sync of the folder"};

/* Returns the time at which the step begins. */
static uint64_t begin(durableFile *f, durableStep step) {
    f->at = step;
    f->step = step_names[step];
    return clockMonotonicUs();
}

/* Adds the time of the step. Returns `done`, and keeps errno. */
static bool ended(durableFile *f, uint64_t began_us, bool done) {
    int error = errno;
    f->us[f->at] += clockMonotonicUs() - began_us;
    errno = error;
    return done;
}

bool durableCreate(durableFile *f, const char *temporary, mode_t mode) {
    *f = (durableFile){.fd = -1};
    uint64_t began_us = begin(f, DURABLE_OPEN);
    if (forkedIsCopy()) {
        errno = EPERM;
        return false;
    }
    f->fd = current->open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode);
    if (!ended(f, began_us, f->fd >= 0)) return false;
    f->temporary = zstrdup(temporary);
    durableCheck(f, true);
    return true;
}

bool durableWrite(durableFile *f, slice bytes) {
    durableCheck(f, true);
    while (bytes.len > 0) {
        uint64_t began_us = begin(f, DURABLE_WRITE);
        ssize_t n = current->write(f->fd, bytes.ptr, bytes.len);
        if (!ended(f, began_us, n >= 0) && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC; /* never seen with a file; without this the loop might never end */
        if (n <= 0) return false;
        bytes = sliceOf(bytes.ptr + n, bytes.len - (size_t)n);
    }
    return true;
}

/* Syncs the folder that contains `path`. */
static bool syncFolder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = zstrdup(slash ? path : ".");
    if (slash) folder[slash == path ? 1 : slash - path] = '\0';
    int fd = current->open(folder, O_RDONLY | O_DIRECTORY, 0);
    bool done = fd >= 0 && current->sync(fd) == 0;
    int error = errno;
    if (fd >= 0) current->close(fd);
    zfree(folder);
    errno = error;
    return done;
}

static bool closeFile(durableFile *f) {
    int fd = f->fd;
    f->fd = -1;
    return current->close(fd) == 0 || errno == EINTR; /* after EINTR Linux has closed it */
}

bool durableReplace(durableFile *f, const char *path) {
    durableCheck(f, true);
    uint64_t began_us = begin(f, DURABLE_SYNC);
    if (!ended(f, began_us, current->sync(f->fd) == 0)) goto failed;
    began_us = begin(f, DURABLE_CLOSE);
    if (!ended(f, began_us, closeFile(f))) goto failed;
    began_us = begin(f, DURABLE_RENAME);
    if (!ended(f, began_us, current->rename(f->temporary, path) == 0)) goto failed;
    zfree(f->temporary);
    f->temporary = NULL;
    durableCheck(f, false);
    began_us = begin(f, DURABLE_SYNC_FOLDER);
    return ended(f, began_us, syncFolder(path));
failed:
    durableAbandon(f);
    return false;
}

void durableAbandon(durableFile *f) {
    int error = errno;
    if (f->fd >= 0) current->close(f->fd);
    if (f->temporary) {
        uint64_t began_us = clockMonotonicUs();
        current->unlink(f->temporary);
        f->us[DURABLE_UNLINK] += clockMonotonicUs() - began_us;
    }
    zfree(f->temporary);
    f->fd = -1;
    f->temporary = NULL;
    durableCheck(f, false);
    errno = error;
}

static void unlinkJob(void *arg) {
    sds path = arg;
    unlink(path);
    sdsFree(path);
}

void removeInBackground(sds path) { bioSubmit(BIO_CLOSE_FILE, unlinkJob, path); }
