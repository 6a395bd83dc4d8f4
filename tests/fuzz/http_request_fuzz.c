/* http_request_fuzz.c -- feeds any bytes as HTTP requests, one after the other, as a whole and byte by byte, with the
 * same result.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "http_request.h"
#include "panic.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool isWithin(slice s, const char *bytes, size_t len) {
    return !s.ptr || (s.ptr >= bytes && s.ptr + s.len <= bytes + len);
}

/* Checks the guarantees of a request that was read. */
static void check(const httpRequest *r, const char *bytes, size_t len) {
    char room[256];
    slice name, password;
    serverAssert(r->end > 0 && r->end <= len && r->end <= HTTP_REQUEST_MAX && bytes[r->end - 1] == '\n');
    serverAssert(r->method != HTTP_OTHER && r->path.len > 0 && r->path.ptr[0] == '/');
    serverAssert(r->path.len == 1 || isWithin(r->path, bytes, r->end));
    serverAssert(isWithin(r->credentials, bytes, r->end) && isWithin(r->etags, bytes, r->end));
    if (httpCredentials(r, room, sizeof(room), &name, &password))
        serverAssert(isWithin(name, room, sizeof(room)) && isWithin(password, room, sizeof(room)));
    if (r->etags.ptr) (void)httpHasEtag(r->etags, "\"a\"");
    serverAssert(isWithin(r->host, bytes, r->end));
    (void)httpHostIsLocal(r->host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t at = 0;
    for (int status = HTTP_OK; status == HTTP_OK && at < size;) {
        size_t len = size - at;
        httpRequest whole, slow;
        char *bytes = malloc(len); /* to the byte, so that a read beyond it is detected */
        memcpy(bytes, data + at, len);
        httpRequestReset(&whole);
        status = httpRequestRead(&whole, bytes, len);
        if (status == HTTP_OK) check(&whole, bytes, len);

        httpRequestReset(&slow);
        int other = HTTP_MORE;
        for (size_t n = 1; n <= len && other == HTTP_MORE; n++) other = httpRequestRead(&slow, bytes, n);
        serverAssert(other == status);
        if (status == HTTP_OK) serverAssert(slow.end == whole.end && sliceEq(slow.path, whole.path));
        at += status == HTTP_OK ? whole.end : 0;
        free(bytes);
    }
    return 0;
}
