/* sort_pattern_test.c -- the slot of the keys that a pattern of SORT names, as recorded from Valkey 9.1.2.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sort_pattern.h"

#include "hash.h"
#include "unit.h"

#include <stdio.h>

TEST(slot_of_a_sort_pattern) {
    static const struct {
        const char *pattern, *like; /* has the slot of this key; NULL: it varies */
    } rows[] = {
        {"l", "l"},      {"{l}w_*", "l"},  {"{l}*->f", "l"}, {"a{l}b*", "l"}, {"{l}?", "l"},
        {"{l}[", "l"},   {"{l}*{x}", "l"}, {"a]{l}", "l"},   {"x->{l}", "l"}, {"{}l", "{}l"},
        {"l{}", "l{}"},  {"{l", "{l"},     {"l->x", "l->x"}, {"", ""},        {"w_*", NULL},
        {"*", NULL},     {"*{l}", NULL},   {"{*}", NULL},    {"?{l}", NULL},  {"[{l}", NULL},
        {"\\{l}", NULL}, {"l?", NULL},     {"{}*{l}", NULL}, {"{?}*", NULL},  {"{l*", NULL},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        const char *like = rows[i].like;
        if (!CHECK_EQ_INT(sortPatternSlot(sliceStr(rows[i].pattern)), like ? keyHashSlot(like, strlen(like)) : -1))
            fprintf(stderr, "%s\n", rows[i].pattern);
    }
}
