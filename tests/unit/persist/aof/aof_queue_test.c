/* aof_queue_test.c -- bytes leave the queue as they were added, in any sizes, with one thread and with two.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_queue.h"

#include "unit.h"
#include "zmalloc.h"

#include <pthread.h>
#include <sched.h>

/* Returns the byte at an offset. */
static char byteAt(uint64_t offset) { return (char)((offset * 0x9E3779B97F4A7C15ull) >> 56); }

static void appendPart(aofQueue *s, size_t len) {
    char bytes[4096];
    while (len > 0) {
        size_t part = len < sizeof(bytes) ? len : sizeof(bytes);
        for (size_t i = 0; i < part; i++) bytes[i] = byteAt(s->appended + i);
        aofQueueAppend(s, bytes, part);
        len -= part;
    }
}

static void append(aofQueue *s, size_t len) {
    appendPart(s, len);
    aofQueueEndUnit(s);
}

/* Takes bytes up to `limit`. Returns false if one is wrong. */
static bool take(aofQueue *s, uint64_t limit, uint64_t *seed) {
    struct iovec parts[3];
    size_t bytes, seen = 0;
    int n = aofQueuePeek(s, limit, parts, 3, &bytes);
    for (int i = 0; i < n; i++) {
        for (size_t j = 0; j < parts[i].iov_len; j++)
            if (((char *)parts[i].iov_base)[j] != byteAt(s->consumed + seen + j)) return false;
        seen += parts[i].iov_len;
    }
    if (seen != bytes || s->consumed + bytes > limit || (n < 3 && s->consumed + bytes != limit)) return false;
    aofQueueConsume(s, unitRandom(seed) % 4 ? bytes : bytes / 2);
    return true;
}

static size_t someLength(uint64_t *seed) {
    size_t most = unitRandom(seed) % 8 ? 300 : unitRandom(seed) % 4 ? AOF_BLOCK_BYTES : 5 * AOF_BLOCK_BYTES;
    return unitRandom(seed) % (most + 1);
}

TEST(queue_keeps_bytes_in_order) {
    uint64_t seed = unitRandomSeed();
    aofQueue s;
    aofQueueInit(&s, 1000);
    for (int i = 0; i < 3000; i++) {
        append(&s, someLength(&seed));
        if (unitRandom(&seed) % 2) aofQueuePublish(&s);
        if (unitRandom(&seed) % 2 && !CHECK(take(&s, atomic_load(&s.published), &seed))) break;
        if (unitRandom(&seed) % 64 == 0) aofQueueTrim(&s);
        CHECK(aofQueueMemory(&s) >= s.appended - s.consumed);
    }
    CHECK(!aofQueuePublish(&s) || !aofQueuePublish(&s));
    while (s.consumed < s.appended && CHECK(take(&s, s.appended, &seed))) continue;
    aofQueueTrim(&s);
    CHECK(aofQueueMemory(&s) <= 34 * sizeof(aofBlock));
    aofQueueDestroy(&s);
}

/* Bytes that end exactly with a block. */
TEST(queue_at_the_ends_of_blocks) {
    uint64_t seed = unitRandomSeed();
    aofQueue s;
    aofQueueInit(&s, 0);
    for (int i = 0; i < 50; i++) {
        append(&s, AOF_BLOCK_BYTES);
        aofQueuePublish(&s);
        while (s.consumed < s.appended && CHECK(take(&s, s.appended, &seed))) continue;
    }
    CHECK(s.spares <= 2);
    aofQueueDestroy(&s);
}

/* No part is empty: a peek ends with the bytes, whatever space is left in the array. */
TEST(queue_peeks_at_no_more_parts_than_there_are) {
    struct iovec parts[3];
    size_t bytes;
    aofQueue s;
    aofQueueInit(&s, 0);
    CHECK_EQ_INT(aofQueuePeek(&s, 0, parts, 3, &bytes), 0);
    append(&s, 10);
    aofQueuePublish(&s);
    CHECK_EQ_INT(aofQueuePeek(&s, 10, parts, 3, &bytes), 1);
    CHECK_EQ_INT(bytes, 10);
    aofQueueConsume(&s, 10);
    append(&s, AOF_BLOCK_BYTES);
    aofQueuePublish(&s);
    CHECK_EQ_INT(aofQueuePeek(&s, s.appended, parts, 3, &bytes), 2);
    CHECK_EQ_INT(bytes, AOF_BLOCK_BYTES);
    aofQueueDestroy(&s);
}

/* A server that exits or sends replies in the middle of a transaction has only complete ones in its file. */
TEST(queue_publishes_complete_units_only) {
    aofQueue s;
    aofQueueInit(&s, 7);
    appendPart(&s, 10);
    CHECK(!aofQueuePublish(&s));
    CHECK_EQ_INT(atomic_load(&s.published), 7);
    appendPart(&s, 10);
    aofQueueEndUnit(&s);
    appendPart(&s, 2 * AOF_BLOCK_BYTES);
    CHECK(aofQueuePublish(&s));
    CHECK_EQ_INT(atomic_load(&s.published), 27);
    CHECK_EQ_INT(atomic_load(&s.published_units), 1);
    CHECK(!aofQueuePublish(&s));
    aofQueueEndUnit(&s);
    CHECK(aofQueuePublish(&s));
    CHECK_EQ_INT(atomic_load(&s.published), s.appended);
    aofQueueDestroy(&s);
}

#define THREADED_BYTES (64u << 20)
static void *consumer(void *arg) {
    aofQueue *s = arg;
    uint64_t seed = 7;
    while (s->consumed < THREADED_BYTES) {
        uint64_t limit = atomic_load(&s->published);
        if (limit == s->consumed) sched_yield();
        else if (!take(s, limit, &seed)) return NULL;
    }
    return s;
}

TEST(queue_between_two_threads) {
    uint64_t seed = unitRandomSeed();
    aofQueue s;
    pthread_t thread;
    void *good;
    aofQueueInit(&s, 0);
    pthread_create(&thread, NULL, consumer, &s);
    while (s.appended < THREADED_BYTES) {
        size_t len = someLength(&seed), left = THREADED_BYTES - s.appended;
        append(&s, len < left ? len : left);
        aofQueuePublish(&s);
        if (unitRandom(&seed) % 64 == 0) aofQueueTrim(&s);
    }
    pthread_join(thread, &good);
    CHECK(good != NULL);
    aofQueueDestroy(&s);
}
