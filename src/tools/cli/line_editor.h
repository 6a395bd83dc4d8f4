/* line_editor.h -- reads a line from a terminal, and lets the user edit it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_EDITOR_H
#define CLI_LINE_EDITOR_H

#include "line_history.h"

/* Possible completions. `from` is the offset in the line at which the replaced word begins. */
typedef struct lineChoices {
    sds *words; /* owns */
    size_t count, from;
} lineChoices;

/* Callbacks for completion and hints. Either may be NULL. */
typedef struct lineAdvice {
    /* Returns the completions of `line` when TAB is pressed at its end. The editor frees the words. */
    lineChoices (*complete)(void *arg, const char *line);
    /* Returns the text that is shown in grey after the line; NULL for none. The editor frees it. */
    sds (*hint)(void *arg, const char *line);
    void *arg;
} lineAdvice;

typedef struct lineEditor lineEditor;

/* Creates an editor that borrows `advice` and `history` as long as it exists. */
lineEditor *lineEditorNew(const lineAdvice *advice, lineHistory *history);
void lineEditorFree(lineEditor *e);
/* Waits for a line, which the caller owns; a line that was pasted may contain newlines. Returns NULL at the end of
 * input: Ctrl-D or Ctrl-C in an empty line, or a closed terminal. The terminal's modes are restored on return. */
sds lineEditorRead(lineEditor *e, const char *prompt);

#endif
