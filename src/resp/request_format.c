/* request_format.c -- requests as bytes.
 *
 * Threads     any: no state.
 * Tests       tests/unit/resp/request_format_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "request_format.h"

#include "numbers.h"

static_assert(2 * RESP_HEADER_MAX >= RESP_BULK_EXTRA + LONG_STR_SIZE, "any 64-bit integer fits a bulk string");

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
