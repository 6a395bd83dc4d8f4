/* cluster_fixture.c -- a temporary folder and small files, for tests of this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_fixture.h"

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder_name[300];

static int eachFile(bool remove_them) {
    int count = 0;
    DIR *dir = opendir(folder_name);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        count++;
        if (remove_them && unlinkat(dirfd(dir), e->d_name, 0) != 0) unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
    }
    if (dir) closedir(dir);
    return count;
}

static void removeFolder(void) {
    eachFile(true);
    rmdir(folder_name);
}

void enterEmptyFolder(void) {
    if (!folder_name[0]) {
        const char *tmp = getenv("TMPDIR");
        snprintf(folder_name, sizeof(folder_name), "%s/cluster_test.XXXXXX", tmp ? tmp : "/tmp");
        CHECK(mkdtemp(folder_name) != NULL);
        atexit(removeFolder);
    }
    CHECK(chdir(folder_name) == 0);
    eachFile(true);
}

int filesInFolder(void) { return eachFile(false); }

void putFile(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (!CHECK(f != NULL)) return;
    fputs(text, f);
    fclose(f);
}

const char *fileText(const char *path) {
    static char text[4096];
    FILE *f = fopen(path, "r");
    if (!f) return "(none)";
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return text;
}
