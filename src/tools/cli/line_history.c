/* line_history.c -- the lines entered before, in memory and in a file.
 *
 * The file has one command per line, as Valkey's valkey-cli writes it, and only its owner may read it. Each line is
 * appended when it is entered, so that several programs may share the file and a crash loses nothing. A file that has
 * grown to twice HISTORY_MAX lines is rewritten when it is read, by a new file and rename(2).
 *
 * Not here    which lines are secret (repl.c).
 * Tests       tests/unit/tools/line_history_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_history.h"
#include "zmalloc.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct lineHistory {
    sds path;               /* owns; NULL if there is no file */
    sds lines[HISTORY_MAX]; /* owns; a ring */
    size_t start, count;
};

static void lineHistoryAppend(lineHistory *h, const char *line) {
    if (h->count == HISTORY_MAX) {
        sdsFree(h->lines[h->start]);
        h->start = (h->start + 1) % HISTORY_MAX;
        h->count--;
    }
    h->lines[(h->start + h->count++) % HISTORY_MAX] = sdsNew(line);
}

/* Replaces the file by the lines in memory. The old file stays if any step fails. */
static void rewrite(const lineHistory *h) {
    sds temp = sdsCatPrintf(sdsEmpty(), "%s.%d", h->path, (int)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file) {
        for (size_t back = h->count; back-- > 0;) fprintf(file, "%s\n", lineHistoryAt(h, back));
        bool written = !ferror(file);
        if (fclose(file) != 0 || !written || rename(temp, h->path) != 0) unlink(temp);
    }
    sdsFree(temp);
}

lineHistory *lineHistoryOpen(const char *path) {
    lineHistory *h = zcalloc(1, sizeof(*h));
    FILE *file = path ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t capacity = 0, read = 0;
    if (path) h->path = sdsNew(path);
    if (!file) return h;
    for (; getline(&line, &capacity, file) >= 0; read++) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line) lineHistoryAppend(h, line);
    }
    free(line);
    fclose(file);
    if (read >= 2 * HISTORY_MAX) rewrite(h);
    return h;
}

void lineHistoryClose(lineHistory *h) {
    if (!h) return;
    for (size_t i = 0; i < HISTORY_MAX; i++) sdsFree(h->lines[i]);
    sdsFree(h->path);
    zfree(h);
}

void lineHistoryAdd(lineHistory *h, const char *line) {
    if (!*line || (h->count && strcmp(lineHistoryAt(h, 0), line) == 0)) return;
    lineHistoryAppend(h, line);
    int fd = h->path ? open(h->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return; /* if the file cannot be written, the session continues without it */
    dprintf(fd, "%s\n", line);
    close(fd);
}

size_t lineHistoryCount(const lineHistory *h) { return h->count; }

const char *lineHistoryAt(const lineHistory *h, size_t back) {
    return h->lines[(h->start + h->count - 1 - back) % HISTORY_MAX];
}

size_t lineHistoryFind(const lineHistory *h, const char *part, size_t back) {
    while (back < h->count && !strstr(lineHistoryAt(h, back), part)) back++;
    return back < h->count ? back : h->count;
}
