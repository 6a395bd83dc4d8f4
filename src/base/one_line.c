/* one_line.c -- sanitizes text from outside for output that is read by lines.
 *
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/base/one_line_test.c, tests/server/hostile_text.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "one_line.h"

#include <stdio.h>
#include <string.h>

static bool isControl(char c) { return (unsigned char)c < ' ' || c == '\x7f'; }
static bool endsLine(char c) { return c >= '\n' && c <= '\r'; }

/* Returns whether one of eight bytes is a control character: the subtraction sets the sign bit of a byte that is below
 * a blank or, after the XOR, equal to 0x7f; it borrows from the next byte only after such a byte. */
static bool hasControl(const char *eight) {
    const uint64_t ones = 0x0101010101010101, signs = 0x80 * ones;
    uint64_t v, del;
    memcpy(&v, eight, sizeof(v));
    del = v ^ 0x7f * ones;
    return (((v - ' ' * ones) & ~v) | ((del - ones) & ~del)) & signs;
}

/* Returns whether the text has no control characters, as most texts. Tests eight bytes at a time; the last eight
 * overlap. */
static bool isOneLine(const char *text, size_t len) {
    if (len < 8) return false;
    for (size_t at = 0; at + 8 < len; at += 8)
        if (hasControl(text + at)) return false;
    return !hasControl(text + len - 8);
}

void oneLine(char *text, size_t len) {
    if (likely(isOneLine(text, len))) return;
    for (size_t i = 0; i < len; i++)
        if (unlikely(isControl(text[i])) && text[i] != '\t') text[i] = endsLine(text[i]) ? ' ' : '?';
}

void oneWord(char *text, size_t len) {
    oneLine(text, len);
    for (size_t i = 0; i < len; i++)
        if (strchr(" \t,=", text[i])) text[i] = '_';
}

size_t utf8SequenceLen(const char *s, size_t left) {
    const unsigned char *p = (const unsigned char *)s;
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, len;
    } forms[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; left && i < array_len(forms); i++) {
        if (p[0] < forms[i].first_low || p[0] > forms[i].first_high) continue;
        size_t len = forms[i].len;
        if (len > left) return 0;
        if (len > 1 && (p[1] < forms[i].second_low || p[1] > forms[i].second_high)) return 0;
        for (size_t k = 2; k < len; k++)
            if (p[k] < 0x80 || p[k] > 0xbf) return 0;
        return len;
    }
    return 0;
}

static char *putEscape(char *out, char c) {
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    const char *at = strchr(from, c);
    if (!at) return out + sprintf(out, "\\u%04x", (unsigned char)c);
    *out++ = '\\';
    *out++ = to[at - from];
    return out;
}

void jsonEscape(char *out, const char *text) {
    const char *end = text + strlen(text);
    for (size_t n; text < end; text += n ? n : 1) {
        n = utf8SequenceLen(text, (size_t)(end - text));
        if (n == 0) {
            out += sprintf(out, "\\ufffd");
        } else if (n == 1 && (isControl(*text) || *text == '"' || *text == '\\')) {
            out = putEscape(out, *text);
        } else {
            memcpy(out, text, n);
            out += n;
        }
    }
    *out = '\0';
}
