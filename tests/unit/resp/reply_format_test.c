/* reply_format_test.c -- each header and scalar in both protocols.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_format.h"
#include "unit.h"

#include <limits.h>
#include <math.h>

static void checkBytes(const char *out, size_t len, const char *want) {
    CHECK_EQ_INT(len, strlen(want));
    CHECK_MEM(out, want, strlen(want));
}

TEST(reply_format_headers) {
    char out[RESP_HEADER_MAX];

    checkBytes(out, respHeader(out, ':', 0), ":0\r\n");
    checkBytes(out, respHeader(out, '$', 9), "$9\r\n");
    checkBytes(out, respHeader(out, '*', 10), "*10\r\n");
    checkBytes(out, respHeader(out, '%', -1), "%-1\r\n");
    checkBytes(out, respHeader(out, '>', LLONG_MAX), ">9223372036854775807\r\n");
    checkBytes(out, respHeader(out, ':', LLONG_MIN), ":-9223372036854775808\r\n");
}

TEST(reply_format_doubles) {
    char out[RESP_DOUBLE_MAX];

    checkBytes(out, respDouble(out, 3.14, 3), ",3.14\r\n");
    checkBytes(out, respDouble(out, 3.14, 2), "$4\r\n3.14\r\n");
    checkBytes(out, respDouble(out, 3, 3), ",3\r\n");
    checkBytes(out, respDouble(out, INFINITY, 3), ",inf\r\n");
    checkBytes(out, respDouble(out, -INFINITY, 2), "$4\r\n-inf\r\n");
    CHECK(respDouble(out, -1.7976931348623157e308, 2) < RESP_DOUBLE_MAX);
}

TEST(reply_format_scalars) {
    char out[RESP_HEADER_MAX];

    checkBytes(out, respBool(out, true, 3), "#t\r\n");
    checkBytes(out, respBool(out, false, 3), "#f\r\n");
    checkBytes(out, respBool(out, true, 2), ":1\r\n");
    checkBytes(out, respBool(out, false, 2), ":0\r\n");
    checkBytes(out, respNull(out, 3), "_\r\n");
    checkBytes(out, respNull(out, 2), "$-1\r\n");
    checkBytes(out, respNullArray(out, 3), "_\r\n");
    checkBytes(out, respNullArray(out, 2), "*-1\r\n");
}
