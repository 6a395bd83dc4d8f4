/* syntax.c -- the arguments of a command: as text, and those that are still to be typed.
 *
 * Words are assigned to arguments from left to right, each to the first argument that can take it:
 *
 *     SET key value [NX|XX] [GET] [EX seconds|PX milliseconds|KEEPTTL]
 *          k    5                  EX                                      -> seconds [NX|XX] [GET]
 *
 * A token wins over a value. Candidates are the optional arguments up to the next required one, and that one. Optional
 * arguments come in any order, but can no longer come after a later required one has been given. An argument that may
 * be repeated continues to take words, so in "key [key ...] timeout" the timeout never gets one: which key is the last
 * cannot be known. Hints may be wrong in such cases, as nothing depends on them.
 *
 * Tests       tests/unit/tools/syntax_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "syntax.h"
#include "zmalloc.h"

#define NESTED_MAX 16

/* ---- Reading COMMAND DOCS --------------------------------------------------------------------------------------- */

static char *copyText(const replyValue *v, const char *key) {
    const char *text = replyLookupText(v, key);
    return text ? sdsNew(text) : NULL;
}

static bool hasFlag(const replyValue *arg, const char *flag) {
    const replyValue *flags = replyLookup(arg, "flags");
    for (size_t i = 0; flags && replyIsList(flags) && i < flags->count; i++)
        if (flags->items[i].str && strcmp(flags->items[i].str, flag) == 0) return true;
    return false;
}

static argNode *nodesFromDocs(const replyValue *list, size_t *count, int depth);

static valueKind valueOf(const char *type) {
    static const struct {
        const char *type;
        valueKind value;
    } known[] = {{"key", VALUE_KEY},
                 {"integer", VALUE_INTEGER},
                 {"double", VALUE_DOUBLE},
                 {"unix-time", VALUE_TIME},
                 {"pattern", VALUE_PATTERN}};
    for (size_t i = 0; i < array_len(known); i++)
        if (strcmp(type, known[i].type) == 0) return known[i].value;
    return VALUE_TEXT;
}

static argNode nodeFromDocs(const replyValue *arg, int depth) {
    const replyValue *parts = replyLookup(arg, "arguments");
    const char *type = replyLookupText(arg, "type");
    argNode node = {.kind = ARG_VALUE,
                    .token = copyText(arg, "token"),
                    .name = copyText(arg, "display_text"),
                    .optional = hasFlag(arg, "optional"),
                    .multiple = hasFlag(arg, "multiple"),
                    .multiple_token = hasFlag(arg, "multiple_token")};
    if (!node.name) node.name = copyText(arg, "name");
    if (type) node.value = valueOf(type);
    if (type && strcmp(type, "pure-token") == 0) node.kind = ARG_TOKEN;
    if (parts && replyIsList(parts)) {
        node.kind = type && strcmp(type, "oneof") == 0 ? ARG_ONEOF : ARG_BLOCK;
        node.parts = nodesFromDocs(parts, &node.part_count, depth + 1);
    }
    return node;
}

static argNode *nodesFromDocs(const replyValue *list, size_t *count, int depth) {
    *count = 0;
    if (depth > NESTED_MAX || list->count == 0) return NULL;
    argNode *nodes = zcalloc(list->count, sizeof(argNode));
    for (size_t i = 0; i < list->count; i++)
        if (replyIsList(&list->items[i])) nodes[(*count)++] = nodeFromDocs(&list->items[i], depth);
    return nodes;
}

argNode *syntaxFromDocs(const replyValue *list, size_t *count) { return nodesFromDocs(list, count, 0); }

void syntaxFree(argNode *nodes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sdsFree(nodes[i].token);
        sdsFree(nodes[i].name);
        syntaxFree(nodes[i].parts, nodes[i].part_count);
    }
    zfree(nodes);
}

/* ---- As text ---------------------------------------------------------------------------------------------------- */

static sds catNodes(sds out, const argNode *nodes, size_t count, const char *separator);

/* Appends an argument without its token and brackets. */
static sds catBody(sds out, const argNode *a) {
    if (a->parts) return catNodes(out, a->parts, a->part_count, a->kind == ARG_ONEOF ? "|" : " ");
    return a->kind == ARG_VALUE && a->name ? sdsCat(out, a->name) : out;
}

/* Appends token and body once, without brackets. */
static sds catOnce(sds out, const argNode *a) {
    sds body = catBody(sdsEmpty(), a);
    if (a->token) out = sdsCat(out, *a->token ? a->token : "\"\"");
    if (a->token && sdsLen(body)) out = sdsCat(out, " ");
    out = sdsCatLen(out, body, sdsLen(body));
    sdsFree(body);
    return out;
}

static sds catRepetition(sds out, const argNode *a) {
    out = sdsCat(out, "[");
    out = a->multiple_token ? catOnce(out, a) : catBody(out, a);
    return sdsCat(out, " ...]");
}

static sds catNode(sds out, const argNode *a) {
    if (a->optional) out = sdsCat(out, "[");
    out = catOnce(out, a);
    if (a->multiple) out = catRepetition(sdsCat(out, " "), a);
    return a->optional ? sdsCat(out, "]") : out;
}

static sds catNodes(sds out, const argNode *nodes, size_t count, const char *separator) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0) out = sdsCat(out, separator);
        out = catNode(out, &nodes[i]);
    }
    return out;
}

sds syntaxText(const argNode *nodes, size_t count) { return catNodes(sdsEmpty(), nodes, count, " "); }

/* ---- Arguments that can follow ---------------------------------------------------------------------------------- */

/* The state of an argument while words are assigned. */
typedef enum { STATE_OPEN, STATE_REPEATABLE /* has words, may take more */, STATE_CLOSED } argState;

typedef struct typed {
    const slice *argv; /* borrowed */
    size_t argc;
    sds rest; /* owns; text of the arguments that are still to come, from where the words ran out */
    /* Tokens that may come next; for syntaxTokens(). */
    const char **tokens; /* borrowed, of capacity token_max */
    size_t token_count, token_max;
    bool value_next; /* a required argument comes before all tokens that are not collected yet */
} typed;

static bool needsToken(const argNode *a, argState state) {
    return a->token && *a->token && (state == STATE_OPEN || a->multiple_token);
}

/* Returns true if the argument can start with this word as its token. */
static bool startsWithToken(const argNode *a, argState state, slice word) {
    if (needsToken(a, state)) return sliceIs(word, a->token);
    for (size_t i = 0; i < a->part_count; i++) {
        if (startsWithToken(&a->parts[i], STATE_OPEN, word)) return true;
        if (a->kind == ARG_BLOCK && !a->parts[i].optional) break;
    }
    return false;
}

/* Returns true if the argument can start with an arbitrary value. */
static bool startsWithValue(const argNode *a, argState state) {
    if (needsToken(a, state)) return false;
    if (a->kind == ARG_VALUE) return true;
    for (size_t i = 0; i < a->part_count; i++) {
        if (startsWithValue(&a->parts[i], STATE_OPEN)) return true;
        if (a->kind == ARG_BLOCK && !a->parts[i].optional) break;
    }
    return false;
}

/* Collects the tokens that an argument may start with. */
static void collectTokens(typed *t, const argNode *a, argState state) {
    if (needsToken(a, state)) {
        if (t->token_count < t->token_max) t->tokens[t->token_count++] = a->token;
        return;
    }
    for (size_t i = 0; i < a->part_count; i++) {
        collectTokens(t, &a->parts[i], STATE_OPEN);
        if (a->kind == ARG_BLOCK && !a->parts[i].optional) break;
    }
}

/* Collects the tokens that a list may start with, up to its first required argument. `states` is NULL if all are
 * open. */
static void collectFromList(typed *t, const argNode *nodes, const argState *states, size_t count) {
    for (size_t i = 0; i < count && !t->value_next; i++) {
        argState state = states ? states[i] : STATE_OPEN;
        if (state == STATE_CLOSED) continue;
        collectTokens(t, &nodes[i], state);
        t->value_next = state == STATE_OPEN && !nodes[i].optional;
    }
}

/* Collects the tokens that may follow the argument's own token. */
static void collectFromBody(typed *t, const argNode *a) {
    if (a->kind == ARG_BLOCK) {
        collectFromList(t, a->parts, NULL, a->part_count);
        return;
    }
    for (size_t i = 0; i < a->part_count; i++) collectTokens(t, &a->parts[i], STATE_OPEN);
    t->value_next = a->kind != ARG_TOKEN;
}

/* Returns the index of the argument that takes `word`; `count` if none does. */
static size_t chooseNode(const argNode *nodes, const argState *states, size_t count, slice word) {
    size_t value = count;
    for (size_t i = 0; i < count; i++) {
        if (states[i] == STATE_CLOSED) continue;
        if (startsWithToken(&nodes[i], states[i], word)) return i;
        if (value == count && startsWithValue(&nodes[i], states[i])) value = i;
        if (states[i] == STATE_OPEN && !nodes[i].optional) break;
    }
    return value;
}

static size_t takeNodes(const argNode *nodes, size_t count, typed *t, size_t at);

/* Assigns words from `at` on to an argument that takes the first of them. Returns the index of the first word that it
 * did not take. */
static size_t takeNode(const argNode *a, argState state, typed *t, size_t at) {
    if (needsToken(a, state)) at++;
    if (at == t->argc) {
        t->rest = catBody(t->rest, a);
        collectFromBody(t, a);
        return at;
    }
    switch (a->kind) {
    case ARG_TOKEN: return at;
    case ARG_VALUE: return at + 1;
    case ARG_BLOCK: return takeNodes(a->parts, a->part_count, t, at);
    case ARG_ONEOF: break;
    }
    for (size_t i = 0; i < a->part_count; i++)
        if (startsWithToken(&a->parts[i], STATE_OPEN, t->argv[at])) return takeNode(&a->parts[i], STATE_OPEN, t, at);
    for (size_t i = 0; i < a->part_count; i++)
        if (startsWithValue(&a->parts[i], STATE_OPEN)) return takeNode(&a->parts[i], STATE_OPEN, t, at);
    return at;
}

static sds catOpen(sds out, const argNode *nodes, const argState *states, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (states[i] == STATE_CLOSED) continue;
        if (sdsLen(out)) out = sdsCat(out, " ");
        out = states[i] == STATE_REPEATABLE ? catRepetition(out, &nodes[i]) : catNode(out, &nodes[i]);
    }
    return out;
}

/* Assigns words from `at` on to a list of arguments; returns the index of the first word that was not taken. If the
 * words run out, the arguments that can still come are appended to t->rest. */
static size_t takeNodes(const argNode *nodes, size_t count, typed *t, size_t at) {
    argState *states = zcalloc(count + 1, sizeof(argState)); /* all open */
    while (at < t->argc) {
        size_t i = chooseNode(nodes, states, count, t->argv[at]);
        if (i == count) break;
        size_t next = takeNode(&nodes[i], states[i], t, at);
        if (next == at) break; /* an argument that takes no word: the description makes no sense */
        at = next;
        for (size_t j = 0; j < i && !nodes[i].optional; j++)
            if (states[j] == STATE_OPEN || states[j] == STATE_REPEATABLE) states[j] = STATE_CLOSED;
        states[i] = nodes[i].multiple ? STATE_REPEATABLE : STATE_CLOSED;
    }
    if (at == t->argc) {
        t->rest = catOpen(t->rest, nodes, states, count);
        collectFromList(t, nodes, states, count);
    }
    zfree(states);
    return at;
}

/* Returns the text of the arguments still to come; NULL if the words do not fit. */
static sds remainderOf(const argNode *nodes, size_t count, const slice *argv, size_t argc) {
    typed t = {.argv = argv, .argc = argc, .rest = sdsEmpty()};
    if (takeNodes(nodes, count, &t, 0) == argc) return t.rest;
    sdsFree(t.rest);
    return NULL;
}

/* Returns true if a token begins with `part` and is longer. */
static bool tokenBegins(const argNode *nodes, size_t count, slice part) {
    for (size_t i = 0; i < count; i++) {
        const char *token = nodes[i].token;
        if (token && strlen(token) > part.len && strncasecmp(token, part.ptr, part.len) == 0) return true;
        if (tokenBegins(nodes[i].parts, nodes[i].part_count, part)) return true;
    }
    return false;
}

sds syntaxRemainder(const argNode *nodes, size_t count, const slice *argv, size_t argc, bool unfinished) {
    sds rest = remainderOf(nodes, count, argv, argc);
    if (rest || !unfinished || argc == 0 || !tokenBegins(nodes, count, argv[argc - 1])) return rest;
    return remainderOf(nodes, count, argv, argc - 1);
}

size_t syntaxTokens(const argNode *nodes, size_t count, const slice *argv, size_t argc, const char **tokens,
                    size_t max) {
    typed t = {.argv = argv, .argc = argc, .rest = sdsEmpty(), .tokens = tokens, .token_max = max};
    size_t taken = takeNodes(nodes, count, &t, 0);
    sdsFree(t.rest);
    return taken == argc ? t.token_count : 0;
}
