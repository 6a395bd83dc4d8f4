/* suggest.h -- which known word did somebody mean who typed an unknown one?
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SUGGEST_H
#define TOOLS_SUGGEST_H

#include "platform.h"

/* The best guess so far. Start with {.word = what was typed}. */
typedef struct suggestion {
    const char *word; /* borrowed */
    const char *best; /* borrowed from the candidates; NULL while none is near */
    int distance;
} suggestion;

/* Consider a candidate. Case and leading dashes do not count. Words beyond 32 characters are near nothing. */
void suggestConsider(suggestion *s, const char *candidate);

#endif
