/* acl_patterns.c -- the patterns of keys or channels that a selector allows, with what is known of each ahead.
 *
 * Most patterns are a prefix and a star, so most keys are told by comparing the prefix; the rest is for globMatch().
 *
 * Not here    who asks, and with which keys (acl_check.c).
 * Owns        texts.
 * Threads     main.
 * Cost        a comparison a pattern; a walk by globMatch() where the literal part fits and more follows.
 * Tests       tests/unit/engine/acl_user_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_patterns.h"

#include "glob.h"
#include "zmalloc.h"

bool aclHasBlank(slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\0' || text.ptr[i] == ' ' || (text.ptr[i] >= '\t' && text.ptr[i] <= '\r')) return true;
    return false;
}

static uint32_t literalBytes(slice text) {
    uint32_t n = 0;
    while (n < text.len && text.ptr[n] != '*' && text.ptr[n] != '?' && text.ptr[n] != '[' && text.ptr[n] != '\\') n++;
    return n;
}

static aclPattern *findPattern(const aclPatterns *p, slice text) {
    for (uint32_t i = 0; i < p->count; i++)
        if (sliceEq(sdsSlice(p->items[i].text), text)) return &p->items[i];
    return NULL;
}

void aclPatternsAdd(aclPatterns *p, slice text, unsigned access) {
    aclPattern *there = findPattern(p, text);
    if (there) {
        there->access |= (uint8_t)access;
        return;
    }
    p->items = zrealloc(p->items, (p->count + 1) * sizeof(*p->items));
    uint32_t literal = literalBytes(text);
    p->items[p->count++] = (aclPattern){.text = sdsFromSlice(text),
                                        .literal = literal,
                                        .access = (uint8_t)access,
                                        .open = literal + 1 == text.len && text.ptr[literal] == '*'};
}

void aclPatternsClear(aclPatterns *p, bool all) {
    for (uint32_t i = 0; i < p->count; i++) sdsFree(p->items[i].text);
    zfree(p->items);
    *p = (aclPatterns){.all = all};
}

aclPatterns aclPatternsDup(const aclPatterns *p) {
    aclPatterns copy = *p;
    copy.items = p->count ? zmalloc(p->count * sizeof(*p->items)) : NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        copy.items[i] = p->items[i];
        copy.items[i].text = sdsDup(p->items[i].text);
    }
    return copy;
}

static bool patternMatches(const aclPattern *p, slice text) {
    if (text.len < p->literal || memcmp(text.ptr, p->text, p->literal) != 0) return false;
    if (p->open) return true;
    slice pattern = sdsSlice(p->text);
    if (p->literal == pattern.len) return text.len == pattern.len;
    size_t skip = text.len > p->literal ? p->literal : 0; /* an empty text is a case of its own there */
    return globMatch(sliceOf(pattern.ptr + skip, pattern.len - skip), sliceOf(text.ptr + skip, text.len - skip), false);
}

bool aclPatternsMatch(const aclPatterns *p, slice text, unsigned access) {
    if (p->all) return true;
    for (uint32_t i = 0; i < p->count; i++)
        if ((p->items[i].access & access) == access && patternMatches(&p->items[i], text)) return true;
    return false;
}

bool aclPatternsHave(const aclPatterns *p, slice text) {
    return p->all || findPattern(p, text);
}
