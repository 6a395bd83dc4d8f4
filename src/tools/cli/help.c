/* help.c -- the server's documentation of its commands, for help, hints and completion.
 *
 * COMMAND DOCS is the source, so the help describes the connected server, including its modules.
 *
 * Not here    how arguments are matched with words (syntax.c).
 * Tests       tests/tools/cli_terminal.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "help.h"
#include "suggest.h"
#include "syntax.h"
#include "terminal.h"
#include "version.h"
#include "zmalloc.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define QUIET_WAIT_MS 1000
#define TOKENS_MAX 64

typedef struct helpEntry {
    sds name;           /* "CLIENT LIST" */
    size_t parent_len;  /* of "CLIENT"; 0 if it is not a subcommand */
    argNode *arguments; /* owns */
    size_t argument_count;
    bool has_parts; /* it has subcommands */
    sds summary, since, group;
} helpEntry;

static struct {
    helpEntry *entries; /* sorted by name, so that subcommands follow their command */
    size_t count;
    sds *groups;
    size_t group_count;
    bool loaded, refused;
} help;

/* Commands of valkey-cli itself. */
static const struct {
    const char *name, *hint;
} own_words[] = {
    {"help", "[command|@group]"}, {"connect", "host port"}, {"clear", ""}, {"quit", ""}, {"exit", ""},
    {":set", "hints|nohints"},
};

/* ---- Loading ---------------------------------------------------------------------------------------------------- */

static sds copyText(const replyValue *doc, const char *key) {
    const char *text = replyLookupText(doc, key);
    return sdsNew(text ? text : "");
}

static void addGroup(const char *name) {
    if (!*name) return;
    for (size_t i = 0; i < help.group_count; i++)
        if (strcmp(help.groups[i], name) == 0) return;
    help.groups = zrealloc(help.groups, sizeof(sds) * (help.group_count + 1));
    help.groups[help.group_count++] = sdsNew(name);
}

static void addEntries(const replyValue *docs, const char *parent) {
    for (size_t i = 0; i + 1 < docs->count; i += 2) {
        const replyValue *name = &docs->items[i], *doc = &docs->items[i + 1];
        if (!name->str || !replyIsList(doc)) continue;
        const char *word = strchr(name->str, '|');
        const replyValue *arguments = replyLookup(doc, "arguments"), *parts = replyLookup(doc, "subcommands");
        helpEntry e = {.name = sdsNew(parent), .parent_len = strlen(parent)};
        if (*parent) e.name = sdsCat(e.name, " ");
        e.name = sdsCat(e.name, word ? word + 1 : name->str);
        sdsToUpper(e.name);
        if (arguments && replyIsList(arguments)) e.arguments = syntaxFromDocs(arguments, &e.argument_count);
        e.has_parts = parts && replyIsList(parts) && parts->count > 0;
        e.summary = copyText(doc, "summary");
        e.since = copyText(doc, "since");
        e.group = copyText(doc, "group");
        addGroup(e.group);
        help.entries = zrealloc(help.entries, sizeof(helpEntry) * (help.count + 1));
        help.entries[help.count++] = e;
        if (e.has_parts && !*parent) addEntries(parts, e.name);
    }
}

static int compareEntries(const void *a, const void *b) {
    return strcmp(((const helpEntry *)a)->name, ((const helpEntry *)b)->name);
}

static int compareWords(const void *a, const void *b) { return strcmp(*(const sds *)a, *(const sds *)b); }

/* Waits for the reply. A server that is busy or no Valkey server may delay the first prompt: a message explains
 * that. */
static replyValue *waitForDocs(cliConnection *c) {
    bool timed_out = false;
    if (!linkSend(c->link, 2, (slice[]){sliceStr("COMMAND"), sliceStr("DOCS")})) return NULL;
    replyValue *v = linkReadWithin(c->link, QUIET_WAIT_MS, &timed_out);
    if (v || !timed_out) return v;
    sds address = cliAddress(c);
    fprintf(stderr, "%s has accepted the connection but does not respond. Waiting (press Ctrl-C to quit)...\n",
            address);
    sdsFree(address);
    return linkRead(c->link);
}

static void printFailure(cliConnection *c, const char *why) {
    sds address = cliAddress(c);
    fprintf(stderr, "%s does not respond like a Valkey server: %s\n", address, why);
    sdsFree(address);
}

void helpLoad(cliConnection *c) {
    /* A transaction would queue COMMAND DOCS, and a subscribed connection refuses it. */
    if (help.loaded || help.refused || !c->link || c->in_transaction || c->subscribed) return;
    replyValue *docs = waitForDocs(c);
    while (docs && docs->type == '>') {
        replyValueFree(docs);
        docs = linkRead(c->link);
    }
    if (!docs) {
        printFailure(c, linkError(c->link));
        cliDisconnect(c);
    } else if (replyIsList(docs)) {
        addEntries(docs, "");
        if (help.count) qsort(help.entries, help.count, sizeof(helpEntry), compareEntries);
        if (help.group_count) qsort(help.groups, help.group_count, sizeof(sds), compareWords);
        help.loaded = true;
    } else if (replyIsError(docs) && strncmp(docs->str, "DENIED", 6) == 0) {
        printFailure(c, docs->str);
        cliDisconnect(c);
    } else if (replyIsError(docs)) {
        help.refused = strncmp(docs->str, "NOAUTH", 6) != 0; /* after NOAUTH the user may still log in */
    }
    replyValueFree(docs);
}

/* ---- Finding ---------------------------------------------------------------------------------------------------- */

static const helpEntry *findEntry(const char *name) {
    for (size_t i = 0; i < help.count; i++)
        if (strcasecmp(help.entries[i].name, name) == 0) return &help.entries[i];
    return NULL;
}

/* Returns the command that `words` start with, or NULL; *used is the number of words in its name. */
static const helpEntry *findCommand(const sds *words, size_t count, size_t *used) {
    const helpEntry *e = count ? findEntry(words[0]) : NULL, *inner = NULL;
    *used = 1;
    if (e && e->has_parts && count > 1) {
        sds name = sdsCatPrintf(sdsEmpty(), "%s %s", words[0], words[1]);
        inner = findEntry(name);
        sdsFree(name);
    }
    if (inner) *used = 2;
    return inner ? inner : e;
}

/* Returns the first subcommand after `e`, which is `parent` or one of its subcommands; NULL if there is none. */
static const helpEntry *nextPart(const helpEntry *parent, const helpEntry *e) {
    if (++e == help.entries + help.count || e->parent_len != sdsLen(parent->name)) return NULL;
    return strncmp(e->name, parent->name, e->parent_len) == 0 ? e : NULL;
}

const char *helpNearest(const char *word) {
    suggestion s = {.word = word};
    for (size_t i = 0; i < help.count; i++)
        if (help.entries[i].parent_len == 0) suggestConsider(&s, help.entries[i].name);
    return s.best;
}

/* ---- Showing ---------------------------------------------------------------------------------------------------- */

static void showEntry(const helpEntry *e, bool with_group) {
    const char *label = terminalStyle("33"), *off = terminalStyle("0");
    sds arguments = syntaxText(e->arguments, e->argument_count);
    printf("\n  %s%s%s %s%s%s\n", terminalStyle("1"), e->name, off, terminalStyle("90"), arguments, off);
    printf("  %ssummary:%s %s\n", label, off, e->summary);
    printf("  %ssince:%s %s\n", label, off, e->since);
    if (with_group) printf("  %sgroup:%s %s\n", label, off, e->group);
    sdsFree(arguments);
}

static void showOverview(void) {
    printf("valkey-cli %s\n\n"
           "  help <command>      show the arguments and the summary of a command\n"
           "  help @<group>       show all commands of a group; TAB after @ lists the groups\n"
           "  <number> <command>  repeat a command\n"
           "  connect <host> <port>, clear, quit\n"
           "  :set nohints        disable hints of arguments; \":set hints\" enables them\n"
           "\n"
           "Keys: TAB completes, twice lists. Ctrl-R searches the history. Ctrl-A/E, Ctrl-W/U/K/Y and the arrows work\n"
           "as in a shell. Ctrl-D or Ctrl-C in an empty line quits.\n"
           "Preferences such as \":set nohints\" can be set in ~/.valkeyclirc.\n",
           VALKEY_VERSION);
}

static size_t showGroup(const char *group) {
    size_t shown = 0;
    for (size_t i = 0; i < help.count; i++) {
        if (strcasecmp(help.entries[i].group, group) != 0) continue;
        showEntry(&help.entries[i], false);
        shown++;
    }
    if (shown) return shown;
    printf("Unknown group '%s'. Available groups:", group);
    for (size_t i = 0; i < help.group_count; i++) printf(" @%s", help.groups[i]);
    printf("\n");
    return 0;
}

/* Shows an entry and the names of its subcommands. */
static void showCommand(const char *name) {
    const helpEntry *e = findEntry(name);
    if (!e) {
        const char *near = helpNearest(name);
        printf("Unknown command '%s'.", name);
        if (near) printf(" Did you mean %s?", near);
        printf("\n");
        return;
    }
    showEntry(e, true);
    for (const helpEntry *part = nextPart(e, e); part; part = nextPart(e, part))
        printf("    %s%s%s  %s\n", terminalStyle("1"), part->name, terminalStyle("0"), part->summary);
}

void helpShow(cliConnection *c, int argc, const slice *argv) {
    if (argc < 2) {
        showOverview();
        return;
    }
    if (!c->link) cliConnect(c, false);
    helpLoad(c);
    if (!help.loaded) {
        printf("Help on commands is provided by the server, which is not available now.\n");
        return;
    }
    sds wanted = sdsEmpty();
    for (int i = 1; i < argc; i++) {
        if (i > 1) wanted = sdsCat(wanted, " ");
        wanted = sdsCatSlice(wanted, argv[i]);
    }
    if (wanted[0] == '@') showGroup(wanted + 1);
    else showCommand(wanted);
    printf("\n");
    sdsFree(wanted);
}

/* ---- A line that is being typed --------------------------------------------------------------------------------- */

/* The words of a line that is not complete. Escapes are kept: only names and tokens are looked up, which have none. */
typedef struct typedLine {
    sds *words; /* owns */
    size_t count;
    size_t last_start; /* offset of the last word, or of the next one if that has not begun */
    bool unfinished;   /* the last word is still being typed: no blank follows it */
    bool in_quotes;
    size_t skip; /* words before the command: a number of repetitions, or "help" */
    bool help;
} typedLine;

static bool isNumber(const sds word) { return sdsLen(word) > 0 && strspn(word, "0123456789") == sdsLen(word); }

static typedLine splitTyped(const char *line) {
    typedLine t = {0};
    const char *p = line;
    for (;;) {
        while (*p == ' ' || *p == '\t') p++;
        t.last_start = (size_t)(p - line);
        if (!*p) break;
        const char *start = p;
        char quote = '\0';
        for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
            if (quote && *p == '\\' && p[1]) p++;
            else if (quote && *p == quote) quote = '\0';
            else if (!quote && p == start && (*p == '"' || *p == '\'')) quote = *p;
        }
        bool quoted = *start == '"' || *start == '\'';
        t.words = zrealloc(t.words, sizeof(sds) * (t.count + 1));
        t.words[t.count++] = quoted ? sdsNewLen(start + 1, (size_t)(p - start - 1))
                                    : sdsNewLen(start, (size_t)(p - start));
        t.in_quotes = quote != '\0';
        t.unfinished = *p == '\0';
        if (t.unfinished) break;
    }
    size_t done = t.count - (t.unfinished ? 1 : 0);
    if (done > 0) {
        t.help = strcasecmp(t.words[0], "help") == 0 || strcmp(t.words[0], "?") == 0;
        if (t.help || isNumber(t.words[0])) t.skip = 1;
    }
    return t;
}

static void typedFree(typedLine *t) { sdsFreeSplitRes(t->words, (int)t->count); }

/* ---- Completion ------------------------------------------------------------------------------------------------- */

/* Adds `word` if it starts with `part`, in the case in which the user types. */
static void addChoice(lineChoices *c, const char *word, const char *part, bool upper) {
    if (strncasecmp(word, part, strlen(part)) != 0) return;
    sds copy = sdsNew(word);
    if (upper) sdsToUpper(copy);
    else sdsToLower(copy);
    c->words = zrealloc(c->words, sizeof(sds) * (c->count + 1));
    c->words[c->count++] = copy;
}

/* Returns true if the last letter of the line is upper case. */
static bool typedInUpper(const char *line) {
    for (size_t i = strlen(line); i-- > 0;)
        if (isalpha((unsigned char)line[i])) return isupper((unsigned char)line[i]);
    return false;
}

static void addSubcommands(lineChoices *c, const sds parent, const char *typed, bool upper) {
    const helpEntry *e = findEntry(parent);
    for (const helpEntry *part = e ? nextPart(e, e) : NULL; part; part = nextPart(e, part))
        addChoice(c, part->name + part->parent_len + 1, typed, upper);
}

/* Adds the tokens that may follow these words of a command. */
static void addTokens(lineChoices *c, const sds *words, size_t count, const char *part, bool upper) {
    const char *tokens[TOKENS_MAX];
    size_t used;
    const helpEntry *e = findCommand(words, count, &used);
    if (!e || e->has_parts) return;
    slice *argv = linkWordSlices(words + used, count - used);
    size_t found = syntaxTokens(e->arguments, e->argument_count, argv, count - used, tokens, TOKENS_MAX);
    for (size_t i = 0; i < found; i++) addChoice(c, tokens[i], part, upper);
    zfree(argv);
}

lineChoices helpChoices(const char *line) {
    typedLine t = splitTyped(line);
    lineChoices c = {.from = t.last_start};
    const char *part = t.unfinished ? t.words[t.count - 1] : "";
    size_t before = t.count - (t.unfinished ? 1 : 0) - t.skip;
    bool upper = typedInUpper(line);
    if (t.in_quotes) {
        /* A value has no completions. */
    } else if (t.help && before == 0 && *part == '@') {
        c.from++;
        for (size_t i = 0; i < help.group_count; i++) addChoice(&c, help.groups[i], part + 1, false);
    } else if (before == 0) {
        for (size_t i = 0; i < help.count; i++)
            if (help.entries[i].parent_len == 0) addChoice(&c, help.entries[i].name, part, upper);
        for (size_t i = 0; t.skip == 0 && *part && i < array_len(own_words); i++)
            addChoice(&c, own_words[i].name, part, upper);
    } else if (before == 1 && strcasecmp(t.words[0], ":set") == 0) {
        addChoice(&c, "hints", part, false);
        addChoice(&c, "nohints", part, false);
    } else {
        if (before == 1) addSubcommands(&c, t.words[t.skip], part, upper);
        if (!t.help) addTokens(&c, t.words + t.skip, before, part, upper);
    }
    typedFree(&t);
    return c;
}

/* ---- Hints ------------------------------------------------------------------------------------------------------ */

/* Returns the subcommands of a command as "list|info|kill". */
static sds partNames(const helpEntry *e) {
    sds names = sdsEmpty();
    for (const helpEntry *part = nextPart(e, e); part; part = nextPart(e, part)) {
        if (sdsLen(names)) names = sdsCat(names, "|");
        names = sdsCat(names, part->name + part->parent_len + 1);
    }
    return names;
}

static sds commandHint(const typedLine *t) {
    size_t used, count = t->count - t->skip;
    const sds *words = t->words + t->skip;
    const helpEntry *e = findCommand(words, count, &used);
    if (!e) return NULL;
    if (e->has_parts && used < count) return NULL;
    if (e->has_parts) {
        sds names = partNames(e);
        if (!typedInUpper(words[0])) sdsToLower(names);
        return names;
    }
    slice *argv = linkWordSlices(words + used, count - used);
    sds rest = syntaxRemainder(e->arguments, e->argument_count, argv, count - used, t->unfinished);
    zfree(argv);
    return rest;
}

sds helpHint(const char *line) {
    typedLine t = splitTyped(line);
    sds hint = NULL;
    if (t.count > 0 && !t.in_quotes) {
        for (size_t i = 0; t.count == 1 && !hint && i < array_len(own_words); i++)
            if (strcasecmp(own_words[i].name, t.words[0]) == 0) hint = sdsNew(own_words[i].hint);
        if (!hint && !t.help && t.count > t.skip) hint = commandHint(&t);
    }
    if (hint && sdsLen(hint) && t.unfinished) {
        sds spaced = sdsCatSlice(sdsNew(" "), sdsSlice(hint));
        sdsFree(hint);
        hint = spaced;
    }
    typedFree(&t);
    return hint;
}
