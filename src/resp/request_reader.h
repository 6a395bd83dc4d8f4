/* request_reader.h -- parses requests into arguments, however the input is split.
 *
 * The reader never allocates and never copies: it is given the buffer that holds the request from its first byte,
 * and writes the arguments as offsets into that buffer, so that the buffer may move or grow between calls.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_REQUEST_READER_H
#define RESP_REQUEST_READER_H

#include "slice.h"

#define REQUEST_INLINE_MAX (64 * 1024) /* longest inline line, and longest header line of RESP */

typedef enum {
    READ_COUNT,  /* at the first byte of a request */
    READ_LENGTH, /* at the '$' of an argument */
    READ_BODY,   /* inside an argument's body */
    READ_TAIL,   /* at the CRLF of an argument whose body was taken elsewhere */
    READ_INLINE, /* inside an inline line */
    READ_DONE,   /* a complete request was read: args[0..argc) */
    READ_BAD     /* malformed: `error` is the reply's text; close the connection after it */
} readState;

typedef struct requestArg {
    size_t offset, len; /* in the buffer given to readerFeed() */
} requestArg;

/* Limits of a request; the caller sets them before each request. */
typedef struct requestLimits {
    long long args_max;     /* most arguments of an authenticated client; at most INT_MAX */
    long long bulk_len_max; /* proto-max-bulk-len */
    bool authenticated;     /* false: also at most 10 arguments of 16384 bytes each, with error texts of their own */
} requestLimits;

typedef struct requestReader {
    readState state;
    long long args_left; /* arguments not yet complete */
    long long body_len;  /* of the current argument; -1 before its header is read */
    size_t pos;          /* first byte not consumed; all before it belongs to this request */
    size_t scanned;      /* bytes after pos already searched for a line end, so that no byte is searched twice */
    size_t argc, args_cap;
    requestArg *args; /* borrowed; the caller grows it through `grow` */
    /* Grows `args`, which may move, to at least `want` elements and sets args_cap. Returns false if memory is refused.
     * Counts that a peer announces are not trusted: `want` grows with the bytes that have arrived. */
    bool (*grow)(struct requestReader *r, size_t want);
    void *grow_arg;
    bool unauthenticated; /* READ_BAD: the request is too large only because the client has not authenticated */
    size_t error_len;     /* the text may contain a NUL that the peer has sent */
    char error[128];      /* READ_BAD: text without "-ERR " and CRLF, e.g. "Protocol error: invalid bulk length" */
} requestReader;

/* Sets READ_BAD with an error text; call if there is no memory for the request. */
void readerOutOfMemory(requestReader *r);
/* Prepares for the next request, whose first byte is at `pos`. Keeps args, args_cap, grow and grow_arg. */
void readerReset(requestReader *r, size_t pos);

/* Parses buf[pos, end) and returns the state: READ_DONE for a complete request at [start, r->pos), READ_BAD, or another
 * if more bytes are needed. An empty request (*0, *-1, an empty line) is READ_DONE with argc 0. Inline words with
 * escapes are unquoted in place, so buf must be writable. Allocates only through grow. */
readState readerFeed(requestReader *r, const requestLimits *limits, char *buf, size_t end);

/* In READ_BODY, returns how many bytes after `end` the current argument still needs, with its CRLF (0 if it is
 * complete); the caller uses it to size the next read. Returns 0 in other states. */
size_t readerMissing(const requestReader *r, size_t end);

/* In READ_BODY: call to receive the body of the current argument elsewhere. The caller cuts the part at r->pos out of
 * the buffer and reads the rest itself; then the CRLF and all that follows must be at r->pos for the next readerFeed().
 * The argument counts as read, but its offset is meaningless. Returns false if there is no memory for one more argument
 * (READ_BAD). */
bool readerTakeBodyOut(requestReader *r) must_check;

/* Returns whether a request with this first argument is HTTP, sent by a browser that was tricked into connecting
 * ("POST" or "Host:", any case, inline or not): close the connection without a reply. */
bool requestIsCrossProtocol(slice first_word);

#endif
