/* check_rdb_report.h -- prints what was found in a snapshot, as a table, as lines, as CSV or as JSON.
 *
 * Runs on: one thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_REPORT_H
#define PERSIST_CHECK_RDB_REPORT_H

#include "check_rdb_pass.h"

typedef enum { CHECK_RDB_TABLE, CHECK_RDB_INFO, CHECK_RDB_CSV, CHECK_RDB_JSON } checkRdbFormat;

/* Prints the figures of each database; not for CHECK_RDB_JSON. */
void checkRdbPutStats(FILE *out, checkRdbFormat format, const checkRdbStats *s);
/* Prints the largest keys, one per line. They must be sorted. */
void checkRdbPutBiggest(FILE *out, const checkRdbBiggest *b);
/* Prints everything as one JSON object on a line. */
void checkRdbPutObject(FILE *out, const char *path, const checkRdbFound *found, const checkRdbStats *s,
                       const checkRdbBiggest *b);

#endif
