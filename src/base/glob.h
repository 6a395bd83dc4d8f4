/* glob.h -- glob-style patterns as KEYS, SCAN and CONFIG GET use them.
 *
 * '*' any run, '?' any byte, [abc] [^abc] [a-c], '\' takes the next byte as it is.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "slice.h"

/* Whether all of `text` matches. Linear in both, but where '?', '\' or a class stands between two
 * stars: that part is tried at each place of the text. Results equal the field's, also on malformed patterns such as an
 * unclosed bracket (which ends at the pattern's end) and nested stars. Empty text matches the empty pattern and "*"
 * alone, but not "**". */
bool globMatch(slice pattern, slice text, bool nocase);

#endif
