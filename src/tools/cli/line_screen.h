/* line_screen.h -- lays out prompt, line and hint on the rows of a terminal, and draws them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_SCREEN_H
#define CLI_LINE_SCREEN_H

#include "sds.h"

/* The content to draw. All pointers are borrowed. */
typedef struct lineView {
    slice prompt, text, hint;        /* the hint may be empty; it is drawn after the text, in one row */
    size_t cursor;                   /* offset in `text`, between two units */
    int columns, rows;               /* of the terminal */
    const char *hint_on, *style_off; /* escape sequences around the hint */
} lineView;

/* The state of the terminal after the last drawing. All zero means that the cursor is at the left edge of an empty
 * row. */
typedef struct lineScreen {
    int cursor_row, last_row; /* relative to the first row that is drawn */
} lineScreen;

/* Appends the bytes that replace the drawing of `screen` by `view`. */
sds lineScreenDraw(sds out, lineScreen *screen, const lineView *view);
/* Appends the bytes that move the cursor below the drawing, to the left edge, and resets `screen`. */
sds lineScreenLeave(sds out, lineScreen *screen);
/* Computes the row of the cursor of `view`, drawn before, after the terminal's size has changed. */
void lineScreenResized(lineScreen *screen, const lineView *view);

#endif
