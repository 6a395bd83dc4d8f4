/* slice.h -- a borrowed run of bytes: pointer and length, no terminating NUL, never owned.
 *
 * Command arguments, keys and field names travel as slices. Whoever keeps one says until when the
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

static inline slice sliceOf(const void *p, size_t len) {
    return (slice){(const char *)p, len};
}

static inline slice sliceStr(const char *s) {
    return (slice){s, strlen(s)};
}

static inline bool sliceEq(slice a, slice b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Equal to a C string, ASCII case ignored: how option words are matched. */
static inline bool sliceIs(slice a, const char *word) {
    size_t n = strlen(word);
    return a.len == n && strncasecmp(a.ptr, word, n) == 0;
}

/* Byte order, shorter first when one is the other's start: <0, 0, >0. */
static inline int sliceCmp(slice a, slice b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int d = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return d ? d : (a.len > b.len) - (a.len < b.len);
}

#endif
