/* syntax.h -- the arguments of a command: as text, and what of them is still to be typed.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SYNTAX_H
#define TOOLS_SYNTAX_H

#include "reply_value.h"
#include "sds.h"

typedef enum {
    ARG_VALUE, /* any word */
    ARG_TOKEN, /* its token alone */
    ARG_ONEOF, /* one of its parts */
    ARG_BLOCK  /* its parts in turn */
} argKind;

/* What a value is; text where nothing is said. */
typedef enum { VALUE_TEXT, VALUE_KEY, VALUE_INTEGER, VALUE_DOUBLE, VALUE_TIME, VALUE_PATTERN } valueKind;

/* One argument as COMMAND DOCS describes it. Strings are sds when they come from there. */
typedef struct argNode {
    argKind kind;
    valueKind value;    /* of ARG_VALUE */
    char *token, *name; /* own; either may be NULL */
    bool optional, multiple, multiple_token;
    struct argNode *parts; /* owns */
    size_t part_count;
} argNode;

/* The list that a COMMAND DOCS reply holds under "arguments". Free each of *count nodes' insides and the array with
 * syntaxFree(). A list nested beyond reason is cut. */
argNode *syntaxFromDocs(const replyValue *list, size_t *count);
void syntaxFree(argNode *nodes, size_t count);

/* All arguments as one line: "key value [NX|XX]". */
sds syntaxText(const argNode *nodes, size_t count);
/* What is still to come after `argc` words. `unfinished`: the last word is still being typed, and if it fits nothing
 * but may become a token, it is left out of account. Empty when nothing is to come; NULL when the words do not fit. */
sds syntaxRemainder(const argNode *nodes, size_t count, const slice *argv, size_t argc, bool unfinished);
/* The tokens that may stand next after `argc` whole words, borrowed from the nodes, at most `max` of them. */
size_t syntaxTokens(const argNode *nodes, size_t count, const slice *argv, size_t argc, const char **tokens,
                    size_t max);

#endif
