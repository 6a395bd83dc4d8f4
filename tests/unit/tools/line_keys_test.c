/* line_keys_test.c -- keys as terminals send them, whole and in pieces.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_keys.h"
#include "unit.h"
#include <string.h>

static const struct {
    const char *bytes;
    lineKey key;
} keys[] = {
    {"\x01", KEY_HOME},
    {"\x03", KEY_INTERRUPT},
    {"\x04", KEY_DELETE_OR_END},
    {"\x05", KEY_END},
    {"\x09", KEY_TAB},
    {"\x0a", KEY_ENTER},
    {"\x0d", KEY_ENTER},
    {"\x0b", KEY_CUT_RIGHT},
    {"\x0c", KEY_CLEAR},
    {"\x12", KEY_SEARCH},
    {"\x15", KEY_CUT_LEFT},
    {"\x17", KEY_CUT_WORD_LEFT},
    {"\x7f", KEY_DELETE_LEFT},
    {"\x1b[A", KEY_UP},
    {"\x1bOB", KEY_DOWN},
    {"\x1b[C", KEY_RIGHT},
    {"\x1b[D", KEY_LEFT},
    {"\x1b[1;5C", KEY_WORD_RIGHT},
    {"\x1b[1;3D", KEY_WORD_LEFT},
    {"\x1b[1;2D", KEY_LEFT},
    {"\x1b[H", KEY_HOME},
    {"\x1bOF", KEY_END},
    {"\x1b[1~", KEY_HOME},
    {"\x1b[3~", KEY_DELETE_RIGHT},
    {"\x1b[8~", KEY_END},
    {"\x1b[200~", KEY_PASTE_BEGINS},
    {"\x1b[201~", KEY_PASTE_ENDS},
    {"\x1b[15~", KEY_UNKNOWN},
    {"\x1b[?1;2c", KEY_UNKNOWN},
    {"\x1b[99999999999999999999~", KEY_UNKNOWN},
    {"\x1b"
     "b",
     KEY_WORD_LEFT},
    {"\x1b"
     "f",
     KEY_WORD_RIGHT},
    {"\x1b"
     "d",
     KEY_CUT_WORD_RIGHT},
    {"\x1b\x7f", KEY_CUT_WORD_LEFT},
    {"a", KEY_TEXT},
    {"\xd0\xba", KEY_TEXT},
    {"\xf0\x9f\x98\x80", KEY_TEXT},
};

TEST(line_keys_are_told_apart) {
    for (size_t i = 0; i < array_len(keys); i++) {
        size_t used, len = strlen(keys[i].bytes);
        CHECK_EQ_INT(lineKeyDecode(keys[i].bytes, len, false, &used), keys[i].key);
        CHECK_EQ_INT(used, len);
        for (size_t cut = 1; cut < len; cut++) {
            CHECK_EQ_INT(lineKeyDecode(keys[i].bytes, cut, false, &used), KEY_MORE);
            CHECK_EQ_INT(used, 0);
        }
    }
}

TEST(line_keys_end_when_no_more_comes) {
    size_t used;
    CHECK_EQ_INT(lineKeyDecode("\x1b", 1, true, &used), KEY_ESCAPE);
    CHECK_EQ_INT(used, 1);
    CHECK_EQ_INT(lineKeyDecode("\x1b[1;", 4, true, &used), KEY_UNKNOWN);
    CHECK_EQ_INT(used, 4);
    CHECK_EQ_INT(lineKeyDecode("\xd0", 1, true, &used), KEY_TEXT);
    CHECK_EQ_INT(used, 1);
}

TEST(line_keys_take_text_up_to_the_next_key) {
    size_t used;
    CHECK_EQ_INT(lineKeyDecode("set \xd0\xba\r", 7, false, &used), KEY_TEXT);
    CHECK_EQ_INT(used, 6);
    CHECK_EQ_INT(lineKeyDecode("set \xd0", 5, false, &used), KEY_TEXT);
    CHECK_EQ_INT(used, 4);
}

TEST(line_keys_get_through_random_bytes) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 5000; round++) {
        char bytes[64];
        size_t len = 1 + unitRandom(&seed) % sizeof(bytes), at = 0;
        for (size_t i = 0; i < len; i++)
            bytes[i] = unitRandom(&seed) % 3 ? (char)unitRandom(&seed) : "\x1b[O;1~"[i % 6];
        while (at < len) {
            size_t used;
            lineKey key = lineKeyDecode(bytes + at, len - at, true, &used);
            if (!CHECK(key != KEY_MORE && used >= 1 && used <= len - at)) return;
            at += used;
        }
    }
}
