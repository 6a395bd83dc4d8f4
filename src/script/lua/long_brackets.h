/* long_brackets.h -- long strings with "[[" in them, which this Lua calls deprecated and refuses.
 *
 * What [[a[[b]] says, [=[a[[b]=] says as well, and every Lua takes that: who gives the parser a text puts equals signs
 * between the brackets.
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_LONG_BRACKETS_H
#define SCRIPT_LONG_BRACKETS_H

#include "slice.h"

typedef struct longBracket {
    size_t begin, end; /* of the text between the outer two brackets: "[a[[b]" */
    int level;         /* so many equals signs, at least one, belong before and behind it */
} longBracket;

/* The most equals signs that are needed; texts that would need more are left as they are. */
enum { LONG_BRACKET_LEVEL_MAX = 32 };

/* The first long string or comment without equals signs that has "[[" in it, from `from` on, which is not within a
 * string or comment. False when there is none. */
bool longBracketsFind(slice text, size_t from, longBracket *found);

#endif
