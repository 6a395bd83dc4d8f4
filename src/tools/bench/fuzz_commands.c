/* fuzz_commands.c -- makes random commands from the documentation that a server gives (COMMAND DOCS).
 *
 * A command is its name and a walk through its arguments: an optional argument is present or not, one of several
 * alternatives is chosen, an argument that may be repeated is repeated. A count of following words (numkeys, numfields)
 * is filled in once these are known. The name of a key mostly contains the group of its command, so that most commands
 * find a value of their own type.
 *
 * Not here    sending (fuzz.c).
 * Owns        nothing but the catalog.
 * Threads     a catalog is used by one thread at a time.
 * Tests       tests/unit/tools/fuzz_commands_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "panic.h"
#include "syntax.h"
#include "zmalloc.h"

#include <string.h>
#include <strings.h>

#define REPEATS_MAX 3
#define KEYS 12

typedef struct fuzzCommand {
    sds name; /* one word or two */
    sds group;
    argNode *arguments;
    size_t argument_count;
} fuzzCommand;

typedef struct fuzzSetting {
    sds name, value;
} fuzzSetting;

struct fuzzCatalog {
    fuzzCommand *commands; /* own */
    size_t count;
    fuzzSetting *settings; /* own */
    size_t setting_count;
};

typedef struct words {
    sds *at;
    int count;
    size_t capacity;
    bool has_timeout; /* one of them is the timeout of a blocking command */
} words;

/* ---- Contents of the catalog ---- */

static bool isAmong(const char *word, const char *const *list) {
    for (; *list; list++)
        if (strcasecmp(word, *list) == 0) return true;
    return false;
}

/* Groups of which all commands are used, except `left_out`. */
static const char *const groups[] = {"bitmap", "generic", "geo",          "hash", "hyperloglog",
                                     "list",   "pubsub",  "scripting",    "set",  "sorted-set",
                                     "stream", "string",  "transactions", NULL};
/* MIGRATE would connect to other servers; subscriptions have no reply of their own; the rest ends or blocks other
 * clients. */
static const char *const left_out[] = {"MIGRATE",     "SUBSCRIBE",     "PSUBSCRIBE",   "SSUBSCRIBE",
                                       "UNSUBSCRIBE", "PUNSUBSCRIBE",  "SUNSUBSCRIBE", "SCRIPT DEBUG",
                                       "SCRIPT KILL", "FUNCTION KILL", "PFSELFTEST",   NULL};
/* Commands of the other groups that are used: those that only read, or concern only their connection. */
static const char *const also_used[] = {"CLIENT GETNAME", "CLIENT GETREDIR",
                                        "CLIENT ID",      "CLIENT INFO",
                                        "CLIENT LIST",    "CLIENT NO-TOUCH",
                                        "CLIENT SETNAME", "COMMAND COUNT",
                                        "COMMAND INFO",   "COMMAND LIST",
                                        "COMMANDLOG GET", "COMMANDLOG LEN",
                                        "DBSIZE",         "ECHO",
                                        "FLUSHDB",        "INFO",
                                        "LASTSAVE",       "LATENCY HISTOGRAM",
                                        "LOLWUT",         "MEMORY STATS",
                                        "MEMORY USAGE",   "PING",
                                        "ROLE",           "SLOWLOG GET",
                                        "SLOWLOG LEN",    "SWAPDB",
                                        "TIME",           NULL};

static void addCommands(fuzzCatalog *b, const replyValue *docs, const char *parent) {
    for (size_t i = 0; i + 1 < docs->count; i += 2) {
        const replyValue *name = &docs->items[i], *doc = &docs->items[i + 1];
        if (!name->str || !replyIsList(doc)) continue;
        const replyValue *parts = replyLookup(doc, "subcommands"), *arguments = replyLookup(doc, "arguments");
        const char *group = replyLookupText(doc, "group");
        const char *word = strchr(name->str, '|');
        sds whole = *parent ? sdsCatPrintf(sdsEmpty(), "%s %s", parent, word ? word + 1 : name->str)
                            : sdsNew(name->str);
        sdsToUpper(whole);
        bool is_container = parts && replyIsList(parts) && parts->count > 0;
        if (is_container && !*parent) addCommands(b, parts, whole);
        bool in_groups = group && isAmong(group, groups);
        bool wanted = in_groups ? !isAmong(whole, left_out) : group && isAmong(whole, also_used);
        if (is_container || !wanted) {
            sdsFree(whole);
            continue;
        }
        fuzzCommand c = {.name = whole, .group = sdsNew(group)};
        if (arguments && replyIsList(arguments)) c.arguments = syntaxFromDocs(arguments, &c.argument_count);
        b->commands = zrealloc(b->commands, sizeof(fuzzCommand) * (b->count + 1));
        b->commands[b->count++] = c;
    }
}

/* Returns false for settings with which the server would lose its files, its peers, or this client. */
static bool isSafe(const char *name) {
    static const char *const parts[] = {"dir",    "file",     "pass",    "bind",  "port", "socket", "auth",    "tls",
                                        "user",   "max",      "replica", "slave", "io-",  "min-",   "metrics", "save",
                                        "append", "shutdown", "cpulist", "crash", "log",  "oom",    NULL};
    for (size_t i = 0; parts[i]; i++)
        if (strstr(name, parts[i])) return false;
    return true;
}

static void addSettings(fuzzCatalog *b, const replyValue *settings) {
    for (size_t i = 0; i + 1 < settings->count; i += 2) {
        const replyValue *name = &settings->items[i], *value = &settings->items[i + 1];
        if (!name->str || !value->str || !isSafe(name->str)) continue;
        b->settings = zrealloc(b->settings, sizeof(fuzzSetting) * (b->setting_count + 1));
        b->settings[b->setting_count++] = (fuzzSetting){sdsNew(name->str), sdsNew(value->str)};
    }
}

fuzzCatalog *fuzzCatalogMake(const replyValue *docs, const replyValue *settings) {
    fuzzCatalog *b = zcalloc(1, sizeof(*b));
    if (replyIsList(docs)) addCommands(b, docs, "");
    if (settings && replyIsList(settings)) addSettings(b, settings);
    return b;
}

void fuzzCatalogFree(fuzzCatalog *b) {
    for (size_t i = 0; i < b->count; i++) {
        sdsFree(b->commands[i].name);
        sdsFree(b->commands[i].group);
        syntaxFree(b->commands[i].arguments, b->commands[i].argument_count);
    }
    for (size_t i = 0; i < b->setting_count; i++) {
        sdsFree(b->settings[i].name);
        sdsFree(b->settings[i].value);
    }
    zfree(b->commands);
    zfree(b->settings);
    zfree(b);
}

size_t fuzzCatalogCommands(const fuzzCatalog *b) { return b->count; }

/* ---- Words ---- */

static void addWord(words *w, sds word) {
    w->at = zgrowArray(w->at, (size_t)w->count, &w->capacity, sizeof(*w->at));
    w->at[w->count++] = word;
}

static bool chance(rng *r, unsigned percent) { return rngBelow(r, 100) < percent; }

static const char *oneOf(rng *r, const char *const *list, size_t count) { return list[rngBelow(r, count)]; }

static sds drawKey(rng *r, const char *group) {
    static const char *const groups_of_keys[] = {"hash",   "list",   "set",    "sorted-set",
                                                 "stream", "string", "bitmap", "geo"};
    const char *of = chance(r, 90) ? group : oneOf(r, groups_of_keys, array_len(groups_of_keys));
    return sdsCatPrintf(sdsEmpty(), "fuzz:%s:%d", of, (int)rngBelow(r, KEYS));
}

/* Returns a small number or one far outside the range of values: a bit number of 2^31 would create a value of 256
 * MB. */
static sds drawInteger(rng *r) {
    static const char *const edge_cases[] = {
        "0", "-1", "1", "4294967296", "-9223372036854775808", "9223372036854775807"};
    return chance(r, 15) ? sdsNew(oneOf(r, edge_cases, array_len(edge_cases)))
                         : sdsFromLongLong((long long)rngBelow(r, 100));
}

static sds drawText(rng *r) {
    static const char *const edge_cases[] = {"",  "0",   "-inf", "+inf", "nan",  "*",
                                             "$", "1-1", "[a",   "(b",   "\r\n", "return 1"};
    if (chance(r, 20)) return sdsNew(oneOf(r, edge_cases, array_len(edge_cases)));
    if (chance(r, 60)) return sdsCatPrintf(sdsEmpty(), "m%d", (int)rngBelow(r, 20));
    sds text = sdsGrowZero(sdsEmpty(), (size_t)rngBelow(r, chance(r, 5) ? 5000 : 40));
    for (size_t i = 0; i < sdsLen(text); i++) text[i] = (char)rngNext(r);
    return text;
}

/* Returns true for a timeout, which is kept short so that each command gets its reply soon. */
static bool isTimeout(const argNode *a) {
    return a->name && (strcmp(a->name, "timeout") == 0 || (a->token && strcasecmp(a->token, "BLOCK") == 0));
}

static sds drawValue(rng *r, const argNode *a, const char *group) {
    if (isTimeout(a)) return sdsNew(a->value == VALUE_DOUBLE ? "0.01" : "10");
    if (a->name && strcmp(a->name, "script") == 0) return sdsNew(chance(r, 50) ? "return 1" : "return KEYS");
    switch (a->value) {
    case VALUE_KEY: return drawKey(r, group);
    case VALUE_INTEGER: return drawInteger(r);
    case VALUE_DOUBLE: return chance(r, 50) ? drawInteger(r) : sdsCatPrintf(sdsEmpty(), "%.3f", rngDouble(r) * 180);
    case VALUE_TIME: return sdsFromLongLong(chance(r, 50) ? 4000000000LL : (long long)rngBelow(r, 2000000000));
    case VALUE_PATTERN: return sdsNew(chance(r, 50) ? "fuzz:*" : "m[0-9]?");
    case VALUE_TEXT: break;
    }
    return drawText(r);
}

/* ---- Arguments ---- */

static void drawNodes(words *w, rng *r, const argNode *nodes, size_t count, const char *group);

static void drawOnce(words *w, rng *r, const argNode *a, const char *group, bool with_token) {
    if (a->token && with_token) addWord(w, sdsNew(a->token));
    switch (a->kind) {
    case ARG_TOKEN: break;
    case ARG_ONEOF:
        if (a->part_count) drawNodes(w, r, &a->parts[rngBelow(r, a->part_count)], 1, group);
        break;
    case ARG_BLOCK: drawNodes(w, r, a->parts, a->part_count, group); break;
    case ARG_VALUE:
        addWord(w, drawValue(r, a, group));
        w->has_timeout |= isTimeout(a);
        break;
    }
}

/* Appends an argument and returns how often it was repeated; 0 if it was left out. */
static int drawNode(words *w, rng *r, const argNode *a, const char *group) {
    if (a->optional && chance(r, 60)) return 0;
    int times = a->multiple ? 1 + (int)rngBelow(r, REPEATS_MAX) : 1;
    for (int i = 0; i < times; i++) drawOnce(w, r, a, group, i == 0 || a->multiple_token);
    return times;
}

static bool isCount(const argNode *a) {
    return a->kind == ARG_VALUE && a->value == VALUE_INTEGER && a->name && strncmp(a->name, "num", 3) == 0;
}

static void drawNodes(words *w, rng *r, const argNode *nodes, size_t count, const char *group) {
    for (size_t i = 0; i < count; i++) {
        bool counts = i + 1 < count && isCount(&nodes[i]) && !nodes[i].optional;
        if (!counts) {
            drawNode(w, r, &nodes[i], group);
            continue;
        }
        drawOnce(w, r, &nodes[i], group, true);
        int at = w->count - 1;
        int times = drawNode(w, r, &nodes[++i], group);
        sdsFree(w->at[at]);
        w->at[at] = sdsFromLongLong(times);
    }
}

/* ---- Commands ---- */

static void drawSetting(words *w, rng *r, const fuzzCatalog *b) {
    const fuzzSetting *s = &b->settings[rngBelow(r, b->setting_count)];
    addWord(w, sdsNew("CONFIG"));
    addWord(w, sdsNew("SET"));
    addWord(w, sdsDup(s->name));
    bool is_switch = strcmp(s->value, "yes") == 0 || strcmp(s->value, "no") == 0;
    if (chance(r, 50)) addWord(w, sdsDup(s->value));
    else if (is_switch) addWord(w, sdsNew(chance(r, 50) ? "yes" : "no"));
    else addWord(w, drawInteger(r));
}

/* Removes, adds or replaces a word, but not the name. */
static void damage(words *w, rng *r) {
    if (w->count < 2) {
        addWord(w, drawText(r));
        return;
    }
    int at = 1 + (int)rngBelow(r, (uint64_t)w->count - 1);
    switch (rngBelow(r, 4)) {
    case 0: /* remove it */
        sdsFree(w->at[at]);
        memmove(&w->at[at], &w->at[at + 1], sizeof(sds) * (size_t)(w->count - at - 1));
        w->count--;
        break;
    case 1: addWord(w, drawText(r)); break;
    case 2:
        sdsFree(w->at[at]);
        w->at[at] = drawText(r);
        break;
    default: sdsFree(w->at[at]); w->at[at] = drawInteger(r);
    }
}

sds *fuzzCatalogDraw(const fuzzCatalog *b, rng *r, bool damaged, int *count) {
    serverAssert(b->count > 0);
    words w = {.at = NULL};
    if (b->setting_count && chance(r, 5)) {
        drawSetting(&w, r, b);
    } else {
        const fuzzCommand *c = &b->commands[rngBelow(r, b->count)];
        const char *space = strchr(c->name, ' ');
        addWord(&w, sdsNewLen(c->name, space ? (size_t)(space - c->name) : sdsLen(c->name)));
        if (space) addWord(&w, sdsNew(space + 1));
        drawNodes(&w, r, c->arguments, c->argument_count, c->group);
    }
    if (damaged && !w.has_timeout) damage(&w, r); /* a damaged timeout might block without end */
    *count = w.count;
    return w.at;
}
