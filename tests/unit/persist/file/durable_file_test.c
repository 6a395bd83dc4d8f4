/* durable_file_test.c -- the new file or the old one exists, whatever fails, and no other.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "durable_file.h"
#include "failing_calls.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the text of a small file; "" if there is none. */
static const char *textOf(const char *path) {
    static char text[100];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static bool replaceWith(const char *path, const char *text, const char **step) {
    durableFile f;
    bool done = durableCreate(&f, "temporary", 0644);
    if (done) {
        done = durableWrite(&f, sliceStr(text));
        if (done) done = durableReplace(&f, path);
        else durableAbandon(&f);
        CHECK(f.fd == -1 && !f.temporary);
    }
    *step = f.step;
    return done;
}

TEST(durable_file_replaces) {
    const char *step;
    struct stat st;
    enterEmptyFolder();
    umask(022);
    CHECK(replaceWith("file", "one", &step));
    CHECK_EQ_INT(callCount(CALL_FSYNC), 2);
    CHECK_EQ_STR(textOf("file"), "one");
    CHECK(stat("file", &st) == 0 && (st.st_mode & 0777) == 0644);
    umask(077);
    CHECK(replaceWith("./file", "two", &step));
    CHECK_EQ_STR(textOf("file"), "two");
    CHECK(stat("file", &st) == 0 && (st.st_mode & 0777) == 0600);
    umask(022);
    CHECK_EQ_INT(filesInFolder(), 1);
    durableFile f;
    CHECK(durableCreate(&f, "temporary", 0644));
    CHECK(durableWrite(&f, sliceStr("three")));
    durableAbandon(&f);
    durableAbandon(&f);
    CHECK_EQ_INT(filesInFolder(), 1);
}

TEST(durable_file_writes_what_remains) {
    const char *step;
    enterEmptyFolder();
    callFails(CALL_WRITE, 1, 0);
    CHECK(replaceWith("file", "byte by byte", &step));
    CHECK_EQ_INT(callCount(CALL_WRITE), strlen("byte by byte"));
    CHECK_EQ_STR(textOf("file"), "byte by byte");
}

TEST(durable_file_keeps_the_old_one) {
    static const struct {
        failingCall call;
        int error;
        const char *step;
    } faults[] = {{CALL_WRITE, ENOSPC, "write"},
                  {CALL_FSYNC, EIO, "sync"},
                  {CALL_CLOSE, EIO, "close"},
                  {CALL_RENAME, EACCES, "rename"}};
    enterEmptyFolder();
    const char *step;
    CHECK(replaceWith("file", "old", &step));
    for (size_t i = 0; i < array_len(faults); i++) {
        callsWork();
        callFails(faults[i].call, 1, faults[i].error);
        CHECK(!replaceWith("file", "new", &step));
        CHECK_EQ_INT(errno, faults[i].error);
        CHECK_EQ_STR(step, faults[i].step);
        callsWork();
        CHECK_EQ_STR(textOf("file"), "old");
        CHECK_EQ_INT(filesInFolder(), 1);
    }
    /* Syncing the folder is the last step: the new file exists then. */
    callFails(CALL_FSYNC, 2, EIO);
    CHECK(!replaceWith("file", "new", &step));
    CHECK(errno == EIO);
    CHECK_EQ_STR(step, "sync of the folder");
    callsWork();
    CHECK_EQ_STR(textOf("file"), "new");
    CHECK_EQ_INT(filesInFolder(), 1);
}

TEST(durable_file_is_not_led_elsewhere) {
    const char *step;
    enterEmptyFolder();
    CHECK(replaceWith("other", "other", &step));
    CHECK(symlink("other", "temporary") == 0);
    CHECK(!replaceWith("file", "new", &step));
    CHECK_EQ_INT(errno, ELOOP);
    CHECK_EQ_STR(step, "open");
    CHECK_EQ_STR(textOf("other"), "other");
    CHECK(unlink("temporary") == 0);
    CHECK(mkdir("file", 0755) == 0);
    CHECK(!replaceWith("file", "new", &step));
    CHECK_EQ_STR(step, "rename");
    CHECK(!replaceWith("no/folder", "new", &step));
    CHECK_EQ_INT(errno, ENOENT);
    CHECK_EQ_INT(filesInFolder(), 2);
}

static void writeTooMuch(void *arg) {
    struct rlimit limit = {1000, 1000};
    char bytes[5000] = {0};
    durableFile f;
    unused(arg);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!durableCreate(&f, "temporary", 0644)) _exit(1);
    if (durableWrite(&f, sliceOf(bytes, sizeof(bytes))) || errno != EFBIG) _exit(2);
    durableAbandon(&f);
    _exit(errno == EFBIG ? 0 : 3);
}

TEST(durable_file_that_may_not_grow) {
    char output[100];
    enterEmptyFolder();
    CHECK_EQ_INT(unitInChild(writeTooMuch, NULL, output, sizeof(output)), 0);
    CHECK_EQ_INT(filesInFolder(), 0);
}

static int refuseToOpen(const char *path, int flags, mode_t mode) {
    unused(path), unused(flags), unused(mode);
    errno = EROFS;
    return -1;
}

TEST(durable_file_uses_the_table_that_is_set) {
    const char *step;
    enterEmptyFolder();
    durableSystemSet(&(durableSystem){.open = refuseToOpen});
    CHECK(!replaceWith("file", "one", &step));
    CHECK_EQ_INT(errno, EROFS);
    CHECK_EQ_STR(step, "open");
    durableSystemSet(NULL);
    CHECK(replaceWith("file", "one", &step));
    CHECK_EQ_STR(textOf("file"), "one");
}
