/* suggest.h -- the known word that is most similar to an unknown one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SUGGEST_H
#define TOOLS_SUGGEST_H

#include "platform.h"

/* The best guess so far. Initialize it as {.word = unknown_word}. */
typedef struct suggestion {
    const char *word; /* borrowed */
    const char *best; /* borrowed from the candidates; NULL while none is similar */
    int distance;
} suggestion;

/* Makes `candidate` the best guess if it is more similar than the present one. Case and leading dashes do not count.
 * Words of more than 32 characters are never similar. */
void suggestConsider(suggestion *s, const char *candidate);

#endif
