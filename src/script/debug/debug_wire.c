/* debug_wire.c -- the protocol of a debugger run: lines to the client, commands from it.
 *
 * Not here    the contents of the lines (debugger.c).
 * Owns        output that was not sent yet, input that was not parsed yet.
 * Threads     main's own, or a forked child's only one.
 * Invariants  1. Limits apply to the lines that are queued, to the bytes of a line, and to a command.
 * Tests       tests/script/debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_wire.h"

#include "numbers.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX 20000
#define BYTES_MAX ((size_t)64 << 20)
#define VALUE_MAX ((size_t)1 << 20)
#define COMMAND_MAX ((size_t)1 << 20)
#define CUT_FIRST 256
#define WRITE_TIMEOUT_MS 5000
#define LAST_POLL_MS 1000
#define LAST_POLLS_MAX 100

static struct {
    connection *conn; /* borrowed; NULL without a run, or if the connection is closed */
    sds queued;       /* owns: the queued lines, in RESP */
    size_t lines, left_out;
    sds input;    /* owns */
    size_t taken; /* bytes of it that were parsed */
    slice words[DEBUG_WORDS_MAX];
    size_t cut_at;
    bool hint_printed;
} wire;

void debugWireBegin(connection *conn) {
    wire.conn = conn;
    wire.queued = sdsEmpty();
    wire.input = sdsEmpty();
    wire.lines = wire.left_out = wire.taken = 0;
    wire.cut_at = CUT_FIRST;
    wire.hint_printed = false;
}

void debugWireEnd(void) {
    sdsFree(wire.queued);
    sdsFree(wire.input);
    wire.queued = wire.input = NULL;
    wire.conn = NULL;
}

/* ---- Out --------------------------------------------------------------------------------------------------------- */

void debugPrint(sds line) {
    if (wire.lines >= LINES_MAX || sdsLen(wire.queued) + sdsLen(line) > BYTES_MAX) {
        wire.left_out++;
    } else {
        for (size_t i = 0; i < sdsLen(line); i++)
            if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
        wire.queued = sdsCatLen(wire.queued, "+", 1);
        wire.queued = sdsCatLen(wire.queued, line, sdsLen(line));
        wire.queued = sdsCatLen(wire.queued, "\r\n", 2);
        wire.lines++;
    }
    sdsFree(line);
}

void debugPrintFormat(const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    debugPrint(sdsNew(text));
}

void debugPrintCut(sds line) {
    bool cut = wire.cut_at && sdsLen(line) > wire.cut_at;
    if (cut) {
        sdsRange(line, 0, (ptrdiff_t)wire.cut_at - 1);
        line = sdsCat(line, " ...");
    }
    debugPrint(line);
    if (!cut || wire.hint_printed) return;
    wire.hint_printed = true;
    debugPrintFormat("<hint> This line was cut. 'maxlen 0' shows lines in full.");
}

size_t debugCutAt(void) { return wire.cut_at; }

void debugSetCut(size_t bytes) {
    wire.cut_at = bytes;
    wire.hint_printed = true; /* a client that sets the length needs no hint */
}

size_t debugPrintMax(void) { return wire.cut_at && wire.cut_at < VALUE_MAX ? wire.cut_at + 1 : VALUE_MAX; }

/* Waits until the connection is ready for `events`. Returns false if it is not ready in time or has failed. */
static bool waitFor(short events, int timeout_ms) {
    struct pollfd ready = {.fd = wire.conn->fd, .events = events};
    int n;
    do n = poll(&ready, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

/* Sends all bytes; if it cannot, the connection counts as broken. */
static void sendAll(const char *bytes, size_t len) {
    while (len && wire.conn) {
        struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
        ssize_t n = connWritev(wire.conn, &part, 1);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (wire.conn->state != CONN_CONNECTED ||
                   !waitFor(wire.conn->write_needs_read ? POLLIN : POLLOUT, WRITE_TIMEOUT_MS)) {
            wire.conn = NULL;
        }
    }
}

bool debugSend(void) {
    char head[32];
    if (wire.left_out) {
        size_t left_out = wire.left_out;
        sds line = sdsCatPrintf(sdsEmpty(), "+<hint> %zu more lines were omitted.\r\n", left_out);
        wire.queued = sdsCatLen(wire.queued, line, sdsLen(line));
        wire.lines++;
        sdsFree(line);
    }
    int len = snprintf(head, sizeof(head), "*%zu\r\n", wire.lines);
    if (wire.conn) sendAll(head, (size_t)len);
    if (wire.conn) sendAll(wire.queued, sdsLen(wire.queued));
    sdsClear(wire.queued);
    wire.lines = wire.left_out = 0;
    return wire.conn != NULL;
}

/* Reads the input that is left: a socket that is closed with unread input is reset, and the peer may lose what was
 * sent. */
void debugSendLast(slice bytes) {
    char scrap[4096];
    if (wire.conn) sendAll(bytes.ptr, bytes.len);
    if (!wire.conn) return;
    connFinish(wire.conn);
    for (int polls = 0; polls < LAST_POLLS_MAX && waitFor(POLLIN, LAST_POLL_MS); polls++) {
        ssize_t n = connRead(wire.conn, scrap, sizeof(scrap));
        if (n == 0 || (n < 0 && wire.conn->state != CONN_CONNECTED)) break;
    }
}

/* ---- In ---------------------------------------------------------------------------------------------------------- */

/* Reads more bytes. Returns false if there are no more. */
static bool debugWireReadMore(void) {
    char bytes[4096];
    while (wire.conn) {
        ssize_t n = connRead(wire.conn, bytes, sizeof(bytes));
        if (n > 0) {
            wire.input = sdsCatLen(wire.input, bytes, (size_t)n);
            return true;
        }
        if (n == 0 || wire.conn->state != CONN_CONNECTED) break;
        if (connHasPending(wire.conn)) continue;
        if (!waitFor(wire.conn->read_needs_write ? POLLOUT : POLLIN, -1)) break;
    }
    wire.conn = NULL;
    return false;
}

typedef enum { PARSED, UNFINISHED, MALFORMED } parseResult;

/* Parses a line `mark` NUMBER CRLF at *at and advances *at past it. */
static parseResult parseNumber(size_t *at, char mark, long long least, long long most, long long *number) {
    const char *begin = wire.input + *at;
    size_t len = sdsLen(wire.input) - *at;
    if (len == 0) return UNFINISHED;
    if (begin[0] != mark) return MALFORMED;
    const char *end = memchr(begin, '\r', len);
    if (!end) return len > 32 ? MALFORMED : UNFINISHED;
    if ((size_t)(end - begin) + 2 > len) return UNFINISHED;
    if (end[1] != '\n' || !string2ll(begin + 1, (size_t)(end - begin) - 1, number)) return MALFORMED;
    if (*number < least || *number > most) return MALFORMED;
    *at += (size_t)(end - begin) + 2;
    return PARSED;
}

static parseResult debugWireParse(int *count) {
    size_t at = wire.taken;
    long long words, len;
    parseResult result = parseNumber(&at, '*', 1, DEBUG_WORDS_MAX, &words);
    for (int i = 0; result == PARSED && i < words; i++) {
        result = parseNumber(&at, '$', 1, (long long)COMMAND_MAX, &len);
        if (result != PARSED) break;
        if (sdsLen(wire.input) - at < (size_t)len + 2) return UNFINISHED;
        wire.words[i] = sliceOf(wire.input + at, (size_t)len);
        at += (size_t)len;
        if (memcmp(wire.input + at, "\r\n", 2)) return MALFORMED;
        at += 2;
    }
    if (result != PARSED) return result;
    *count = (int)words;
    wire.taken = at;
    return PARSED;
}

debugInput debugReceive(const slice **words, int *count) {
    sdsRange(wire.input, (ptrdiff_t)wire.taken, -1);
    wire.taken = 0;
    for (;;) {
        parseResult result = debugWireParse(count);
        *words = wire.words;
        if (result == PARSED) return DEBUG_COMMAND;
        if (result == MALFORMED) return DEBUG_MALFORMED;
        if (sdsLen(wire.input) > COMMAND_MAX) return DEBUG_TOO_LONG;
        if (!debugWireReadMore()) return DEBUG_CLOSED;
    }
}
