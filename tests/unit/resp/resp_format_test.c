/* resp_format_test.c -- each header and scalar in both protocols, bulk strings and whole commands.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "resp_format.h"
#include "unit.h"

#include <limits.h>
#include <math.h>

static void checkBytes(const char *out, size_t len, const char *want) {
    CHECK_EQ_INT(len, strlen(want));
    CHECK_MEM(out, want, strlen(want));
}

TEST(resp_format_headers) {
    char out[RESP_HEADER_MAX];

    checkBytes(out, respHeader(out, ':', 0), ":0\r\n");
    checkBytes(out, respHeader(out, '$', 9), "$9\r\n");
    checkBytes(out, respHeader(out, '*', 10), "*10\r\n");
    checkBytes(out, respHeader(out, '%', -1), "%-1\r\n");
    checkBytes(out, respHeader(out, '>', LLONG_MAX), ">9223372036854775807\r\n");
    checkBytes(out, respHeader(out, ':', LLONG_MIN), ":-9223372036854775808\r\n");
}

TEST(resp_format_doubles) {
    char out[RESP_DOUBLE_MAX];

    checkBytes(out, respDouble(out, 3.14, 3), ",3.14\r\n");
    checkBytes(out, respDouble(out, 3.14, 2), "$4\r\n3.14\r\n");
    checkBytes(out, respDouble(out, 3, 3), ",3\r\n");
    checkBytes(out, respDouble(out, INFINITY, 3), ",inf\r\n");
    checkBytes(out, respDouble(out, -INFINITY, 2), "$4\r\n-inf\r\n");
    CHECK(respDouble(out, -1.7976931348623157e308, 2) < RESP_DOUBLE_MAX);
}

TEST(resp_format_scalars) {
    char out[RESP_HEADER_MAX];

    checkBytes(out, respBool(out, true, 3), "#t\r\n");
    checkBytes(out, respBool(out, false, 3), "#f\r\n");
    checkBytes(out, respBool(out, true, 2), ":1\r\n");
    checkBytes(out, respBool(out, false, 2), ":0\r\n");
}

TEST(resp_format_writes_to_a_buffer) {
    char out[RESP_SELECT_MAX];

    checkBytes(out, respBulk(out, sliceOf(NULL, 0)), "$0\r\n\r\n");
    checkBytes(out, respBulk(out, sliceStr("ten bytes.")), "$10\r\nten bytes.\r\n");
    checkBytes(out, respBulkNumber(out, 7), "$1\r\n7\r\n");
    checkBytes(out, respBulkNumber(out, LLONG_MIN), "$20\r\n-9223372036854775808\r\n");
    checkBytes(out, respSelect(out, 0), "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n");
    checkBytes(out, respSelect(out, 12), "*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n");
    checkBytes(out, respSelect(out, INT_MAX), "*2\r\n$6\r\nSELECT\r\n$10\r\n2147483647\r\n");
}

TEST(resp_format_appends_to_a_string) {
    sds out = RESP_CAT_REQUEST(sdsNew("before "), sliceStr("PING"));
    checkBytes(out, sdsLen(out), "before *1\r\n$4\r\nPING\r\n");
    sdsClear(out);
    out = RESP_CAT_REQUEST(out, sliceStr("SET"), sliceOf("k\0\r", 3), sliceOf(NULL, 0));
    CHECK_EQ_INT(sdsLen(out), 28);
    CHECK_MEM(out, "*3\r\n$3\r\nSET\r\n$3\r\nk\0\r\r\n$0\r\n\r\n", 28);
    sdsFree(out);
}

TEST(resp_format_appends_strings_of_any_length) {
    uint64_t seed = unitRandomSeed();
    char bytes[3000], header[RESP_HEADER_MAX];
    sds out = sdsEmpty();

    memset(bytes, 'x', sizeof(bytes));
    for (int i = 0; i < 300; i++) {
        size_t before = sdsLen(out), len = unitRandom(&seed) % sizeof(bytes);
        size_t head = respHeader(header, '$', (long long)len);
        out = respCatBulk(out, sliceOf(bytes, len));
        if (!CHECK_EQ_INT(sdsLen(out), before + head + len + 2)) break;
        CHECK_MEM(out + before, header, head);
        CHECK_MEM(out + before + head, bytes, len);
        CHECK_MEM(out + sdsLen(out) - 2, "\r\n", 3);
    }
    sdsFree(out);
}
