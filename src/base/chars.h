/* chars.h -- kinds of characters in ASCII, whatever the locale is.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CHARS_H
#define BASE_CHARS_H

#include "platform.h"

/* Returns the value of a hexadecimal digit, -1 if `c` is none. */
static inline int hexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static inline bool isDigit(char c) { return c >= '0' && c <= '9'; }

/* True for what isspace() accepts in the C locale: space, tab, line feed, vertical tab, form feed, carriage return. */
static inline bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

#endif
