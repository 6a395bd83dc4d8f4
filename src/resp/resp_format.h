/* resp_format.h -- writes RESP: the headers and scalars of RESP2 and RESP3 replies, and requests.
 *
 * Requests are commands for another server, for the log and for replicas. A function that writes to `out` returns the
 * number of bytes; `out` has at least RESP_HEADER_MAX bytes unless a comment says otherwise. The others append to an
 * sds, which they take, and return it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_RESP_FORMAT_H
#define RESP_RESP_FORMAT_H

#include "sds.h"

#define RESP_HEADER_MAX 32
#define RESP_DOUBLE_MAX 160                   /* size of the output of respDouble() in either protocol */
#define RESP_BULK_EXTRA (RESP_HEADER_MAX + 2) /* capacity that a bulk string needs beside its own bytes */
#define RESP_SELECT_MAX 128

/* Writes "<prefix><n>\r\n"; the prefix is one of : $ * % ~ > | */
size_t respHeader(char *out, char prefix, long long n);
/* Writes a double: ",3.14\r\n" in RESP3, "$4\r\n3.14\r\n" in RESP2. `out` has RESP_DOUBLE_MAX bytes. */
size_t respDouble(char *out, double v, int resp);
size_t respBool(char *out, bool v, int resp); /* RESP3 #t; RESP2 :1 */

/* Writes "$<len>\r\n<bytes>\r\n". `out` has RESP_BULK_EXTRA bytes and those of the string. */
static inline size_t respBulk(char *out, slice bytes) {
    size_t len = respHeader(out, '$', (long long)bytes.len);
    if (bytes.len) memcpy(out + len, bytes.ptr, bytes.len);
    memcpy(out + len + bytes.len, "\r\n", 2);
    return len + bytes.len + 2;
}
size_t respBulkNumber(char *out, long long n); /* `out`: 2 * RESP_HEADER_MAX bytes */
size_t respSelect(char *out, int db);          /* a whole SELECT; `out`: RESP_SELECT_MAX bytes */
sds respCatBulk(sds out, slice bytes);
sds respCatRequest(sds out, size_t argc, const slice *argv);
/* Like respCatRequest(), with the arguments one by one. */
#define RESP_CAT_REQUEST(out, ...) respCatRequest(out, array_len(((slice[]){__VA_ARGS__})), (slice[]){__VA_ARGS__})

#endif
