/* control_groups.c -- the control groups (cgroups) of this process: which they are, and their files.
 *
 * Threads     any.
 * Tests       tests/unit/base/control_groups_test.c, processors_test.c, free_memory_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "control_groups.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* Each line of `text` is "N:controller,controller:/path". */
slice controlGroupOf(slice text, const char *controller) {
    while (text.len > 0) {
        slice line = sliceTakeUntil(&text, '\n');
        slice number = sliceTakeUntil(&line, ':'), names = sliceTakeUntil(&line, ':');
        if (!controller && sliceEq(number, sliceStr("0")) && names.len == 0) return line;
        while (controller && names.len > 0)
            if (sliceIs(sliceTakeUntil(&names, ','), controller)) return line;
    }
    return sliceOf("", 0);
}

slice systemFileRead(const char *path, char *buf, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return sliceOf(buf, 0);
    size_t len = 0;
    ssize_t n;
    while (len < size && (n = read(fd, buf + len, size - len)) > 0) len += (size_t)n;
    close(fd);
    return sliceOf(buf, len);
}

slice controlGroupRead(const char *folder, slice group, const char *name, char *buf, size_t size) {
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s%.*s/%s", folder, (int)group.len, group.ptr, name);
    return len < (int)sizeof(path) ? systemFileRead(path, buf, size) : sliceOf(buf, 0);
}

void controlGroupEach(const char *root, const char *mount, slice group, controlGroupFn *fn, void *arg) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof(folder), "%s%s", root, mount) >= (int)sizeof(folder)) return;
    if (group.len >= PATH_MAX || memmem(group.ptr, group.len, "..", 2)) group.len = 0;
    while (group.len > 0) {
        if (group.ptr[group.len - 1] != '/') fn(arg, folder, group);
        while (group.len > 0 && group.ptr[group.len - 1] != '/') group.len--;
        if (group.len > 0) group.len--;
    }
    fn(arg, folder, group);
}
