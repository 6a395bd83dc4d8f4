/* glob.c -- glob patterns; backtracks to the last star only.
 *
 * When a later part of the pattern fails, only the last star takes one more byte: any byte that an
 * earlier star could take, the last one can take as well. The part after the last star is compared
 * with the end of the text; a part of literal bytes is searched for in linear time. So matching takes linear time;
 * if '?', '\' or classes are between two stars, at worst the product of the lengths, whereas a recursive matcher
 * is exponential in the number of stars.
 *
 * Tests       tests/unit/base/glob_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slice.h"

static unsigned char lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c; }

/* Matches `c` with the class whose first byte after '[' is at `p`; *next is the first byte after it. Malformed classes
 * have a meaning too: a class without ']' ends with the pattern, a final '\' or an incomplete 'x-' are literal bytes,
 * and in '[a-]' the bracket is the end of the range. */
static bool matchClass(const char *p, const char *end, unsigned char c, bool nocase, const char **next) {
    bool negated = p < end && *p == '^';
    bool found = false;
    if (negated) p++;
    for (; p < end && *p != ']'; p++) {
        if (*p == '\\' && end - p >= 2) {
            p++;
            if ((unsigned char)*p == c) found = true;
        } else if (end - p >= 3 && p[1] == '-') {
            unsigned char from = (unsigned char)p[0], to = (unsigned char)p[2], byte = c;
            if (from > to) {
                unsigned char swap = from;
                from = to;
                to = swap;
            }
            if (nocase) {
                from = lower(from);
                to = lower(to);
                byte = lower(byte);
            }
            if (byte >= from && byte <= to) found = true;
            p += 2;
        } else if (nocase ? lower((unsigned char)*p) == lower(c) : (unsigned char)*p == c) {
            found = true;
        }
    }
    *next = p < end ? p + 1 : end;
    return found != negated;
}

/* Matches one byte of text with one element of the pattern that is not a star. */
static bool matchOne(const char *p, const char *end, unsigned char c, bool nocase, const char **next) {
    switch (*p) {
    case '?': *next = p + 1; return true;
    case '[': return matchClass(p + 1, end, c, nocase, next);
    case '\\':
        if (end - p >= 2) p++;
        break;
    default: break;
    }
    *next = p + 1;
    return nocase ? lower((unsigned char)*p) == lower(c) : (unsigned char)*p == c;
}

/* Returns how many bytes of text the part up to the next star, or the end, matches; *stop is where the part ends. */
static size_t partLength(const char *p, const char *end, const char **stop, bool *literal) {
    size_t n = 0;
    *literal = true;
    for (; p < end && *p != '*'; n++) {
        if (*p == '?' || *p == '[' || *p == '\\') *literal = false;
        if (*p == '[') matchClass(p + 1, end, 0, false, &p);
        else p += *p == '\\' && end - p >= 2 ? 2 : 1;
    }
    *stop = p;
    return n;
}

bool globMatch(slice pattern, slice text, bool nocase) {
    const char *p = pattern.ptr, *p_end = p + pattern.len;
    const char *t = text.ptr, *t_end = t + text.len;
    if (text.len == 0) return pattern.len == 0 || (pattern.len == 1 && *p == '*');
    const char *star = NULL, *star_text = NULL; /* after the last star; where its match in the text begins */
    while (t < t_end) {
        const char *next;
        if (p < p_end && *p == '*') {
            star = ++p;
            star_text = t;
            if (p == p_end) return true;
            bool literal;
            size_t n = partLength(p, p_end, &next, &literal);
            if (n > (size_t)(t_end - t)) return false;
            if (next == p_end) {
                t = t_end - n; /* the last part has only one possible position */
                star = NULL;
            } else if (literal && !nocase) {
                t = memmem(t, (size_t)(t_end - t), p, n);
                if (!t) return false;
                t += n;
                p = next;
            }
        } else if (p < p_end && matchOne(p, p_end, (unsigned char)*t, nocase, &next)) {
            p = next;
            t++;
        } else if (star) {
            p = star;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < p_end && *p == '*') p++;
    return p == p_end;
}
