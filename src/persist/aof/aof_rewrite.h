/* aof_rewrite.h -- the log is written anew from the dataset: asked for, due, or scheduled.
 *
 * Runs on: main; children are started, and end, on main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_REWRITE_H
#define PERSIST_AOF_REWRITE_H

#include "client.h"

/* Boot. */
void aofRewriteInit(void);
/* Each tick, before snapshots: a scheduled rewrite, one that is due, what background work has brought. */
void aofRewriteTick(void);
/* End a running one and wait until its child is gone; the log goes on as it was. */
void aofRewriteAbandon(void);
/* The first base of a log that was turned on is being made. */
bool aofRewriteIsFirst(void);

/* What INFO shows. */
typedef struct aofRewriteFigures {
    bool in_progress, scheduled, last_ok;
    long long last_took_s, current_took_s; /* -1: none */
    long long started, failures;           /* since the start; one after the other */
    size_t last_cow_bytes;
} aofRewriteFigures;
aofRewriteFigures aofRewriteFiguresNow(void);
/* CONFIG RESETSTAT: how many began, and how many failed one after the other: the next one is tried at once. */
void aofRewriteResetStats(void);

void bgrewriteaofCommand(client *c);

#endif
