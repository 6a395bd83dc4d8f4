/* check_rdb_text.h -- makes bytes of a snapshot printable, on a line or in JSON.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_TEXT_H
#define PERSIST_CHECK_RDB_TEXT_H

#include "sds.h"
#include "slice.h"

#include <stdio.h>

/* Returns the text on one line, printable: other bytes and the backslash are escaped (\n, \r, \t, \\, \xff), and a long
 * text is cut and ends with "...". The caller frees it. */
sds checkRdbText(slice bytes);
/* Returns the name of an RDB type, or "unknown". */
const char *checkRdbTypeName(int rdb_type);
/* Prints the text as a JSON string with its quotes. */
void checkRdbPutJson(FILE *out, const char *text);

#endif
