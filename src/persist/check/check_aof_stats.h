/* check_aof_stats.h -- what an append-only file consists of: commands by name, and the time that it covers.
 *
 * Runs on: one thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_AOF_STATS_H
#define PERSIST_CHECK_AOF_STATS_H

#include "aof_scan.h"

#include <stdio.h>

typedef struct aofStats aofStats;

aofStats *aofStatsCreate(void);
void aofStatsFree(aofStats *s); /* NULL is fine */
/* Count a command, under its full name ("xgroup|create") where the table of commands knows it. */
void aofStatsCommand(aofStats *s, const aofScanItem *item);
void aofStatsAnnotation(aofStats *s, const aofScanItem *item);
/* A table, the commands with the most bytes first. */
void aofStatsPrint(const aofStats *s, FILE *out);

/* The seconds of "#TS:<seconds>\r\n". False when it is another annotation; *good: whether there is a number. */
bool aofTimestamp(slice line, int64_t *seconds, bool *good) must_check;

#endif
