/* reply_value.h -- a complete reply as a tree, for programs that print or inspect it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_REPLY_VALUE_H
#define TOOLS_REPLY_VALUE_H

#include "slice.h"

/* `type` is the type byte of the protocol, reduced to one per meaning: null is '_' (also "$-1" and "*-1"), an error is
 * '-' (also '!'). */
typedef struct replyValue {
    char type;
    long long integer; /* ':' and '#' */
    char *str;         /* owns, NUL-terminated: text of + - : , ( $ = (without its format prefix) */
    size_t len;
    size_t count;             /* number of items; a map has two per pair */
    struct replyValue *items; /* owns: * ~ > % */
} replyValue;

/* Parses the reply that fills [p, p+len), whose end replyScan() has found. Drops attributes. Returns NULL if the bytes
 * are malformed or cut, or nested deeper than 128 levels. */
replyValue *replyValueParse(const char *p, size_t len);
void replyValueFree(replyValue *v); /* NULL is allowed */

bool replyIsError(const replyValue *v);
bool replyIsText(const replyValue *v); /* bulk, status or verbatim */
bool replyIsList(const replyValue *v); /* array, set, push or map */
/* Returns the value that follows the text `key` in a map, or in an array of pairs; NULL if there is none. */
const replyValue *replyLookup(const replyValue *v, const char *key);
const char *replyLookupText(const replyValue *v, const char *key); /* the same, if the value is a text */

#endif
