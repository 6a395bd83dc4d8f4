/* line_text_test.c -- compares the edited line with an array of units.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_text.h"
#include "unit.h"
#include "utf8.h"
#include <stdlib.h>

/* ---- A naive line: one string per unit -------------------------------------------------------------------------- */

#define UNITS_MAX 400

typedef struct naiveLine {
    char *units[UNITS_MAX];
    size_t count, cursor;
    char cut[4096];
} naiveLine;

static const char *const letters[] = {
    "a",    "Z",   " ", " ", "\n", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80", "e\xcc\x81", "o\xcc\x81\xcc\xa3",
    "\xff", "\xc3"};

static void naiveInsert(naiveLine *n, const char *unit) {
    memmove(n->units + n->cursor + 1, n->units + n->cursor, sizeof(char *) * (n->count - n->cursor));
    n->units[n->cursor++] = strdup(unit);
    n->count++;
}

static void naiveRemove(naiveLine *n, size_t from, size_t to, bool keep) {
    if (from == to) return;
    if (keep) n->cut[0] = '\0';
    for (size_t i = from; i < to; i++) {
        if (keep) strcat(n->cut, n->units[i]);
        free(n->units[i]);
    }
    memmove(n->units + from, n->units + to, sizeof(char *) * (n->count - to));
    n->count -= to - from;
    n->cursor = from;
}

static bool naiveBlank(const naiveLine *n, size_t i) { return n->units[i][0] == ' ' || n->units[i][0] == '\n'; }

static size_t naiveWordStart(const naiveLine *n) {
    size_t at = n->cursor;
    while (at > 0 && naiveBlank(n, at - 1)) at--;
    while (at > 0 && !naiveBlank(n, at - 1)) at--;
    return at;
}

static size_t naiveWordEnd(const naiveLine *n) {
    size_t at = n->cursor;
    while (at < n->count && naiveBlank(n, at)) at++;
    while (at < n->count && !naiveBlank(n, at)) at++;
    return at;
}

static void naiveSwap(naiveLine *n) {
    size_t middle = n->cursor == n->count && n->cursor > 0 ? n->cursor - 1 : n->cursor;
    if (middle == 0) return;
    char *left = n->units[middle - 1];
    n->units[middle - 1] = n->units[middle];
    n->units[middle] = left;
    n->cursor = middle + 1;
}

static sds naiveText(const naiveLine *n, size_t count) {
    sds out = sdsEmpty();
    for (size_t i = 0; i < count; i++) out = sdsCat(out, n->units[i]);
    return out;
}

static bool agree(const lineText *t, const naiveLine *n) {
    sds all = naiveText(n, n->count), before = naiveText(n, n->cursor);
    bool same = CHECK_EQ_STR(t->bytes, all) && CHECK_EQ_INT(t->cursor, sdsLen(before)) && CHECK_EQ_STR(t->cut, n->cut);
    sdsFree(all);
    sdsFree(before);
    return same;
}

static void randomStep(lineText *t, naiveLine *n, uint64_t *seed) {
    uint64_t draw = unitRandom(seed) % 22;
    if (n->count > UNITS_MAX - 10) draw = 14;
    switch (draw) {
    case 6: lineTextLeft(t), n->cursor -= n->cursor > 0; break;
    case 7: lineTextRight(t), n->cursor += n->cursor < n->count; break;
    case 8: lineTextHome(t), n->cursor = 0; break;
    case 9: lineTextEnd(t), n->cursor = n->count; break;
    case 10: lineTextWordLeft(t), n->cursor = naiveWordStart(n); break;
    case 11: lineTextWordRight(t), n->cursor = naiveWordEnd(n); break;
    case 12: lineTextDeleteLeft(t), naiveRemove(n, n->cursor - (n->cursor > 0), n->cursor, false); break;
    case 13: lineTextDeleteRight(t), naiveRemove(n, n->cursor, n->cursor + (n->cursor < n->count), false); break;
    case 14: lineTextCutLeft(t), naiveRemove(n, 0, n->cursor, true); break;
    case 15: lineTextCutRight(t), naiveRemove(n, n->cursor, n->count, true); break;
    case 16: lineTextCutWordLeft(t), naiveRemove(n, naiveWordStart(n), n->cursor, true); break;
    case 17: {
        size_t at = n->cursor;
        lineTextCutWordRight(t), naiveRemove(n, at, naiveWordEnd(n), true);
        break;
    }
    case 18: lineTextSwap(t), naiveSwap(n); break;
    default: {
        const char *unit = letters[unitRandom(seed) % array_len(letters)];
        lineTextInsert(t, unit, strlen(unit)), naiveInsert(n, unit);
    }
    }
}

TEST(line_text_agrees_with_a_naive_line) {
    uint64_t seed = unitRandomSeed();
    utf8Init();
    for (int round = 0; round < 60; round++) {
        naiveLine n = {.count = 0};
        lineText t;
        lineTextInit(&t);
        for (int step = 0; step < 500; step++) {
            randomStep(&t, &n, &seed);
            if (!agree(&t, &n)) return;
        }
        for (size_t i = 0; i < n.count; i++) free(n.units[i]);
        lineTextClear(&t);
    }
}

/* ---- Single cases ----------------------------------------------------------------------------------------------- */

TEST(line_text_pastes_what_was_cut) {
    lineText t;
    utf8Init();
    lineTextInit(&t);
    lineTextSet(&t, "get \xd0\xba\xd0\xbb", 8);
    lineTextCutWordLeft(&t);
    CHECK_EQ_STR(t.bytes, "get ");
    lineTextPaste(&t);
    lineTextPaste(&t);
    CHECK_EQ_STR(t.bytes, "get \xd0\xba\xd0\xbb\xd0\xba\xd0\xbb");
    CHECK_EQ_INT(t.cursor, 12);
    lineTextClear(&t);
}

TEST(line_text_mark_joins_what_it_is_typed_behind) {
    lineText t;
    utf8Init();
    lineTextInit(&t);
    lineTextSet(&t, "ex", 2);
    lineTextLeft(&t);
    lineTextInsert(&t, "\xcc\x81", 2);
    CHECK_EQ_INT(t.cursor, 3);
    lineTextHome(&t);
    lineTextDeleteRight(&t);
    CHECK_EQ_STR(t.bytes, "x");
    lineTextClear(&t);
}

/* With bytes whose meaning depends on their neighbors, the cursor is always on a boundary. */
TEST(line_text_cursor_stays_on_a_border) {
    uint64_t seed = unitRandomSeed();
    utf8Init();
    lineText t;
    lineTextInit(&t);
    for (int step = 0; step < 20000; step++) {
        char byte = (char)unitRandom(&seed);
        if (sdsLen(t.bytes) > 60) lineTextCutLeft(&t);
        if (unitRandom(&seed) % 3) {
            lineTextInsert(&t, &byte, 1);
        } else {
            void (*const moves[])(lineText *) = {lineTextLeft,        lineTextRight,       lineTextDeleteLeft,
                                                 lineTextDeleteRight, lineTextSwap,        lineTextWordLeft,
                                                 lineTextWordRight,   lineTextCutWordLeft, lineTextPaste};
            moves[unitRandom(&seed) % array_len(moves)](&t);
        }
        size_t border = 0;
        while (border < t.cursor) border += utf8UnitLen(t.bytes + border, sdsLen(t.bytes) - border);
        if (!CHECK_EQ_INT(t.cursor, border)) break;
    }
    lineTextClear(&t);
}
