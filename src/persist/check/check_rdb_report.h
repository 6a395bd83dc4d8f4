/* check_rdb_report.h -- what is found in a snapshot, written down: for people, for tables, for programs.
 *
 * Runs on: one thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_REPORT_H
#define PERSIST_CHECK_RDB_REPORT_H

#include "check_rdb_pass.h"

typedef enum { CHECK_RDB_TABLE, CHECK_RDB_INFO, CHECK_RDB_CSV, CHECK_RDB_JSON } checkRdbFormat;

/* The figures of each database, in a form that is not JSON. */
void checkRdbPutStats(FILE *out, checkRdbFormat format, const checkRdbStats *s);
/* The largest keys, a line each. They are sorted. */
void checkRdbPutBiggest(FILE *out, const checkRdbBiggest *b);
/* All of it as one object on a line. */
void checkRdbPutObject(FILE *out, const char *path, const checkRdbFound *found, const checkRdbStats *s,
                       const checkRdbBiggest *b);

#endif
