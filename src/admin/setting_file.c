/* setting_file.c -- loads settings from the configuration file, stdin and the command line.
 *
 * The command line is converted to lines of the file's syntax, which are appended after an empty line to the file's
 * text, and all of it is parsed as one: so an error on the command line has a line number, 2 for the first setting.
 *
 * Not here    lines and includes (setting_lines.c), the types of values (setting_text.c), CONFIG REWRITE
 *             (setting_rewrite.c), --version (server).
 * Owns        the path of the file, and the lines of stdin and the command line.
 * Threads     main, at startup.
 * Invariants  1. A setting that accumulates over lines (save) starts anew at the end of each text; an include is a
 *                text.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting_file.h"

#include "acl_file.h"
#include "command_table.h"
#include "log.h"
#include "setting_lines.h"
#include "version.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    sds path;   /* owns: absolute; NULL if there was no file */
    sds extra;  /* owns: lines of stdin and of the command line */
    sds folder; /* owns: the folder in which the process started */
} loaded;

/* ---- Errors --------------------------------------------------------------------------------------- */

/* Returns whether a line has, or may have, a password, judged by its first word. */
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

noreturn_fn static void failOpen(const char *path, const char *why) {
    serverLog(LL_WARNING, "Fatal error, can't open config file '%s': %s", path, why);
    exit(1);
}

/* ---- Lines ---------------------------------------------------------------------------------------- */

static const char *renameCommand(void *arg, const sds from, const sds to) {
    unused(arg);
    if (!commandLookupByName(sliceStr(from))) return "No such command in rename-command";
    return commandTableRename(from, to) ? NULL : "Target command name already exists";
}

/* Each line of an accumulating setting adds to those before it in the same text. An empty value starts anew; a line
 * without a value adds nothing. */
static const char *setLoaded(void *arg, settingEntry *e, sds *words, int count) {
    const char *err;
    unused(arg);
    bool adds = (e->def->flags & SETTING_ACCUMULATES) && e->accumulating && !(count == 1 && !*words[0]);
    e->loaded = e->accumulating = true;
    if (!adds) return settingSetWords(e->def, words, count, &err) ? NULL : err;
    sds text = settingText(e->def);
    for (int i = 0; i < count; i++) text = sdsCatPrintf(text, "%s%s", sdsLen(text) ? " " : "", words[i]);
    bool ok = settingSetWords(e->def, &text, 1, &err);
    sdsFree(text);
    return ok ? NULL : err;
}

static const char *addUser(void *arg, sds *words, int count) {
    unused(arg);
    return aclFileAddLine(words, count);
}

static void endText(void *arg) {
    size_t count;
    settingEntry *entries = settingEntries(&count);
    unused(arg);
    for (size_t i = 0; i < count; i++) entries[i].accumulating = false;
}

static void loadText(const sds text) {
    static const lineTaker taker = {
        .setting = setLoaded, .user = addUser, .rename = renameCommand, .text_ends = endText};
    lineFault fault;
    if (settingLinesRead(text, &taker, &fault)) return;
    if (!fault.line) failOpen(fault.path, fault.why);
    failLine(fault.number, fault.line, fault.why);
}

/* ---- Command line --------------------------------------------------------------------------------- */

static bool isOption(const char *word) { return word[0] == '-' && word[1] == '-'; }

/* Makes one line for each option. The word after an option is its value, whatever it looks like, except after --save
 * and --sentinel, which may stand alone: then --save has the empty value, and --sentinel has none. */
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
    return strcmp(path, ".") ? sdsCatPrintf(dir, "/%s", path) : dir;
}

static sds readFile(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) failOpen(path, strerror(errno));
    sds text = settingReadAll(f);
    fclose(f);
    return text;
}

static void resetLoaded(void) {
    sdsFree(loaded.path);
    sdsFree(loaded.extra);
    sdsFree(loaded.folder);
    loaded.path = NULL;
    loaded.folder = absolutePath(".");
}

void settingFileLoad(int count, char **words) {
    sds text = sdsEmpty(), input = sdsEmpty();
    resetLoaded();
    bool from_stdin = count > 0 && (!strcmp(words[0], "-") || !strcmp(words[count - 1], "-"));
    if (count && !strcmp(words[count - 1], "-")) count--;
    if (count && words[0][0] != '-') {
        loaded.path = absolutePath(words[0]);
        sdsFree(text);
        text = readFile(loaded.path);
        words++, count--;
    } else if (count && !strcmp(words[0], "-")) {
        words++, count--;
    }
    if (from_stdin) {
        sdsFree(input);
        input = settingReadAll(stdin);
        if (sdsLen(text) && text[sdsLen(text) - 1] != '\n') text = sdsCat(text, "\n");
    }
    sds options = optionLines(count, words);
    loaded.extra = sdsCat(input, count && !isOption(words[0]) ? "\n" : "");
    loaded.extra = sdsCatSlice(loaded.extra, sdsSlice(options));
    sdsFree(options);
    text = sdsCatSlice(text, sdsSlice(loaded.extra));
    loadText(text);
    sdsFree(text);
}

sds settingFileExtra(void) { return loaded.extra; }

const char *settingFileFolder(void) { return loaded.folder; }

const char *settingFilePath(void) { return loaded.path; }

/* Returns whether the setting was configured to a value that has no effect yet. An empty value (save "") turns a
 * subsystem off, which is the present behavior anyway. */
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
    if (sdsLen(names)) serverLog(LL_WARNING, "These options are stored but have no effect in this version: %s", names);
    sdsFree(names);
}
