/* line_text.h -- a line that is being edited: its bytes, the cursor, what was cut last.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_TEXT_H
#define CLI_LINE_TEXT_H

#include "sds.h"

typedef struct lineText {
    sds bytes;     /* owns */
    size_t cursor; /* before this byte; always between two units (utf8UnitLen) */
    sds cut;       /* owns; what the last cut took away */
} lineText;

void lineTextInit(lineText *t);
void lineTextClear(lineText *t); /* frees; the struct may be initialized again */

/* Replace all; the cursor stands at the end. */
void lineTextSet(lineText *t, const char *p, size_t len);
void lineTextInsert(lineText *t, const char *p, size_t len);
void lineTextPaste(lineText *t); /* what was cut last */

/* Moves. A word is a run without blanks. At the end of the way nothing happens. */
void lineTextLeft(lineText *t);
void lineTextRight(lineText *t);
void lineTextWordLeft(lineText *t);
void lineTextWordRight(lineText *t);
void lineTextHome(lineText *t);
void lineTextEnd(lineText *t);

void lineTextDeleteLeft(lineText *t);
void lineTextDeleteRight(lineText *t);
/* Cuts: what goes can be pasted. */
void lineTextCutLeft(lineText *t); /* all before the cursor */
void lineTextCutRight(lineText *t);
void lineTextCutWordLeft(lineText *t);
void lineTextCutWordRight(lineText *t);
/* The unit before the cursor changes places with the one behind it; at the end, the last two. */
void lineTextSwap(lineText *t);

#endif
