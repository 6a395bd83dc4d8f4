/* setting_file.c -- settings from the file, from stdin and from the command line.
 *
 * The command line is turned into lines of the same language, behind an empty line after the file's text, and
 * all of it is read as one: so an error on the command line has a line number, 2 for the first setting.
 *
 * Not here    the types of values (setting_text.c), CONFIG REWRITE (setting_rewrite.c), --version (server).
 * Owns        the path of the file.
 * Threads     main, at boot.
 * Invariants  a setting that adds up over lines (save) starts anew at the end of each text; an include is a text.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting_file.h"

#include "acl_file.h"
#include "command_table.h"
#include "log.h"
#include "setting_table.h"
#include "version.h"
#include "zmalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A file that includes itself would never end. */
#define INCLUDE_DEPTH_MAX 64

static sds file_path;

static void loadText(const sds text, int depth);

/* ---- Errors --------------------------------------------------------------------------------------- */

/* A line that has, or may have, a password; as far as its first word tells. */
static bool isSecret(const char *line) {
    if (!line[strcspn(line, " \t")]) return false;
    sds name = sdsNewLen(line, strcspn(line, " \t"));
    sdsTrim(name, "\"'");
    settingRow *row = settingFind(name);
    bool secret = !strcasecmp(name, "user") || (row && row->entry->def->flags & SETTING_SENSITIVE);
    sdsFree(name);
    return secret;
}

noreturn_fn static void failLine(int number, const char *line, const char *err) {
    fprintf(stderr, "\n*** FATAL CONFIG FILE ERROR (Version %s) ***\n", VALKEY_VERSION);
    if (line && isSecret(line))
        fprintf(stderr, "Reading the configuration file, at line %d\n>>> '%.*s (redacted)'\n", number,
                (int)strcspn(line, " \t"), line);
    else if (line) fprintf(stderr, "Reading the configuration file, at line %d\n>>> '%s'\n", number, line);
    fprintf(stderr, "%s\n", err);
    exit(1);
}

noreturn_fn static void failOpen(const char *path) {
    serverLog(LL_WARNING, "Fatal error, can't open config file '%s': %s", path, strerror(errno));
    exit(1);
}

/* ---- Lines ---------------------------------------------------------------------------------------- */

bool settingNameIsObsolete(const char *name) {
    static const char *const names[] = {"list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands",
                                        "io-threads-do-reads", "dynamic-hz"};
    for (size_t i = 0; i < array_len(names); i++)
        if (!strcasecmp(name, names[i])) return true;
    return false;
}

static const char *renameCommand(char **words) {
    if (!commandLookupByName(sliceStr(words[1]))) return "No such command in rename-command";
    return commandTableRename(words[1], words[2]) ? NULL : "Target command name already exists";
}

/* Each line of an accumulating setting adds to those before it in the same text. An empty value starts again, and a
 * line without a value adds nothing. */
static bool setLoaded(settingEntry *e, char **words, int count, const char **err) {
    bool adds = (e->def->flags & SETTING_ACCUMULATES) && e->accumulating && !(count == 1 && !*words[0]);
    e->loaded = e->accumulating = true;
    if (!adds) return settingSetWords(e->def, words, count, err);
    sds text = settingText(e->def);
    for (int i = 0; i < count; i++) text = sdsCatPrintf(text, "%s%s", sdsLen(text) ? " " : "", words[i]);
    bool ok = settingSetWords(e->def, &text, 1, err);
    sdsFree(text);
    return ok;
}

static sds readAll(FILE *f) {
    char buf[4096];
    size_t n;
    sds text = sdsEmpty();
    while ((n = fread(buf, 1, sizeof(buf), f)) > 0) text = sdsCatLen(text, buf, n);
    return text;
}

static void includeFile(const char *path, int depth) {
    FILE *f = fopen(path, "r");
    if (!f) failOpen(path);
    sds text = readAll(f);
    fclose(f);
    loadText(text, depth);
    sdsFree(text);
}

static void includeMatches(const sds found, const char *rest, int depth);

/* The names in folder `found` that match `part`, each followed by `rest`; in the order of their bytes. */
static void includeFolder(const sds found, const sds part, const char *rest, int depth) {
    struct dirent **names;
    int count = scandir(sdsLen(found) ? found : ".", &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (fnmatch(part, names[i]->d_name, FNM_PERIOD) == 0) {
            sds next = sdsCat(sdsDup(found), names[i]->d_name);
            includeMatches(next, rest, depth);
            sdsFree(next);
        }
        free(names[i]);
    }
    if (count >= 0) free(names);
}

/* Include each file whose path is `found` followed by a match of the pattern `rest`. (base has a glob.h of its own,
 * which hides the C library's.) */
static void includeMatches(const sds found, const char *rest, int depth) {
    size_t slashes = strspn(rest, "/"), len = strcspn(rest + slashes, "/");
    sds path = sdsCatLen(sdsDup(found), rest, slashes), part = sdsNewLen(rest + slashes, len);
    rest += slashes + len;
    if (!len) {
        if (access(found, F_OK) == 0) includeFile(found, depth);
    } else if (strpbrk(part, "*?[")) {
        includeFolder(path, part, rest, depth);
    } else {
        path = sdsCatSlice(path, sdsSlice(part));
        includeMatches(path, rest, depth);
    }
    sdsFree(path);
    sdsFree(part);
}

/* A pattern may match nothing; a plain name must exist. */
static const char *include(const char *path, int depth) {
    if (depth >= INCLUDE_DEPTH_MAX) return "Too many nested includes";
    if (!strpbrk(path, "*?[")) {
        includeFile(path, depth + 1);
        return NULL;
    }
    sds start = sdsEmpty();
    includeMatches(start, path, depth + 1);
    sdsFree(start);
    return NULL;
}

/* Directives that are not settings. *known is false when it is none of them. */
static const char *directive(char **words, int count, int depth, bool *known) {
    const char *name = words[0];
    *known = true;
    if (!strcasecmp(name, "include") && count == 2) return include(words[1], depth);
    if (!strcasecmp(name, "rename-command") && count == 3) return renameCommand(words);
    if (!strcasecmp(name, "user") && count >= 2) return aclFileAddLine(words, count);
    if (!strcasecmp(name, "loadmodule") && count >= 2) return "Modules are not supported by this version";
    if (!strcasecmp(name, "sentinel")) return count < 2 ? NULL : "sentinel directive while not in sentinel mode";
    if (settingNameIsObsolete(name) && count == 2) return NULL;
    *known = false;
    return "Bad directive or wrong number of arguments";
}

/* NULL, or what is wrong with the line. */
static const char *loadWords(char **words, int count, int depth) {
    bool known;
    const char *err = directive(words, count, depth, &known);
    settingRow *row = known ? NULL : settingFind(words[0]);
    if (!row) return err;
    if (count < 2 && !settingTakesWords(row->entry->def)) return "wrong number of arguments";
    return setLoaded(row->entry, words + 1, count - 1, &err) ? NULL : err;
}

static void loadLine(const sds line, int number, int depth) {
    int count;
    if (!sdsLen(line) || line[0] == '#') return;
    sds *words = sdsSplitArgs(line, &count);
    if (!words) failLine(number, line, "Unbalanced quotes in configuration line");
    const char *err = count ? loadWords(words, count, depth) : NULL;
    if (err) failLine(number, line, err);
    sdsFreeSplitRes(words, count);
}

static void loadText(const sds text, int depth) {
    size_t nentries;
    int nlines;
    settingEntry *entries = settingEntries(&nentries);
    sds *lines = sdsSplitLen(text, sdsLen(text), "\n", 1, &nlines);
    for (int i = 0; i < nlines; i++) {
        sdsTrim(lines[i], " \t\r\n");
        loadLine(lines[i], i + 1, depth);
    }
    sdsFreeSplitRes(lines, nlines);
    for (size_t i = 0; i < nentries; i++) entries[i].accumulating = false;
}

/* ---- Command line --------------------------------------------------------------------------------- */

static bool isOption(const char *word) {
    return word[0] == '-' && word[1] == '-';
}

/* One line per option. The word after an option is its value whatever it looks like, except after --save and
 * --sentinel, which may stand alone: then --save has the empty value, and --sentinel none. */
static sds optionLines(int count, char **words) {
    sds out = sdsEmpty();
    bool has_value = true;
    for (int i = 0; i < count; i++) {
        if (!has_value || !isOption(words[i])) {
            out = sdsCat(sdsCatRepr(out, words[i], strlen(words[i])), " ");
            has_value = true;
            continue;
        }
        const char *name = words[i] + 2;
        bool alone = i + 1 == count || isOption(words[i + 1]);
        has_value = alone && (!strcasecmp(name, "save") || !strcasecmp(name, "sentinel"));
        out = sdsCatPrintf(out, "\n%s %s", name, has_value && !strcasecmp(name, "save") ? "\"\" " : "");
    }
    return out;
}

static sds absolutePath(const char *path) {
    char cwd[4096];
    if (path[0] == '/' || !getcwd(cwd, sizeof(cwd))) return sdsNew(path);
    sds dir = sdsNew(strcmp(cwd, "/") ? cwd : "");
    for (;; path += 3) {
        while (path[0] == '.' && path[1] == '/') path += 2;
        if (strncmp(path, "../", 3)) break;
        const char *slash = strrchr(dir, '/');
        if (slash) sdsIncrLen(dir, slash - (dir + sdsLen(dir)));
    }
    return sdsCatPrintf(dir, "/%s", path);
}

static sds readFile(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) failOpen(path);
    sds text = readAll(f);
    fclose(f);
    return text;
}

void settingFileLoad(int count, char **words) {
    sds text = sdsEmpty();
    sdsFree(file_path);
    file_path = NULL;
    bool from_stdin = count > 0 && (!strcmp(words[0], "-") || !strcmp(words[count - 1], "-"));
    if (count && !strcmp(words[count - 1], "-")) count--;
    if (count && words[0][0] != '-') {
        file_path = absolutePath(words[0]);
        sdsFree(text);
        text = readFile(file_path);
        words++, count--;
    } else if (count && !strcmp(words[0], "-")) {
        words++, count--;
    }
    if (from_stdin) {
        sds more = readAll(stdin);
        if (sdsLen(text) && text[sdsLen(text) - 1] != '\n') text = sdsCat(text, "\n");
        text = sdsCatSlice(text, sdsSlice(more));
        sdsFree(more);
    }
    sds options = optionLines(count, words);
    if (count) text = sdsCatSlice(sdsCat(text, isOption(words[0]) ? "" : "\n"), sdsSlice(options));
    sdsFree(options);
    loadText(text, 0);
    sdsFree(text);
}

const char *settingFilePath(void) {
    return file_path;
}

/* An empty value turns a subsystem off (save ""), which is what happens anyway. */
static bool expectsEffect(const settingEntry *e) {
    sds text = settingText(e->def);
    bool expects = e->loaded && (e->def->flags & SETTING_PENDING) && sdsLen(text) && sdsCmp(text, e->default_value);
    sdsFree(text);
    return expects;
}

void settingFileWarnPending(void) {
    size_t count;
    const settingEntry *entries = settingEntries(&count);
    sds names = sdsEmpty();
    for (size_t i = 0; i < count; i++)
        if (expectsEffect(&entries[i]))
            names = sdsCatPrintf(names, "%s%s", sdsLen(names) ? ", " : "", entries[i].def->name);
    if (sdsLen(names)) serverLog(LL_WARNING, "These options are kept but have no effect in this version: %s", names);
    sdsFree(names);
}
