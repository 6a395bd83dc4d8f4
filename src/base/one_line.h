/* one_line.h -- text that others have named, made fit for what is read by lines: INFO, CLIENT LIST, the log.
 *
 * A function that prints a line passes the finished line through here. So it does not matter which of its parts a
 * client, a primary or a file has chosen.
 *
 * Threads     any; async-signal-safe.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ONE_LINE_H
#define BASE_ONE_LINE_H

#include "platform.h"

/* Replace, in place, line ends (LF, CR, vertical tab, form feed) by blanks and all other control characters but the tab
 * by question marks. */
void oneLine(char *text, size_t len);
/* Replace, in place, what separates the parts of a line as well: blanks, tabs, commas and equals signs become '_'. */
void oneWord(char *text, size_t len);
/* Length of the well-formed UTF-8 sequence (RFC 3629) at the first of `left` bytes; 0 when there is none. */
size_t utf8SequenceLen(const char *s, size_t left);
/* Write `text` as the inside of a JSON string: quotes, backslashes and control characters are escaped, and bytes that
 * are no UTF-8 become U+FFFD. `out` has 6 bytes for each byte of `text` and one more for the NUL. */
void jsonEscape(char *out, const char *text);

#endif
