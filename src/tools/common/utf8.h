/* utf8.h -- characters in a run of UTF-8 bytes, and the columns they take on a terminal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H

#include "platform.h"

#define UTF8_BAD 0xfffdu /* what stands for a byte that is no UTF-8: the replacement character */

/* Make wcwidth(3) know more than ASCII: the user's locale, or C.UTF-8 where that is none of UTF-8. Call it once. */
void utf8Init(void);
/* The code point at `p` (len >= 1 bytes are there). Gives its length; 1 with UTF8_BAD for a byte that starts none. */
size_t utf8Decode(const char *p, size_t len, uint32_t *code);
/* Columns of one code point: 0 for a combining mark, 2 for wide ones and for control characters (shown as ^X). */
int utf8Width(uint32_t code);
/* Length of the unit at `p`: what one press of a cursor key passes, a code point with the marks upon it. len >= 1. */
size_t utf8UnitLen(const char *p, size_t len);
/* True when more bytes may turn what stands at `p` from bad into good: a sequence that was cut. */
bool utf8IsCut(const char *p, size_t len);

#endif
