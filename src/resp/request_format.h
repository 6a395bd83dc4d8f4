/* request_format.h -- requests as bytes: commands for another server, for the log and for replicas.
 *
 * The functions that write to `out` return the number of bytes. The others append to an sds, which they take, and
 * return it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_REQUEST_FORMAT_H
#define RESP_REQUEST_FORMAT_H

#include "reply_format.h"
#include "sds.h"

#define RESP_BULK_EXTRA (RESP_HEADER_MAX + 2) /* capacity that a bulk string needs beside its own bytes */
#define RESP_SELECT_MAX 128

/* "$<len>\r\n<bytes>\r\n", to `out` of RESP_BULK_EXTRA bytes and those of the string. */
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
/* As respCatRequest(), with the arguments one by one. */
#define RESP_CAT_REQUEST(out, ...) respCatRequest(out, array_len(((slice[]){__VA_ARGS__})), (slice[]){__VA_ARGS__})

#endif
