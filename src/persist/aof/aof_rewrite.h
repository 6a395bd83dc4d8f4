/* aof_rewrite.h -- rewrites the log from the dataset, on command, when it has grown, or when scheduled.
 *
 * Runs on: main; children are started, and end, on main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_REWRITE_H
#define PERSIST_AOF_REWRITE_H

#include "client.h"
#include "rdb_save.h"

/* Call at startup. */
void aofRewriteInit(void);
/* Call at each tick, before snapshotTick(): starts a rewrite that is scheduled or due, and handles results of
 * background work. */
void aofRewriteTick(void);
/* Kills the child of a running rewrite and waits for its end, and cancels a scheduled one; the log continues as
 * before. */
void aofRewriteAbandon(void);
/* Returns true while a rewrite makes the first base of a log that is being turned on. */
bool aofRewriteIsFirst(void);

/* INFO fields. */
typedef struct aofRewriteFigures {
    bool in_progress, scheduled, last_ok;
    long long last_took_s, current_took_s; /* -1: none */
    long long started, failures;           /* since startup; failures in a row */
    size_t last_cow_bytes;
} aofRewriteFigures;
aofRewriteFigures aofRewriteFiguresNow(void);
/* For CONFIG RESETSTAT: resets the number of rewrites, and that of failures in a row, so that the next attempt does not
 * wait. */
void aofRewriteResetStats(void);

/* The handler of BGREWRITEAOF. */
void bgrewriteaofCommand(client *c);

/* --- aof_base.c --------------------------------------------------------------------------------------- */
/* The value of rdbSaveOptions.as_commands, for a base without RDB preamble. The functions run in the process that
 * saves, usually a child, and write to no memory of the dataset. */
extern const rdbCommandForm aof_base_commands;

#endif
