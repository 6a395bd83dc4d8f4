/* stale_files.c -- removes temporary files of processes that have ended.
 *
 * A process that is killed while it writes leaves half a dataset, and a server that is restarted again and again would
 * fill its disk with such files. In the working directory their names contain the ID of the process:
 *
 *   temp-PID.rdb  temp-rewriteaof-PID.aof  temp-rewriteaof-bg-PID.aof
 *
 * A file is removed if its whole name has one of these forms, it is a regular file of this user, and no process with
 * that ID exists, or it is this one. So files that another server in the same directory is writing are kept. In the
 * folder of the append-only file, which only one server can use, the temporary manifest and increment have fixed names.
 *
 * Owns        nothing.
 * Threads     main's own.
 * Tests       tests/persist/stale_files.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_files.h"

#include "aof_manifest.h"
#include "log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const forms[] = {"temp-%d.rdb", "temp-rewriteaof-%d.aof", "temp-rewriteaof-bg-%d.aof"};

/* Returns the process ID in a name, or 0 if the name has none of the forms. */
static pid_t writerOf(const char *name) {
    size_t digits = strcspn(name, "0123456789");
    long pid = strtol(name + digits, NULL, 10);
    if (pid <= 0 || pid > INT_MAX) return 0;
    for (size_t i = 0; i < array_len(forms); i++) {
        char again[64];
        snprintf(again, sizeof(again), forms[i], (int)pid);
        if (!strcmp(again, name)) return (pid_t)pid;
    }
    return 0;
}

/* Returns whether the process has ended but its parent has not waited for it yet. */
static bool isZombie(pid_t pid) {
    char path[32], text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'Z';
}

static void removeOwn(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) return;
    if (unlink(path) == 0)
        serverLog(LL_NOTICE, "Removed the temporary file %s (%lld bytes) of a process that has ended", path,
                  (long long)st.st_size);
    else
        serverLog(LL_WARNING, "Can't remove the temporary file %s of a process that has ended: %s", path,
                  strerror(errno));
}

static void removeFrom(const char *folder, const char *name) {
    sds path = aofPath(folder, name);
    removeOwn(path);
    sdsFree(path);
}

void staleFilesRemove(const char *append_folder, const char *stem) {
    DIR *here = opendir(".");
    for (const struct dirent *e; here && (e = readdir(here)) != NULL;) {
        pid_t pid = writerOf(e->d_name);
        bool ended = pid == getpid() || (pid && (isZombie(pid) || (kill(pid, 0) == -1 && errno == ESRCH)));
        if (ended) removeOwn(e->d_name);
    }
    if (here) closedir(here);
    sds incr = sdsCatPrintf(sdsEmpty(), "temp-%s.incr", stem),
        manifest = sdsCatPrintf(sdsEmpty(), "temp-%s.manifest", stem);
    removeFrom(append_folder, incr);
    removeFrom(append_folder, manifest);
    sdsFree(incr);
    sdsFree(manifest);
}
