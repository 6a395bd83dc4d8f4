/* failing_calls.c -- see failing_calls.h. Its functions replace those of the C library.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "failing_calls.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    long seen, from; /* from: first call that fails; 0: none */
    int error;
} calls[CALLS];

void callFails(failingCall call, long n, int error) {
    calls[call].from = calls[call].seen + n;
    calls[call].error = error;
}

void callsWork(void) {
    for (int i = 0; i < CALLS; i++) calls[i].seen = calls[i].from = 0;
}

long callCount(failingCall call) { return calls[call].seen; }

static bool fails(failingCall call) {
    calls[call].seen++;
    if (!calls[call].from || calls[call].seen < calls[call].from) return false;
    errno = calls[call].error;
    return true;
}

ssize_t write(int fd, const void *bytes, size_t n) {
    if (fd > 2 && fails(CALL_WRITE)) {
        if (errno) return -1;
        n = n > 0;
    }
    return syscall(SYS_write, fd, bytes, n);
}

int fsync(int fd) { return fails(CALL_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd); }

int fdatasync(int fd) { return fails(CALL_FDATASYNC) ? -1 : (int)syscall(SYS_fdatasync, fd); }

int sync_file_range(int fd, off64_t from, off64_t bytes, unsigned flags) {
    return fails(CALL_SYNC_RANGE) ? -1 : (int)syscall(SYS_sync_file_range, fd, from, bytes, flags);
}

int close(int fd) {
    int rc = (int)syscall(SYS_close, fd);
    return fd > 2 && fails(CALL_CLOSE) ? -1 : rc;
}

int rename(const char *from, const char *to) {
    return fails(CALL_RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* ---- A folder ---- */

static int eachFile(bool remove) {
    DIR *folder = opendir(".");
    int n = 0;
    if (!CHECK(folder)) return -1;
    for (const struct dirent *e; (e = readdir(folder));) {
        if (e->d_name[0] == '.') continue;
        n++;
        if (remove) (void)!unlinkat(AT_FDCWD, e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    }
    closedir(folder);
    return n;
}

static char folder_name[4096];

static void removeFolder(void) {
    eachFile(true);
    rmdir(folder_name);
}

void enterEmptyFolder(void) {
    callsWork();
    if (folder_name[0]) {
        eachFile(true);
        return;
    }
    const char *tmp = getenv("TMPDIR");
    snprintf(folder_name, sizeof(folder_name), "%s/persist_test.XXXXXX", tmp ? tmp : "/tmp");
    CHECK(mkdtemp(folder_name) != NULL);
    CHECK(chdir(folder_name) == 0);
    atexit(removeFolder);
}

int filesInFolder(void) { return eachFile(false); }
