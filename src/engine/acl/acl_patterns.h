/* acl_patterns.h -- the patterns of keys or channels that a selector allows, preprocessed for fast matching.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_PATTERNS_H
#define ENGINE_ACL_PATTERNS_H

#include "sds.h"

/* Access that a key pattern allows; a channel's pattern has both bits. */
enum { ACL_READ = 1, ACL_WRITE = 2, ACL_READ_WRITE = 3 };

typedef struct aclPattern {
    uint64_t first, mask; /* the first eight literal bytes, and a mask of those
                           * that exist: a text that differs there does not match */
    sds text;             /* owns */
    uint32_t literal;     /* number of bytes before the first special one */
    uint8_t access;       /* ACL_READ, ACL_WRITE */
    bool open;            /* the literal bytes are followed by one star and nothing else */
} aclPattern;

typedef struct aclPatterns {
    aclPattern *items; /* owns */
    uint32_t count;
    bool all; /* everything is allowed; then `items` is empty */
    size_t capacity;
    struct rax *by_text; /* owns; index in `items`; NULL while there are few */
} aclPatterns;

/* Returns whether the text has a blank or a NUL: names of users and patterns must not. */
bool aclHasBlank(slice text);

/* Adds a pattern; if it is present already, adds `access` to its own. */
void aclPatternsAdd(aclPatterns *p, slice text, unsigned access);
/* Frees all patterns; `all`: everything is allowed from now on. */
void aclPatternsClear(aclPatterns *p, bool all);
/* Returns a deep copy. */
aclPatterns aclPatternsDup(const aclPatterns *p);
/* Returns whether a pattern that allows all of `access` matches the text. */
bool aclPatternsMatch(const aclPatterns *p, slice text, unsigned access);
/* Returns whether the text itself is one of the patterns, or everything is allowed. A client may subscribe to a pattern
 * only then. */
bool aclPatternsHave(const aclPatterns *p, slice text);

#endif
