/* syntax.h -- the arguments of a command: as text, and those that are still to be typed.
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
    ARG_BLOCK  /* its parts, one after the other */
} argKind;

/* The kind of a value; text if the documentation names none. */
typedef enum { VALUE_TEXT, VALUE_KEY, VALUE_INTEGER, VALUE_DOUBLE, VALUE_TIME, VALUE_PATTERN } valueKind;

/* One argument as COMMAND DOCS describes it. Strings that come from there are sds. */
typedef struct argNode {
    argKind kind;
    valueKind value;    /* of ARG_VALUE */
    char *token, *name; /* own; either may be NULL */
    bool optional, multiple, multiple_token;
    struct argNode *parts; /* owns */
    size_t part_count;
} argNode;

/* Builds nodes from the list under "arguments" in a COMMAND DOCS reply; lists nested more than 16 deep are cut. The
 * caller frees the array with syntaxFree(). NULL with *count 0 if the list is empty. */
argNode *syntaxFromDocs(const replyValue *list, size_t *count);
void syntaxFree(argNode *nodes, size_t count);

/* Returns all arguments as one line: "key value [NX|XX]". */
sds syntaxText(const argNode *nodes, size_t count);
/* Returns the text of the arguments that can follow `argc` words; empty if none can, NULL if the words do not fit. With
 * `unfinished` the last word is still being typed: if it fits nothing but may become a token, it is ignored. */
sds syntaxRemainder(const argNode *nodes, size_t count, const slice *argv, size_t argc, bool unfinished);
/* Stores the tokens that may follow `argc` complete words in `tokens`, borrowed from the nodes, at most `max`. Returns
 * their number. */
size_t syntaxTokens(const argNode *nodes, size_t count, const slice *argv, size_t argc, const char **tokens,
                    size_t max);

#endif
