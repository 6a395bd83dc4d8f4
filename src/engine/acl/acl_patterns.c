/* acl_patterns.c -- the patterns of keys or channels that a selector allows, preprocessed for fast matching.
 *
 * Most patterns are a prefix and a star, so a comparison with the prefix decides for most keys; globMatch() does the
 * rest.
 *
 * Not here    which keys are checked (acl_check.c).
 * Owns        texts, and an index of them once there are many.
 * Threads     main.
 * Invariants  1. Each pattern is there once. From sixteen on all are in `by_text`. If everything is allowed there is
 *                none.
 *             2. `first` is zero where `mask` is.
 * Cost        a comparison a pattern; a globMatch() if the literal part matches and more follows.
 * Tests       tests/unit/engine/acl/acl_user_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_patterns.h"

#include "acl_words.h"
#include "slice.h"
#include "panic.h"
#include "zmalloc.h"

bool aclHasBlank(slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\0' || isBlank(text.ptr[i])) return true;
    return false;
}

static uint32_t literalBytes(slice text) {
    uint32_t n = 0;
    while (n < text.len && text.ptr[n] != '*' && text.ptr[n] != '?' && text.ptr[n] != '[' && text.ptr[n] != '\\') n++;
    return n;
}

/* Returns the first eight bytes, padded with zeros. */
static uint64_t firstBytes(const char *p, size_t len) {
    uint64_t bytes = 0;
    if (len >= sizeof(bytes)) memcpy(&bytes, p, sizeof(bytes));
    else memcpy(&bytes, p, len);
    return bytes;
}

#define INDEXED_FROM 16

static void patternsCheck(const aclPatterns *p) {
    debugAssert(p->count <= p->capacity && (!p->all || p->count == 0));
    debugAssert(!p->by_text == (p->count < INDEXED_FROM));
    debugAssert(!p->by_text || raxSize(p->by_text) == p->count);
    unused(p);
}

static aclPattern *findPattern(const aclPatterns *p, slice text) {
    char buffer[ACL_INDEX_KEY];
    void *at;
    if (p->by_text) return raxFind(p->by_text, aclIndexKey(text, buffer), &at) ? &p->items[(uintptr_t)at] : NULL;
    for (uint32_t i = 0; i < p->count; i++)
        if (sliceEq(sdsSlice(p->items[i].text), text)) return &p->items[i];
    return NULL;
}

/* Adds the patterns from index `from` on to `by_text`. */
static void indexFrom(aclPatterns *p, uint32_t from) {
    char buffer[ACL_INDEX_KEY];
    if (p->count < INDEXED_FROM) return;
    if (!p->by_text) {
        p->by_text = raxCreate();
        from = 0;
    }
    for (uint32_t i = from; i < p->count; i++) {
        slice key = aclIndexKey(sdsSlice(p->items[i].text), buffer);
        raxResult added = raxTryInsert(p->by_text, key, (void *)(uintptr_t)i, NULL);
        serverAssert(added == RAX_ADDED);
    }
}

void aclPatternsAdd(aclPatterns *p, slice text, unsigned access) {
    debugAssert(!p->all && access != 0 && access <= ACL_READ_WRITE);
    patternsCheck(p);
    aclPattern *there = findPattern(p, text);
    if (there) {
        there->access |= (uint8_t)access;
        return;
    }
    p->items = zgrowArray(p->items, p->count, &p->capacity, sizeof(*p->items));
    uint32_t literal = literalBytes(text);
    p->items[p->count++] = (aclPattern){.first = firstBytes(text.ptr, literal),
                                        .mask = firstBytes("\xff\xff\xff\xff\xff\xff\xff\xff", literal),
                                        .text = sdsFromSlice(text),
                                        .literal = literal,
                                        .access = (uint8_t)access,
                                        .open = literal + 1 == text.len && text.ptr[literal] == '*'};
    debugAssert(!(p->items[p->count - 1].first & ~p->items[p->count - 1].mask));
    indexFrom(p, p->count - 1);
    patternsCheck(p);
}

void aclPatternsClear(aclPatterns *p, bool all) {
    patternsCheck(p);
    for (uint32_t i = 0; i < p->count; i++) sdsFree(p->items[i].text);
    zfree(p->items);
    if (p->by_text) raxRelease(p->by_text, NULL);
    *p = (aclPatterns){.all = all};
}

aclPatterns aclPatternsDup(const aclPatterns *p) {
    aclPatterns copy = {.count = p->count, .all = p->all, .capacity = p->count};
    copy.items = p->count ? zmalloc(p->count * sizeof(*p->items)) : NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        copy.items[i] = p->items[i];
        copy.items[i].text = sdsDup(p->items[i].text);
    }
    indexFrom(&copy, 0);
    patternsCheck(&copy);
    return copy;
}

/* Call if the first eight bytes match. */
static bool patternMatches(const aclPattern *p, slice text) {
    debugAssert(p->literal <= sdsLen(p->text));
    if (text.len < p->literal) return false;
    if (p->literal > sizeof(p->first) && memcmp(text.ptr, p->text, p->literal) != 0) return false;
    if (p->open) return true;
    slice pattern = sdsSlice(p->text);
    if (p->literal == pattern.len) return text.len == pattern.len;
    size_t skip = text.len > p->literal ? p->literal : 0; /* globMatch() treats an empty text specially */
    return globMatch(sliceOf(pattern.ptr + skip, pattern.len - skip), sliceOf(text.ptr + skip, text.len - skip), false);
}

bool aclPatternsMatch(const aclPatterns *p, slice text, unsigned access) {
    if (p->all) return true;
    uint64_t first = firstBytes(text.ptr, text.len);
    for (uint32_t i = 0; i < p->count; i++) {
        const aclPattern *item = &p->items[i];
        if ((first ^ item->first) & item->mask || (item->access & access) != access) continue;
        if (patternMatches(item, text)) return true;
    }
    return false;
}

bool aclPatternsHave(const aclPatterns *p, slice text) { return p->all || findPattern(p, text); }
