/* zmalloc.h -- allocation on jemalloc, counted per thread.
 *
 * jemalloc counts the bytes that each thread allocates and frees by itself, on its fast path; each
 * thread that calls zmallocThreadInit() lends those two counters to the sum that zmallocUsed()
 * makes. So counting costs nothing per call. Sanitizer builds use libc's malloc and count here.
 *
 * Out of memory ends the process through the handler set below, except in the `try` functions. Before either, a
 * thread's own reserve is spent.
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ZMALLOC_H
#define BASE_ZMALLOC_H

#include "platform.h"

void *zmalloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *zcalloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));
void *zrealloc(void *p, size_t size);
void *zmallocAligned(size_t align, size_t size); /* freed with zfree(); align is a power of two */
void zfree(void *p);                             /* NULL is allowed */
/* Free a block whose size class the caller knows: `size` is what was asked for, or what
 * zmallocUsable() returned. Saves the allocator a look-up. */
void zfreeSized(void *p, size_t size);

/* As above, but NULL instead of the end of the process. */
void *ztrymalloc(size_t size) must_check;
void *ztrycalloc(size_t count, size_t size) must_check;
void *ztryrealloc(void *p, size_t size) must_check;
/* Zeroed and aligned, for big tables: fresh pages of the system are not touched, so that the caller may still say
 * what pages it wants (madvise). Freed with zfree(). */
void *ztrycallocAligned(size_t align, size_t size) must_check;

/* A reserve of the calling thread: memory that is set aside, not touched, and given up when an allocation would fail,
 * so that what has begun can be brought to its end. zmallocReserve() makes sure of `size` bytes for what comes until
 * zmallocUnreserve(): more than is reserved already, or false and all is as before. Reserves nest: zmallocReserved()
 * before the first call is what goes into zmallocUnreserve(), and who finds a reserve leaves one. zmallocKeepReserve()
 * holds a small one (4 MiB) all the time; it is called where memory may have become free, at the end of a turn for
 * example, to make it again if it was spent. False: there is no memory for it now, and who can wait begins nothing new;
 * the next call tries again. */
bool zmallocReserve(size_t size) must_check;
size_t zmallocReserved(void);
void zmallocUnreserve(size_t before);
bool zmallocKeepReserve(void);

/* Parts of live blocks that nobody has written to cost addresses and no pages: they do not count as used. Whoever has
 * such a block says so (bytes > 0), and takes it back (bytes < 0) as he fills it, or when it has been freed. */
void zmallocUntouched(ptrdiff_t bytes);

/* Allocate and tell how much room the block really has (>= size). The whole of it may be used. */
void *zmallocUsable(size_t size, size_t *usable);
void *zreallocUsable(void *p, size_t size, size_t *usable);
/* The same, but NULL instead of the end of the process. */
void *ztryreallocUsable(void *p, size_t size, size_t *usable) must_check;
/* Room in a live block. */
size_t zmallocSize(const void *p);
/* Room a request for `size` bytes would get, without making it. */
size_t zmallocGoodSize(size_t size);

/* Returns `array`, in which `count` elements of `size` bytes are used, with capacity for one more: if *capacity is
 * reached, it is doubled and the array may move. An array begins as NULL with capacity 0. */
static inline void *zgrowArray(void *array, size_t count, size_t *capacity, size_t size) {
    if (likely(count < *capacity)) return array;
    *capacity = *capacity ? 2 * *capacity : 16;
    return zrealloc(array, *capacity * size);
}

char *zstrdup(const char *s);

/* Threads other than the first call these at start and end. Frees and allocations of a thread that
 * has ended stay in the sum. At most 512 threads over time keep exact counts. */
void zmallocThreadInit(void);
void zmallocThreadExit(void);

/* Arenas: where small blocks that one thread allocates lie together. The one of the calling thread, and having the
 * calling thread allocate from that of another, for which it makes things. Nothing where the allocator has none. */
unsigned zmallocArena(void);
void zmallocUseArena(unsigned arena);

/* Bytes allocated now, by all threads, in size classes. Never negative. O(threads). */
size_t zmallocUsed(void);

/* Bytes that the calling thread has allocated less those it has freed, whoever had allocated them: only differences
 * mean something. Two loads. */
int64_t zmallocThreadHeld(void);

void zmallocSetOomHandler(void (*handler)(size_t size));

/* Fail the n-th allocation from now (1 = the next) in the calling thread's `try` functions; 0 turns
 * it off. For tests. Returns how many had still to come of those that were asked for before: 0 when it has failed. */
long zmallocFailAfter(long n);

/* What the operating system and the allocator say. RSS in bytes; the fields of allocatorInfo are 0
 * where the build has no jemalloc. */
typedef struct allocatorInfo {
    size_t allocated, active, resident, retained, muzzy;
} allocatorInfo;
size_t zmallocRss(void);
size_t zmallocTotalSystemMemory(void);
void zmallocAllocatorInfo(allocatorInfo *info);
const char *zmallocLibrary(void); /* "jemalloc-5.3.0" or "libc" */
/* Give unused pages back to the system. 0, or -1 where the allocator cannot. */
int zmallocPurge(void);
/* Background thread of jemalloc that gives pages back (jemalloc-bg-thread). */
void zmallocSetBackgroundThread(bool on);
/* The allocator's own statistics as text, handed to `emit` in pieces (MEMORY MALLOC-STATS). */
void zmallocStats(void (*emit)(void *arg, const char *text), void *arg);

#endif
