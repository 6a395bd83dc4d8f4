/* utf8.h -- splits UTF-8 bytes into characters, and counts the columns they take on a terminal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H

#include "platform.h"

#define UTF8_BAD 0xfffdu /* the replacement character, for a byte that is not UTF-8 */

/* Sets the locale so that wcwidth(3) knows more than ASCII: the user's, or C.UTF-8 if that is not UTF-8. Call once at
 * startup. */
void utf8Init(void);
/* Decodes the code point at `p` (len >= 1) into *code and returns its length; for a byte that starts none, 1 and
 * UTF8_BAD. */
size_t utf8Decode(const char *p, size_t len, uint32_t *code);
/* Returns the columns of a code point: 0 for a combining mark, 2 for wide characters and control characters (shown as
 * ^X). */
int utf8Width(uint32_t code);
/* Returns the length of the unit at `p` (len >= 1): a code point and the combining marks after it, which a cursor key
 * passes in one step. */
size_t utf8UnitLen(const char *p, size_t len);
/* Returns true if the bytes at `p` are the start of a sequence that more bytes could complete. */
bool utf8IsCut(const char *p, size_t len);

#endif
