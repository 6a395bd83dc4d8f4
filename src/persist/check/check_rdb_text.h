/* check_rdb_text.h -- bytes of a snapshot made fit for a line or for JSON.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_TEXT_H
#define PERSIST_CHECK_RDB_TEXT_H

#include "sds.h"
#include "slice.h"

#include <stdio.h>

/* On one line, printable: other bytes and the backslash are escaped (\n, \r, \t, \\, \xff), and of a long text the rest
 * is left out with "...". A new sds. */
sds checkRdbText(slice bytes);
/* The name of a value's type in a file. */
const char *checkRdbTypeName(int rdb_type);
/* As a string of JSON with its quotes. */
void checkRdbPutJson(FILE *out, const char *text);

#endif
