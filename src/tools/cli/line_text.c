/* line_text.c -- a line that is being edited: its bytes, its cursor, and the text cut last.
 *
 * Units are found by walking from the start of the line each time. Drawing a line costs more than this, and walking
 * backwards over bytes that may not be UTF-8 would find other boundaries than walking forwards.
 *
 * Not here    keys (line_keys.c), the screen (line_screen.c).
 * Invariants  1. cursor <= length, and is a boundary of units.
 *             2. An operation that cannot move or delete changes nothing, not even the text cut last.
 * Tests       tests/unit/tools/line_text_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_text.h"
#include "slice.h"
#include "utf8.h"

void lineTextInit(lineText *t) { *t = (lineText){.bytes = sdsEmpty(), .cut = sdsEmpty()}; }

void lineTextClear(lineText *t) {
    sdsFree(t->bytes);
    sdsFree(t->cut);
    *t = (lineText){0};
}

/* ---- Boundaries ------------------------------------------------------------------------------------------------- */

/* Returns the first boundary at or after `at`. */
static size_t borderFrom(const lineText *t, size_t at) {
    size_t len = sdsLen(t->bytes), border = 0;
    while (border < at) border += utf8UnitLen(t->bytes + border, len - border);
    return border;
}

/* Returns the last boundary before `at`, which must be a boundary itself and not the first. */
static size_t borderBefore(const lineText *t, size_t at) {
    size_t len = sdsLen(t->bytes), border = 0;
    for (;;) {
        size_t next = border + utf8UnitLen(t->bytes + border, len - border);
        if (next >= at) return border;
        border = next;
    }
}

static size_t borderAfter(const lineText *t, size_t at) {
    size_t len = sdsLen(t->bytes);
    return at < len ? at + utf8UnitLen(t->bytes + at, len - at) : len;
}

/* Returns the start of the word before the cursor. Walks the line only once, as a long line has as many boundaries as
 * bytes. */
static size_t wordStart(const lineText *t) {
    size_t len = sdsLen(t->bytes), start = 0;
    bool in_word = false;
    for (size_t at = 0; at < t->cursor; at += utf8UnitLen(t->bytes + at, len - at)) {
        bool blank = isBlank(t->bytes[at]);
        if (!blank && !in_word) start = at;
        in_word = !blank;
    }
    return start;
}

static size_t wordEnd(const lineText *t) {
    size_t at = t->cursor, len = sdsLen(t->bytes);
    while (at < len && isBlank(t->bytes[at])) at = borderAfter(t, at);
    while (at < len && !isBlank(t->bytes[at])) at = borderAfter(t, at);
    return at;
}

/* ---- Changes ---------------------------------------------------------------------------------------------------- */

void lineTextSet(lineText *t, const char *p, size_t len) {
    t->bytes = sdsCpyLen(t->bytes, p, len);
    t->cursor = len;
}

/* If an inserted combining mark joins the character before it, the cursor moves on to the next boundary. */
void lineTextInsert(lineText *t, const char *p, size_t len) {
    size_t before = sdsLen(t->bytes), at = t->cursor;
    if (len == 0) return;
    t->bytes = sdsGrowZero(t->bytes, before + len);
    memmove(t->bytes + at + len, t->bytes + at, before - at);
    memcpy(t->bytes + at, p, len);
    t->cursor = borderFrom(t, at + len);
}

void lineTextPaste(lineText *t) { lineTextInsert(t, t->cut, sdsLen(t->cut)); }

/* Removes [from, to) and puts the cursor there; with `keep` the text can be pasted. */
static void removeRange(lineText *t, size_t from, size_t to, bool keep) {
    size_t len = sdsLen(t->bytes);
    if (from == to) return;
    if (keep) t->cut = sdsCpyLen(t->cut, t->bytes + from, to - from);
    memmove(t->bytes + from, t->bytes + to, len - to);
    sdsIncrLen(t->bytes, -(ptrdiff_t)(to - from));
    t->cursor = borderFrom(t, from);
}

void lineTextLeft(lineText *t) {
    if (t->cursor > 0) t->cursor = borderBefore(t, t->cursor);
}

void lineTextRight(lineText *t) { t->cursor = borderAfter(t, t->cursor); }
void lineTextWordLeft(lineText *t) { t->cursor = wordStart(t); }
void lineTextWordRight(lineText *t) { t->cursor = wordEnd(t); }
void lineTextHome(lineText *t) { t->cursor = 0; }
void lineTextEnd(lineText *t) { t->cursor = sdsLen(t->bytes); }

void lineTextDeleteLeft(lineText *t) {
    if (t->cursor > 0) removeRange(t, borderBefore(t, t->cursor), t->cursor, false);
}

void lineTextDeleteRight(lineText *t) { removeRange(t, t->cursor, borderAfter(t, t->cursor), false); }
void lineTextCutLeft(lineText *t) { removeRange(t, 0, t->cursor, true); }
void lineTextCutRight(lineText *t) { removeRange(t, t->cursor, sdsLen(t->bytes), true); }
void lineTextCutWordLeft(lineText *t) { removeRange(t, wordStart(t), t->cursor, true); }
void lineTextCutWordRight(lineText *t) { removeRange(t, t->cursor, wordEnd(t), true); }

void lineTextSwap(lineText *t) {
    size_t middle = t->cursor, end;
    if (middle == sdsLen(t->bytes) && middle > 0) middle = borderBefore(t, middle);
    if (middle == 0) return;
    size_t start = borderBefore(t, middle);
    end = borderAfter(t, middle);
    sds left = sdsNewLen(t->bytes + start, middle - start);
    memmove(t->bytes + start, t->bytes + middle, end - middle);
    memcpy(t->bytes + end - sdsLen(left), left, sdsLen(left));
    sdsFree(left);
    t->cursor = borderFrom(t, end);
}
