/* reply_value.h -- a whole reply as a tree, for programs that show or look into it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_REPLY_VALUE_H
#define TOOLS_REPLY_VALUE_H

#include "slice.h"

/* `type` is the byte of the protocol, with one name per thing: null is '_' (also "$-1" and "*-1"), errors are '-'
 * (also '!'). */
typedef struct replyValue {
    char type;
    long long integer; /* ':' and '#' */
    char *str;         /* owns, NUL-terminated: text of + - : , ( $ = (without its format prefix) */
    size_t len;
    size_t count;             /* items; a map has two per pair */
    struct replyValue *items; /* owns: * ~ > % */
} replyValue;

/* The reply that fills [p, p+len), which replyScan() has found to be whole. Attributes are dropped. NULL when it is
 * not, or nested deeper than any server sends. */
replyValue *replyValueParse(const char *p, size_t len);
void replyValueFree(replyValue *v); /* NULL is allowed */

bool replyIsError(const replyValue *v);
bool replyIsText(const replyValue *v); /* bulk, status or verbatim */
bool replyIsList(const replyValue *v); /* array, set, push or map */
/* The value that follows the text `key` in a map, or in an array of pairs; NULL when there is none. */
const replyValue *replyLookup(const replyValue *v, const char *key);

#endif
