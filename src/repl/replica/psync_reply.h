/* psync_reply.h -- parses the answers of a primary to PSYNC and SYNC: single lines, without their line ends.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_PSYNC_REPLY_H
#define REPL_PSYNC_REPLY_H

#include "platform.h"

#include <limits.h>

#define PRIMARY_ID_BYTES 40
/* The highest offset that is accepted. No stream gets that far, and offsets counted from there do not overflow. */
#define PRIMARY_OFFSET_MAX (LLONG_MAX / 2)

/* Returns whether a line begins with this text. */
bool lineBegins(const char *line, const char *with);

/* The reply to PSYNC. */
typedef enum {
    PSYNC_CONTINUES,    /* +CONTINUE: the stream continues with the ID `id`, or with the same ID if that is "" */
    PSYNC_FULL,         /* +FULLRESYNC: the dataset follows, which is at `offset` of the stream `id` */
    PSYNC_DUAL_CHANNEL, /* +DUALCHANNELSYNC: the replica is to request the dataset on a second connection */
    PSYNC_NOT_NOW,      /* a temporary error */
    PSYNC_UNKNOWN,      /* any other answer: the primary may not know PSYNC */
    PSYNC_MALFORMED     /* one of the first two with wrong syntax */
} psyncReply;
typedef struct replPosition {
    char id[PRIMARY_ID_BYTES + 1];
    long long offset; /* -1 if the line has none */
} replPosition;
/* Parses the reply to PSYNC. */
psyncReply psyncReplyParse(const char *line, replPosition *position);

/* "$ENDOFF:<offset> <id> <db> <client>", the answer to SYNC on a second connection. */
typedef struct syncEnd {
    replPosition position; /* of the dataset in the replication stream */
    long long db;          /* selected in the stream there; -1 if the stream will select one */
    long long client;      /* the primary's client ID of the second connection */
} syncEnd;
/* Parses that line. Returns false if it is not valid. */
bool syncEndParse(const char *line, syncEnd *out);

#endif
