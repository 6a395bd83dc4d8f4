/* zmalloc.h -- allocation on jemalloc, counted per thread.
 *
 * jemalloc itself counts the bytes that each thread allocates and frees, on its fast path;
 * zmallocThreadInit() registers these two counters of the calling thread, and zmallocUsed() sums
 * them. So counting costs nothing per call. Sanitizer builds use libc's malloc and count here.
 *
 * Lack of memory ends the process, after a call of the handler that zmallocSetOomHandler() sets, except in the `try`
 * functions, which return NULL. Before either, the thread's own reserve is used.
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ZMALLOC_H
#define BASE_ZMALLOC_H

#include "platform.h"

void *zmalloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *zcalloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2))); /* zeroed */
void *zrealloc(void *p, size_t size);
void *zmallocAligned(size_t align, size_t size); /* freed with zfree(); align is a power of two */
void zfree(void *p);                             /* NULL is allowed */
/* Frees a block whose size the caller knows: the size that was requested, or that zmallocUsable() returned. Saves the
 * allocator a lookup. */
void zfreeSized(void *p, size_t size);

/* Like the functions above, but return NULL if there is no memory. */
void *ztrymalloc(size_t size) must_check;
void *ztrycalloc(size_t count, size_t size) must_check;
void *ztryrealloc(void *p, size_t size) must_check;
/* Returns zeroed and aligned memory, for big tables, or NULL. Fresh pages of the system are not touched, so that the
 * caller may still choose the kind of pages (madvise). Free it by zfree(). */
void *ztrycallocAligned(size_t align, size_t size) must_check;

/* A reserve of the calling thread: memory that is set aside, untouched, and released when an allocation would fail, so
 * that an operation in progress can be completed. zmallocReserve() ensures `size` bytes until zmallocUnreserve(), or
 * returns false and changes nothing. Reserves nest: save zmallocReserved() before the first call and pass it to
 * zmallocUnreserve(), so that a reserve of the caller's caller survives. zmallocKeepReserve() keeps a small one (4 MiB)
 * all the time; call it when memory may have been freed, such as at the end of a loop iteration, to restore it after
 * use. It returns false if there is no memory for it now: begin no new work if that can wait; the next call tries
 * again. */
bool zmallocReserve(size_t size) must_check;
size_t zmallocReserved(void);
void zmallocUnreserve(size_t before);
bool zmallocKeepReserve(void);

/* Adjusts the bytes that do not count as used: parts of live blocks that were never written take addresses, but no
 * pages. Call with bytes > 0 for such a block, and with bytes < 0 as it is filled or freed. */
void zmallocUntouched(ptrdiff_t bytes);

/* Returns zeroed memory that takes addresses only: the system adds small pages as they are first written, and none for
 * what is read. None of it counts as used: the caller reports what it fills by zmallocUntouched(), as of a block that
 * it has reported as untouched. Lack of addresses ends the process. */
void *zmallocPages(size_t size);
/* Frees such memory, of which nothing is reported as filled any more. */
void zfreePages(void *p, size_t size);
#define ZMALLOC_PAGES ((size_t)64 << 10) /* the largest page of a system */
/* Gives the pages of a part of it back to the system. The part begins and ends at multiples of ZMALLOC_PAGES from the
 * beginning; its bytes are 0 already. */
void zdropPages(void *p, size_t size);

/* Allocate and set *usable to the real size of the block (>= size). All of it may be used. */
void *zmallocUsable(size_t size, size_t *usable);
void *zreallocUsable(void *p, size_t size, size_t *usable);
/* Like zreallocUsable(), but returns NULL if there is no memory. */
void *ztryreallocUsable(void *p, size_t size, size_t *usable) must_check;
/* Returns the usable size of a block. */
size_t zmallocSize(const void *p);
/* Returns the usable size that a request for `size` bytes would get, without allocating. */
size_t zmallocGoodSize(size_t size);

/* Returns `array`, in which `count` elements of `size` bytes are used, with capacity for one more: if *capacity is
 * reached, it is doubled and the array may move. An array begins as NULL with capacity 0. */
static inline void *zgrowArray(void *array, size_t count, size_t *capacity, size_t size) {
    if (likely(count < *capacity)) return array;
    *capacity = *capacity ? 2 * *capacity : 16;
    return zrealloc(array, *capacity * size);
}

char *zstrdup(const char *s);

/* Call at the start and end of threads other than the first. Allocations and frees of ended threads stay in the sum. At
 * most 512 threads over time have exact counts. */
void zmallocThreadInit(void);
void zmallocThreadExit(void);

/* An arena holds the small blocks that one thread allocates. Return the arena of the calling thread, and make the
 * calling thread allocate from that of another thread, for which it creates objects. No effect if the allocator has no
 * arenas. */
unsigned zmallocArena(void);
void zmallocUseArena(unsigned arena);

/* Returns the bytes now allocated by all threads, in size classes. Never negative. O(threads). */
size_t zmallocUsed(void);

/* Returns the bytes that the calling thread has allocated minus those it has freed, including blocks of other threads:
 * only differences are meaningful. Two loads. */
int64_t zmallocThreadHeld(void);

void zmallocSetOomHandler(void (*handler)(size_t size)); /* called before the process ends for lack of memory */

/* Makes the n-th allocation from now (1: the next) in the calling thread's `try` functions fail; 0 switches it off. For
 * tests. Returns how many allocations of the previous setting were left: 0 if it has failed. */
long zmallocFailAfter(long n);

/* Figures of the operating system and the allocator. RSS is in bytes; all of allocatorInfo is 0 in builds without
 * jemalloc. */
typedef struct allocatorInfo {
    size_t allocated, active, resident, retained, muzzy;
} allocatorInfo;
size_t zmallocRss(void);
size_t zmallocTotalSystemMemory(void);
void zmallocAllocatorInfo(allocatorInfo *info);
const char *zmallocLibrary(void); /* "jemalloc-5.3.0" or "libc" */
/* Gives unused pages back to the system. Returns 0, or -1 if the allocator cannot. */
int zmallocPurge(void);
/* Returns the free blocks that the allocator caches for the calling thread to its arena. Call when the thread becomes
 * idle, and before blocks are moved: cached blocks count as used. Takes some microseconds. */
void zmallocDropCache(void);
/* Switches jemalloc's background thread, which gives pages back (jemalloc-bg-thread). */
void zmallocSetBackgroundThread(bool on);
/* Passes the allocator's own statistics as text to `emit`, in pieces (MEMORY MALLOC-STATS). */
void zmallocStats(void (*emit)(void *arg, const char *text), void *arg);

#endif
