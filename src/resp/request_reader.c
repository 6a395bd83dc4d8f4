/* request_reader.c -- parses requests into arguments, however the input is split.
 *
 * The same code serves a request that is complete in the buffer, where it runs straight through, and one that
 * arrives byte by byte, where each call continues where the last one stopped: the requestReader has all
 * that cannot be read again from the buffer.
 *
 *   COUNT --"*n"--> LENGTH --"$len"--> BODY --len bytes, CRLF--> LENGTH | DONE
 *   COUNT --other byte--> INLINE --line--> DONE            any state --malformed--> BAD
 *   BODY --readerTakeBodyOut()--> TAIL --CRLF--> LENGTH | DONE
 *
 * Not here    reading sockets, sizing buffers (net/io/client_io_read.c); the meaning of arguments (engine/).
 * Owns        nothing: the buffer and the argument vector are borrowed from the caller.
 * Threads     the client's owner thread.
 * Invariants  1. No byte at or after `end` is read; bytes are written only inside a complete inline line.
 *             2. The result does not depend on the split, with one exception that clients can see: a line is
 *                too big only if more than REQUEST_INLINE_MAX bytes have arrived without its end.
 *             3. The argument vector never grows by more than what has arrived, whatever the peer announces.
 * Cost        about 50 instructions per argument of a complete request; no byte of a line is searched
 *             twice, no byte of a body is read.
 * Tests       tests/unit/resp/request_reader_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "request_reader.h"
#include "endian.h"
#include "numbers.h"
#include "panic.h"
#include "sds.h"

#include <limits.h>

#define UNAUTH_ARGS_MAX 10
#define UNAUTH_BULK_MAX 16384
#define INLINE_ESCAPE_MIN 3 /* in "\" at the end of a line the backslash is literal and the quote closes */
#define SHORT_DIGITS 9      /* that many digits always fit into 32 bits */

typedef enum { LINE_PART, LINE_WHOLE, LINE_BAD } lineResult;

static void readerCheck(const requestReader *r, size_t end) {
    debugAssert(r->pos <= end);
    debugAssert(r->argc <= r->args_cap);
    debugAssert(r->scanned == 0 || r->pos + r->scanned <= end);
    debugAssert(r->state != READ_BODY || r->body_len >= 0);
    debugAssert((r->state != READ_LENGTH && r->state != READ_BODY && r->state != READ_TAIL) || r->args_left > 0);
    unused(r);
    unused(end);
}

static void requestReaderFail(requestReader *r, const char *what) {
    static const char prefix[] = "Protocol error: ";
    size_t len = strlen(what);

    serverAssert(sizeof(prefix) + len <= sizeof(r->error));
    memcpy(r->error, prefix, sizeof(prefix) - 1);
    memcpy(r->error + sizeof(prefix) - 1, what, len + 1);
    r->error_len = sizeof(prefix) - 1 + len;
    r->state = READ_BAD;
}

/* The text quotes the byte as received, except one that would end the reply's line. */
static void failExpectedDollar(requestReader *r, char got) {
    char what[] = "expected '$', got ' '";
    size_t at = sizeof(what) - 3;

    requestReaderFail(r, what);
    if (got != '\r' && got != '\n') r->error[r->error_len - (sizeof(what) - 1) + at] = got;
}

void readerReset(requestReader *r, size_t pos) {
    r->state = READ_COUNT;
    r->args_left = 0;
    r->body_len = -1;
    r->pos = pos;
    r->scanned = 0;
    r->argc = 0;
    r->unauthenticated = false;
    r->error_len = 0;
    r->error[0] = '\0';
}

void readerOutOfMemory(requestReader *r) { requestReaderFail(r, "out of memory"); }

static bool requestReaderReserve(requestReader *r) {
    if (likely(r->argc < r->args_cap)) return true;
    if (r->grow && r->grow(r, r->argc + 1) && r->argc < r->args_cap) return true;
    readerOutOfMemory(r);
    return false;
}

/* Returns the value of a digit, more than 9 for any other character. */
static inline uint32_t digitOf(char c) { return (uint32_t)(unsigned char)c - '0'; }
static inline bool isCrlf(const char *p) { return loadLe16(p) == ('\r' | '\n' << 8); }

/* Reads a header's number of at most SHORT_DIGITS digits with its CRLF, all within [p, end): sets *value and returns
 * the position after it. Returns NULL for anything else, which requestReaderTakeLine() handles. */
static inline const char *takeShort(const char *p, const char *end, long long *value) {
    if (unlikely(end - p < 3)) return NULL;
    if (likely(end - p > 4)) { /* one to three digits, as in nearly all headers */
        uint32_t a = digitOf(p[0]), b = digitOf(p[1]), c = digitOf(p[2]);
        if (a <= 9 && p[1] == '\r') {
            *value = a;
            return likely(p[2] == '\n') ? p + 3 : NULL;
        }
        if (a - 1 <= 8 && b <= 9 && p[2] == '\r') {
            *value = a * 10 + b;
            return likely(p[3] == '\n') ? p + 4 : NULL;
        }
        if (a - 1 <= 8 && b <= 9 && c <= 9 && p[3] == '\r') {
            *value = a * 100 + b * 10 + c;
            return likely(p[4] == '\n') ? p + 5 : NULL;
        }
    }
    const char *start = p, *last_cr = end - p > SHORT_DIGITS + 2 ? p + SHORT_DIGITS : end - 2;
    uint32_t v = digitOf(*p), digit;

    if (unlikely(v > 9)) return NULL;
    while ((digit = digitOf(*++p)) <= 9) {
        v = v * 10 + digit;
        if (unlikely(p == last_cr)) return NULL;
    }
    if (unlikely(!isCrlf(p))) return NULL;
    if (unlikely(*start == '0' && p - start > 1)) return NULL;
    *value = v;
    return p + 2;
}

/* Finds the CR of the header line at r->pos and the byte after it. On LINE_WHOLE, *cr is the offset of the CR, and the
 * byte after it is in the buffer, but not checked. */
static lineResult requestReaderTakeLine(requestReader *r, const char *buf, size_t end, const char *too_big,
                                        size_t *cr) {
    size_t from = r->pos + r->scanned;
    const char *found = from < end ? memchr(buf + from, '\r', end - from) : NULL;

    if (!found) {
        r->scanned = end - r->pos;
        if (r->scanned <= REQUEST_INLINE_MAX) return LINE_PART;
        requestReaderFail(r, too_big);
        return LINE_BAD;
    }
    *cr = (size_t)(found - buf);
    r->scanned = *cr - r->pos;
    return *cr + 1 < end ? LINE_WHOLE : LINE_PART;
}

/* Reads "*<count>CRLF" at r->pos. Returns false if readerFeed() must stop: more bytes are needed, or the state is
 * READ_BAD. */
static bool takeCount(requestReader *r, const requestLimits *limits, const char *buf, size_t end) {
    const char *next = takeShort(buf + r->pos + 1, buf + end, &r->args_left);

    if (unlikely(!next)) {
        size_t cr;
        if (requestReaderTakeLine(r, buf, end, "too big mbulk count string", &cr) != LINE_WHOLE) return false;
        if (buf[cr + 1] != '\n') {
            requestReaderFail(r, "invalid CRLF in request");
            return false;
        }
        if (!string2ll(buf + r->pos + 1, cr - r->pos - 1, &r->args_left)) r->args_left = LLONG_MAX;
        next = buf + cr + 2;
    }
    if (unlikely(r->args_left > INT_MAX || (limits->authenticated && r->args_left > limits->args_max))) {
        requestReaderFail(r, "invalid multibulk length");
        return false;
    }
    if (unlikely(!limits->authenticated && r->args_left > UNAUTH_ARGS_MAX)) {
        requestReaderFail(r, "unauthenticated multibulk length");
        r->unauthenticated = true;
        return false;
    }
    r->pos = (size_t)(next - buf);
    r->scanned = 0;
    r->body_len = -1;
    r->state = r->args_left > 0 ? READ_LENGTH : READ_DONE;
    return true;
}

/* Reads any form of an argument's header, after takeLength() has tried the usual one. */
static const char *takeUnusualLength(requestReader *r, const char *buf, size_t end) {
    size_t cr;

    if (requestReaderTakeLine(r, buf, end, "too big bulk count string", &cr) != LINE_WHOLE) return NULL;
    if (buf[r->pos] != '$') {
        failExpectedDollar(r, buf[r->pos]);
        return NULL;
    }
    if (buf[cr + 1] != '\n') {
        requestReaderFail(r, "invalid CRLF in request");
        return NULL;
    }
    if (!string2ll(buf + r->pos + 1, cr - r->pos - 1, &r->body_len)) r->body_len = -1;
    return buf + cr + 2;
}

/* Reads "$<length>CRLF" at r->pos. Returns false like takeCount(). */
static inline bool takeLength(requestReader *r, const requestLimits *limits, const char *buf, size_t end) {
    const char *p = buf + r->pos, *next = NULL;

    if (likely(r->pos < end && *p == '$')) next = takeShort(p + 1, buf + end, &r->body_len);
    if (unlikely(!next) && !(next = takeUnusualLength(r, buf, end))) return false;
    if (unlikely(r->body_len < 0 || r->body_len > limits->bulk_len_max)) {
        requestReaderFail(r, "invalid bulk length");
        return false;
    }
    if (unlikely(!limits->authenticated && r->body_len > UNAUTH_BULK_MAX)) {
        requestReaderFail(r, "unauthenticated bulk length");
        r->unauthenticated = true;
        return false;
    }
    r->pos = (size_t)(next - buf);
    r->scanned = 0;
    r->state = READ_BODY;
    return true;
}

/* Takes the argument at r->pos with its CRLF, or nothing. Returns false like takeCount(). */
static inline bool takeBody(requestReader *r, const char *buf, size_t end) {
    size_t len = (size_t)r->body_len, have = end - r->pos;

    if (have < 2 || have - 2 < len) return false;
    if (unlikely(!isCrlf(buf + r->pos + len))) {
        requestReaderFail(r, "invalid CRLF in request");
        return false;
    }
    if (unlikely(!requestReaderReserve(r))) return false;
    r->args[r->argc++] = (requestArg){.offset = r->pos, .len = len};
    r->pos += len + 2;
    r->body_len = -1;
    r->state = --r->args_left ? READ_LENGTH : READ_DONE;
    return true;
}

/* Takes the CRLF of an argument whose body was taken elsewhere. Returns false like takeCount(). */
static bool takeTail(requestReader *r, const char *buf, size_t end) {
    if (end - r->pos < 2) return false;
    if (!isCrlf(buf + r->pos)) {
        requestReaderFail(r, "invalid CRLF in request");
        return false;
    }
    r->pos += 2;
    r->body_len = -1;
    r->state = --r->args_left ? READ_LENGTH : READ_DONE;
    return true;
}

/* A fast path: takes arguments of the usual form while they are complete in the buffer and `args` has capacity. Leaves
 * all others at r->pos to takeLength() and takeBody(), so that it decides nothing. */
static inline void takeUsualArgs(requestReader *r, const requestLimits *limits, const char *buf, size_t end) {
    const char *p = buf + r->pos, *stop = buf + end;
    size_t capacity = r->args_cap - r->argc;
    if (capacity > (size_t)r->args_left) capacity = (size_t)r->args_left;
    requestArg *first = r->args + r->argc, *arg = first, *last = first + capacity;
    long long len, len_max = limits->bulk_len_max;

    if (!limits->authenticated && len_max > UNAUTH_BULK_MAX) len_max = UNAUTH_BULK_MAX;
    while (arg < last && p < stop && *p == '$') {
        const char *body = takeShort(p + 1, stop, &len);
        if (!body || len > len_max || stop - body < len + 2 || !isCrlf(body + len)) break;
        *arg++ = (requestArg){.offset = (size_t)(body - buf), .len = (size_t)len};
        p = body + len + 2;
    }
    if (arg == first) return;
    r->pos = (size_t)(p - buf);
    r->scanned = 0;
    r->argc += (size_t)(arg - first);
    r->args_left -= arg - first;
    if (r->args_left == 0) r->state = READ_DONE;
}

/* Splits the line [r->pos, line_end) into words. */
static void splitInline(requestReader *r, char *buf, size_t line_end) {
    const char *p = buf + r->pos, *end = buf + line_end;

    for (;;) {
        while (p < end && isBlank(*p)) p++;
        if (p == end) return;
        if (!requestReaderReserve(r)) return;
        char *out = buf + (p - buf);
        ptrdiff_t len = sdsTakeWord(&p, end, INLINE_ESCAPE_MIN, out);
        if (len < 0) {
            requestReaderFail(r, "unbalanced quotes in request");
            return;
        }
        r->args[r->argc++] = (requestArg){.offset = (size_t)(out - buf), .len = (size_t)len};
    }
}

/* Takes the inline line at r->pos, or nothing. A NUL hides the rest of the buffer: a line with one never ends and is
 * rejected once it is too big. Returns false like takeCount(). */
static bool takeInline(requestReader *r, char *buf, size_t end) {
    size_t from = r->pos + r->scanned;
    const char *nl = memchr(buf + from, '\n', end - from);
    const char *line_limit = nl ? nl : buf + end;
    const char *nul = memchr(buf + from, '\0', (size_t)(line_limit - buf) - from);

    if (nul || !nl) {
        r->scanned = (size_t)((nul ? nul : line_limit) - buf) - r->pos;
        if (end - r->pos > REQUEST_INLINE_MAX) requestReaderFail(r, "too big inline request");
        return false;
    }
    size_t line_end = (size_t)(nl - buf);
    size_t next = line_end + 1;
    if (line_end > r->pos && buf[line_end - 1] == '\r') line_end--;
    splitInline(r, buf, line_end);
    if (r->state == READ_BAD) return false;
    r->pos = next;
    r->scanned = 0;
    r->state = READ_DONE;
    return true;
}

readState readerFeed(requestReader *r, const requestLimits *limits, char *buf, size_t end) {
    bool more = true;

    readerCheck(r, end);
    while (more) {
        switch (r->state) {
        case READ_COUNT:
            if (r->pos == end) more = false;
            else if (buf[r->pos] == '*') more = takeCount(r, limits, buf, end);
            else r->state = READ_INLINE;
            if (r->state != READ_LENGTH) break;
            /* fall through */
        case READ_LENGTH:
            takeUsualArgs(r, limits, buf, end);
            more = r->state == READ_LENGTH && takeLength(r, limits, buf, end);
            break;
        case READ_BODY: more = takeBody(r, buf, end); break;
        case READ_TAIL: more = takeTail(r, buf, end); break;
        case READ_INLINE: more = takeInline(r, buf, end); break;
        case READ_DONE:
        case READ_BAD: more = false; break;
        }
    }
    readerCheck(r, end);
    return r->state;
}

size_t readerMissing(const requestReader *r, size_t end) {
    if (r->state != READ_BODY) return 0;
    size_t have = end - r->pos, need = (size_t)r->body_len + 2;
    return need > have ? need - have : 0;
}

bool readerTakeBodyOut(requestReader *r) {
    debugAssert(r->state == READ_BODY);
    if (!requestReaderReserve(r)) return false;
    r->args[r->argc++] = (requestArg){.offset = r->pos, .len = (size_t)r->body_len};
    r->state = READ_TAIL;
    return true;
}

bool requestIsCrossProtocol(slice first_word) {
    if (likely(first_word.len != 4 && first_word.len != 5)) return false;
    return sliceIs(first_word, "post") || sliceIs(first_word, "host:");
}
