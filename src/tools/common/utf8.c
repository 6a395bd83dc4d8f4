/* utf8.c -- splits UTF-8 bytes into characters, and counts the columns they take on a terminal.
 *
 * Decoding does not depend on the locale: a container without LANG may still be used from a UTF-8 terminal, and keys of
 * a server are bytes, not text of a locale. Only widths come from the C library, which keeps its tables up to date.
 *
 * Not here    joined emoji (several code points with U+200D between): each part is a unit of its own, as terminals
 *             differ.
 * Tests       tests/unit/tools/utf8_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "utf8.h"
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <wchar.h>

void utf8Init(void) {
    if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return;
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, "en_US.UTF-8");
}

/* Returns the length of the sequence that starts with `first`; 0 if none can. */
static size_t sequenceLen(unsigned char first) {
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first < 0xe0) return 2;
    if (first >= 0xe0 && first < 0xf0) return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Returns true if `second` may follow `first`. Excludes surrogates, overlong forms and code points above U+10FFFF. */
static bool followsFirst(unsigned char first, unsigned char second) {
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}

/* Returns the number of well-formed bytes at `p`, at most one sequence; *whole is the full length of that sequence. */
static size_t formedLen(const unsigned char *p, size_t len, size_t *whole) {
    size_t n = 1;
    *whole = sequenceLen(p[0]);
    if (*whole < 2) return *whole;
    if (len < 2 || !followsFirst(p[0], p[1])) return 1;
    for (n = 2; n < *whole && n < len && (p[n] & 0xc0) == 0x80; n++) {
    }
    return n;
}

size_t utf8Decode(const char *p, size_t len, uint32_t *code) {
    const unsigned char *b = (const unsigned char *)p;
    size_t whole, n = formedLen(b, len, &whole);
    *code = UTF8_BAD;
    if (whole == 0 || n < whole) return 1;
    *code = whole == 1 ? b[0] : b[0] & (0x7fu >> whole);
    for (size_t i = 1; i < whole; i++) *code = *code << 6 | (b[i] & 0x3fu);
    return whole;
}

bool utf8IsCut(const char *p, size_t len) {
    size_t whole, n = formedLen((const unsigned char *)p, len, &whole);
    return whole > 1 && n < whole && n == len;
}

int utf8Width(uint32_t code) {
    if (code < 0x20 || code == 0x7f) return 2;
    int width = wcwidth((wchar_t)code);
    return width < 0 ? 1 : width;
}

size_t utf8UnitLen(const char *p, size_t len) {
    uint32_t code;
    size_t n = utf8Decode(p, len, &code);
    while (n < len) {
        size_t more = utf8Decode(p + n, len - n, &code);
        if (utf8Width(code) != 0) break;
        n += more;
    }
    return n;
}
