/* zmalloc_test.c -- allocation and its running total.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zmalloc.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(total_follows_allocations) {
    size_t before = zmallocUsed();
    void *p[100];
    size_t sum = 0;
    for (size_t i = 0; i < 100; i++) {
        p[i] = zmalloc(i * 37);
        sum += zmallocSize(p[i]);
        memset(p[i], 1, i * 37);
    }
    CHECK_EQ_INT(zmallocUsed() - before, sum);
    for (size_t i = 0; i < 100; i++) {
        if (i % 3 == 0) zfreeSized(p[i], i * 37);
        else if (i % 3 == 1) zfreeSized(p[i], zmallocSize(p[i]));
        else zfree(p[i]);
    }
    CHECK_EQ_INT(zmallocUsed(), before);
    zfree(NULL);
    zfreeSized(NULL, 5);
}

TEST(usable_room_may_be_used) {
    for (size_t size = 0; size < 5000; size += 13) {
        size_t usable = 0;
        char *p = zmallocUsable(size, &usable);
        CHECK(usable >= size);
        CHECK_EQ_INT(zmallocSize(p), usable);
        CHECK(zmallocGoodSize(size) >= size && zmallocGoodSize(size) <= usable + (size == 0));
        memset(p, 7, usable);
        p = zreallocUsable(p, size * 2 + 1, &usable);
        CHECK(usable >= size * 2 + 1);
        memset(p, 8, usable);
        zfreeSized(p, usable);
    }
}

TEST(realloc_keeps_bytes) {
    char *p = zrealloc(NULL, 10);
    memcpy(p, "012345678", 10);
    p = zrealloc(p, 100000);
    CHECK_EQ_STR(p, "012345678");
    p = zrealloc(p, 0);
    CHECK(p != NULL);
    zfree(p);
    int *zeros = zcalloc(1000, sizeof(int));
    for (int i = 0; i < 1000; i++) CHECK(zeros[i] == 0);
    zfree(zeros);
    char *s = zstrdup("abc");
    CHECK_EQ_STR(s, "abc");
    zfree(s);
}

TEST(aligned_blocks) {
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *p = zmallocAligned(align, 100);
        CHECK_EQ_INT((uintptr_t)p % align, 0);
        zfree(p);
    }
}

/* A compiler may remove an allocation whose result is not used, and assume that it succeeds. */
static void *volatile taken;

TEST(try_functions_fail_on_demand_and_on_nonsense) {
    zmallocFailAfter(2);
    void *p = ztrymalloc(10);
    CHECK(p != NULL);
    CHECK((taken = ztrymalloc(10)) == NULL);
    void *q = ztryrealloc(p, 20);
    CHECK(q != NULL);
    zfree(q);
    zmallocFailAfter(1);
    CHECK((taken = ztrycalloc(1, 10)) == NULL);
    zmallocFailAfter(0);
    /* The allocator of a sanitizer would end the process instead of failing. */
#if !defined(USE_LIBC_MALLOC)
    volatile size_t huge = SIZE_MAX / 2;
    CHECK((taken = ztrymalloc(huge)) == NULL);
    CHECK((taken = ztrycalloc(huge, 16)) == NULL);
#endif
}

/* With a limit of the address space, in a process of its own: reserved memory can be allocated, and a kept reserve lets
 * small work continue when nothing else is left. */
#if !defined(USE_LIBC_MALLOC)
enum { MB = 1 << 20 };

static void spendAll(void *arg) {
    unused(arg);
    zmallocKeepReserve();
    size_t used = zmallocUsed();
    bool ok = zmallocReserve(200 * (size_t)MB) && zmallocUsed() == used;
    if (!unitLittleMemory(8 * MB)) _exit(43);
    char *large = ztrymalloc(150 * (size_t)MB); /* possible only by the reservation */
    ok = ok && large && memset(large, 1, 150 * (size_t)MB);
    ok = ok && !(taken = ztrymalloc(150 * (size_t)MB)) && !zmallocReserve(150 * (size_t)MB);
    zfree(large);
    while ((taken = ztrymalloc(64 * 1024))) {
    }
    for (int i = 0; i < 100; i++) { /* would end the process without the kept reserve */
        taken = zmalloc(10000);
        memset(taken, 1, 10000);
    }
    _exit(ok ? 0 : 44);
}

/* The reserve is used up, memory is freed, the reserve is made again: twice. The same for aligned blocks. */
static void spendTwice(void *arg) {
    bool aligned = arg != NULL;
    static void *all[20000];
    zmallocKeepReserve();
    if (!unitLittleMemory(32 * MB)) _exit(43);
    for (int round = 0; round < 2; round++) {
        size_t n = 0;
        while (n < array_len(all) && (all[n] = ztrymalloc(64 * 1024))) n++;
        if (n == array_len(all)) _exit(43);
        if (!zmallocKeepReserve()) _exit(45);
        void *last = aligned ? zmallocAligned(CACHE_LINE, 64 * 1024) : zmalloc(64 * 1024);
        while ((all[n] = ztrymalloc(64 * 1024))) n++; /* uses the rest of the reserve */
        if (zmallocKeepReserve()) _exit(44);
        zfree(last);
        while (n) zfree(all[--n]);
        if (!zmallocKeepReserve()) _exit(45);
    }
    _exit(0);
}

static void *holdAndFree(void *arena) {
    enum { BLOCKS = 64 };
    void *all[BLOCKS];
    zmallocThreadInit();
    for (int i = 0; i < BLOCKS; i++) all[i] = zmalloc(MB);
    for (int i = 0; i < BLOCKS; i++) zfree(all[i]);
    *(unsigned *)arena = zmallocArena();
    zmallocThreadExit();
    return NULL;
}

/* Memory that another thread has freed is in that thread's arena, and there is no other. */
static void useOthers(void *arg) {
    unused(arg);
    unsigned arena = zmallocArena();
    for (int i = 0; i < 100 && arena == zmallocArena(); i++) {
        pthread_t other;
        if (pthread_create(&other, NULL, holdAndFree, &arena)) _exit(43);
        pthread_join(other, NULL);
    }
    if (arena == zmallocArena() || !unitLittleMemory(8 * MB)) _exit(43);
    for (int i = 0; i < 30; i++) {
        char *p = i % 2 ? ztrycalloc(1, MB) : ztrymalloc(MB);
        if (!p) _exit(44);
        if (i % 2 && (p[0] || p[MB - 1])) _exit(45);
        memset(p, 1, MB);
        if (i % 5 == 0 && !(taken = ztryrealloc(p, 2 * MB))) _exit(46);
    }
    taken = zmallocAligned(4096, MB);
    _exit(taken && (uintptr_t)taken % 4096 == 0 ? 0 : 47);
}
#endif

TEST(what_other_threads_have_freed_serves_when_nothing_else_does) {
#if !defined(USE_LIBC_MALLOC)
    int status = unitInChild(useOthers, NULL, NULL, 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ_INT(WEXITSTATUS(status), 0);
#endif
}

TEST(reserves_are_there_when_nothing_else_is) {
#if !defined(USE_LIBC_MALLOC)
    int status = unitInChild(spendAll, NULL, NULL, 0);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 43));
    for (int aligned = 0; aligned < 2; aligned++) {
        status = unitInChild(spendTwice, aligned ? &status : NULL, NULL, 0);
        CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 43));
    }
#endif
    size_t used = zmallocUsed();
    CHECK(zmallocReserve(1000000));
    CHECK(zmallocReserve(1000)); /* a smaller reservation is covered */
    CHECK_EQ_INT(zmallocUsed(), used);
    zmallocFailAfter(1);
    CHECK(!zmallocReserve(2000000));
    CHECK_EQ_INT(zmallocReserved(), 1000000);
    CHECK(zmallocReserve(2000000));
    zmallocUnreserve(1000000); /* for the earlier reservation the memory suffices now */
    CHECK_EQ_INT(zmallocReserved(), 2000000);
    zmallocUnreserve(0);
    CHECK_EQ_INT(zmallocReserved(), 0);
    CHECK_EQ_INT(zmallocUsed(), used);
}

static void *block_of_thread;

static void *threadBody(void *arg) {
    zmallocThreadInit();
    zfree(arg);
    block_of_thread = zmalloc(50000);
    zmallocThreadExit();
    return NULL;
}

TEST(untouched_memory_is_not_used) {
    size_t used = zmallocUsed(), size = 64 << 20;
    char *p = zmalloc(size);
    size_t room = zmallocSize(p);
    CHECK(zmallocUsed() >= used + size);
    zmallocUntouched((ptrdiff_t)size);
    CHECK(zmallocUsed() <= used + (room - size) + 4096);
    zmallocUntouched(-1000);
    CHECK(zmallocUsed() >= used + 1000);
    zfree(p);
    zmallocUntouched(-(ptrdiff_t)(size - 1000));
    CHECK(zmallocUsed() <= used + 4096);
}

/* Bytes count as they are reported, and pages that were given back read as zeros. */
TEST(pages_count_as_they_are_filled) {
    size_t used = zmallocUsed(), size = 4 * ZMALLOC_PAGES;
    char *p = zmallocPages(size);
    CHECK(zmallocUsed() <= used + 4096);
    for (size_t i = 0; i < size; i += 1000) CHECK(p[i] == 0);
    memset(p + ZMALLOC_PAGES, 'x', 100);
    zmallocUntouched(-100);
    CHECK(zmallocUsed() >= used + 100);
    memset(p + ZMALLOC_PAGES, 0, 100);
    zmallocUntouched(100);
    zdropPages(p + ZMALLOC_PAGES, ZMALLOC_PAGES);
    for (size_t i = 0; i < size; i += 50) CHECK(p[i] == 0);
    p[ZMALLOC_PAGES] = 1;
    zfreePages(p, size);
    CHECK(zmallocUsed() <= used + 4096);
}

TEST(totals_of_ended_threads_stay) {
    size_t before = zmallocUsed();
    void *given = zmalloc(70000);
    size_t given_size = zmallocSize(given);
    CHECK_EQ_INT(zmallocUsed(), before + given_size);
    pthread_t t;
    pthread_create(&t, NULL, threadBody, given);
    pthread_join(t, NULL);
    size_t kept = zmallocUsed(), want = before + zmallocSize(block_of_thread);
    /* The thread library may keep a block for the next thread. */
    CHECK(kept >= want && kept < want + 4096);
    zfree(block_of_thread);
    CHECK(zmallocUsed() < before + 4096);
}

static void *manyBody(void *arg) {
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    zmallocThreadInit();
    for (int i = 0; i < 20000; i++) {
        void *p = zmalloc(unitRandom(&seed) % 1000);
        if (i % 100 == 0 && zmallocUsed() > (size_t)1 << 40) abort();
        zfree(p);
    }
    zmallocThreadExit();
    return NULL;
}

TEST(threads_count_at_the_same_time) {
    pthread_t t[4];
    size_t before = zmallocUsed();
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&t[i], NULL, manyBody, (void *)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    size_t after = zmallocUsed();
    CHECK(after < before + 65536 && after + 65536 > before);
}

static void oomBody(void *arg) {
    unused(arg);
    exit(42);
}

static void onOom(size_t size) { oomBody(&size); }

static void runOut(void *arg) {
    zmallocSetOomHandler(onOom);
    volatile size_t huge = SIZE_MAX / 2;
    zfree(zmalloc(huge));
    unused(arg);
}

TEST(out_of_memory_calls_the_handler) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    int status = unitInChild(runOut, NULL, NULL, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
#else
    unused(runOut);
#endif
}

static void countText(void *arg, const char *text) { *(size_t *)arg += strlen(text); }

TEST(what_the_system_says) {
    CHECK(zmallocRss() > 100000);
    CHECK(zmallocTotalSystemMemory() > zmallocRss());
    allocatorInfo info;
    zmallocAllocatorInfo(&info);
    size_t stats = 0;
    zmallocStats(countText, &stats);
    CHECK(stats > 0);
#ifdef USE_LIBC_MALLOC
    CHECK_EQ_STR(zmallocLibrary(), "libc");
#else
    CHECK(strncmp(zmallocLibrary(), "jemalloc-5", 10) == 0);
    CHECK(info.allocated > 0 && info.active >= info.allocated && info.resident >= info.active);
    CHECK_EQ_INT(zmallocPurge(), 0);
    zmallocSetBackgroundThread(true);
    zmallocSetBackgroundThread(false);
#endif
}

TEST(zmalloc_grows_an_array) {
    uint32_t *numbers = NULL;
    size_t capacity = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t *before = numbers;
        bool full = i == capacity;
        numbers = zgrowArray(numbers, i, &capacity, sizeof(*numbers));
        CHECK(full || numbers == before);
        CHECK(capacity > i && capacity <= (i < 16 ? 16 : 2 * i));
        CHECK(zmallocSize(numbers) >= capacity * sizeof(*numbers));
        numbers[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) CHECK_EQ_INT(numbers[i], i);
    zfree(numbers);
}
