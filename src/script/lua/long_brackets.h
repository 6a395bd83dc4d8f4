/* long_brackets.h -- finds long strings that contain "[[", which this Lua calls deprecated and refuses.
 *
 * [=[a[[b]=] means the same as [[a[[b]], and every Lua accepts it: the caller passes the text to the parser with equals
 * signs between the brackets.
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LONG_BRACKETS_H
#define SCRIPT_LONG_BRACKETS_H

#include "slice.h"

typedef struct longBracket {
    size_t begin, end; /* of the text between the outer brackets, with the inner half of each: "[a[[b]" */
    int level;         /* number of equals signs, at least one, to insert before and after it */
} longBracket;

/* The most equals signs that are inserted; a text that needs more is left as it is. */
enum { LONG_BRACKET_LEVEL_MAX = 32 };

/* Finds the first long string or comment, from `from` on, that has no equals signs, contains "[[" and is not itself
 * within a string or comment. Returns false if there is none. */
bool longBracketsFind(slice text, size_t from, longBracket *found);

#endif
