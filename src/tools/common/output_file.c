/* output_file.c -- an output file that is replaced completely or not at all.
 *
 * The file is written in the same folder under a temporary name, and renamed at the end. A signal that ends the program
 * deletes the temporary file: the handler calls only async-signal-safe functions, and raises the signal again, so that
 * the exit status is that of the signal.
 *
 * Owns        the open file; static, for the handler: the name of the temporary file.
 * Invariants  1. `unfinished` is set exactly while a temporary file of that name exists.
 * Tests       tests/tools/cli_replica.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "output_file.h"
#include "zmalloc.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MODE 0644

static const char *volatile unfinished;
static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void onFatal(int sig) {
    if (unfinished) unlink(unfinished);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Installs the handler. A signal that the program ignores stays ignored. */
static void watchSignals(void) {
    struct sigaction act = {.sa_handler = onFatal}, before;
    for (size_t i = 0; i < array_len(fatal_signals); i++) {
        sigaction(fatal_signals[i], &act, &before);
        if (before.sa_handler == SIG_IGN) sigaction(fatal_signals[i], &before, NULL);
    }
}

/* Gives the file the owner, group and mode of the file that it replaces. If its group cannot be set, the group gets no
 * access. */
static void setAccess(int fd, const struct stat *before) {
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = before ? before->st_mode & 0777 : FILE_MODE & ~mask;
    bool kept = !before || fchown(fd, before->st_uid, before->st_gid) == 0 ||
                fchown(fd, (uid_t)-1, before->st_gid) == 0;
    if (!kept) mode &= ~(mode_t)070;
    if (fchmod(fd, mode) != 0) {
        /* Only the owner can read it then. */
    }
}

/* Creates the temporary file in the folder of `path`. */
static bool createBeside(outputFile *f, const struct stat *before) {
    size_t size = strlen(f->path) + sizeof(".part-XXXXXX");
    f->temporary = zmalloc(size);
    snprintf(f->temporary, size, "%s.part-XXXXXX", f->path);
    watchSignals();
    f->fd = mkostemp(f->temporary, O_CLOEXEC);
    if (f->fd < 0) return false;
    unfinished = f->temporary;
    setAccess(f->fd, before);
    return true;
}

static void clear(outputFile *f) {
    zfree(f->path);
    zfree(f->temporary);
    *f = (outputFile){.fd = -1};
}

bool outputFileOpen(outputFile *f, const char *name) {
    struct stat before;
    *f = (outputFile){.fd = -1};
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error of write(2) */
    if (strcmp(name, "-") == 0) {
        f->fd = STDOUT_FILENO;
        return true;
    }
    bool exists = stat(name, &before) == 0;
    if (exists && !S_ISREG(before.st_mode)) {
        f->fd = open(name, O_WRONLY | O_CLOEXEC);
        return f->fd >= 0;
    }
    if (exists && access(name, W_OK) != 0) return false; /* a write-protected file is not replaced */
    char *target = exists ? realpath(name, NULL) : NULL; /* a symbolic link is kept, and its target replaced */
    f->path = zstrdup(target ? target : name);
    free(target);
    if (createBeside(f, exists ? &before : NULL)) return true;
    int error = errno;
    clear(f);
    errno = error;
    return false;
}

bool outputFileWrite(outputFile *f, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = write(f->fd, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* Syncs the folder, so that the rename is durable. If that fails, the file is still complete under its name. */
static void syncFolder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = zstrdup(slash ? path : ".");
    if (slash) folder[slash == path ? 1 : slash - path] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    zfree(folder);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

static bool closeFile(outputFile *f) {
    int fd = f->fd;
    f->fd = -1;
    return close(fd) == 0 || errno == EINTR; /* Linux has closed the descriptor then */
}

bool outputFileKeep(outputFile *f) {
    if (!f->path) return closeFile(f);
    if (fsync(f->fd) != 0 || !closeFile(f) || rename(f->temporary, f->path) != 0) return false;
    unfinished = NULL;
    syncFolder(f->path);
    clear(f);
    return true;
}

void outputFileAbandon(outputFile *f) {
    if (f->fd >= 0) close(f->fd);
    if (unfinished) unlink(unfinished);
    unfinished = NULL;
    clear(f);
}
