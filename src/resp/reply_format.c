/* reply_format.c -- writes the headers and scalars of RESP2 and RESP3 replies.
 *
 * Not here    bodies of bulk strings; where the bytes go (client/reply.c).
 * Threads     any: no state.
 * Cost        respHeader: one digit by one comparison, more by ll2string.
 * Tests       tests/unit/resp/reply_format_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_format.h"
#include "numbers.h"

static_assert(RESP_HEADER_MAX >= 1 + LONG_STR_SIZE + 2, "any 64-bit integer fits a header");
static_assert(RESP_DOUBLE_MAX >= RESP_HEADER_MAX + DOUBLE_STR_SIZE, "a RESP2 double is a header and a body");

static size_t putText(char *out, const char *text, size_t len) {
    memcpy(out, text, len);
    return len;
}

size_t respHeader(char *out, char prefix, long long n) {
    size_t len = 2;

    out[0] = prefix;
    if (n >= 0 && n <= 9) out[1] = (char)('0' + n);
    else len = 1 + ll2string(out + 1, n);
    out[len] = '\r';
    out[len + 1] = '\n';
    return len + 2;
}

size_t respDouble(char *out, double v, int resp) {
    char digits[DOUBLE_STR_SIZE];
    size_t digits_len = d2string(digits, sizeof(digits), v), len;

    if (resp >= 3) {
        out[0] = ',';
        len = 1;
    } else {
        len = respHeader(out, '$', (long long)digits_len);
    }
    len += putText(out + len, digits, digits_len);
    return len + putText(out + len, "\r\n", 2);
}

size_t respBool(char *out, bool v, int resp) {
    if (resp >= 3) return putText(out, v ? "#t\r\n" : "#f\r\n", 4);
    return putText(out, v ? ":1\r\n" : ":0\r\n", 4);
}

size_t respNull(char *out, int resp) { return resp >= 3 ? putText(out, "_\r\n", 3) : putText(out, "$-1\r\n", 5); }

size_t respNullArray(char *out, int resp) { return resp >= 3 ? putText(out, "_\r\n", 3) : putText(out, "*-1\r\n", 5); }
