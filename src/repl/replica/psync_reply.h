/* psync_reply.h -- what a primary says before its stream begins: lines, without their ends, taken apart.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_PSYNC_REPLY_H
#define REPL_PSYNC_REPLY_H

#include "platform.h"

#include <limits.h>

#define PRIMARY_ID_BYTES 40
/* No stream gets there. What is counted from a lower offset does not overflow. */
#define PRIMARY_OFFSET_MAX (LLONG_MAX / 2)

/* Whether a line begins with these words. */
bool lineBegins(const char *line, const char *with);

/* The reply to PSYNC. */
typedef enum {
    PSYNC_CONTINUES,    /* +CONTINUE: the stream goes on under `id`, "": as it was */
    PSYNC_FULL,         /* +FULLRESYNC: the dataset, which is at `offset` of the stream `id` */
    PSYNC_DUAL_CHANNEL, /* +DUALCHANNELSYNC: ... by another connection */
    PSYNC_NOT_NOW,      /* an error that goes away by itself */
    PSYNC_UNKNOWN,      /* another error, or something else: it does not know PSYNC */
    PSYNC_MALFORMED     /* one of the first two, but what it says is not understood */
} psyncReply;
typedef struct replPosition {
    char id[PRIMARY_ID_BYTES + 1];
    long long offset;
} replPosition;
psyncReply psyncReplyParse(const char *line, replPosition *place);

/* "$ENDOFF:<offset> <id> <db> <client>": where the dataset of a second connection is, and whose it is. */
typedef struct syncEnd {
    replPosition place;
    long long db; /* -1: the stream will say it */
    long long client;
} syncEnd;
/* False: it is not that. */
bool syncEndParse(const char *line, syncEnd *out);

#endif
