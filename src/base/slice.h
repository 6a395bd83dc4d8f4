/* slice.h -- borrowed bytes: pointer and length, no terminating NUL, never owned; their characters, and patterns.
 *
 * Command arguments, keys and field names are passed as slices. A field of that type has a comment on how long the
 * bytes stay valid.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include "platform.h"
#include <string.h>
#include <strings.h>

typedef struct slice {
    const char *ptr;
    size_t len;
} slice;

static inline slice sliceOf(const void *p, size_t len) { return (slice){(const char *)p, len}; }

static inline slice sliceStr(const char *s) { return (slice){s, strlen(s)}; }

/* Compares bytes of equal length. Names and keys are usually short: up to 16 bytes are compared as two words that may
 * overlap, in half the time of a call of memcmp. */
static inline bool bytesEq(const char *a, const char *b, size_t n) {
    uint64_t a1, a2, b1, b2;
    uint32_t c1, c2, d1, d2;
    if (n >= 8 && n <= 16) {
        memcpy(&a1, a, 8), memcpy(&b1, b, 8);
        memcpy(&a2, a + n - 8, 8), memcpy(&b2, b + n - 8, 8);
        return ((a1 ^ b1) | (a2 ^ b2)) == 0;
    }
    if (n >= 4 && n < 8) {
        memcpy(&c1, a, 4), memcpy(&d1, b, 4);
        memcpy(&c2, a + n - 4, 4), memcpy(&d2, b + n - 4, 4);
        return ((c1 ^ d1) | (c2 ^ d2)) == 0;
    }
    if (n < 4) return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
    return memcmp(a, b, n) == 0;
}

static inline bool sliceEq(slice a, slice b) { return a.len == b.len && bytesEq(a.ptr, b.ptr, a.len); }

/* Returns whether the bytes equal a C string, ASCII case ignored: for option words. */
static inline bool sliceIs(slice a, const char *word) {
    size_t n = strlen(word);
    return a.len == n && strncasecmp(a.ptr, word, n) == 0;
}

/* Compares by bytes; a prefix is less. Returns <0, 0 or >0. */
static inline int sliceCmp(slice a, slice b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int d = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return d ? d : (a.len > b.len) - (a.len < b.len);
}

/* Returns the bytes up to `end` and removes them, with `end`, from the slice; all bytes if it has no `end`. */
static inline slice sliceTakeUntil(slice *s, char end) {
    const char *at = s->len ? memchr(s->ptr, end, s->len) : NULL;
    slice taken = sliceOf(s->ptr, at ? (size_t)(at - s->ptr) : s->len);
    size_t used = taken.len + (at != NULL);
    s->ptr += used;
    s->len -= used;
    return taken;
}

/* --- Characters in ASCII, whatever the locale is ------------------------------------------------------------------ */

/* Returns the value of a hexadecimal digit, -1 if `c` is none. */
static inline int hexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
static inline bool isDigit(char c) { return c >= '0' && c <= '9'; }
/* Returns whether isspace() accepts `c` in the C locale: space, tab, line feed, vertical tab, form feed, carriage
 * return. */
static inline bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* --- glob.c: patterns as KEYS, SCAN and CONFIG GET use them ------------------------------------------------------- */

/* Returns whether all of `text` matches. '*' matches any bytes, '?' any byte; [abc] [^abc] [a-c] are classes; '\' makes
 * the next byte literal. Takes linear time, except where '?', '\' or a class is between two stars: that part is tried
 * at each position of the text. Results equal those of Valkey, also for malformed patterns such as an unclosed bracket
 * (which ends at the pattern's end) and nested stars. An empty text matches the empty pattern and "*" alone, but not
 * "**". */
bool globMatch(slice pattern, slice text, bool nocase);

#endif
