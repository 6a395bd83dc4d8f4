/* line_screen.c -- lays out prompt, line and hint on the rows of a terminal, and draws them.
 *
 * Each drawing starts at the first row, clears to the end of the screen and writes everything, in one string for one
 * write. Writing only the changes would save bytes, but no time that a user notices.
 *
 *     127.0.0.1:6379> set greeting "a line that is longer than the row goes on in the ne      row 0
 *     xt one" | [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|...          row 1 = cursor_row
 *
 * Rows break where the terminal breaks them by itself: when the next character does not fit. A terminal that has just
 * filled a row keeps its cursor in that row until the next character (so the position of the cursor is not known); a
 * newline is written after a line that ends so. A line with more rows than the terminal is shown in part, around the
 * cursor.
 *
 * Invariants  1. A drawing takes at most `rows` rows, one of which is the cursor's.
 *             2. The bytes written do not depend on where a terminal puts its cursor after the last column.
 * Tests       tests/unit/tools/line_screen_test.c, against a terminal written for it
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_screen.h"
#include "utf8.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* Draws units and keeps the position of the next. `out` is NULL if only positions are computed. */
typedef struct pen {
    sds *out; /* borrowed */
    int columns, row, col;
    int first, end; /* rows that are written: [first, end) */
} pen;

static void lineScreenEmit(const pen *p, const char *bytes, size_t len) {
    if (p->out && p->row >= p->first && p->row < p->end) *p->out = sdsCatLen(*p->out, bytes, len);
}

static void newRow(pen *p) {
    p->row++;
    p->col = 0;
    if (p->row > p->first) lineScreenEmit(p, "\r\n", 2);
}

/* Returns the columns of the unit at `s`, and its first code point in *code. */
static int unitWidth(const char *s, size_t len, uint32_t *code) {
    utf8Decode(s, len, code);
    int width = utf8Width(*code);
    return width;
}

/* Draws one unit, in the next row if it does not fit. */
static void drawUnit(pen *p, const char *s, size_t len) {
    uint32_t code;
    if (*s == '\n') {
        newRow(p);
        return;
    }
    int width = unitWidth(s, len, &code);
    if (p->col + width > p->columns && p->col > 0) {
        /* The terminal breaks the row by itself, but it would split the two columns of a control character. */
        p->row++;
        p->col = 0;
        if ((code < 0x20 || code == 0x7f) && p->row > p->first) lineScreenEmit(p, "\r\n", 2);
    }
    p->col += width;
    if (code < 0x20 || code == 0x7f) {
        char caret[2] = {'^', (char)(code ^ 0x40)};
        lineScreenEmit(p, caret, 2);
        return;
    }
    for (size_t n; len > 0; s += n, len -= n) {
        n = utf8Decode(s, len, &code);
        bool bad = code == UTF8_BAD && n == 1;
        lineScreenEmit(p, bad ? "\xef\xbf\xbd" : s, bad ? 3 : n);
    }
}

static void drawSlice(pen *p, slice s) {
    for (size_t n; s.len > 0; s.ptr += n, s.len -= n) {
        n = utf8UnitLen(s.ptr, s.len);
        drawUnit(p, s.ptr, n);
    }
}

/* Computes the position of the cursor: that of the unit after it, or the position that such a unit would have. */
static void findCursor(const lineView *v, const pen *at, int *row, int *col) {
    uint32_t code = ' ';
    int width = 1;
    bool newline = v->cursor < v->text.len && v->text.ptr[v->cursor] == '\n';
    if (v->cursor < v->text.len && !newline) width = unitWidth(v->text.ptr + v->cursor, v->text.len - v->cursor, &code);
    bool fits = at->col + width <= at->columns;
    *row = at->row + (fits ? 0 : 1);
    *col = fits ? at->col : 0;
}

/* Computes the cursor's position and the number of rows without drawing. */
static void measure(const lineView *v, int *cursor_row, int *cursor_col, int *row_count) {
    pen p = {.columns = v->columns};
    drawSlice(&p, v->prompt);
    drawSlice(&p, sliceOf(v->text.ptr, v->cursor));
    findCursor(v, &p, cursor_row, cursor_col);
    drawSlice(&p, sliceOf(v->text.ptr + v->cursor, v->text.len - v->cursor));
    int last = p.row > *cursor_row ? p.row : *cursor_row;
    *row_count = last + 1;
}

/* Draws the part of the hint that fits into the rest of the row, except its last column. */
static void drawHint(pen *p, const lineView *v) {
    int columns_left = p->columns - p->col - 1, width = 0;
    size_t fits = 0, shorter = 0;
    for (size_t n; fits < v->hint.len; fits += n) {
        uint32_t code;
        n = utf8UnitLen(v->hint.ptr + fits, v->hint.len - fits);
        width += unitWidth(v->hint.ptr + fits, n, &code);
        if (width <= columns_left - 1) shorter = fits + n;
        if (width > columns_left) break;
    }
    bool whole = fits >= v->hint.len;
    if (!whole && shorter == 0) return;
    lineScreenEmit(p, v->hint_on, strlen(v->hint_on));
    drawSlice(p, sliceOf(v->hint.ptr, whole ? v->hint.len : shorter));
    if (!whole) drawSlice(p, sliceStr(ELLIPSIS));
    lineScreenEmit(p, v->style_off, strlen(v->style_off));
}

static sds moveUp(sds out, int rows) { return rows > 0 ? sdsCatPrintf(out, "\x1b[%dA", rows) : out; }

sds lineScreenDraw(sds out, lineScreen *screen, const lineView *view) {
    lineView v = *view;
    int cursor_row, cursor_col, row_count;
    if (v.columns < 2) v.columns = 2;
    if (v.rows < 1) v.rows = 1;
    measure(&v, &cursor_row, &cursor_col, &row_count);
    int first = 0;
    if (row_count > v.rows) {
        first = cursor_row - v.rows / 2;
        if (first > row_count - v.rows) first = row_count - v.rows;
        if (first < 0) first = 0;
    }
    int end = first + v.rows < row_count ? first + v.rows : row_count;

    out = moveUp(out, screen->cursor_row);
    out = sdsCat(out, "\r\x1b[J");
    pen p = {.out = &out, .columns = v.columns, .first = first, .end = end};
    drawSlice(&p, v.prompt);
    drawSlice(&p, v.text);
    int last = p.row < end ? p.row : end - 1;
    if (p.row < end && p.col >= v.columns && cursor_row > p.row) {
        newRow(&p); /* the row is full, and the cursor belongs after it */
        last = p.row;
    }
    if (v.hint.len && v.cursor == v.text.len && p.row < end) drawHint(&p, &v);
    out = moveUp(out, last - cursor_row);
    out = sdsCat(out, "\r");
    if (cursor_col > 0) out = sdsCatPrintf(out, "\x1b[%dC", cursor_col);
    screen->cursor_row = cursor_row - first;
    screen->last_row = last - first;
    return out;
}

sds lineScreenLeave(sds out, lineScreen *screen) {
    for (int row = screen->cursor_row; row < screen->last_row; row++) out = sdsCat(out, "\n");
    *screen = (lineScreen){0};
    return sdsCat(out, "\r\n");
}

void lineScreenResized(lineScreen *screen, const lineView *view) {
    lineView v = *view;
    int cursor_row, cursor_col, row_count;
    if (v.columns < 2) v.columns = 2;
    measure(&v, &cursor_row, &cursor_col, &row_count);
    if (cursor_row >= v.rows) cursor_row = v.rows > 0 ? v.rows - 1 : 0;
    screen->cursor_row = cursor_row;
    screen->last_row = row_count - 1 < v.rows ? row_count - 1 : v.rows - 1;
}
