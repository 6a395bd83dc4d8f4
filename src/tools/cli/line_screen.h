/* line_screen.h -- how a prompt, a line and a hint lie on the rows of a terminal, and the bytes that draw them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_LINE_SCREEN_H
#define CLI_LINE_SCREEN_H

#include "sds.h"

/* What is to be seen. All borrowed. */
typedef struct lineView {
    slice prompt, text, hint;        /* the hint may be empty; it is drawn behind the text, in one row */
    size_t cursor;                   /* a border of units in `text` */
    int columns, rows;               /* of the terminal */
    const char *hint_on, *style_off; /* escape sequences around the hint */
} lineView;

/* What the terminal shows now, as far as the next drawing has to know. Zeroed: the cursor stands at the left edge of a
 * row that is free. */
typedef struct lineScreen {
    int cursor_row, last_row; /* counted from the first row that is drawn */
} lineScreen;

/* Append the bytes that replace what `screen` shows by `view`. */
sds lineScreenDraw(sds out, lineScreen *screen, const lineView *view);
/* Append the bytes that go below what is drawn, to the left edge; the screen starts anew there. */
sds lineScreenLeave(sds out, lineScreen *screen);
/* The terminal has other measures: find out where the cursor of `view`, drawn before, stands now. */
void lineScreenResized(lineScreen *screen, const lineView *view);

#endif
