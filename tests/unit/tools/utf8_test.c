/* utf8_test.c -- characters, widths, and invalid bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "utf8.h"
#include "unit.h"
#include <string.h>

static const struct {
    const char *bytes;
    size_t len;
    uint32_t code;
} good[] = {
    {"a", 1, 'a'},
    {"\xc3\xa9", 2, 0xe9},
    {"\xe6\x97\xa5", 3, 0x65e5},
    {"\xf0\x9f\x98\x80", 4, 0x1f600},
    {"\xef\xbf\xbd", 3, 0xfffd},
};

/* A continuation byte alone, an overlong form, a surrogate, a code point above the range, bytes that never occur. */
static const char *const bad[] = {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                  "\xfe", "\xff"};

TEST(utf8_decodes_what_is_well_formed) {
    for (size_t i = 0; i < array_len(good); i++) {
        uint32_t code;
        CHECK_EQ_INT(utf8Decode(good[i].bytes, good[i].len, &code), good[i].len);
        CHECK_EQ_INT(code, good[i].code);
        for (size_t cut = 1; cut < good[i].len; cut++) {
            CHECK(utf8IsCut(good[i].bytes, cut));
            CHECK_EQ_INT(utf8Decode(good[i].bytes, cut, &code), 1);
            CHECK_EQ_INT(code, UTF8_BAD);
        }
        CHECK(!utf8IsCut(good[i].bytes, good[i].len));
    }
}

TEST(utf8_takes_bad_bytes_one_by_one) {
    for (size_t i = 0; i < array_len(bad); i++) {
        uint32_t code;
        CHECK_EQ_INT(utf8Decode(bad[i], strlen(bad[i]), &code), 1);
        CHECK_EQ_INT(code, UTF8_BAD);
        CHECK(!utf8IsCut(bad[i], strlen(bad[i])));
    }
}

TEST(utf8_knows_widths_without_a_locale) {
    utf8Init();
    CHECK_EQ_INT(utf8Width('a'), 1);
    CHECK_EQ_INT(utf8Width(0x65e5), 2);
    CHECK_EQ_INT(utf8Width(0x301), 0);
    CHECK_EQ_INT(utf8Width(1), 2);
    CHECK_EQ_INT(utf8UnitLen("e\xcc\x81x", 4), 3);
    CHECK_EQ_INT(utf8UnitLen("\xffx", 2), 1);
}

TEST(utf8_units_cover_random_bytes) {
    uint64_t seed = unitRandomSeed();
    utf8Init();
    for (int round = 0; round < 2000; round++) {
        char bytes[40];
        size_t len = 1 + unitRandom(&seed) % sizeof(bytes), at = 0;
        for (size_t i = 0; i < len; i++) bytes[i] = (char)unitRandom(&seed);
        while (at < len) {
            size_t n = utf8UnitLen(bytes + at, len - at);
            if (!CHECK(n >= 1 && n <= len - at)) return;
            at += n;
        }
    }
}
