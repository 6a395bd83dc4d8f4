/* reply_reader.c -- finds the end of a RESP2/RESP3 reply, for programs that only count and skip replies.
 *
 * Nesting needs no stack: an aggregate of n elements only adds n to the number of elements still to
 * come, and the reply is complete when that number is zero.
 *
 * Not here    values: a program that shows replies parses them itself.
 * Threads     any: the state is the caller's.
 * Invariants  1. pending >= 0 and skip >= 0; the reply is complete when both are 0.
 *             2. A header line is consumed as a whole or not at all; a body in any pieces.
 * Cost        header bytes are read once, bodies never.
 * Tests       tests/unit/resp/reply_reader_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_reader.h"
#include "numbers.h"

#define LENGTH_LINE_MAX 32                    /* longest header line that is only a number, CRLF included */
#define REPLY_ELEMENTS_MAX ((int64_t)1 << 60) /* far from overflow when counts are added */
#define REPLY_BODY_MAX ((int64_t)1 << 60)

void replyScannerReset(replyScanner *s) { *s = (replyScanner){.pending = 1}; }

static bool isLengthType(char type) { return type != '\0' && strchr("$=!*~>%|", type) != NULL; }
static bool isLineType(char type) { return type != '\0' && strchr("+-:,#(_", type) != NULL; }

/* Adds the count `n` of a header of `type`. Returns false if it is not valid for that type. */
static bool addLength(replyScanner *s, char type, long long n) {
    switch (type) {
    case '$':
    case '=':
    case '!':
        if (n < -1 || n > REPLY_BODY_MAX || (n == -1 && type != '$')) return false;
        s->pending--;
        if (n >= 0) s->skip = n + 2;
        return true;
    case '%':
    case '|':
        if (n < 0 || n > REPLY_ELEMENTS_MAX / 2) return false;
        s->pending += 2 * n - (type == '%'); /* attributes precede an element and are none themselves */
        break;
    default:
        if (n < -1 || n > REPLY_ELEMENTS_MAX || (n == -1 && type != '*')) return false;
        s->pending += (n > 0 ? n : 0) - 1;
    }
    return s->pending <= REPLY_ELEMENTS_MAX;
}

static size_t markBad(replyScanner *s) {
    s->bad = true;
    return 0;
}

/* Consumes one header line at p and returns its length; 0 if it is incomplete or malformed. */
static size_t takeHeader(replyScanner *s, const char *p, size_t len) {
    bool counted = isLengthType(p[0]);

    if (!counted && !isLineType(p[0])) return markBad(s);
    size_t limit = counted && len > LENGTH_LINE_MAX ? LENGTH_LINE_MAX : len;
    const char *nl = memchr(p, '\n', limit);
    if (!nl) return counted && len >= LENGTH_LINE_MAX ? markBad(s) : 0;
    size_t line_len = (size_t)(nl - p) + 1;
    if (line_len < 3 || nl[-1] != '\r') return markBad(s);
    if (s->first_type == '\0') s->first_type = p[0];
    if (!counted) {
        s->pending--;
        return line_len;
    }
    long long n;
    return string2ll(p + 1, line_len - 3, &n) && addLength(s, p[0], n) ? line_len : markBad(s);
}

size_t replyScan(replyScanner *s, const char *p, size_t len, bool *whole) {
    size_t used = 0;

    while (!s->bad) {
        if (s->skip > 0) {
            size_t step = len - used < (uint64_t)s->skip ? len - used : (size_t)s->skip;
            s->skip -= (int64_t)step;
            used += step;
        }
        if (s->skip > 0 || s->pending == 0 || used == len) break;
        size_t header_len = takeHeader(s, p + used, len - used);
        if (header_len == 0) break;
        used += header_len;
    }
    *whole = !s->bad && s->pending == 0 && s->skip == 0;
    return used;
}
