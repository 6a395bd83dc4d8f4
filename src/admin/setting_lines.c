/* setting_lines.c -- parses the configuration file: lines of words, includes, directives and settings.
 *
 * Not here    using a line: startup stores its value (setting_file.c), a trial only computes it (setting_trial.c).
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. Parsing stops at the first line that is refused.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting_lines.h"

#include "zmalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that includes itself is refused at this depth. */
#define INCLUDE_DEPTH_MAX 64

typedef struct walk {
    const lineTaker *taker; /* borrowed */
    lineFault *fault;       /* borrowed; why is set once */
    const char *path;       /* borrowed: the included file that is being parsed; NULL if it is the given text */
    int depth;
} walk;

static void readText(const sds text, walk *w);

bool settingNameIsObsolete(const char *name) {
    static const char *const names[] = {"list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands",
                                        "io-threads-do-reads", "dynamic-hz"};
    for (size_t i = 0; i < array_len(names); i++)
        if (!strcasecmp(name, names[i])) return true;
    return false;
}

sds settingReadAll(FILE *f) {
    char buf[4096];
    size_t n;
    sds text = sdsEmpty();
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0) text = sdsCatLen(text, buf, n);
    return text;
}

/* ---- Includes ------------------------------------------------------------------------------------- */

static void failOpen(walk *w, const char *path) {
    w->fault->path = sdsNew(path);
    w->fault->why = sdsNew(strerror(errno));
}

static void includeFile(const char *path, walk *w) {
    if (w->fault->why) return;
    FILE *f = fopen(path, "r");
    if (!f) {
        failOpen(w, path);
        return;
    }
    sds text = settingReadAll(f);
    fclose(f);
    walk inner = {w->taker, w->fault, path, w->depth + 1};
    readText(text, &inner);
    sdsFree(text);
}

static void includeMatches(const sds found, const char *rest, walk *w);

/* Includes the names in folder `found` that match `part`, each followed by `rest`, in the order of their bytes. */
static void includeFolder(const sds found, const sds part, const char *rest, walk *w) {
    struct dirent **names;
    int count = scandir(sdsLen(found) ? found : ".", &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (fnmatch(part, names[i]->d_name, FNM_PERIOD) == 0) {
            sds next = sdsCat(sdsDup(found), names[i]->d_name);
            includeMatches(next, rest, w);
            sdsFree(next);
        }
        free(names[i]);
    }
    if (count >= 0) free(names);
}

/* Includes each file whose path is `found` followed by a match of the pattern `rest`. */
static void includeMatches(const sds found, const char *rest, walk *w) {
    size_t slashes = strspn(rest, "/"), len = strcspn(rest + slashes, "/");
    sds path = sdsCatLen(sdsDup(found), rest, slashes), part = sdsNewLen(rest + slashes, len);
    rest += slashes + len;
    if (!len) {
        if (access(found, F_OK) == 0) includeFile(found, w);
    } else if (strpbrk(part, "*?[")) {
        includeFolder(path, part, rest, w);
    } else {
        path = sdsCatSlice(path, sdsSlice(part));
        includeMatches(path, rest, w);
    }
    sdsFree(path);
    sdsFree(part);
}

/* Includes a file, or all files that match a pattern: there may be none. A file that is named must exist. */
static const char *include(const char *given, walk *w) {
    if (w->depth >= INCLUDE_DEPTH_MAX) return "Too many nested includes";
    const char *folder = w->taker->folder && *given != '/' ? w->taker->folder(w->taker->arg) : NULL;
    sds start = sdsEmpty(), path = folder ? sdsCatPrintf(sdsEmpty(), "%s/%s", folder, given) : sdsNew(given);
    if (strpbrk(given, "*?[")) includeMatches(start, path, w);
    else includeFile(path, w);
    sdsFree(start);
    sdsFree(path);
    return NULL;
}

/* ---- Lines ---------------------------------------------------------------------------------------- */

/* Handles directives that are not settings. Sets *known to false if the line is none of them. */
static const char *directive(sds *words, int count, walk *w, bool *known) {
    const char *name = words[0];
    const lineTaker *t = w->taker;
    *known = true;
    if (!strcasecmp(name, "include") && count == 2) return include(words[1], w);
    if (!strcasecmp(name, "rename-command") && count == 3) return t->rename(t->arg, words[1], words[2]);
    if (!strcasecmp(name, "user") && count >= 2) return t->user(t->arg, words, count);
    if (!strcasecmp(name, "loadmodule") && count >= 2) return "Modules are not supported by this version";
    if (!strcasecmp(name, "sentinel")) return count < 2 ? NULL : "sentinel directive while not in sentinel mode";
    if (settingNameIsObsolete(name) && count == 2) return NULL;
    *known = false;
    return "Bad directive or wrong number of arguments";
}

/* Handles a line. Returns NULL, or why it is refused. */
static const char *applyWords(sds *words, int count, walk *w) {
    bool known;
    const char *err = directive(words, count, w, &known);
    settingRow *row = known ? NULL : settingFind(words[0]);
    if (!row) return err;
    if (count < 2 && !settingTakesWords(row->entry->def)) return "wrong number of arguments";
    return w->taker->setting(w->taker->arg, row->entry, words + 1, count - 1);
}

static void parseLine(const sds line, int number, walk *w) {
    int count = 0;
    if (!sdsLen(line) || line[0] == '#') return;
    sds *words = sdsSplitArgs(line, &count);
    const char *err = !words ? "Unbalanced quotes in configuration line" : count ? applyWords(words, count, w) : NULL;
    if (err && !w->fault->why)
        *w->fault = (lineFault){w->path ? sdsNew(w->path) : NULL, number, sdsDup(line), sdsNew(err)};
    sdsFreeSplitRes(words, count);
}

static void readText(const sds text, walk *w) {
    int count;
    sds *lines = sdsSplitLen(text, sdsLen(text), "\n", 1, &count);
    for (int i = 0; i < count && !w->fault->why; i++) {
        sdsTrim(lines[i], " \t\r\n");
        parseLine(lines[i], i + 1, w);
    }
    sdsFreeSplitRes(lines, count);
    w->taker->text_ends(w->taker->arg);
}

bool settingLinesRead(const sds text, const lineTaker *taker, lineFault *fault) {
    *fault = (lineFault){.why = NULL};
    walk w = {taker, fault, NULL, 0};
    readText(text, &w);
    return !fault->why;
}

void lineFaultFree(lineFault *fault) {
    sdsFree(fault->path);
    sdsFree(fault->line);
    sdsFree(fault->why);
    *fault = (lineFault){.why = NULL};
}
