/* http_request.h -- one HTTP/1.1 request after another, out of bytes as they come (RFC 9110, RFC 9112).
 *
 * Read, and no more: requests have no body here. What is understood is what serving a few resources needs.
 *
 * Threads     one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_HTTP_REQUEST_H
#define WEB_HTTP_REQUEST_H

#include "slice.h"

#define HTTP_REQUEST_MAX 8192 /* bytes of a request, its empty line included */

typedef enum { HTTP_GET, HTTP_HEAD, HTTP_OTHER } httpMethod;

typedef struct httpRequest {
    /* What was asked: valid when httpRequestRead() has said HTTP_OK, as long as the bytes lie where they are. */
    httpMethod method;
    slice path;        /* without the query */
    slice credentials; /* of "Authorization: Basic", in base64; ptr is NULL: none of that kind */
    slice etags;       /* If-None-Match; ptr is NULL: not there */
    slice host;        /* with its port: of the target where that has one, else of the field; ptr is NULL: not there */
    bool keeps_alive;  /* another request may follow on this connection */
    bool minor_0;      /* HTTP/1.0, which must be told that the connection stays */
    bool wants_open;   /* OpenMetrics rather than the older text format */
    size_t end;        /* bytes that it takes */
    /* The parser's own. */
    size_t line, looked; /* where the current line begins; up to where its end was looked for */
    unsigned fields, blank_lines;
    bool has_line, has_host, has_length, has_encoding, has_credentials;
    bool closes, says_keep;
    bool has_body;
    int open_weight, text_weight; /* of the Accept fields, in thousandths; -1: not named */
} httpRequest;

enum {
    HTTP_MORE = 0, /* not whole yet */
    HTTP_OK = 200  /* others are the status to answer with; the connection ends behind that */
};

/* Begin the next one. Zeroes will do, too. */
void httpRequestReset(httpRequest *r);
/* Look at the request that begins at bytes[0]; bytes of an earlier call for the same request lie where they were (or
 * were moved as a whole). HTTP_OK, HTTP_MORE, or what is wrong: 400, 405 (a method other than GET and HEAD), 413 (a
 * body), 414, 431, 505. Never looks behind `len`; takes time in proportion to what is new. */
int httpRequestRead(httpRequest *r, const char *bytes, size_t len);

/* The user's name and password out of r->credentials; they lie in `room`. False: they are none, or there is no room. */
bool httpCredentials(const httpRequest *r, char *room, size_t size, slice *name, slice *password);
/* Whether no stranger can make this host's name lead to the machine that was asked: an address, a name without a dot,
 * or one below localhost; nothing at all, too. */
bool httpHostIsOurs(slice host);
/* Whether the list of If-None-Match has this ETag (with its quotes), or is "*". */
bool httpHasEtag(slice list, const char *etag);

#endif
