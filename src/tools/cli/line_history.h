/* line_history.h -- the lines typed before, in memory and in a file.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_HISTORY_H
#define CLI_LINE_HISTORY_H

#include "sds.h"

#define HISTORY_MAX 1000

typedef struct lineHistory lineHistory;

/* With the lines of the file at `path`, if there are any; NULL: in memory only. */
lineHistory *lineHistoryOpen(const char *path);
void lineHistoryClose(lineHistory *h);
/* Remember a line, here and at the end of the file. Empty lines and repetitions of the last one are not kept. */
void lineHistoryAdd(lineHistory *h, const char *line);
size_t lineHistoryCount(const lineHistory *h);
const char *lineHistoryAt(const lineHistory *h, size_t back); /* 0: the youngest; borrowed until the next change */
/* How far back the next line that holds `part` is, from `back` on; the count when there is none. */
size_t lineHistoryFind(const lineHistory *h, const char *part, size_t back);

#endif
