/* web_page.c -- the page that the metrics port serves, and its header fields for browsers.
 *
 * The content security policy allows only the scripts and styles of the page, by their digests: no injected script
 * runs, no other address is contacted, and no other page shows this one in a frame. Digests are computed here, so that
 * a change of the page needs no other change.
 *
 * Not here    the page itself (page.html, from which the build makes <page.inc>); the response (http_server.c).
 * Owns        the header fields.
 * Threads     written by webPageInit(), read by any thread.
 * Tests       tests/unit/web/web_page_test.c, tests/server/metrics.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web_page.h"

#include "slice.h"
#include "hash.h"
#include "panic.h"

#include <stdio.h>

static const unsigned char bytes[] = {
#include <page.inc>
};

static char etag[24], fields[WEB_PAGE_FIELDS_MAX];

slice webPage(void) { return sliceOf(bytes, sizeof(bytes)); }

const char *webPageEtag(void) { return etag; }

const char *webPageFields(void) { return fields; }

/* ---- Digests ---- */

/* Writes " 'sha256-...'", the digest of a text in the form of a policy. */
static int putDigest(char *out, size_t size, slice text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char hex[65], base64[45];
    unsigned char raw[33] = {0}; /* one additional byte: 33 is divisible by three */
    sha256Hex(hex, text.ptr, text.len);
    for (int i = 0; i < 32; i++) raw[i] = (unsigned char)(hexDigit(hex[2 * i]) << 4 | hexDigit(hex[2 * i + 1]));
    static_assert(sizeof(base64) == sizeof(raw) / 3 * 4 + 1, "four digits for three bytes");
    for (int i = 0; i < 11; i++) {
        unsigned three = (unsigned)raw[3 * i] << 16 | (unsigned)raw[3 * i + 1] << 8 | raw[3 * i + 2];
        for (int k = 0; k < 4; k++) base64[4 * i + k] = digits[three >> (18 - 6 * k) & 63];
    }
    base64[43] = '='; /* in place of the additional byte */
    base64[44] = '\0';
    return snprintf(out, size, " 'sha256-%s'", base64);
}

/* Writes the digests of the texts between each pair of these tags, or " 'none'" if there are none. */
static int putDigests(char *out, size_t size, slice page, const char *open, const char *close) {
    const char *at = page.ptr, *end = page.ptr + page.len;
    int n = 0;
    while ((at = memmem(at, (size_t)(end - at), open, strlen(open))) != NULL) {
        at += strlen(open);
        const char *stop = memmem(at, (size_t)(end - at), close, strlen(close));
        if (!stop) break;
        n += putDigest(out + n, size - (size_t)n, sliceOf(at, (size_t)(stop - at)));
        serverAssert((size_t)n < size);
        at = stop;
    }
    return n > 0 ? n : snprintf(out, size, " 'none'");
}

/* ---- Fields ---- */

void webPageFieldsOf(char *out, slice page, const char *tag) {
    size_t size = WEB_PAGE_FIELDS_MAX;
    int n = snprintf(out, size,
                     "ETag: %s\r\nCache-Control: no-cache\r\nReferrer-Policy: no-referrer\r\n"
                     "Content-Security-Policy: default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; "
                     "form-action 'none'; frame-ancestors 'none'; script-src",
                     tag);
    n += putDigests(out + n, size - (size_t)n, page, "<script>", "</script>");
    n += snprintf(out + n, size - (size_t)n, "; style-src");
    n += putDigests(out + n, size - (size_t)n, page, "<style>", "</style>");
    n += snprintf(out + n, size - (size_t)n, "\r\n");
    serverAssert((size_t)n < size);
}

void webPageInit(void) {
    char hex[65];
    sha256Hex(hex, bytes, sizeof(bytes));
    snprintf(etag, sizeof(etag), "\"%.16s\"", hex);
    webPageFieldsOf(fields, webPage(), etag);
}
