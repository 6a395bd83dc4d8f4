/* spsc_queue_test.c -- order and visibility in one thread, and between two (run under TSan).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "spsc_queue.h"
#include "unit.h"
#include <pthread.h>
#include <sched.h>

typedef struct message {
    uint64_t number, check;
    char pad[8];
} message;

TEST(spsc_one_thread_against_counters) {
    uint64_t rng = unitRandomSeed();
    for (size_t capacity = 1; capacity < 70; capacity += 11) {
        spscQueue q;
        spscInit(&q, capacity, sizeof(message));
        size_t room = q.mask + 1;
        CHECK(room >= capacity && room < 2 * capacity);
        uint64_t reserved = 0, committed = 0, taken = 0, released = 0;
        for (int i = 0; i < 5000; i++) {
            switch (unitRandom(&rng) % 6) {
            case 0:
            case 1: {
                message *m = spscReserve(&q);
                CHECK((m != NULL) == (reserved - released < room));
                if (m) m->number = reserved++;
                break;
            }
            case 2:
                CHECK(spscCommit(&q) == (committed != reserved));
                committed = reserved;
                break;
            case 3: {
                message *m = spscTake(&q);
                CHECK((m != NULL) == (taken < committed));
                if (m) CHECK_EQ_INT(m->number, taken++);
                break;
            }
            case 4: {
                size_t ahead = unitRandom(&rng) % (room + 3);
                message *m = spscPeek(&q, ahead);
                CHECK((m != NULL) == (taken + ahead < committed));
                if (m) CHECK_EQ_INT(m->number, taken + ahead);
                break;
            }
            default: spscRelease(&q); released = taken;
            }
            CHECK(spscIsEmpty(&q) == (committed == released));
        }
        spscDestroy(&q);
    }
}

enum { MESSAGES = 200000 };

static void *produce(void *arg) {
    spscQueue *q = arg;
    for (uint64_t n = 0; n < MESSAGES;) {
        for (uint64_t burst = 1 + n % 7; burst && n < MESSAGES; burst--) {
            message *m = spscReserve(q);
            if (!m) break;
            m->number = n;
            m->check = ~n;
            n++;
        }
        if (!spscCommit(q)) sched_yield();
    }
    return NULL;
}

TEST(spsc_two_threads) {
    spscQueue q;
    spscInit(&q, 64, sizeof(message));
    pthread_t producer;
    CHECK_EQ_INT(pthread_create(&producer, NULL, produce, &q), 0);
    uint64_t next = 0;
    bool good = true;
    while (next < MESSAGES && good) {
        message *m = spscTake(&q);
        if (!m) {
            spscRelease(&q);
            if (spscIsEmpty(&q)) sched_yield();
            continue;
        }
        good = CHECK(m->number == next && m->check == ~next);
        if (++next % 5 == 0) spscRelease(&q);
    }
    pthread_join(producer, NULL);
    CHECK_EQ_INT(next, MESSAGES);
    spscDestroy(&q);
}
