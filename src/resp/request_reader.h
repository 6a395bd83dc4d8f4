/* request_reader.h -- requests as bytes to argument slices, at any split of the input.
 *
 * The reader never allocates and never copies: it is fed the buffer that holds the request from its first byte,
 * and writes the arguments as offsets into that buffer, so that the buffer may move or grow between calls.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RESP_REQUEST_READER_H
#define RESP_REQUEST_READER_H

#include "sds.h"
#include "slice.h"

#define REQUEST_INLINE_MAX (64 * 1024) /* longest inline line, and longest header line of RESP */

typedef enum {
    READ_COUNT,  /* at the first byte of a request */
    READ_LENGTH, /* at the '$' of an argument */
    READ_BODY,   /* inside an argument */
    READ_TAIL,   /* behind an argument that was taken elsewhere, at its CRLF */
    READ_INLINE, /* inside an inline line */
    READ_DONE,   /* a whole request was read: args[0..argc) */
    READ_BAD     /* malformed: `error` is the text of the reply, connection to be closed after it */
} readState;

typedef struct requestArg {
    size_t offset, len; /* in the buffer that was fed */
} requestArg;

/* Limits in force for a request; the caller fills them before each request. */
typedef struct requestLimits {
    long long args_max;     /* most arguments of an authenticated client: INT_MAX, which no client may exceed */
    long long bulk_len_max; /* proto-max-bulk-len */
    bool authenticated;     /* false: also at most 10 arguments of 16384 bytes, with error texts of their own */
} requestLimits;

typedef struct requestReader {
    readState state;
    long long args_left; /* arguments not yet complete */
    long long body_len;  /* of the argument in progress; -1 before its header was read */
    size_t pos;          /* first byte not consumed; all before it belongs to the request being read */
    size_t scanned;      /* bytes behind pos already searched for a line end, so that no byte is searched twice */
    size_t argc, args_cap;
    requestArg *args; /* borrowed: grown by the caller through `grow` */
    /* Make room for at least `want` args (moves `args`, sets args_cap). False when memory is refused. Counts announced
     * by a peer are not trusted: `want` grows with what has really arrived. */
    bool (*grow)(struct requestReader *r, size_t want);
    void *grow_arg;
    bool unauthenticated; /* READ_BAD: too large only for a client that has not authenticated */
    size_t error_len;     /* the text may quote a NUL that the peer sent */
    char error[128];      /* READ_BAD: text without "-ERR " and CRLF, e.g. "Protocol error: invalid bulk length" */
} requestReader;

/* What was to be made of the request cannot be held: READ_BAD, with the text that says so. */
void readerOutOfMemory(requestReader *r);
/* Prepare for the next request, whose first byte is at `pos`. args, args_cap, grow, grow_arg stay. */
void readerReset(requestReader *r, size_t pos);

/* Advance over buf[pos, end). Returns the state: READ_DONE (a request, [start, r->pos)), READ_BAD, or another (more
 * bytes are needed). An empty request (*0, *-1, an empty line) is READ_DONE with argc 0. Inline words with escapes are
 * unquoted in place, so buf is writable. Allocates only through grow. */
readState readerFeed(requestReader *r, const requestLimits *limits, char *buf, size_t end);

/* In READ_BODY: how many more bytes than `end` the argument in progress with its CRLF needs (0 when known to be there);
 * the caller uses it to size the next read. 0 in other states. */
size_t readerMissing(const requestReader *r, size_t end);

/* In READ_BODY: the caller takes the body elsewhere. What there is of it at r->pos is cut out of the buffer, the rest
 * does not come there, and its CRLF and all that follows will stand at r->pos; feed again then. The argument counts
 * from now on, but its offset says nothing. False: no memory for one more argument (READ_BAD). */
bool readerTakeBodyOut(requestReader *r) must_check;

/* Whether a request whose first argument this is comes from a browser that was tricked into talking to us ("POST" or
 * "Host:", any case, inline or not): the connection is closed without a reply. */
bool requestIsCrossProtocol(slice first_word);

/* The words of a line as of an inline request, for programs that read such lines themselves: quotes open and close
 * anywhere in a word. An array for sdsFreeSplitRes(); NULL when a quote is not closed. */
sds *requestSplitLine(const char *line, int *count);

#endif
