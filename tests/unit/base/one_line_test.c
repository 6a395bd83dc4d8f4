/* one_line_test.c -- control characters in lines and words; strings of JSON.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "one_line.h"
#include "unit.h"

#include <string.h>

TEST(one_line_has_no_control_character_but_tabs) {
    char text[256];
    for (int i = 0; i < 256; i++) text[i] = (char)i;
    oneLine(text, sizeof(text));
    for (int i = 0; i < 256; i++) {
        bool control = i < ' ' || i == 0x7f, ends = i == '\n' || i == '\v' || i == '\f' || i == '\r';
        CHECK_EQ_INT((unsigned char)text[i], !control || i == '\t' ? i : ends ? ' ' : '?');
    }
}

/* Each byte at each position, among bytes of all other values. */
TEST(one_line_sees_each_byte_in_each_place) {
    for (int c = 0; c < 256; c++) {
        for (size_t at = 0; at < 19; at++) {
            char text[20] = "aaaaaaaa\x80\xff\x9f ~aaaaaa", want[20];
            text[at] = (char)c;
            memcpy(want, text, sizeof(want));
            if (c != '\t' && (c < ' ' || c == 0x7f)) want[at] = c >= '\n' && c <= '\r' ? ' ' : '?';
            oneLine(text, 19);
            if (!CHECK(memcmp(text, want, sizeof(want)) == 0)) return;
        }
    }
}

TEST(one_word_has_no_separator) {
    char text[] = "a b\tc,d=e\r\nf:1";
    oneWord(text, strlen(text));
    CHECK_EQ_STR(text, "a_b_c_d_e__f:1");
}

static const char *escaped(const char *text) {
    static char out[600];
    jsonEscape(out, text);
    return out;
}

TEST(json_strings_are_escaped) {
    CHECK_EQ_STR(escaped("a\"b\\c\n\r\t\b\f\x01\x1f\x7f"), "a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u001f\\u007f");
    CHECK_EQ_STR(escaped("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK_EQ_STR(escaped(""), "");
}

TEST(json_strings_are_utf8_whatever_the_bytes) {
    static const char *const odd[] = {"\x80",
                                      "\xff",
                                      "\xc0\xaf" /* overlong */,
                                      "\xed\xa0\x80" /* surrogate */,
                                      "\xf4\x90\x80\x80" /* too large */,
                                      "\xe2\x82" /* cut off */,
                                      "\xf0\x9f\x98"};
    for (size_t i = 0; i < array_len(odd); i++) {
        const char *out = escaped(odd[i]);
        CHECK_EQ_INT(strlen(out), 6 * strlen(odd[i]));
        for (size_t at = 0; at < strlen(out); at += 6) CHECK_MEM(out + at, "\\ufffd", 6);
    }
    CHECK_EQ_STR(escaped("\xe2z"), "\\ufffdz");
}
