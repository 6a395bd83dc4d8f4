/* command_cmd.c -- COMMAND: the description of all commands, for clients.
 *
 * Clients build their routing and help from these replies, so their maps have the same order of keys as Valkey's, and
 * leave out properties that a command does not have.
 *
 * Not here    the descriptions (folder table), lookup and key extraction (engine/table/command_table.c).
 * Threads     main.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_table.h"
#include "commands.h"
#include "slice.h"
#include "reply.h"
#include "zmalloc.h"

/* Number of key positions on the stack; a longer request gets allocated memory. */
#define KEYS_ON_STACK 64

/* ---- COMMAND INFO ----------------------------------------------------------------------------------------------- */

/* Replies with a set of status strings: the names of the bits that are set and have a name. */
static void replyBitNames(client *c, uint64_t bits, int nbits, const char *(*name_of)(int), const char *prefix) {
    int count = 0;
    if (nbits < 64) bits &= ((uint64_t)1 << nbits) - 1;
    for (uint64_t left = bits; left; left &= left - 1) count += name_of(__builtin_ctzll(left)) != NULL;
    addReplySetLen(c, count);
    for (uint64_t left = bits; left; left &= left - 1) {
        const char *name = name_of(__builtin_ctzll(left));
        if (name) addReplyLine(c, prefix, sliceStr(name));
    }
}

static void replyNumber(client *c, const char *name, int value) {
    addReplyBulkCString(c, name);
    addReplyLongLong(c, value);
}

/* Begins {type: ..., spec: {...}}; the caller adds `pairs` pairs of the spec. */
static void replySpecHead(client *c, const char *part, const char *type, int pairs) {
    addReplyBulkCString(c, part);
    addReplyMapLen(c, 2);
    addReplyBulkCString(c, "type");
    addReplyBulkCString(c, type);
    addReplyBulkCString(c, "spec");
    addReplyMapLen(c, pairs);
}

static void replyBeginSearch(client *c, const keySpec *s) {
    switch (s->begin) {
    case KEYS_BEGIN_INDEX:
        replySpecHead(c, "begin_search", "index", 1);
        replyNumber(c, "index", s->begin_index);
        break;
    case KEYS_BEGIN_KEYWORD:
        replySpecHead(c, "begin_search", "keyword", 2);
        addReplyBulkCString(c, "keyword");
        addReplyBulkCString(c, s->begin_keyword);
        replyNumber(c, "startfrom", s->begin_index);
        break;
    case KEYS_BEGIN_UNKNOWN: replySpecHead(c, "begin_search", "unknown", 0); break;
    }
}

static void replyFindKeys(client *c, const keySpec *s) {
    switch (s->find) {
    case KEYS_FIND_RANGE:
        replySpecHead(c, "find_keys", "range", 3);
        replyNumber(c, "lastkey", s->last_key);
        replyNumber(c, "keystep", s->key_step);
        replyNumber(c, "limit", s->limit);
        break;
    case KEYS_FIND_KEYNUM:
        replySpecHead(c, "find_keys", "keynum", 3);
        replyNumber(c, "keynumidx", s->keynum_index);
        replyNumber(c, "firstkey", s->first_key);
        replyNumber(c, "keystep", s->keynum_step);
        break;
    case KEYS_FIND_UNKNOWN: replySpecHead(c, "find_keys", "unknown", 0); break;
    }
}

static void replyKeySpecs(client *c, const serverCommand *cmd) {
    addReplySetLen(c, cmd->nspecs);
    for (int i = 0; i < cmd->nspecs; i++) {
        const keySpec *s = &cmd->specs[i];
        addReplyMapLen(c, s->notes ? 4 : 3);
        if (s->notes) {
            addReplyBulkCString(c, "notes");
            addReplyBulkCString(c, s->notes);
        }
        addReplyBulkCString(c, "flags");
        replyBitNames(c, s->flags, 32, commandKeyFlagName, "+");
        replyBeginSearch(c, s);
        replyFindKeys(c, s);
    }
}

/* Replies with first key, last key and step, as clients knew them before key specs: the first ranges at fixed
 * positions, as far as one step describes them. */
static void replyLegacyRange(client *c, const serverCommand *cmd) {
    int first = 0, last = 0, step = 0;
    for (int i = 0; i < cmd->nspecs; i++) {
        const keySpec *s = &cmd->specs[i];
        if (s->begin != KEYS_BEGIN_INDEX || s->find != KEYS_FIND_RANGE || s->limit > 1) continue;
        int spec_last = s->last_key >= 0 ? s->begin_index + s->last_key : s->last_key;
        if (first == 0) {
            first = s->begin_index;
            last = spec_last;
            step = s->key_step;
        } else if (last >= 0 && s->begin_index == last + step && s->key_step == step) {
            last = spec_last;
        }
    }
    addReplyLongLong(c, first);
    addReplyLongLong(c, last);
    addReplyLongLong(c, step);
}

static void replyTips(client *c, const char *const *tips) {
    int count = 0;
    while (tips && tips[count]) count++;
    addReplySetLen(c, count);
    for (int i = 0; i < count; i++) addReplyBulkCString(c, tips[i]);
}

static void replyInfo(void *arg, serverCommand *cmd) {
    client *c = arg;
    if (!cmd) {
        addReplyNull(c);
        return;
    }
    addReplyArrayLen(c, 10);
    addReplyBulkCString(c, cmd->fullname);
    addReplyLongLong(c, cmd->arity);
    replyBitNames(c, cmd->flags, 32, commandFlagName, "+");
    replyLegacyRange(c, cmd);
    replyBitNames(c, cmd->acl_categories, 64, aclCategoryName, "+@");
    replyTips(c, cmd->tips);
    replyKeySpecs(c, cmd);
    addReplyArrayLen(c, cmd->nsubcommands);
    for (int i = 0; i < cmd->nsubcommands; i++) replyInfo(c, &cmd->subcommands[i]);
}

/* The reply of COMMAND in RESP2 and RESP3. It is made once, because no command changes while the server runs, and many
 * clients ask for it when they connect. */
static robj *all_infos[2]; /* counted; NULL until made, or if there was no memory */

static robj *makeAllInfos(uint8_t resp) {
    client *c = clientCreate(NULL, -1, "", "", false);
    c->resp = resp;
    addReplyArrayLen(c, (long long)commandCount());
    commandEach(replyInfo, c);
    replyBlock *chain = clientTakeReplies(c);
    sds text = replyBlockCatChain(sdsEmpty(), chain);
    clientOutputWritten(c, chain, sdsLen(text));
    clientFree(c);
    robj *shared = replyShare(sdsSlice(text));
    sdsFree(text);
    return shared;
}

void commandCommand(client *c) {
    robj **infos = &all_infos[c->resp >= 3];
    if (!*infos) *infos = makeAllInfos(c->resp);
    if (*infos) addReplyShared(c, objectRawString(*infos), *infos);
    else addReplyNoMemory(c);
}

void commandInfoCommand(client *c) {
    if (c->argc == 2) {
        commandCommand(c);
        return;
    }
    addReplyArrayLen(c, c->argc - 2);
    for (uint32_t i = 2; i < c->argc; i++) replyInfo(c, commandLookupByName(c->argv[i]));
}

void commandCountCommand(client *c) { addReplyLongLong(c, (long long)commandCount()); }

/* ---- COMMAND DOCS ----------------------------------------------------------------------------------------------- */

/* Adds a map entry if it has a value. */
static void replyText(client *c, const char *name, const char *text) {
    if (!text) return;
    addReplyBulkCString(c, name);
    addReplyBulkCString(c, text);
}

/* Adds a map entry with the names of the bits that are set, if any is. */
static void replyDocFlags(client *c, const char *name, uint32_t bits, const char *(*name_of)(int)) {
    if (!bits) return;
    addReplyBulkCString(c, name);
    replyBitNames(c, bits, 32, name_of, "+");
}

static const char *argFlagName(int bit) {
    static const char *const names[] = {"optional", "multiple", "multiple_token"};
    return (size_t)bit < array_len(names) ? names[bit] : NULL;
}

static const char *docFlagName(int bit) {
    static const char *const names[] = {"deprecated", "syscmd"};
    return (size_t)bit < array_len(names) ? names[bit] : NULL;
}

static void replyArgs(client *c, const commandArgDoc *args, int count) {
    addReplyArrayLen(c, count);
    for (int i = 0; i < count; i++) {
        const commandArgDoc *a = &args[i];
        addReplyMapLen(c, 2 + !!a->display + (a->key_spec_index >= 0) + !!a->token + !!a->summary + !!a->since +
                              !!a->deprecated_since + !!a->flags + (a->nsub > 0));
        replyText(c, "name", a->name);
        replyText(c, "type", a->type);
        replyText(c, "display_text", a->display);
        if (a->key_spec_index >= 0) replyNumber(c, "key_spec_index", a->key_spec_index);
        replyText(c, "token", a->token);
        replyText(c, "summary", a->summary);
        replyText(c, "since", a->since);
        replyText(c, "deprecated_since", a->deprecated_since);
        replyDocFlags(c, "flags", a->flags, argFlagName);
        if (a->nsub > 0) {
            addReplyBulkCString(c, "arguments");
            replyArgs(c, a->sub, a->nsub);
        }
    }
}

static void replyHistory(client *c, const char *const *history) {
    int count = 0;
    while (history[count * 2]) count++;
    addReplyBulkCString(c, "history");
    addReplySetLen(c, count);
    for (int i = 0; i < count; i++) {
        addReplyArrayLen(c, 2);
        addReplyBulkCString(c, history[i * 2]);
        addReplyBulkCString(c, history[i * 2 + 1]);
    }
}

/* Adds two elements: the full name and the map of its documentation. */
static void replyDocs(void *arg, serverCommand *cmd) {
    client *c = arg;
    static const commandDocs none = {.summary = NULL};
    const commandDocs *d = cmd->docs ? cmd->docs : &none;

    addReplyBulkCString(c, cmd->fullname);
    addReplyMapLen(c, !!d->summary + !!d->since + !!d->group + !!d->complexity + !!d->module + !!d->doc_flags +
                          !!d->deprecated_since + !!d->replaced_by + !!d->history + (d->nargs > 0) +
                          (cmd->nsubcommands > 0));
    replyText(c, "summary", d->summary);
    replyText(c, "since", d->since);
    replyText(c, "group", d->group);
    replyText(c, "complexity", d->complexity);
    replyText(c, "module", d->module);
    replyDocFlags(c, "doc_flags", d->doc_flags, docFlagName);
    replyText(c, "deprecated_since", d->deprecated_since);
    replyText(c, "replaced_by", d->replaced_by);
    if (d->history) replyHistory(c, d->history);
    if (d->nargs > 0) {
        addReplyBulkCString(c, "arguments");
        replyArgs(c, d->args, d->nargs);
    }
    if (cmd->nsubcommands > 0) {
        addReplyBulkCString(c, "subcommands");
        addReplyMapLen(c, cmd->nsubcommands);
        for (int i = 0; i < cmd->nsubcommands; i++) replyDocs(c, &cmd->subcommands[i]);
    }
}

void commandDocsCommand(client *c) {
    if (c->argc == 2) {
        addReplyMapLen(c, (long long)commandCount());
        commandEach(replyDocs, c);
        return;
    }
    void *deferred = addReplyDeferredLen(c);
    long long found = 0;
    for (uint32_t i = 2; i < c->argc; i++) {
        serverCommand *cmd = commandLookupByName(c->argv[i]);
        if (!cmd) continue;
        replyDocs(c, cmd);
        found++;
    }
    setDeferredMapLen(c, deferred, found);
}

/* ---- COMMAND LIST ----------------------------------------------------------------------------------------------- */

typedef struct listFilter {
    client *c;
    enum { LIST_ALL, LIST_MODULE, LIST_ACLCAT, LIST_PATTERN } by;
    uint64_t category; /* for ACLCAT */
    slice pattern;     /* borrowed; for PATTERN, MODULE */
    long long shown;
} listFilter;

static bool filterTakes(const listFilter *f, const serverCommand *cmd) {
    switch (f->by) {
    case LIST_ALL: return true;
    case LIST_MODULE: return cmd->docs && cmd->docs->module && sliceEq(f->pattern, sliceStr(cmd->docs->module));
    case LIST_ACLCAT: return cmd->acl_categories & f->category;
    case LIST_PATTERN: return globMatch(f->pattern, sliceStr(cmd->fullname), true);
    }
    return false;
}

static void listOne(void *arg, serverCommand *cmd) {
    listFilter *f = arg;
    if (filterTakes(f, cmd)) {
        addReplyBulkCString(f->c, cmd->fullname);
        f->shown++;
    }
    for (int i = 0; i < cmd->nsubcommands; i++) listOne(f, &cmd->subcommands[i]);
}

void commandListCommand(client *c) {
    listFilter f = {.c = c, .by = LIST_ALL};
    if (c->argc == 5 && sliceIs(c->argv[2], "filterby")) {
        f.pattern = c->argv[4];
        if (sliceIs(c->argv[3], "module")) {
            f.by = LIST_MODULE;
        } else if (sliceIs(c->argv[3], "aclcat")) {
            f.by = LIST_ACLCAT;
            f.category = aclCategoryByName(f.pattern);
        } else if (sliceIs(c->argv[3], "pattern")) {
            f.by = LIST_PATTERN;
        }
    }
    if (f.by == LIST_ALL && c->argc != 2) {
        addReplySyntaxError(c);
        return;
    }
    void *deferred = addReplyDeferredLen(c);
    commandEach(listOne, &f);
    setDeferredArrayLen(c, deferred, f.shown);
}

/* ---- COMMAND GETKEYS -------------------------------------------------------------------------------------------- */

static bool mayHaveKeys(const serverCommand *cmd) {
    for (int i = 0; i < cmd->nspecs; i++) {
        if (!(cmd->specs[i].flags & CMD_KEY_NOT_KEY)) return true;
    }
    return cmd->get_keys != NULL;
}

/* Returns the command in argv[2...] of COMMAND GETKEYS. Returns NULL after an error reply. */
static const serverCommand *commandOfArgs(client *c) {
    bool bad_sub;
    const serverCommand *cmd = commandLookup(c->argv + 2, c->argc - 2, &bad_sub);
    const char *error = NULL;
    if (!cmd || bad_sub) error = "Invalid command specified";
    else if (!mayHaveKeys(cmd)) error = "The command has no key arguments";
    else if (!commandArityOk(cmd, c->argc - 2)) error = "Invalid number of arguments specified for command";
    if (!error) return cmd;
    addReplyError(c, error);
    return NULL;
}

static void replyKeys(client *c, bool with_flags) {
    const serverCommand *cmd = commandOfArgs(c);
    if (!cmd) return;

    const slice *argv = c->argv + 2;
    uint32_t argc = c->argc - 2;
    requestKey on_stack[KEYS_ON_STACK], *keys = on_stack;
    if (argc > KEYS_ON_STACK) keys = zmalloc(argc * sizeof(requestKey));
    int count = commandExtractKeys(cmd, argv, argc, keys, (int)argc);

    if (count <= 0) {
        if (cmd->flags & CMD_NO_MANDATORY_KEYS) addReplyArrayLen(c, 0);
        else addReplyError(c, "Invalid arguments specified for command");
    } else {
        addReplyArrayLen(c, count);
    }
    for (int i = 0; i < count; i++) {
        if (with_flags) addReplyArrayLen(c, 2);
        addReplyBulk(c, argv[keys[i].index]);
        if (with_flags) replyBitNames(c, keys[i].flags, 32, commandKeyFlagName, "+");
    }
    if (keys != on_stack) zfree(keys);
}

void commandGetkeysCommand(client *c) { replyKeys(c, false); }
void commandGetkeysandflagsCommand(client *c) { replyKeys(c, true); }
