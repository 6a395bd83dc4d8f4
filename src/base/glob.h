/* glob.h -- glob-style patterns as KEYS, SCAN and CONFIG GET use them.
 *
 * '*' matches any bytes, '?' any byte; [abc] [^abc] [a-c] are classes; '\' makes the next byte literal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "slice.h"

/* Returns whether all of `text` matches. Takes linear time, except where '?', '\' or a class is between two stars: that
 * part is tried at each position of the text. Results equal those of Valkey, also for malformed patterns such as an
 * unclosed bracket (which ends at the pattern's end) and nested stars. An empty text matches the empty pattern and "*"
 * alone, but not "**". */
bool globMatch(slice pattern, slice text, bool nocase);

#endif
