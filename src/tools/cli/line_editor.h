/* line_editor.h -- read a line from a person at a terminal, who may edit it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_EDITOR_H
#define CLI_LINE_EDITOR_H

#include "line_history.h"

/* What could stand in the line: `from` is where the words that are replaced begin. */
typedef struct lineChoices {
    sds *words; /* owns */
    size_t count, from;
} lineChoices;

/* What the editor asks its user about. Either may be NULL. */
typedef struct lineAdvice {
    /* What TAB at the end of `line` could make of it. */
    lineChoices (*complete)(void *arg, const char *line);
    /* What to show behind the line, in grey; NULL for nothing. The editor frees it. */
    sds (*hint)(void *arg, const char *line);
    void *arg;
} lineAdvice;

typedef struct lineEditor lineEditor;

/* `advice` and `history` are borrowed for as long as the editor lives. */
lineEditor *lineEditorNew(const lineAdvice *advice, lineHistory *history);
void lineEditorFree(lineEditor *e);
/* Wait for a line; the caller owns it. A line that was pasted may hold newlines. NULL at the end of input: Ctrl-D or
 * Ctrl-C in an empty line, or a terminal that has gone. The terminal is as it was when this returns. */
sds lineEditorRead(lineEditor *e, const char *prompt);

#endif
