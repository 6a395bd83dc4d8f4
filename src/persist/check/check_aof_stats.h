/* check_aof_stats.h -- statistics of an append-only file: commands by name, and the time that it covers.
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
void aofStatsFree(aofStats *s); /* NULL is allowed */
/* Counts a command, under its full name ("xgroup|create") if the table of commands has it. */
void aofStatsCommand(aofStats *s, const aofScanItem *item);
/* Counts a timestamp, and extends the time range to it; ignores other annotations. */
void aofStatsAnnotation(aofStats *s, const aofScanItem *item);
/* Prints a table, the commands with the most bytes first. */
void aofStatsPrint(const aofStats *s, FILE *out);

/* Parses "#TS:<seconds>\r\n". Returns false if it is another annotation; *good is false if there is no valid number. */
bool aofTimestamp(slice line, int64_t *seconds, bool *good) must_check;

#endif
