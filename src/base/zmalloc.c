/* zmalloc.c -- allocation with a running total, at no cost per call if jemalloc counts.
 *
 * jemalloc counts, for each thread, the bytes that it has ever allocated and freed, and provides the addresses
 * of both counters ("thread.allocatedp", "thread.deallocatedp"). A slot of the registry holds these two
 * addresses; the total is one pass over the slots. With libc's malloc (sanitizer builds) a slot holds
 * the counters themselves, updated here with malloc_usable_size().
 *
 * Not here    how much memory may be used (store/evict.c); INFO's fields.
 * Owns        the registry of threads.
 * Threads     any. A slot's numbers are written by its thread alone and read by all, relaxed: a total
 *             is a snapshot, never used to order anything.
 * Invariants  1. A slot's addresses are followed only under the registry's lock, and its thread clears
 *                them under that lock before it ends: they never dangle.
 *             2. Numbers of ended threads stay in `ended`.
 *             3. All arenas are tried, then the reserve is used, before an allocation fails, and never otherwise.
 * Cost        zmallocUsed(): one uncontended lock and two loads per thread.
 * Tests       tests/unit/base/zmalloc_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef USE_LIBC_MALLOC
#include <malloc.h>
#else
#include <jemalloc/jemalloc.h>
#endif

#define SLOTS_MAX 512
#define EXPORTED __attribute__((visibility("default"))) /* a library looks it up */

#ifndef USE_LIBC_MALLOC
/* An I/O thread parses the requests of many clients in one loop iteration, and the values that they replace are freed
 * only after they have run: with 50 clients in pipelines of 16 that is 800 values. The cache of a thread must hold
 * them, or each requires a trip to the arena. That is 5 MB of values of 4 KiB, which a busy thread reuses immediately,
 * but an idle one withholds from all others until zmallocDropCache(). */
EXPORTED const char *malloc_conf = "tcache_nslots_small_min:1024,tcache_nslots_small_max:1024";
#endif

/* ---- Registry ---------------------------------------------------------------------------------------------------- */

#ifdef USE_LIBC_MALLOC
typedef struct slot {
    alignas(CACHE_LINE) _Atomic uint64_t allocated; /* atomic: written by the slot's thread, relaxed */
    _Atomic uint64_t freed;                         /* atomic: the same */
    bool taken;                                     /* under the lock */
} slot;
#else
typedef struct slot {
    const uint64_t *allocated, *freed; /* borrowed from jemalloc until the thread ends; under the lock */
    bool taken;                        /* under the lock */
} slot;
#endif

static slot slots[SLOTS_MAX];
static int slots_used;                              /* one past the last slot ever taken; under the lock */
static struct { uint64_t allocated, freed; } ended; /* under the lock */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic size_t last_used; /* relaxed: the last result of zmallocUsed() */

static void (*oom_handler)(size_t size);
static _Atomic size_t
    untouched_bytes; /* relaxed: allocated, but without pages: reserves, and the sum of zmallocUntouched() */

/* Locks the registry. A crash report reads the total in a signal handler, perhaps while its thread has the lock: after
 * half a second it goes on without; every other caller gets the lock within that time. */
static bool lockForReading(void) {
    if (pthread_mutex_trylock(&registry_lock) == 0) return true;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 500000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return pthread_mutex_timedlock(&registry_lock, &until) == 0;
}

static void lockRegistry(void) { pthread_mutex_lock(&registry_lock); }
static void unlockRegistry(void) { pthread_mutex_unlock(&registry_lock); }

/* Returns a free slot, or NULL. Call under the lock. */
static slot *takeSlot(void) {
    for (int i = 0; i < SLOTS_MAX; i++) {
        if (slots[i].taken) continue;
        slots[i].taken = true;
        if (i >= slots_used) slots_used = i + 1;
        return &slots[i];
    }
    return NULL;
}

static _Thread_local slot *my_slot;

static void reserveDrop(void); /* that of the ending thread */

#ifdef USE_LIBC_MALLOC

/* Threads without a slot of their own count here together. */
static slot shared;
static _Thread_local bool has_ended;

static slot *counters(void) {
    if (likely(my_slot != NULL)) return my_slot;
    if (!has_ended) {
        lockRegistry();
        my_slot = takeSlot();
        unlockRegistry();
    }
    return my_slot ? my_slot : &shared;
}

static void countUp(_Atomic uint64_t *counter, const slot *s, uint64_t bytes) {
    if (s == &shared) {
        atomic_fetch_add_explicit(counter, bytes, memory_order_relaxed);
    } else {
        uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
        atomic_store_explicit(counter, now + bytes, memory_order_relaxed);
    }
}

static void *countAlloc(void *p) {
    if (p) {
        slot *s = counters();
        countUp(&s->allocated, s, malloc_usable_size(p));
    }
    return p;
}

static void countFreed(uint64_t bytes) {
    slot *s = counters();
    countUp(&s->freed, s, bytes);
}

static uint64_t slotAllocated(const slot *s) { return atomic_load_explicit(&s->allocated, memory_order_relaxed); }
static uint64_t slotFreed(const slot *s) { return atomic_load_explicit(&s->freed, memory_order_relaxed); }

void zmallocThreadInit(void) { counters(); }

void zmallocThreadExit(void) {
    reserveDrop();
    slot *s = my_slot;
    has_ended = true;
    my_slot = NULL;
    if (!s) return;
    lockRegistry();
    ended.allocated += slotAllocated(s);
    ended.freed += slotFreed(s);
    atomic_store_explicit(&s->allocated, 0, memory_order_relaxed);
    atomic_store_explicit(&s->freed, 0, memory_order_relaxed);
    s->taken = false;
    unlockRegistry();
}

unsigned zmallocArena(void) { return 0; }
void zmallocUseArena(unsigned arena) { unused(arena); }

static uint64_t sharedAllocated(void) { return slotAllocated(&shared); }
static uint64_t sharedFreed(void) { return slotFreed(&shared); }

#else

static uint64_t slotAllocated(const slot *s) {
    return s->allocated ? __atomic_load_n(s->allocated, __ATOMIC_RELAXED) : 0;
}

static uint64_t slotFreed(const slot *s) { return s->freed ? __atomic_load_n(s->freed, __ATOMIC_RELAXED) : 0; }

void zmallocThreadInit(void) {
    if (my_slot) return;
    uint64_t *allocated = NULL, *freed = NULL;
    size_t len = sizeof(allocated);
    if (mallctl("thread.allocatedp", &allocated, &len, NULL, 0) != 0) return;
    if (mallctl("thread.deallocatedp", &freed, &len, NULL, 0) != 0) return;
    lockRegistry();
    my_slot = takeSlot();
    if (my_slot) {
        my_slot->allocated = allocated;
        my_slot->freed = freed;
    }
    unlockRegistry();
}

void zmallocThreadExit(void) {
    reserveDrop();
    slot *s = my_slot;
    my_slot = NULL;
    if (!s) return;
    lockRegistry();
    ended.allocated += slotAllocated(s);
    ended.freed += slotFreed(s);
    s->allocated = s->freed = NULL;
    s->taken = false;
    unlockRegistry();
}

unsigned zmallocArena(void) {
    unsigned arena = 0;
    size_t len = sizeof(arena);
    return mallctl("thread.arena", &arena, &len, NULL, 0) == 0 ? arena : 0;
}

void zmallocUseArena(unsigned arena) { mallctl("thread.arena", NULL, NULL, &arena, sizeof(arena)); }

static uint64_t sharedAllocated(void) { return 0; }
static uint64_t sharedFreed(void) { return 0; }

#endif

int64_t zmallocThreadHeld(void) {
    const slot *s = my_slot;
    return likely(s != NULL) ? (int64_t)(slotAllocated(s) - slotFreed(s)) : 0;
}

size_t zmallocUsed(void) {
    uint64_t untouched = atomic_load_explicit(&untouched_bytes, memory_order_relaxed);
    /* The counters vanish with their thread: without the lock, returns the last result. */
    if (!lockForReading()) return atomic_load_explicit(&last_used, memory_order_relaxed);
    /* Reads all that was freed first: bytes that one thread allocates and another frees meanwhile are then counted
     * twice, rather than making the total too small. */
    uint64_t freed = ended.freed + sharedFreed() + untouched;
    for (int i = 0; i < slots_used; i++) freed += slotFreed(&slots[i]);
    uint64_t allocated = ended.allocated + sharedAllocated();
    for (int i = 0; i < slots_used; i++) allocated += slotAllocated(&slots[i]);
    unlockRegistry();
    size_t used = allocated > freed ? (size_t)(allocated - freed) : 0;
    atomic_store_explicit(&last_used, used, memory_order_relaxed);
    return used;
}

/* Registers the first thread, which needs no call. A forked child must not inherit a locked registry. */
__attribute__((constructor)) static void registerFirstThread(void) {
    zmallocThreadInit();
    pthread_atfork(lockRegistry, unlockRegistry, unlockRegistry);
}

/* ---- The underlying allocator ------------------------------------------------------------------------------------ */

#ifdef USE_LIBC_MALLOC

static void *rawAlloc(size_t size) { return countAlloc(malloc(size)); }
static void *rawCalloc(size_t count, size_t size) { return countAlloc(calloc(count, size)); }

static void *rawRealloc(void *p, size_t size) {
    size_t old = p ? malloc_usable_size(p) : 0;
    void *q = realloc(p, size);
    if (q) {
        countFreed(old);
        countAlloc(q);
    }
    return q;
}

static void *rawAligned(size_t align, size_t size) {
    void *p = NULL;
    return posix_memalign(&p, align, size) == 0 ? countAlloc(p) : NULL;
}

static void *rawAlignedZero(size_t align, size_t size) {
    void *p = rawAligned(align, size);
    return p ? memset(p, 0, size) : NULL;
}

static void *rawAnywhere(void *old, size_t align, size_t size, bool zeroed) {
    if (old) return rawRealloc(old, size);
    if (align) return zeroed ? rawAlignedZero(align, size) : rawAligned(align, size);
    return zeroed ? rawCalloc(1, size) : rawAlloc(size);
}

static void rawFree(void *p) {
    countFreed(malloc_usable_size(p));
    free(p);
}

static size_t rawSize(const void *p) { return malloc_usable_size((void *)p); }

#else

static void *rawAlloc(size_t size) { return malloc(size); }
static void *rawCalloc(size_t count, size_t size) { return calloc(count, size); }
static void *rawRealloc(void *p, size_t size) { return realloc(p, size); }
static void *rawAligned(size_t align, size_t size) { return mallocx(size, MALLOCX_ALIGN(align)); }
static void *rawAlignedZero(size_t align, size_t size) { return mallocx(size, MALLOCX_ALIGN(align) | MALLOCX_ZERO); }

static void *rawFlagged(void *old, size_t size, int flags) {
    return old ? rallocx(old, size, flags) : mallocx(size, flags);
}

/* Allocates from the first arena that has space, beginning with the thread's own. Free pages that an arena retains
 * belong to the process, but serve only that arena. */
static void *rawAnywhere(void *old, size_t align, size_t size, bool zeroed) {
    int flags = (align ? MALLOCX_ALIGN(align) : 0) | (zeroed ? MALLOCX_ZERO : 0);
    if (size > PTRDIFF_MAX) return NULL;
    void *p = rawFlagged(old, size, flags);
    unsigned arenas = 0;
    size_t mib[3], depth = 3, len = sizeof(arenas);
    if (p || mallctl("arenas.narenas", &arenas, &len, NULL, 0) != 0) return p;
    if (mallctlnametomib("arena.0.initialized", mib, &depth) != 0) return NULL;
    for (unsigned i = 0; i < arenas && !p; i++) {
        bool made = false;
        mib[1] = i;
        len = sizeof(made);
        if (mallctlbymib(mib, depth, &made, &len, NULL, 0) != 0 || !made) continue;
        p = rawFlagged(old, size, flags | MALLOCX_TCACHE_NONE | MALLOCX_ARENA(i));
    }
    return p;
}

static void rawFree(void *p) { free(p); }
static size_t rawSize(const void *p) { return sallocx(p, 0); }

#endif

/* ---- The public functions ---------------------------------------------------------------------------------------- */

void zmallocUntouched(ptrdiff_t bytes) {
    atomic_fetch_add_explicit(&untouched_bytes, (size_t)bytes, memory_order_relaxed);
}

noreturn_fn static void outOfMemory(size_t size) {
    if (oom_handler) oom_handler(size);
    fprintf(stderr, "zmalloc: Out of memory trying to allocate %zu bytes\n", size);
    fflush(stderr);
    abort();
}

void zmallocSetOomHandler(void (*handler)(size_t size)) { oom_handler = handler; }

/* Below jemalloc's threshold for large blocks, which have an arena of their own: memory freed there serves no
 * others. */
#define KEPT_RESERVE ((size_t)4 << 20)

static _Thread_local struct {
    void *asked, *kept; /* owned */
    size_t asked_size;
} reserve;

/* Not inlined: the compiler takes the size query for a read of the fresh block. */
static __attribute__((noinline)) size_t reserveSize(void *p) { return rawSize(p); }

static bool reserveMake(void **at, size_t size) {
    *at = rawAlloc(size);
    if (!*at) *at = rawAnywhere(NULL, 0, size, false);
    if (!*at) return false;
    atomic_fetch_add_explicit(&untouched_bytes, reserveSize(*at), memory_order_relaxed);
    return true;
}

/* Returns false if there was none. */
static bool reserveFree(void **p) {
    if (!*p) return false;
    atomic_fetch_sub_explicit(&untouched_bytes, reserveSize(*p), memory_order_relaxed);
    rawFree(*p);
    *p = NULL;
    return true;
}

/* Releases the requested reserve and, with `all`, the permanent one as well. Returns false if there was none. */
static __attribute__((noinline)) bool releaseReserve(bool all) {
    bool any = reserveFree(&reserve.asked);
    if (all) any |= reserveFree(&reserve.kept);
    if (any) zmallocPurge(); /* free memory that is not given back serves only blocks of about its size */
    return any;
}

/* Called when an allocation has failed: tries all arenas, whose free memory would serve no other thread, and then again
 * after releasing the reserve. */
static __attribute__((noinline)) void *allocateAnywhere(void *old, size_t align, size_t size, bool zeroed, bool all) {
    void *p = rawAnywhere(old, align, size, zeroed);
    if (p || !releaseReserve(all)) return p;
    return rawAnywhere(old, align, size, zeroed);
}

/* Returns 1 for 0, so that a block always has an address and a size class. */
static size_t atLeastOne(size_t size) { return size + (size == 0); }

/* Returns the product, SIZE_MAX on overflow, which cannot be allocated. */
static size_t product(size_t count, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

void *zmalloc(size_t size) {
    void *p = rawAlloc(atLeastOne(size));
    if (unlikely(!p)) p = allocateAnywhere(NULL, 0, atLeastOne(size), false, true);
    if (unlikely(!p)) outOfMemory(size);
    return p;
}

void *zcalloc(size_t count, size_t size) {
    void *p = rawCalloc(atLeastOne(count), atLeastOne(size));
    if (unlikely(!p)) p = allocateAnywhere(NULL, 0, product(atLeastOne(count), atLeastOne(size)), true, true);
    if (unlikely(!p)) outOfMemory(count * size);
    return p;
}

void *zrealloc(void *p, size_t size) {
    void *q = rawRealloc(p, atLeastOne(size));
    if (unlikely(!q)) q = allocateAnywhere(p, 0, atLeastOne(size), false, true);
    if (unlikely(!q)) outOfMemory(size);
    return q;
}

void *zmallocAligned(size_t align, size_t size) {
    size_t at_least = align < sizeof(void *) ? sizeof(void *) : align;
    void *p = rawAligned(at_least, atLeastOne(size));
    if (unlikely(!p)) p = allocateAnywhere(NULL, at_least, atLeastOne(size), false, true);
    if (unlikely(!p)) outOfMemory(size);
    return p;
}

void zfree(void *p) {
    if (p) rawFree(p);
}

void zfreeSized(void *p, size_t size) {
    if (!p) return;
#ifdef USE_LIBC_MALLOC
    unused(size);
    rawFree(p);
#else
    sdallocx(p, atLeastOne(size), 0);
#endif
}

static _Thread_local long fail_after;

long zmallocFailAfter(long n) {
    long left = fail_after;
    fail_after = n;
    return left;
}

static bool failNow(void) { return unlikely(fail_after > 0) && --fail_after == 0; }

#define BEYOND_MACHINE 4 /* times the memory of the machine: no swap space makes that usable */

bool zmallocReserve(size_t size) {
    if (reserve.asked && reserve.asked_size >= size) return true;
    void *p = NULL;
    /* Addresses alone are cheap, and a sanitizer's allocator ends the process instead of returning NULL. */
    if (size / BEYOND_MACHINE > zmallocTotalSystemMemory()) return false;
    if (failNow() || !reserveMake(&p, atLeastOne(size))) return false;
    reserveFree(&reserve.asked);
    reserve.asked = p;
    reserve.asked_size = size;
    return true;
}

size_t zmallocReserved(void) { return reserve.asked ? reserve.asked_size : 0; }

void zmallocUnreserve(size_t before) {
    if (before == 0) reserveFree(&reserve.asked);
}

static void reserveDrop(void) {
    reserveFree(&reserve.asked);
    reserveFree(&reserve.kept);
}

bool zmallocKeepReserve(void) { return likely(reserve.kept != NULL) || reserveMake(&reserve.kept, KEPT_RESERVE); }

void *ztrymalloc(size_t size) {
    if (failNow()) return NULL;
    void *p = rawAlloc(atLeastOne(size));
    return likely(p != NULL) ? p : allocateAnywhere(NULL, 0, atLeastOne(size), false, false);
}

void *ztrycalloc(size_t count, size_t size) {
    if (failNow()) return NULL;
    void *p = rawCalloc(atLeastOne(count), atLeastOne(size));
    return likely(p != NULL) ? p : allocateAnywhere(NULL, 0, product(atLeastOne(count), atLeastOne(size)), true, false);
}

void *ztryrealloc(void *p, size_t size) {
    if (failNow()) return NULL;
    void *q = rawRealloc(p, atLeastOne(size));
    return likely(q != NULL) ? q : allocateAnywhere(p, 0, atLeastOne(size), false, false);
}

void *ztrycallocAligned(size_t align, size_t size) {
    if (failNow()) return NULL;
    size_t at_least = align < sizeof(void *) ? sizeof(void *) : align;
    void *p = rawAlignedZero(at_least, atLeastOne(size));
    return likely(p != NULL) ? p : allocateAnywhere(NULL, at_least, atLeastOne(size), true, false);
}

#ifdef USE_LIBC_MALLOC

/* From the allocator: the leak checker finds no pointers in memory that it has not given. */
void *zmallocPages(size_t size) {
    void *p = ztrycallocAligned(CACHE_LINE, size);
    if (!p) outOfMemory(size);
    zmallocUntouched((ptrdiff_t)zmallocSize(p));
    return p;
}

void zfreePages(void *p, size_t size) {
    unused(size);
    zmallocUntouched(-(ptrdiff_t)zmallocSize(p));
    zfree(p);
}

void zdropPages(void *p, size_t size) {
    unused(p);
    unused(size);
}

#else

/* Not from the allocator: what it uses again has pages, which it would clear one by one. */
void *zmallocPages(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) outOfMemory(size);
#ifdef MADV_NOHUGEPAGE
    (void)madvise(p, size, MADV_NOHUGEPAGE); /* a hint, which a kernel without huge pages does not know */
#endif
    return p;
}

void zfreePages(void *p, size_t size) { (void)munmap(p, size); }

void zdropPages(void *p, size_t size) {
#ifdef MADV_DONTNEED
    (void)madvise(p, size, MADV_DONTNEED);
#else
    unused(p);
    unused(size);
#endif
}

#endif

void *zmallocUsable(size_t size, size_t *usable) {
#ifdef USE_LIBC_MALLOC
    void *p = zmalloc(size);
    *usable = rawSize(p);
#else
    /* Requesting the whole size class saves the lookup of the block's size. */
    size_t good = nallocx(atLeastOne(size), 0);
    void *p = good ? rawAlloc(good) : NULL;
    if (good && unlikely(!p)) p = allocateAnywhere(NULL, 0, good, false, true);
    if (unlikely(!p)) outOfMemory(size);
    *usable = good;
#endif
    return p;
}

void *zreallocUsable(void *p, size_t size, size_t *usable) {
    void *q = zrealloc(p, size);
    *usable = rawSize(q);
    return q;
}

void *ztryreallocUsable(void *p, size_t size, size_t *usable) {
    void *q = ztryrealloc(p, size);
    if (q) *usable = rawSize(q);
    return q;
}

size_t zmallocSize(const void *p) { return rawSize(p); }

size_t zmallocGoodSize(size_t size) {
#ifdef USE_LIBC_MALLOC
    return atLeastOne(size);
#else
    size_t good = nallocx(atLeastOne(size), 0);
    return good ? good : size;
#endif
}

char *zstrdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(zmalloc(n), s, n);
}

/* ---- Figures of the system and the allocator --------------------------------------------------------------------- */

size_t zmallocRss(void) {
    char buf[256];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return zmallocUsed();
    ssize_t n = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    if (n <= 0) return zmallocUsed();
    buf[n] = '\0';
    const char *second = strchr(buf, ' ');
    if (!second) return zmallocUsed();
    return (size_t)strtoull(second + 1, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* A system call, which is not repeated for INFO memory and large allocations. */
size_t zmallocTotalSystemMemory(void) {
    static _Atomic size_t total; /* relaxed: each thread would write the same */
    size_t bytes = atomic_load_explicit(&total, memory_order_relaxed);
    if (bytes == 0) {
        bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&total, bytes, memory_order_relaxed);
    }
    return bytes;
}

#ifdef USE_LIBC_MALLOC

void zmallocAllocatorInfo(allocatorInfo *info) { memset(info, 0, sizeof(*info)); }
const char *zmallocLibrary(void) { return "libc"; }

#ifdef __GLIBC__
int zmallocPurge(void) { return malloc_trim(0) >= 0 ? 0 : -1; }
#else
/* musl keeps no free pages that it could return. */
int zmallocPurge(void) { return 0; }
#endif

void zmallocDropCache(void) {}

void zmallocSetBackgroundThread(bool on) { unused(on); }

void zmallocStats(void (*emit)(void *arg, const char *text), void *arg) {
    emit(arg, "Stats not supported for the current allocator");
}

#else

#define STRING(x) #x
#define STRING_OF(x) STRING(x)
#define VERSION(major, minor, bugfix) STRING_OF(major) "." STRING_OF(minor) "." STRING_OF(bugfix)
#define ALL_ARENAS STRING_OF(MALLCTL_ARENAS_ALL)

static size_t statistic(const char *name) {
    size_t value = 0, len = sizeof(value);
    return mallctl(name, &value, &len, NULL, 0) == 0 ? value : 0;
}

void zmallocAllocatorInfo(allocatorInfo *info) {
    /* jemalloc's statistics are a snapshot that is renewed when the epoch advances. */
    uint64_t epoch = 1;
    size_t len = sizeof(epoch);
    mallctl("epoch", &epoch, &len, &epoch, len);
    info->allocated = statistic("stats.allocated");
    info->active = statistic("stats.active");
    info->resident = statistic("stats.resident");
    info->retained = statistic("stats.retained");
    info->muzzy = statistic("stats.arenas." ALL_ARENAS ".pmuzzy") * (size_t)sysconf(_SC_PAGESIZE);
}

const char *zmallocLibrary(void) {
    return "jemalloc-" VERSION(JEMALLOC_VERSION_MAJOR, JEMALLOC_VERSION_MINOR, JEMALLOC_VERSION_BUGFIX);
}

int zmallocPurge(void) { return mallctl("arena." ALL_ARENAS ".purge", NULL, NULL, NULL, 0) == 0 ? 0 : -1; }
void zmallocDropCache(void) { mallctl("thread.tcache.flush", NULL, NULL, NULL, 0); }
void zmallocSetBackgroundThread(bool on) { mallctl("background_thread", NULL, NULL, &on, sizeof(on)); }
void zmallocStats(void (*emit)(void *arg, const char *text), void *arg) { malloc_stats_print(emit, arg, NULL); }

#endif
