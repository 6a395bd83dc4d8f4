/* sync_cause.h -- why a replica needs a full synchronization, and what would have avoided it: a log line and counters.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SYNC_CAUSE_H
#define REPL_SYNC_CAUSE_H

#include "replicas.h"

typedef enum {
    SYNC_NEW,           /* the replica has asked for the whole dataset */
    SYNC_OTHER_ID,      /* its replication ID is none of this server's */
    SYNC_DIVERGED,      /* it has bytes of the previous ID's stream that this server has not */
    SYNC_AHEAD,         /* the same of the present ID's stream */
    SYNC_BACKLOG_SMALL, /* the backlog is full, and begins after its offset */
    SYNC_BACKLOG_NEW,   /* the backlog is not full, and begins after its offset, or there is none */
    SYNC_OUTPUT_LIMIT,  /* its previous connection was closed at its output limit */
    SYNC_CAUSES
} syncCauseKind;

typedef struct syncCause {
    syncCauseKind kind;
    unsigned long long bytes;  /* DIVERGED, AHEAD: their number; BACKLOG_...: missing ones */
    unsigned long long needed; /* BACKLOG_SMALL: size of a backlog that would have been enough */
} syncCause;

extern unsigned long long sync_causes[SYNC_CAUSES]; /* since startup or CONFIG RESETSTAT */

/* Returns the cause if the backlog lacks the bytes from `offset` on, which is not beyond the end of the stream. */
syncCause syncCauseOfBacklog(uint64_t offset);
/* Counts the cause of a full synchronization that begins, and logs it. */
void syncCauseReport(const replicaState *r, syncCause cause);
/* Call when the connection of a replica was closed: remembers it if its output limit was the reason. */
void syncCauseNoteLoss(const replicaState *r);

#endif
