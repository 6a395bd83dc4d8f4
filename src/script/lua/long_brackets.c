/* long_brackets.c -- long strings with "[[" in them, which this Lua calls deprecated and refuses.
 *
 * Lua 5.1 is built in two ways: the distributions' refuses what Valkey's own copy takes. A scanner that knows as much
 * of Lua's words as is needed to tell strings and comments from the rest. What is no Lua is the parser's to say.
 *
 * Not here    the parser (interpreter.c gives it the text).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/script/lua/long_brackets_test.c, tests/differential/lua
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "long_brackets.h"

#include <string.h>

static const char *findIn(slice text, size_t from, const char *word, size_t len) {
    return from < text.len ? memmem(text.ptr + from, text.len - from, word, len) : NULL;
}

static size_t offsetOf(slice text, const char *p) {
    return p ? (size_t)(p - text.ptr) : text.len;
}

/* Behind a string in quotes that begins at `at`, or behind the line that it is not closed in. */
static size_t behindQuoted(slice text, size_t at) {
    char quote = text.ptr[at++];
    while (at < text.len && text.ptr[at] != quote && text.ptr[at] != '\n') at += text.ptr[at] == '\\' ? 2 : 1;
    return at + 1;
}

static size_t equalsAt(slice text, size_t at) {
    size_t i = at;
    while (i < text.len && text.ptr[i] == '=') i++;
    return i - at;
}

/* Whether a long bracket opens at `at`, and with how many equals signs. */
static bool opens(slice text, size_t at, size_t *level) {
    if (at >= text.len || text.ptr[at] != '[') return false;
    *level = equalsAt(text, at + 1);
    size_t second = at + 1 + *level;
    return second < text.len && text.ptr[second] == '[';
}

/* Where the bracket closes that opened before `from`: the first ']' of that. The text's length: nowhere. */
static size_t closesAt(slice text, size_t from, size_t level) {
    for (size_t at = from; (at = offsetOf(text, findIn(text, at, "]", 1))) < text.len; at++) {
        size_t second = at + 1 + level;
        if (equalsAt(text, at + 1) == level && second < text.len && text.ptr[second] == ']') return at;
    }
    return text.len;
}

/* The least number of equals signs by which the text from `begin` to the ']' at `end` does not close too early. */
static int levelFor(slice text, size_t begin, size_t end) {
    slice inside = sliceOf(text.ptr, end + 1);
    for (int level = 1; level <= LONG_BRACKET_LEVEL_MAX; level++)
        if (closesAt(inside, begin, (size_t)level) == inside.len) return level;
    return 0;
}

bool longBracketsFind(slice text, size_t from, longBracket *found) {
    for (size_t at = from; at < text.len;) {
        char ch = text.ptr[at];
        bool comment = ch == '-' && at + 1 < text.len && text.ptr[at + 1] == '-';
        if (comment) at += 2;
        size_t level;
        if (opens(text, at, &level)) {
            size_t begin = at + level + 2, end = closesAt(text, begin, level);
            if (end == text.len) return false;
            slice inside = sliceOf(text.ptr, end);
            if (level == 0 && findIn(inside, begin, "[[", 2)) {
                *found = (longBracket){.begin = begin - 1, .end = end + 1, .level = levelFor(text, begin, end)};
                if (found->level) return true;
            }
            at = end + level + 2;
        } else if (comment) {
            at = offsetOf(text, findIn(text, at, "\n", 1));
        } else if (ch == '"' || ch == '\'') {
            at = behindQuoted(text, at);
        } else {
            at++;
        }
    }
    return false;
}
