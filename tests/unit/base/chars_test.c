/* chars_test.c -- compares each byte with the C library in the C locale.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slice.h"
#include "unit.h"

#include <ctype.h>
#include <stdlib.h>

TEST(chars_are_those_of_the_c_locale) {
    for (int c = 0; c < 256; c++) {
        const char digit[] = {(char)c, '\0'};
        CHECK_EQ_INT(isBlank((char)c), isspace(c) != 0);
        CHECK_EQ_INT(isDigit((char)c), isdigit(c) != 0);
        CHECK_EQ_INT(hexDigit((char)c), isxdigit(c) ? strtol(digit, NULL, 16) : -1);
    }
}
