/* line_text.h -- a line that is being edited: its bytes, its cursor, and the text cut last.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_TEXT_H
#define CLI_LINE_TEXT_H

#include "sds.h"

typedef struct lineText {
    sds bytes;     /* owns */
    size_t cursor; /* offset in bytes; always between two units (utf8UnitLen) */
    sds cut;       /* owns; the text that the last cut removed */
} lineText;

void lineTextInit(lineText *t);  /* an empty line */
void lineTextClear(lineText *t); /* frees the memory; the struct may be initialized again */

/* Replaces the line and puts the cursor at its end. */
void lineTextSet(lineText *t, const char *p, size_t len);
void lineTextInsert(lineText *t, const char *p, size_t len); /* inserts at the cursor, which moves after it */
void lineTextPaste(lineText *t);                             /* inserts the text that was cut last */

/* Move the cursor, or do nothing at the end of the line. A word is a sequence without blanks. */
void lineTextLeft(lineText *t);
void lineTextRight(lineText *t);
void lineTextWordLeft(lineText *t);
void lineTextWordRight(lineText *t);
void lineTextHome(lineText *t);
void lineTextEnd(lineText *t);

/* Delete the unit before or after the cursor. */
void lineTextDeleteLeft(lineText *t);
void lineTextDeleteRight(lineText *t);
/* Cut text, which lineTextPaste() can insert again. */
void lineTextCutLeft(lineText *t); /* everything before the cursor */
void lineTextCutRight(lineText *t);
void lineTextCutWordLeft(lineText *t);
void lineTextCutWordRight(lineText *t);
/* Exchanges the units before and after the cursor; at the end, the last two. */
void lineTextSwap(lineText *t);

#endif
