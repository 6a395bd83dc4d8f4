/* reply_hold_test.c -- callbacks run in the order of their offsets, once, whichever thread reports the progress.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_hold.h"

#include "client_fixture.h"
#include "unit.h"

#include <pthread.h>

static holdSequence synced, acked;

static void begin(void) {
    static bool added;
    fixtureInit();
    if (added) return;
    added = true;
    synced = holdSequenceAdd();
    acked = holdSequenceAdd();
}

#define WAITERS 200
typedef struct note {
    holdEntry w;
    uint64_t offset, called; /* number of the call; 0: not called yet */
} note;
static uint64_t calls, last_offset;
static bool in_order;

static void called(holdEntry *w) {
    note *n = (note *)w;
    CHECK_EQ_INT(n->called, 0);
    n->called = ++calls;
    in_order &= n->offset >= last_offset;
    last_offset = n->offset;
}

TEST(hold_random_waiters_against_a_table) {
    begin();
    uint64_t seed = unitRandomSeed(), safe = 0;
    static note notes[WAITERS];
    for (int round = 0; round < 200; round++) {
        memset(notes, 0, sizeof(notes));
        bool cancelled[WAITERS] = {false};
        uint64_t base = safe;
        for (int i = 0; i < WAITERS; i++) {
            notes[i].offset = base + unitRandom(&seed) % 500;
            last_offset = 0;
            holdWait(&notes[i].w, synced, notes[i].offset, called);
            CHECK_EQ_INT(notes[i].called != 0, notes[i].offset <= safe);
            CHECK_EQ_INT(holdIsReached(synced, notes[i].offset), notes[i].offset <= safe);
        }
        while (safe < base + 500) {
            int victim = (int)(unitRandom(&seed) % WAITERS);
            if (!notes[victim].called) cancelled[victim] = true;
            holdCancel(&notes[victim].w);
            safe += unitRandom(&seed) % 40;
            last_offset = 0;
            in_order = true;
            holdReached(synced, safe);
            CHECK(in_order);
            if (safe) holdReached(synced, safe - 1); /* backwards: ignored */
            for (int i = 0; i < WAITERS; i++)
                CHECK_EQ_INT(notes[i].called != 0, notes[i].offset <= safe && !cancelled[i]);
        }
    }
}

TEST(hold_released_after_a_failure) {
    begin();
    uint64_t base = 1000000;
    note notes[4] = {{.offset = base + 1}, {.offset = base + 2}, {.offset = base + 3}, {.offset = base + 1}};
    holdReached(acked, base);
    last_offset = 0, in_order = true;
    for (int i = 0; i < 4; i++) {
        notes[i].w.may_be_released = i != 1;
        holdWait(&notes[i].w, i == 3 ? synced : acked, notes[i].offset, called);
    }
    holdRelease(acked);
    CHECK(notes[0].called && !notes[1].called && notes[2].called && !notes[3].called && in_order);
    CHECK(!holdIsReached(acked, base + 1));
    holdReached(acked, base + 3);
    CHECK(notes[1].called);
    holdCancel(&notes[3].w);
}

/* --- other threads --------------------------------------------------------------------------------- */

static _Atomic int wakes;

static void countWake(void) { wakes++; }

static void *publish(void *arg) {
    uint64_t base = *(const uint64_t *)arg;
    for (uint64_t i = 1; i <= 10000; i++) holdPublish(acked, base + i);
    return NULL;
}

TEST(hold_published_by_threads_is_taken_by_main) {
    begin();
    uint64_t base = 5000000;
    note last = {.offset = base + 10000};
    pthread_t threads[2];
    holdReached(acked, base);
    holdWait(&last.w, acked, last.offset, called);
    holdSetWake(countWake);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, publish, &base);
    while (!last.called) holdTakePublished();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    holdSetWake(NULL);
    CHECK_EQ_INT(wakes, 20000);
}
