/* one_line.h -- sanitizes text from outside for output that is read by lines: INFO, CLIENT LIST, the log.
 *
 * A function that prints a line passes the finished line through here, so it does not matter which parts of it a
 * client, a primary or a file has chosen.
 *
 * Threads     any; async-signal-safe.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ONE_LINE_H
#define BASE_ONE_LINE_H

#include "platform.h"

/* Replaces, in place, line ends (LF, CR, vertical tab, form feed) by blanks and all other control characters except
 * tabs by question marks. */
void oneLine(char *text, size_t len);
/* Like oneLine(), and replaces the separators within a line as well: blanks, tabs, commas and equals signs become
 * '_'. */
void oneWord(char *text, size_t len);
/* Returns the length of the valid UTF-8 sequence (RFC 3629) at the start of `left` bytes; 0 if there is none. */
size_t utf8SequenceLen(const char *s, size_t left);
/* Writes `text` as the content of a JSON string: escapes quotes, backslashes and control characters, and replaces bytes
 * that are not UTF-8 by U+FFFD. `out` has 6 bytes for each byte of `text` and one for the NUL. */
void jsonEscape(char *out, const char *text);

#endif
