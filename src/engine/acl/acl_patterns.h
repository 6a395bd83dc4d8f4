/* acl_patterns.h -- the patterns of keys or channels that a selector allows, with what is known of each ahead.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_PATTERNS_H
#define ENGINE_ACL_PATTERNS_H

#include "sds.h"

/* What a key pattern is for; a channel's has both. */
enum { ACL_READ = 1, ACL_WRITE = 2, ACL_READ_WRITE = 3 };

typedef struct aclPattern {
    uint64_t first, mask; /* the first eight literal bytes, and which of them there are: what differs does not match */
    sds text;             /* owns */
    uint32_t literal;     /* bytes before the first that is special */
    uint8_t access;       /* ACL_READ, ACL_WRITE */
    bool open;            /* one star follows them and nothing else */
} aclPattern;

typedef struct aclPatterns {
    aclPattern *items; /* owns */
    uint32_t count;
    bool all; /* everything is allowed, and `items` is empty */
    uint32_t capacity;
    struct rax *by_text; /* owns: where in `items`; NULL while there are few */
} aclPatterns;

/* Whether there is a byte that parts words, or a NUL: neither names of users nor patterns have one. */
bool aclHasBlank(slice text);

/* Add a pattern; one that is there already gets `access` beside its own. */
void aclPatternsAdd(aclPatterns *p, slice text, unsigned access);
void aclPatternsClear(aclPatterns *p, bool all);
aclPatterns aclPatternsDup(const aclPatterns *p);
/* Whether one pattern that has all of `access` matches. */
bool aclPatternsMatch(const aclPatterns *p, slice text, unsigned access);
/* Whether the text stands there itself: a subscription to a pattern must be one that is allowed, letter by letter. */
bool aclPatternsHave(const aclPatterns *p, slice text);

#endif
