/* suggest_test.c -- the most similar known word.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "suggest.h"
#include "unit.h"

static const char *nearest(const char *word) {
    static const char *const known[] = {"--hotkeys", "--bigkeys", "--memkeys", "--help",   "--stat", "GET",
                                        "SET",       "GETSET",    "SUBSCRIBE", "FLUSHALL", "-n"};
    suggestion s = {.word = word};
    for (size_t i = 0; i < array_len(known); i++) suggestConsider(&s, known[i]);
    return s.best ? s.best : "";
}

TEST(suggest_finds_the_near_word) {
    CHECK_EQ_STR(nearest("--hots"), "--hotkeys");
    CHECK_EQ_STR(nearest("--bigkey"), "--bigkeys");
    CHECK_EQ_STR(nearest("-stat"), "--stat");
    CHECK_EQ_STR(nearest("gte"), "GET");
    CHECK_EQ_STR(nearest("sett"), "SET");
    CHECK_EQ_STR(nearest("subscrieb"), "SUBSCRIBE");
    CHECK_EQ_STR(nearest("flushal"), "FLUSHALL");
}

TEST(suggest_is_silent_when_nothing_is_near) {
    CHECK_EQ_STR(nearest("--nonsense"), "");
    CHECK_EQ_STR(nearest("x"), "");
    CHECK_EQ_STR(nearest(""), "");
    CHECK_EQ_STR(nearest("a-word-that-is-much-longer-than-any-option-of-the-program"), "");
}
