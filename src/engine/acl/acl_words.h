/* acl_words.h -- words of a user's rules in the order in which they came, each once, and found by itself.
 *
 * A client chooses how many there are, so nothing here walks over all but what must show or free them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_WORDS_H
#define ENGINE_ACL_WORDS_H

#include "rax.h"
#include "sds.h"

/* Stands at the start of what is kept, which is one allocation. */
typedef struct aclWord {
    sds text; /* owns */
    struct aclWord *prev, *next;
} aclWord;

/* Starts as zeroes. */
typedef struct aclWords {
    aclWord *first, *last; /* own */
    rax *by_text;          /* owns; NULL while there was none */
    uint32_t count;
} aclWords;

/* The key under which a text without a NUL is kept in a rax: itself, or, when it is so long that there might be no room
 * for it, how it begins with a digest. */
#define ACL_INDEX_START 100
#define ACL_INDEX_KEY (ACL_INDEX_START + 1 + 64 + 1)
slice aclIndexKey(slice text, char room[ACL_INDEX_KEY]);

aclWord *aclWordsFind(const aclWords *w, slice text);
/* Any one that begins with `start`, which has ACL_INDEX_START bytes at most. */
aclWord *aclWordsFindStart(const aclWords *w, slice start);
/* At the end (takes `word`); its text is not there. */
void aclWordsAppend(aclWords *w, aclWord *word);
void aclWordsDrop(aclWords *w, aclWord *word);
void aclWordsClear(aclWords *w);

#endif
