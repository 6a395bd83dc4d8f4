/* text_file.c -- reads and replaces small text files as a whole.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/unit/admin/setting_test.c, tests/engine/acl.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "text_file.h"

#include "durable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

sds textFileRead(const char *path, mode_t *mode) {
    struct stat st;
    char buf[4096];
    ssize_t n;
    sds text = sdsEmpty();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return text;
    if (fd < 0) goto failed;
    if (fstat(fd, &st) == 0) *mode = st.st_mode & 07777;
    while ((n = read(fd, buf, sizeof(buf))) > 0) text = sdsCatLen(text, buf, (size_t)n);
    if (n == 0) {
        close(fd);
        return text;
    }
failed:;
    int error = errno;
    if (fd >= 0) close(fd);
    sdsFree(text);
    errno = error;
    return NULL;
}

bool textFileReplace(const char *path, slice text, mode_t mode) {
    durableFile f;
    sds temporary = sdsCatPrintf(sdsEmpty(), "%s.%d", path, (int)getpid());
    bool made = durableCreate(&f, temporary, mode), done = false;
    if (made && durableWrite(&f, text) && fchmod(f.fd, mode) == 0) done = durableReplace(&f, path);
    int error = errno;
    if (made) durableAbandon(&f);
    sdsFree(temporary);
    errno = error;
    return done;
}
