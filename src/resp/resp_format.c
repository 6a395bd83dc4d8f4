/* resp_format.c -- writes RESP: the headers and scalars of RESP2 and RESP3 replies, and requests.
 *
 * Not here    bodies of bulk strings in replies; where the bytes go (client/reply.c).
 * Threads     any: no state.
 * Cost        respHeader: one digit by one comparison, more by ll2string.
 * Tests       tests/unit/resp/resp_format_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "resp_format.h"
#include "numbers.h"

static_assert(RESP_HEADER_MAX >= 1 + LONG_STR_SIZE + 2, "any 64-bit integer fits a header");
static_assert(RESP_DOUBLE_MAX >= RESP_HEADER_MAX + DOUBLE_STR_SIZE, "a RESP2 double is a header and a body");
static_assert(2 * RESP_HEADER_MAX >= RESP_BULK_EXTRA + LONG_STR_SIZE, "any 64-bit integer fits a bulk string");

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
    size_t len = d2string(digits, sizeof(digits), v);

    if (resp < 3) return respBulk(out, sliceOf(digits, len));
    out[0] = ',';
    memcpy(out + 1, digits, len);
    memcpy(out + 1 + len, "\r\n", 2);
    return len + 3;
}

size_t respBool(char *out, bool v, int resp) {
    memcpy(out, resp >= 3 ? v ? "#t\r\n" : "#f\r\n" : v ? ":1\r\n" : ":0\r\n", 4);
    return 4;
}

size_t respBulkNumber(char *out, long long n) {
    char digits[LONG_STR_SIZE];
    return respBulk(out, sliceOf(digits, ll2string(digits, n)));
}

size_t respSelect(char *out, int db) {
    static const char start[] = "*2\r\n$6\r\nSELECT\r\n";
    memcpy(out, start, sizeof(start) - 1);
    return sizeof(start) - 1 + respBulkNumber(out + sizeof(start) - 1, db);
}

sds respCatBulk(sds out, slice bytes) {
    out = sdsMakeRoomFor(out, bytes.len + RESP_BULK_EXTRA);
    sdsIncrLen(out, (ptrdiff_t)respBulk(out + sdsLen(out), bytes));
    return out;
}

sds respCatRequest(sds out, size_t argc, const slice *argv) {
    char header[RESP_HEADER_MAX];
    out = sdsCatLen(out, header, respHeader(header, '*', (long long)argc));
    for (size_t i = 0; i < argc; i++) out = respCatBulk(out, argv[i]);
    return out;
}
