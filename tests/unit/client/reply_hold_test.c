/* reply_hold_test.c -- waiters are called in order of their offsets, once; clients are held while any sequence lacks.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_hold.h"

#include "client_fixture.h"
#include "reply.h"
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

/* --- waiters ------------------------------------------------------------------------------------ */

#define WAITERS 200
typedef struct note {
    holdWaiter w;
    uint64_t offset, called; /* call number, 0: not yet */
} note;
static uint64_t calls, last_offset;
static bool in_order;

static void called(holdWaiter *w) {
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

/* --- clients ------------------------------------------------------------------------------------- */

static bool isPending(client *want) {
    bool found = false;
    client *c;
    while ((c = clientPopPendingWrite()) != NULL) found |= c == want;
    return found;
}

TEST(hold_replies_until_all_sequences_are_there) {
    begin();
    client *c = fixtureClient(2);
    uint64_t sync_at = 1000000, ack_at = 1000000;
    holdReached(synced, sync_at);
    holdReached(acked, ack_at);
    holdReplies(c, synced, sync_at); /* safe already */
    CHECK(!holdsReplies(c));
    addReplyOk(c);
    holdReplies(c, synced, sync_at + 10);
    holdReplies(c, acked, ack_at + 5);
    holdReplies(c, synced, sync_at + 7); /* less than asked before */
    CHECK(holdsReplies(c));
    CHECK(isPending(c)); /* as any client with output; taken off the list it waits */
    holdReached(synced, sync_at + 9);
    holdReached(acked, ack_at + 5);
    CHECK(holdsReplies(c) && !isPending(c));
    holdReplies(c, synced, sync_at + 20); /* a further write meanwhile */
    holdReached(synced, sync_at + 19);
    CHECK(holdsReplies(c));
    holdReached(synced, sync_at + 20);
    CHECK(!holdsReplies(c) && isPending(c));
    holdReplies(c, synced, sync_at + 30);
    clientFree(c); /* gone while it waits */
    holdReached(synced, sync_at + 30);
}

/* --- other threads --------------------------------------------------------------------------------- */

static _Atomic int wakes;

static void countWake(void) {
    wakes++;
}

static void *publish(void *arg) {
    uint64_t base = *(const uint64_t *)arg;
    for (uint64_t i = 1; i <= 10000; i++) holdPublish(acked, base + i);
    return NULL;
}

TEST(hold_published_by_threads_is_taken_by_main) {
    begin();
    uint64_t base = 5000000;
    client *c = fixtureClient(2);
    pthread_t threads[2];
    holdReached(acked, base);
    holdReplies(c, acked, base + 10000);
    holdSetWake(countWake);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, publish, &base);
    while (holdsReplies(c)) holdTakePublished();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    holdSetWake(NULL);
    CHECK_EQ_INT(wakes, 20000);
    CHECK(isPending(c));
    clientFree(c);
}
