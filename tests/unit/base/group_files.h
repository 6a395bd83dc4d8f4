/* group_files.h -- files of control groups under a root of the test's own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_GROUP_FILES_H
#define TESTS_GROUP_FILES_H

#include "unit.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Writes a file with its folders below `root`. */
static void put(const char *root, const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        mkdir(full, 0700);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    if (!CHECK(f != NULL)) return;
    fputs(text, f);
    fclose(f);
}

#endif
