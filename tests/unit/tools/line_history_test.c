/* line_history_test.c -- lines remembered in memory and in a file.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_history.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static sds tempPath(void) {
    sds path = sdsNew("/tmp/line-history-XXXXXX");
    int fd = mkstemp(path);
    if (CHECK(fd >= 0)) close(fd);
    unlink(path);
    return path;
}

TEST(line_history_comes_back_from_its_file) {
    sds path = tempPath();
    struct stat info;
    lineHistory *h = lineHistoryOpen(path);
    lineHistoryAdd(h, "set \xd0\xba 1");
    lineHistoryAdd(h, "get \xd0\xba");
    lineHistoryAdd(h, "get \xd0\xba");
    lineHistoryAdd(h, "");
    lineHistoryClose(h);
    CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600);
    h = lineHistoryOpen(path);
    if (CHECK_EQ_INT(lineHistoryCount(h), 2)) {
        CHECK_EQ_STR(lineHistoryAt(h, 0), "get \xd0\xba");
        CHECK_EQ_STR(lineHistoryAt(h, 1), "set \xd0\xba 1");
        CHECK_EQ_INT(lineHistoryFind(h, "set", 0), 1);
        CHECK_EQ_INT(lineHistoryFind(h, "get", 1), 2);
    }
    lineHistoryClose(h);
    unlink(path);
    sdsFree(path);
}

TEST(line_history_keeps_the_youngest_and_cuts_the_file) {
    sds path = tempPath();
    char line[32];
    lineHistory *h = lineHistoryOpen(path);
    for (int i = 0; i < 2 * HISTORY_MAX + 5; i++) {
        snprintf(line, sizeof(line), "get %d", i);
        lineHistoryAdd(h, line);
    }
    CHECK_EQ_INT(lineHistoryCount(h), HISTORY_MAX);
    CHECK_EQ_STR(lineHistoryAt(h, HISTORY_MAX - 1), "get 1005");
    lineHistoryClose(h);
    lineHistoryClose(lineHistoryOpen(path));
    FILE *file = fopen(path, "r");
    int lines = 0;
    while (file && fgets(line, sizeof(line), file)) lines++;
    if (file) fclose(file);
    CHECK_EQ_INT(lines, HISTORY_MAX);
    CHECK_EQ_STR(line, "get 2004\n");
    unlink(path);
    sdsFree(path);
}

TEST(line_history_does_without_a_file) {
    lineHistory *h = lineHistoryOpen("/nonexistent/folder/history");
    lineHistoryAdd(h, "ping");
    CHECK_EQ_INT(lineHistoryCount(h), 1);
    lineHistoryClose(h);
    h = lineHistoryOpen(NULL);
    lineHistoryAdd(h, "ping");
    CHECK_EQ_STR(lineHistoryAt(h, 0), "ping");
    lineHistoryClose(h);
}
