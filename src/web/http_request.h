/* http_request.h -- a parser of HTTP/1.1 requests for bytes that arrive in pieces (RFC 9110, RFC 9112).
 *
 * It knows no more of HTTP than serving a few resources needs: requests have no body, and are only read.
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
    /* The result: valid after httpRequestRead() has returned HTTP_OK, as long as the bytes stay in place. */
    httpMethod method;
    slice path;        /* without the query */
    slice query;       /* after the '?'; empty if there is none */
    slice credentials; /* of "Authorization: Basic", in base64; ptr is NULL if there are none */
    slice etags;       /* If-None-Match; ptr is NULL if absent */
    slice host;        /* with its port: of the target if that has one, else of the header field; ptr is NULL if
                        * absent */
    bool keeps_alive;  /* another request may follow on this connection */
    bool minor_0;      /* HTTP/1.0: the response has to say that the connection stays open */
    bool prefers_open; /* OpenMetrics is preferred to the older text format */
    size_t end;        /* length of the request in bytes */
    /* State of the parser. */
    size_t line, scanned; /* offset of the current line; offset up to which its end was searched */
    unsigned fields, blank_lines;
    bool has_line, has_host, has_length, has_encoding, has_credentials;
    bool closes, keep_alive;
    bool has_body;
    int open_weight, text_weight; /* of the Accept fields, in thousandths; -1 if not named */
} httpRequest;

enum {
    HTTP_MORE = 0, /* the request is not complete yet */
    HTTP_OK = 200  /* any other value is the status to respond with before the connection is closed */
};

/* Prepares for the next request. A struct of zeroes is ready, too. */
void httpRequestReset(httpRequest *r);
/* Parses the request that begins at bytes[0]. Bytes of earlier calls for the same request must be unchanged, though
 * they may have moved as a whole. Returns HTTP_OK, HTTP_MORE, or the status of an error: 400, 405 (a method other than
 * GET and HEAD), 413 (a body), 414, 431, 505. Reads no more than `len` bytes; takes time proportional to the new
 * ones. */
int httpRequestRead(httpRequest *r, const char *bytes, size_t len);

/* Decodes the user's name and password of r->credentials into `out`. Returns false if they are malformed or do not
 * fit. */
bool httpCredentials(const httpRequest *r, char *out, size_t size, slice *name, slice *password);
/* Returns the value of the first "name=value" in a query, whose parts are separated by '&', as it was sent; empty if
 * there is none. */
slice httpQueryValue(slice query, const char *name);
/* Returns true if no outsider can make this host name lead to this machine: for an address, a name without a dot, a
 * name below localhost, or no host at all. */
bool httpHostIsLocal(slice host);
/* Returns true if the list of If-None-Match contains this ETag (with its quotes) or is "*". */
bool httpHasEtag(slice list, const char *etag);

#endif
