/* acl_words.h -- a list of words of a user's rules in order, each once, with an index to find them.
 *
 * A client chooses how many there are, so nothing here visits all of them, except to show or free them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_WORDS_H
#define ENGINE_ACL_WORDS_H

#include "rax.h"
#include "sds.h"

/* Head of a list element. It is the first field of the caller's struct, which is one allocation. */
typedef struct aclWord {
    sds text; /* owns */
    struct aclWord *prev, *next;
} aclWord;

/* Initialize to zero. */
typedef struct aclWords {
    aclWord *first, *last; /* owns */
    rax *by_text;          /* owns; NULL until the first word */
    uint32_t count;
} aclWords;

#define ACL_INDEX_START 100
#define ACL_INDEX_KEY (ACL_INDEX_START + 1 + 64 + 1)
/* Returns the key under which a text without a NUL is stored in a rax. It is the text itself or, as inserting a very
 * long key might fail for lack of memory, its beginning and a digest, which are put into `buffer`. */
slice aclIndexKey(slice text, char buffer[ACL_INDEX_KEY]);

/* Returns the word with this text, or NULL. */
aclWord *aclWordsFind(const aclWords *w, slice text);
/* Returns any word that begins with `start`, which has at most ACL_INDEX_START bytes; NULL if there is none. */
aclWord *aclWordsFindStart(const aclWords *w, slice start);
/* Appends `word` (takes ownership), whose text must be absent. */
void aclWordsAppend(aclWords *w, aclWord *word);
/* Removes and frees a word of the list. */
void aclWordsDrop(aclWords *w, aclWord *word);
/* Removes and frees all words. */
void aclWordsClear(aclWords *w);

#endif
