/* long_brackets.c -- finds long strings that contain "[[", which this Lua calls deprecated and refuses.
 *
 * Lua 5.1 is built in two ways: that of the distributions refuses such strings, Valkey's own copy accepts them. This
 * scanner knows just enough of Lua's syntax to tell strings and comments from the rest. Syntax errors are left to the
 * parser.
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

static size_t offsetOf(slice text, const char *p) { return p ? (size_t)(p - text.ptr) : text.len; }

/* Returns the offset after a quoted string that begins at `at`, or after the line if the string is not closed in it. */
static size_t afterQuoted(slice text, size_t at) {
    char quote = text.ptr[at++];
    while (at < text.len && text.ptr[at] != quote && text.ptr[at] != '\n') at += text.ptr[at] == '\\' ? 2 : 1;
    return at + 1;
}

static size_t equalsAt(slice text, size_t at) {
    size_t i = at;
    while (i < text.len && text.ptr[i] == '=') i++;
    return i - at;
}

/* Returns true if a long bracket opens at `at`, with the number of its equals signs in *level. */
static bool opens(slice text, size_t at, size_t *level) {
    if (at >= text.len || text.ptr[at] != '[') return false;
    *level = equalsAt(text, at + 1);
    size_t second = at + 1 + *level;
    return second < text.len && text.ptr[second] == '[';
}

/* Returns the offset of the first ']' of the bracket that closes one of that level; the text's length if there is
 * none. */
static size_t closesAt(slice text, size_t from, size_t level) {
    for (size_t at = from; (at = offsetOf(text, findIn(text, at, "]", 1))) < text.len; at++) {
        size_t second = at + 1 + level;
        if (equalsAt(text, at + 1) == level && second < text.len && text.ptr[second] == ']') return at;
    }
    return text.len;
}

/* Returns the least number of equals signs with which the text from `begin` to the ']' at `end` does not close too
 * early; 0 if that is more than LONG_BRACKET_LEVEL_MAX. */
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
            at = afterQuoted(text, at);
        } else {
            at++;
        }
    }
    return false;
}
