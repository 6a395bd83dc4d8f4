/* platform.h -- names for features of compilers and processors.
 *
 * Not here    settings (admin/setting_table.c), all that has state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PLATFORM_H
#define BASE_PLATFORM_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields that different threads write are at least this far apart. */
#define CACHE_LINE 64

/* Results of functions that can fail for reasons outside the program. errno has the reason. */
#define C_OK 0
#define C_ERR (-1)

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define must_check __attribute__((warn_unused_result))
#define noreturn_fn __attribute__((noreturn))
#define printf_like(fmt, args) __attribute__((format(printf, fmt, args)))
#define unused(x) ((void)(x))
#define array_len(a) (sizeof(a) / sizeof((a)[0]))

#if defined(__SANITIZE_THREAD__)
#define BUILT_WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BUILT_WITH_TSAN 1
#endif
#endif

/* Prefetches the line of `p` for reading. Never faults, whatever `p` is. */
static inline void prefetchRead(const void *p) { __builtin_prefetch(p, 0, 3); }

/* Prefetches the line of `p` for writing. */
static inline void prefetchWrite(const void *p) { __builtin_prefetch(p, 1, 3); }

/* Prefetches all lines of `len` bytes, but no more than the processor should be asked for at once: by then its own
 * prefetcher has detected the sequence. */
#define PREFETCH_RUN_MAX 2048
static inline uintptr_t prefetchRunEnd(const void *p, size_t len) {
    return (uintptr_t)p + (len < PREFETCH_RUN_MAX ? len : PREFETCH_RUN_MAX);
}
static inline void prefetchReadRun(const void *p, size_t len) {
    uintptr_t end = prefetchRunEnd(p, len);
    for (uintptr_t at = (uintptr_t)p & ~(uintptr_t)(CACHE_LINE - 1); at < end; at += CACHE_LINE)
        prefetchRead((const void *)at);
}
static inline void prefetchWriteRun(const void *p, size_t len) {
    uintptr_t end = prefetchRunEnd(p, len);
    for (uintptr_t at = (uintptr_t)p & ~(uintptr_t)(CACHE_LINE - 1); at < end; at += CACHE_LINE)
        prefetchWrite((const void *)at);
}

#endif
