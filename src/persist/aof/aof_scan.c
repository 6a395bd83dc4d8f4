/* aof_scan.c -- scans an append-only file from start to end, for valkey-check-aof, and describes its first fault.
 *
 * A window slides over the file. Only lines with numbers, annotations and the first bytes of arguments are read, so a
 * file of any size needs no more memory than a window, and a false length needs none.
 *
 * The texts and their offsets are those of Valkey's tool: an offset is that of the line or argument with the fault; for
 * a transaction without EXEC it is that of the last line, argument or annotation that was read.
 *
 * Not here    which lines are valid (aof_parse.c); what is done about faults (check_aof.c).
 * Owns        the window.
 * Threads     any.
 * Invariants  1. In a transaction, good <= unit <= the current offset; otherwise good is the end of the last item.
 * Cost        one pread(2) per WINDOW bytes; none for the middle of arguments that are longer than it.
 * Tests       tests/unit/persist/aof/aof_scan_test.c, tests/fuzz/aof_scan_fuzz.c, tests/tools/check_aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_scan.h"

#include "aof_parse.h"
#include "zmalloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define WINDOW ((size_t)256 * 1024)
#define LINE_SHOWN 127                          /* bytes of a line with a number that are read */
#define BULK_TOLD_MAX ((uint64_t)INT64_MAX - 2) /* larger values are reported as "not a length" */

static_assert(WINDOW >= AOF_ANNOTATION_MAX && WINDOW >= LINE_SHOWN && WINDOW >= AOF_SCAN_WORD, "fits into the window");

struct aofScanner {
    int fd;
    const char *name, *path; /* borrowed */
    char *bytes;             /* owns: the window */
    size_t have, at;         /* in the window: its bytes, the next one to read */
    uint64_t offset;         /* of the window in the file */
    uint64_t size;
    uint64_t unit, good;
    uint64_t last_read; /* start of the line, argument or annotation that was read last */
    uint64_t lines;
    bool in_multi;
    int failed; /* errno of a read */
    char words[2][AOF_SCAN_WORD];
    sds fault; /* owns */
};

aofScanner *aofScanCreate(int fd, uint64_t from, uint64_t size, const char *name, const char *path) {
    aofScanner *s = zcalloc(1, sizeof(*s));
    s->fd = fd;
    s->name = name;
    s->path = path;
    s->bytes = zmalloc(WINDOW);
    s->offset = s->good = from;
    s->size = size;
    return s;
}

void aofScanFree(aofScanner *s) {
    int error = errno;
    zfree(s->bytes);
    sdsFree(s->fault);
    zfree(s);
    errno = error;
}

/* --- the window ------------------------------------------------------------------------------------------ */

static uint64_t currentOffset(const aofScanner *s) { return s->offset + s->at; }

/* Moves the window to the current offset and fills it. A file that has become shorter ends there. */
static void slideWindow(aofScanner *s) {
    memmove(s->bytes, s->bytes + s->at, s->have - s->at);
    s->offset += s->at;
    s->have -= s->at;
    s->at = 0;
    while (s->have < WINDOW && s->offset + s->have < s->size) {
        uint64_t left = s->size - s->offset - s->have, free = WINDOW - s->have;
        ssize_t n = pread(s->fd, s->bytes + s->have, left < free ? left : free, (off_t)(s->offset + s->have));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) s->failed = errno;
        if (n <= 0) s->size = s->offset + s->have;
        else s->have += (size_t)n;
    }
}

/* Returns the next bytes: `n`, or as many as there are. */
static slice aofScanPeek(aofScanner *s, size_t n) {
    if (s->have - s->at < n && s->offset + s->have < s->size) slideWindow(s);
    size_t there = s->have - s->at;
    return sliceOf(s->bytes + s->at, there < n ? there : n);
}

static void skipBytes(aofScanner *s, uint64_t n) {
    if (n <= s->have - s->at) {
        s->at += n;
        return;
    }
    s->offset = currentOffset(s) + n;
    s->have = s->at = 0;
}

/* --- faults ---------------------------------------------------------------------------------------------- */

/* Sets the fault. Returns false, for callers that return it. */
static bool printf_like(2, 3) fail(aofScanner *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    s->fault = sdsCatPrintf(sdsEmpty(), "0x%16" PRIx64 ": ", s->last_read);
    s->fault = sdsCatVprintf(s->fault, fmt, ap);
    va_end(ap);
    return false;
}

static bool failFormat(aofScanner *s) {
    s->fault = sdsCatPrintf(sdsEmpty(), "AOF %s format error", s->name);
    return false;
}

static bool failNewline(aofScanner *s, slice got) {
    unsigned char two[2] = {0, 0}; /* zeros after the end of the line or the file */
    memcpy(two, got.ptr, got.len < 2 ? got.len : 2);
    return fail(s, "Expected \\r\\n, got: %02x%02x", two[0], two[1]);
}

static bool failRange(aofScanner *s, char mark, long long number) {
    if (mark == '$')
        return fail(s, "Expected to read string of %lld bytes, which is not in the suitable range", number);
    return fail(s, "Expected to read command of %lld arguments, which is not in the suitable range", number);
}

/* Sets the fault of a line that begins with its mark but has no valid number. */
static bool failNumber(aofScanner *s, slice in) {
    char text[LINE_SHOWN + 2] = "", *end = text + 1;
    const char *newline = memchr(in.ptr, '\n', in.len);
    memcpy(text, in.ptr, newline ? (size_t)(newline - in.ptr) + 1 : in.len);
    long long number = 0;
    if (text[1] == '-' || (text[1] >= '0' && text[1] <= '9')) number = strtoll(text + 1, &end, 10);
    bool at_end = end[0] == '\r' && end[1] == '\n';
    if (at_end && end == text + 1) return fail(s, "Expected a number after '%c'", text[0]);
    if (!at_end) return failNewline(s, sliceOf(end, 2));
    s->lines++;
    return failRange(s, text[0], number); /* negative, or with too many digits */
}

/* --- items ----------------------------------------------------------------------------------------------- */

static bool takeNumber(aofScanner *s, char mark, uint64_t least, uint64_t most, uint64_t *number) {
    slice in = aofScanPeek(s, LINE_SHOWN);
    size_t at = 0;
    s->last_read = currentOffset(s);
    if (in.len == 0) return false;
    if (in.ptr[0] != mark)
        return fail(s,
                    in.ptr[0] >= ' ' && in.ptr[0] <= '~' ? "Expected prefix '%c', got: '%c'"
                                                         : "Expected prefix '%c', got: '\\x%02x'",
                    mark, (unsigned char)in.ptr[0]);
    if (aofParseHeader(in, &at, mark, number) != AOF_COMMAND) return failNumber(s, in);
    s->at += at;
    s->lines++;
    if (*number >= least && *number <= most) return true;
    return failRange(s, mark, *number < INT64_MAX ? (long long)*number : INT64_MAX);
}

/* Reads an argument of `len` bytes and its end. Its first bytes are copied to `keep` and returned in `word`, unless
 * NULL. */
static bool takeArgument(aofScanner *s, uint64_t len, slice *word, char *keep) {
    uint64_t left = s->size - currentOffset(s);
    s->last_read = currentOffset(s);
    if (left < len + 2) return fail(s, "Expected to read %" PRIu64 " bytes, got %" PRIu64 " bytes", len + 2, left);
    if (len > AOF_BULK_MAX) return failRange(s, '$', (long long)len);
    if (word) {
        slice first = aofScanPeek(s, len < AOF_SCAN_WORD ? len : AOF_SCAN_WORD);
        memcpy(keep, first.ptr, first.len);
        *word = sliceOf(keep, first.len);
    }
    skipBytes(s, len);
    slice end = aofScanPeek(s, 2);
    if (end.len < 2 || memcmp(end.ptr, "\r\n", 2) != 0) return failNewline(s, end);
    s->at += 2;
    s->lines++;
    return true;
}

/* Checks whether the command begins or ends a transaction. Returns false if it may not. */
static bool noteTransaction(aofScanner *s, const aofScanItem *item) {
    bool multi = sliceIs(item->words[0], "multi"), exec = sliceIs(item->words[0], "exec");
    if (multi && s->in_multi) return fail(s, "Unexpected MULTI in AOF %s", s->path);
    if (exec && !s->in_multi) return fail(s, "Unexpected EXEC in AOF %s", s->path);
    if (multi) s->unit = item->at;
    if (multi || exec) s->in_multi = multi;
    return true;
}

static bool takeCommand(aofScanner *s, aofScanItem *item) {
    uint64_t len;
    if (!takeNumber(s, '*', 1, AOF_ARGC_MAX, &item->argc)) return false;
    for (uint64_t i = 0; i < item->argc; i++) {
        bool kept = i < array_len(item->words);
        if (!takeNumber(s, '$', 0, BULK_TOLD_MAX, &len)) return false;
        if (!takeArgument(s, len, kept ? &item->words[i] : NULL, kept ? s->words[i] : NULL)) return false;
        if (i == 0 && !noteTransaction(s, item)) return false;
    }
    return true;
}

static bool takeAnnotation(aofScanner *s, aofScanItem *item) {
    aofItem line = {.bytes = 0};
    slice in = aofScanPeek(s, AOF_ANNOTATION_MAX);
    s->last_read = currentOffset(s);
    switch (aofParse(&line, in)) {
    case AOF_ANNOTATION: break;
    case AOF_MORE: return fail(s, "Reached EOF before the end of an annotation");
    default: return failFormat(s);
    }
    item->text = sliceOf(in.ptr, line.bytes);
    s->at += line.bytes;
    return true;
}

static bool aofScanTakeItem(aofScanner *s, aofScanItem *item, char first) {
    if (first == '*') return takeCommand(s, item);
    if (first == '#') return takeAnnotation(s, item);
    return failFormat(s);
}

aofScanKind aofScanNext(aofScanner *s, aofScanItem *item) {
    slice next = aofScanPeek(s, 1);
    char first = next.len ? next.ptr[0] : '\0';
    *item = (aofScanItem){.at = currentOffset(s), .unit = s->in_multi ? s->unit : currentOffset(s)};
    bool taken = next.len > 0 && aofScanTakeItem(s, item, first);
    if (s->failed) {
        errno = s->failed;
        return AOF_SCAN_FAILED;
    }
    if (!taken && s->in_multi && !s->fault) fail(s, "Reached EOF before reading EXEC for MULTI");
    if (!taken) return next.len == 0 && !s->in_multi ? AOF_SCAN_END : AOF_SCAN_FAULT;
    item->bytes = currentOffset(s) - item->at;
    if (!s->in_multi) s->good = currentOffset(s);
    return first == '#' ? AOF_SCAN_ANNOTATION : AOF_SCAN_COMMAND;
}

uint64_t aofScanGood(const aofScanner *s) { return s->good; }

uint64_t aofScanLines(const aofScanner *s) { return s->lines; }

const char *aofScanFault(const aofScanner *s) { return s->fault; }
