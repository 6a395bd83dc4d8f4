/* acl_words.c -- a list of words of a user's rules in order, each once, with an index to find them.
 *
 * Not here    what the words mean (acl_selector.c, acl_user.c).
 * Owns        the words.
 * Threads     main.
 * Invariants  1. Each word of the list is in `by_text` under its aclIndexKey(), and nothing else is.
 * Cost        a step for each byte of a text.
 * Tests       tests/unit/engine/acl/acl_user_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl_words.h"

#include "hash.h"
#include "panic.h"
#include "rax.h"
#include "zmalloc.h"

static_assert(ACL_INDEX_START < RAX_SURE_KEY, "the start of a long text is in its key as well");

static void wordsCheck(const aclWords *w) {
    debugAssert(!w->first == (w->count == 0) && !w->last == !w->first);
    debugAssert(w->count == (w->by_text ? raxSize(w->by_text) : 0));
    debugAssert(!w->first || (!w->first->prev && !w->last->next));
    unused(w);
}

slice aclIndexKey(slice text, char buffer[ACL_INDEX_KEY]) {
    if (text.len <= RAX_SURE_KEY) return text;
    memcpy(buffer, text.ptr, ACL_INDEX_START);
    buffer[ACL_INDEX_START] = '\0';
    sha256Hex(buffer + ACL_INDEX_START + 1, text.ptr, text.len);
    return sliceOf(buffer, ACL_INDEX_KEY - 1);
}

aclWord *aclWordsFind(const aclWords *w, slice text) {
    char buffer[ACL_INDEX_KEY];
    void *found;
    return w->by_text && raxFind(w->by_text, aclIndexKey(text, buffer), &found) ? found : NULL;
}

aclWord *aclWordsFindStart(const aclWords *w, slice start) {
    debugAssert(start.len <= ACL_INDEX_START);
    aclWord *found = NULL;
    raxIterator it;
    if (!w->by_text) return NULL;
    raxIterBegin(&it, w->by_text);
    if (raxIterSeek(&it, RAX_SEEK_GE, start)) found = raxIterValue(&it);
    raxIterEnd(&it);
    return found && sdsLen(found->text) >= start.len && memcmp(found->text, start.ptr, start.len) == 0 ? found : NULL;
}

void aclWordsAppend(aclWords *w, aclWord *word) {
    char buffer[ACL_INDEX_KEY];
    if (!w->by_text) w->by_text = raxCreate();
    raxResult added = raxTryInsert(w->by_text, aclIndexKey(sdsSlice(word->text), buffer), word, NULL);
    serverAssert(added == RAX_ADDED);
    word->prev = w->last;
    word->next = NULL;
    if (w->last) w->last->next = word;
    else w->first = word;
    w->last = word;
    w->count++;
    wordsCheck(w);
}

static void freeWord(aclWord *word) {
    sdsFree(word->text);
    zfree(word);
}

void aclWordsDrop(aclWords *w, aclWord *word) {
    char buffer[ACL_INDEX_KEY];
    bool removed = raxRemove(w->by_text, aclIndexKey(sdsSlice(word->text), buffer), NULL);
    serverAssert(removed);
    if (word->prev) word->prev->next = word->next;
    else w->first = word->next;
    if (word->next) word->next->prev = word->prev;
    else w->last = word->prev;
    w->count--;
    wordsCheck(w);
    freeWord(word);
}

void aclWordsClear(aclWords *w) {
    wordsCheck(w);
    for (aclWord *word = w->first, *next; word; word = next) {
        next = word->next;
        freeWord(word);
    }
    if (w->by_text) raxRelease(w->by_text, NULL);
    *w = (aclWords){.count = 0};
}
