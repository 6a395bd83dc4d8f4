/* progress_line_test.c -- the text of the progress line.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "progress_line.h"
#include "unit.h"

static const char *textOf(const char *unit, uint64_t done, uint64_t all, uint64_t passed_ms) {
    static char text[160];
    progressText(text, sizeof(text), unit, done, all, passed_ms);
    return text;
}

TEST(progress_tells_share_amount_and_time_left) {
    CHECK_EQ_STR(textOf("keys", 250, 1000, 2000), " 25.0%  250 of 1000 keys, 6 s left");
    CHECK_EQ_STR(textOf(NULL, 1536, 4096, 1000), " 37.5%  1.50K of 4.00K, 2 s left");
    CHECK_EQ_STR(textOf("keys", 100, 10000, 2000), "  1.0%  100 of 10000 keys, 3 min 18 s left");
    CHECK_EQ_STR(textOf("keys", 100, 10000, 90000), "  1.0%  100 of 10000 keys, 2 h 28 min left");
}

/* There is no estimate at the beginning and at the end. */
TEST(progress_estimates_when_there_is_something_to_go_by) {
    CHECK_EQ_STR(textOf("keys", 250, 1000, 999), " 25.0%  250 of 1000 keys");
    CHECK_EQ_STR(textOf("keys", 9, 1000, 60000), "  0.9%  9 of 1000 keys");
    CHECK_EQ_STR(textOf("keys", 1000, 1000, 60000), "100.0%  1000 of 1000 keys");
}

TEST(progress_of_unknown_or_growing_work) {
    CHECK_EQ_STR(textOf("keys", 250, 0, 60000), "250 keys");
    CHECK_EQ_STR(textOf(NULL, 512, 0, 60000), "512B");
    CHECK_EQ_STR(textOf("keys", 1200, 1000, 60000), "100.0%  1200 of 1000 keys");
}
