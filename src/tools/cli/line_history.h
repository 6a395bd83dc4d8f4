/* line_history.h -- the lines entered before, in memory and in a file.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_HISTORY_H
#define CLI_LINE_HISTORY_H

#include "sds.h"

#define HISTORY_MAX 1000

typedef struct lineHistory lineHistory;

/* Opens a history with the lines of the file at `path`, if it exists. NULL: in memory only. */
lineHistory *lineHistoryOpen(const char *path);
void lineHistoryClose(lineHistory *h);
/* Appends a line to the history and its file, unless it is empty or equal to the last one. */
void lineHistoryAdd(lineHistory *h, const char *line);
size_t lineHistoryCount(const lineHistory *h);
const char *lineHistoryAt(const lineHistory *h, size_t back); /* 0 is the newest; borrowed until the next change */
/* Searches from index `back` towards older lines. Returns the index of the first line that contains `part`; the count
 * if there is none. */
size_t lineHistoryFind(const lineHistory *h, const char *part, size_t back);

#endif
