/* primary_words.h -- what a primary says before its stream begins: lines, without their ends, taken apart.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_PRIMARY_WORDS_H
#define REPL_PRIMARY_WORDS_H

#include "platform.h"

#include <limits.h>

#define PRIMARY_ID_BYTES 40
/* No stream gets there. What is counted from a lower offset does not overflow. */
#define PRIMARY_OFFSET_MAX (LLONG_MAX / 2)

/* Whether a line begins with these words. */
bool lineBegins(const char *line, const char *with);

/* The reply to PSYNC. */
typedef enum {
    PRIMARY_CONTINUES, /* +CONTINUE: the stream goes on under `id`, "": as it was */
    PRIMARY_SENDS_ALL, /* +FULLRESYNC: the dataset, which is at `offset` of the stream `id` */
    PRIMARY_WANTS_TWO, /* +DUALCHANNELSYNC: ... by another connection */
    PRIMARY_NOT_NOW,   /* an error that goes away by itself */
    PRIMARY_KNOWS_NOT, /* another error, or something else: it does not know PSYNC */
    PRIMARY_MUMBLES    /* one of the first two, but what it says is not understood */
} primaryAnswer;
typedef struct primaryPlace {
    char id[PRIMARY_ID_BYTES + 1];
    long long offset;
} primaryPlace;
primaryAnswer primaryReadAnswer(const char *line, primaryPlace *place);

/* "$ENDOFF:<offset> <id> <db> <client>": where the dataset of a second connection is, and whose it is. */
typedef struct primaryEnd {
    primaryPlace place;
    long long db; /* -1: the stream will say it */
    long long client;
} primaryEnd;
/* False: it is not that. */
bool primaryReadEnd(const char *line, primaryEnd *out);

#endif
