/* line_screen_test.c -- the drawing of the line, on a simulated terminal.
 *
 * The terminal supports what line_screen.c may send, and breaks rows as xterm does: the cursor stays in the last column
 * until another character comes. Its contents are compared with the text laid out cell by cell.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_screen.h"
#include "unit.h"
#include "utf8.h"
#include <stdlib.h>

/* ---- The terminal ----------------------------------------------------------------------------------------------- */

#define CELLS 64
#define ROWS 200

typedef struct terminal {
    uint32_t cells[ROWS][CELLS]; /* 0: empty; 1: the right half of a wide one */
    int columns, row, col;       /* col == columns: the row is full, the next character breaks it */
    bool bad;                    /* an unknown sequence was received */
} terminal;

static void put(terminal *t, uint32_t code) {
    int width = code == '^' ? 1 : utf8Width(code);
    if (width == 0) return;
    if (t->col + width > t->columns) {
        t->row++;
        t->col = 0;
    }
    if (t->row >= ROWS) {
        t->bad = true;
        return;
    }
    t->cells[t->row][t->col++] = code;
    if (width == 2) t->cells[t->row][t->col++] = 1;
}

static size_t control(terminal *t, const char *p) {
    char *end;
    long n = strtol(p + 2, &end, 10);
    if (t->col == t->columns && *end != 'm' && *end != 'J') t->col--;
    if (*end == 'A') t->row -= (int)n;
    else if (*end == 'C') t->col += (int)n;
    else if (*end == 'J') {
        for (int r = t->row; r < ROWS; r++) {
            for (int c = r == t->row ? t->col : 0; c < t->columns; c++) t->cells[r][c] = 0;
        }
    } else if (*end != 'm') t->bad = true;
    if (t->row < 0 || t->col >= t->columns) t->bad = true;
    return (size_t)(end - p) + 1;
}

static void feed(terminal *t, const char *p, size_t len) {
    for (size_t n; len > 0 && !t->bad; p += n, len -= n) {
        uint32_t code;
        n = utf8Decode(p, len, &code);
        if (code == '\r') t->col = 0;
        else if (code == '\n') t->row++;
        else if (code == 0x1b) n = control(t, p);
        else put(t, code);
    }
}

/* ---- The expected contents -------------------------------------------------------------------------------------- */

/* Lays out one string; shares with the drawing only the rule that a unit goes where it fits. */
static void layOut(terminal *t, slice s) {
    for (size_t n; s.len > 0; s.ptr += n, s.len -= n) {
        uint32_t code;
        n = utf8Decode(s.ptr, s.len, &code);
        if (code == '\n') {
            t->row++;
            t->col = 0;
        } else if (code < 0x20) {
            if (t->col + 2 > t->columns) t->row++, t->col = 0;
            put(t, '^');
            put(t, code ^ 0x40);
        } else {
            put(t, code);
        }
    }
}

static void expectCursor(terminal *want, const lineView *v) {
    uint32_t code = ' ';
    if (v->cursor < v->text.len) utf8Decode(v->text.ptr + v->cursor, v->text.len - v->cursor, &code);
    int width = code == '\n' ? 1 : utf8Width(code);
    if (want->col + width <= want->columns) return;
    want->row++;
    want->col = 0;
}

static bool shows(terminal *t, const lineView *v) {
    static terminal want, cursor;
    memset(&want, 0, sizeof(want));
    want.columns = v->columns;
    layOut(&want, v->prompt);
    layOut(&want, sliceOf(v->text.ptr, v->cursor));
    cursor = want;
    expectCursor(&cursor, v);
    layOut(&want, sliceOf(v->text.ptr + v->cursor, v->text.len - v->cursor));
    return CHECK(!t->bad) && CHECK_EQ_INT(t->row, cursor.row) && CHECK_EQ_INT(t->col, cursor.col) &&
           CHECK_MEM(t->cells, want.cells, sizeof(want.cells));
}

static const char *const letters[] = {"a",    "b",  " ",   "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
                                      "\x01", "\n", "\xff"};

static sds randomText(uint64_t *seed, size_t units) {
    sds text = sdsEmpty();
    while (units-- > 0) text = sdsCat(text, letters[unitRandom(seed) % array_len(letters)]);
    return text;
}

static size_t randomBorder(uint64_t *seed, const sds text) {
    size_t at = 0, units = unitRandom(seed) % 80;
    while (units-- > 0 && at < sdsLen(text)) at += utf8UnitLen(text + at, sdsLen(text) - at);
    return at;
}

TEST(line_screen_shows_any_line_after_any_other) {
    static terminal t;
    uint64_t seed = unitRandomSeed();
    utf8Init();
    for (int round = 0; round < 300; round++) {
        lineScreen screen = {0};
        memset(&t, 0, sizeof(t));
        t.columns = 3 + (int)(unitRandom(&seed) % 40);
        for (int step = 0; step < 10; step++) {
            sds text = randomText(&seed, unitRandom(&seed) % 60);
            lineView v = {.prompt = sliceStr("at> "), .text = sdsSlice(text), .columns = t.columns, .rows = ROWS};
            v.cursor = randomBorder(&seed, text);
            v.hint_on = v.style_off = "";
            sds bytes = lineScreenDraw(sdsEmpty(), &screen, &v);
            feed(&t, bytes, sdsLen(bytes));
            bool right = shows(&t, &v) && CHECK_EQ_INT(screen.cursor_row, t.row);
            sdsFree(bytes);
            sdsFree(text);
            if (!right) return;
        }
    }
}

TEST(line_screen_keeps_to_the_terminals_rows) {
    static terminal t;
    uint64_t seed = unitRandomSeed();
    utf8Init();
    for (int round = 0; round < 200; round++) {
        lineScreen screen = {0};
        memset(&t, 0, sizeof(t));
        t.columns = 3 + (int)(unitRandom(&seed) % 20);
        for (int step = 0; step < 10; step++) {
            sds text = randomText(&seed, unitRandom(&seed) % 100);
            lineView v = {.prompt = sliceStr("> "), .text = sdsSlice(text), .columns = t.columns, .rows = 5};
            v.cursor = randomBorder(&seed, text);
            v.hint_on = v.style_off = "";
            sds bytes = lineScreenDraw(sdsEmpty(), &screen, &v);
            feed(&t, bytes, sdsLen(bytes));
            bool right = CHECK(!t.bad) && CHECK(t.row < 5) && CHECK_EQ_INT(t.row, screen.cursor_row);
            for (int c = 0; c < t.columns; c++) right = right && CHECK_EQ_INT(t.cells[5][c], 0);
            sdsFree(bytes);
            sdsFree(text);
            if (!right) return;
        }
    }
}

/* Returns the first row as text. */
static sds firstRow(const terminal *t) {
    sds out = sdsEmpty();
    for (int c = 0; c < t->columns && t->cells[0][c]; c++) {
        out = t->cells[0][c] < 0x80 ? sdsCatPrintf(out, "%c", (char)t->cells[0][c]) : sdsCat(out, "~");
    }
    return out;
}

static sds drawnHint(const char *text, size_t cursor, const char *hint, int columns) {
    static terminal t;
    lineScreen screen = {0};
    memset(&t, 0, sizeof(t));
    t.columns = columns;
    lineView v = {.prompt = sliceStr("> "),
                  .text = sliceStr(text),
                  .hint = sliceStr(hint),
                  .cursor = cursor,
                  .columns = columns,
                  .rows = 10,
                  .hint_on = "\x1b[90m",
                  .style_off = "\x1b[0m"};
    sds bytes = lineScreenDraw(sdsEmpty(), &screen, &v);
    feed(&t, bytes, sdsLen(bytes));
    sdsFree(bytes);
    CHECK(!t.bad);
    CHECK_EQ_INT(t.col, 2 + (int)cursor);
    return firstRow(&t);
}

TEST(line_screen_cuts_hints_to_the_row) {
    static const struct {
        const char *text;
        size_t cursor;
        int columns;
        const char *row;
    } cases[] = {
        {"get ", 4, 20, "> get key"}, {"get ", 4, 10, "> get key"}, {"get ", 4, 9, "> get k~"},
        {"get ", 4, 8, "> get "},     {"get ", 3, 20, "> get "},
    };
    utf8Init();
    for (size_t i = 0; i < array_len(cases); i++) {
        sds row = drawnHint(cases[i].text, cases[i].cursor, "key", cases[i].columns);
        CHECK_EQ_STR(row, cases[i].row);
        sdsFree(row);
    }
}

TEST(line_screen_leaves_below_the_last_row) {
    static terminal t;
    lineScreen screen = {0};
    memset(&t, 0, sizeof(t));
    t.columns = 10;
    lineView v = {.prompt = sliceStr("> "),
                  .text = sliceStr("abcdefghijklmnopqrstuvwxyz"),
                  .columns = 10,
                  .rows = 10,
                  .hint_on = "",
                  .style_off = ""};
    sds bytes = lineScreenLeave(lineScreenDraw(sdsEmpty(), &screen, &v), &screen);
    feed(&t, bytes, sdsLen(bytes));
    CHECK_EQ_INT(t.row, 3);
    CHECK_EQ_INT(t.col, 0);
    sdsFree(bytes);
}
