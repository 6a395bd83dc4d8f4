/* help.c -- what the server says about its commands, for help and completion.
 *
 * COMMAND DOCS is the source: the help fits the server that is connected, modules included.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "help.h"
#include "version.h"
#include "zmalloc.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct helpEntry {
    sds name;   /* "CLIENT LIST" */
    sds syntax; /* of its arguments */
    sds summary, since, group;
} helpEntry;

static struct {
    helpEntry *entries; /* sorted by name */
    size_t count;
    sds *groups;
    size_t group_count;
    bool loaded;
} help;

/* ---- Arguments as text ------------------------------------------------------------------------------------------ */

static const char *textOf(const replyValue *v, const char *key) {
    const replyValue *found = replyLookup(v, key);
    return found && found->str ? found->str : NULL;
}

static bool hasFlag(const replyValue *arg, const char *flag) {
    const replyValue *flags = replyLookup(arg, "flags");
    for (size_t i = 0; flags && i < flags->count; i++) {
        if (flags->items[i].str && strcmp(flags->items[i].str, flag) == 0) return true;
    }
    return false;
}

static sds catArguments(sds out, const replyValue *list, const char *separator);

static sds catArgument(sds out, const replyValue *arg) {
    const char *token = textOf(arg, "token"), *type = textOf(arg, "type"), *name = textOf(arg, "display_text");
    const replyValue *inner = replyLookup(arg, "arguments");
    bool optional = hasFlag(arg, "optional"), bare_token = type && strcmp(type, "pure-token") == 0;
    if (!name) name = textOf(arg, "name");
    sds body = sdsEmpty();
    if (inner) body = catArguments(body, inner, type && strcmp(type, "oneof") == 0 ? "|" : " ");
    else if (!bare_token && name) body = sdsCat(body, name);
    sds full = sdsEmpty();
    if (token) full = sdsCat(full, *token ? token : "\"\"");
    if (token && sdsLen(body)) full = sdsCat(full, " ");
    full = sdsCatLen(full, body, sdsLen(body));
    if (hasFlag(arg, "multiple")) {
        sds again = hasFlag(arg, "multiple_token") ? sdsDup(full) : sdsDup(body);
        full = sdsCatPrintf(full, " [%s ...]", again);
        sdsFree(again);
    }
    out = sdsCatPrintf(out, optional ? "[%s]" : "%s", full);
    sdsFree(full);
    sdsFree(body);
    return out;
}

static sds catArguments(sds out, const replyValue *list, const char *separator) {
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) out = sdsCat(out, separator);
        out = catArgument(out, &list->items[i]);
    }
    return out;
}

/* ---- Loading ---------------------------------------------------------------------------------------------------- */

static void addGroup(const char *name) {
    for (size_t i = 0; i < help.group_count; i++) {
        if (strcmp(help.groups[i], name) == 0) return;
    }
    help.groups = zrealloc(help.groups, sizeof(sds) * (help.group_count + 1));
    help.groups[help.group_count++] = sdsNew(name);
}

static void addEntries(const replyValue *docs, const char *parent) {
    for (size_t i = 0; i + 1 < docs->count; i += 2) {
        const replyValue *name = &docs->items[i], *doc = &docs->items[i + 1];
        if (!name->str || !replyIsList(doc)) continue;
        helpEntry e = {.name = sdsNew(parent)};
        const char *word = strchr(name->str, '|');
        if (*parent) e.name = sdsCat(e.name, " ");
        e.name = sdsCat(e.name, word ? word + 1 : name->str);
        sdsToUpper(e.name);
        const replyValue *arguments = replyLookup(doc, "arguments"), *inner = replyLookup(doc, "subcommands");
        const char *summary = textOf(doc, "summary"), *since = textOf(doc, "since"), *group = textOf(doc, "group");
        e.syntax = arguments ? catArguments(sdsEmpty(), arguments, " ") : sdsEmpty();
        e.summary = sdsNew(summary ? summary : "");
        e.since = sdsNew(since ? since : "");
        e.group = sdsNew(group ? group : "");
        if (group) addGroup(group);
        help.entries = zrealloc(help.entries, sizeof(helpEntry) * (help.count + 1));
        help.entries[help.count++] = e;
        if (inner && replyIsList(inner)) {
            sds path = sdsDup(e.name);
            addEntries(inner, path);
            sdsFree(path);
        }
    }
}

static int compareEntries(const void *a, const void *b) {
    return strcmp(((const helpEntry *)a)->name, ((const helpEntry *)b)->name);
}

void helpLoad(cliSession *s) {
    if (help.loaded || !s->link) return;
    replyValue *docs = linkCall(s->link, "COMMAND", "DOCS", NULL);
    if (docs && replyIsList(docs)) {
        addEntries(docs, "");
        if (help.count) qsort(help.entries, help.count, sizeof(helpEntry), compareEntries);
        help.loaded = true;
    }
    if (!docs) sessionDisconnect(s);
    replyValueFree(docs);
}

/* ---- Showing ---------------------------------------------------------------------------------------------------- */

static void showEntry(const helpEntry *e, bool with_group) {
    printf("\r\n  \x1b[1m%s\x1b[0m \x1b[90m%s\x1b[0m\r\n", e->name, e->syntax);
    printf("  \x1b[33msummary:\x1b[0m %s\r\n", e->summary);
    printf("  \x1b[33msince:\x1b[0m %s\r\n", e->since);
    if (with_group) printf("  \x1b[33mgroup:\x1b[0m %s\r\n", e->group);
}

static void showOverview(void) {
    printf("valkey-cli %s\n"
           "To get help about Valkey commands type:\n"
           "      \"help @<group>\" to get a list of commands in <group>\n"
           "      \"help <command>\" for help on <command>\n"
           "      \"help <tab>\" to get a list of possible help topics\n"
           "      \"quit\" to exit\n"
           "\n"
           "To set valkey-cli preferences:\n"
           "      \":set hints\" enable online hints\n"
           "      \":set nohints\" disable online hints\n"
           "Set your preferences in ~/.valkeyclirc\n",
           VALKEY_VERSION);
}

void helpShow(cliSession *s, int argc, const slice *argv) {
    if (argc < 2) {
        showOverview();
        return;
    }
    if (!s->link) sessionConnect(s, true);
    helpLoad(s);
    bool group = argv[1].len && argv[1].ptr[0] == '@';
    sds wanted = sdsEmpty();
    for (int i = 1; i < argc; i++) {
        if (i > 1) wanted = sdsCat(wanted, " ");
        wanted = sdsCatSlice(wanted, argv[i]);
    }
    for (size_t i = 0; i < help.count; i++) {
        const helpEntry *e = &help.entries[i];
        if (group ? strcasecmp(e->group, wanted + 1) == 0 : strcasecmp(e->name, wanted) == 0) showEntry(e, !group);
    }
    printf("\r\n");
    sdsFree(wanted);
}

/* ---- Completion ------------------------------------------------------------------------------------------------- */

static char *joined(const char *a, const char *b) {
    char *out = zmalloc(strlen(a) + strlen(b) + 1);
    strcpy(out, a);
    strcat(out, b);
    return out;
}

char *helpCompletion(const char *line, size_t n) {
    bool topic = strncasecmp(line, "help ", 5) == 0;
    const char *lead = topic ? "help " : "", *rest = topic ? line + 5 : line;
    size_t len = strlen(rest);
    if (topic && rest[0] == '@') {
        for (size_t i = 0; i < help.group_count; i++) {
            if (strncasecmp(help.groups[i], rest + 1, len - 1) != 0) continue;
            if (n-- == 0) return joined("help @", help.groups[i]);
        }
        return NULL;
    }
    for (size_t i = 0; i < help.count; i++) {
        if (strncasecmp(help.entries[i].name, rest, len) == 0 && n-- == 0) return joined(lead, help.entries[i].name);
    }
    return NULL;
}

const char *helpSyntax(const char *line) {
    const helpEntry *best = NULL;
    for (size_t i = 0; i < help.count; i++) {
        const helpEntry *e = &help.entries[i];
        size_t len = sdsLen(e->name);
        if (strncasecmp(e->name, line, len) != 0 || (line[len] != ' ' && line[len] != '\0')) continue;
        if (!best || len > sdsLen(best->name)) best = e;
    }
    return best && sdsLen(best->syntax) ? best->syntax : NULL;
}
