/* handshake_queue_test.c -- compares the queue with a plain array.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "handshake_queue.h"
#include "unit.h"

#include <string.h>

#define PEERS 40

/* The model: the peers that wait, by number, the oldest first. */
static int line[PEERS];
static size_t waiting;
static handshakeWait peers[PEERS];

static size_t indexInLine(int peer) {
    size_t i = 0;
    while (i < waiting && line[i] != peer) i++;
    return i;
}

static void modelRemove(int peer) {
    size_t i = indexInLine(peer);
    if (i == waiting) return;
    memmove(line + i, line + i + 1, (waiting - i - 1) * sizeof(*line));
    waiting--;
}

static int numberOf(const handshakeWait *w) { return w ? (int)(w - peers) : -1; }

static bool isTheModel(const handshakeQueue *q) {
    if (!CHECK_EQ_INT(q->count, waiting)) return false;
    const handshakeWait *forth = q->oldest, *back = q->newest;
    for (size_t i = 0; i < waiting; i++, forth = forth->newer, back = back->older) {
        if (!CHECK_EQ_INT(numberOf(forth), line[i]) || !CHECK_EQ_INT(numberOf(back), line[waiting - 1 - i]))
            return false;
        if (!CHECK(forth->waits)) return false;
    }
    for (int peer = 0; peer < PEERS; peer++)
        if (!CHECK(peers[peer].waits == (indexInLine(peer) < waiting))) return false;
    return CHECK(!forth && !back);
}

static int modelNext(void) {
    if (waiting == 0) return -1;
    return waiting > HANDSHAKES_IN_ORDER ? line[waiting - 1] : line[0];
}

TEST(handshake_queue_random_operations) {
    uint64_t seed = unitRandomSeed(), now_ms = 1000000, iteration = 0;
    handshakeQueue q = {0};
    long long begun = 0;
    memset(peers, 0, sizeof(peers));
    waiting = 0;
    for (int round = 0; round < 50000 && isTheModel(&q); round++) {
        int peer = (int)(unitRandom(&seed) % PEERS);
        bool grows = round / 1000 % 2 == 0;
        now_ms += unitRandom(&seed) % 20;
        switch (unitRandom(&seed) % (grows ? 6 : 4)) {
        case 0: /* it has closed, whether it waits or not */
            handshakeQueueRemove(&q, &peers[peer]);
            modelRemove(peer);
            break;
        case 1: { /* no more than two are begun in an iteration */
            long long most = 1 + (long long)(unitRandom(&seed) % 2);
            if (unitRandom(&seed) % 2) iteration++, begun = 0;
            CHECK(handshakeQueueMayBegin(&q, iteration, most) == (begun < most));
            handshakeWait *next = handshakeQueueNext(&q);
            CHECK_EQ_INT(numberOf(next), modelNext());
            if (!next || begun >= most) break;
            handshakeQueueRemove(&q, next);
            modelRemove(numberOf(next));
            handshakeQueueBegun(&q);
            begun++;
            break;
        }
        case 2: { /* the oldest one is late, or none is */
            uint64_t limit_ms = unitRandom(&seed) % 3 * 200;
            handshakeWait *late = handshakeQueueLate(&q, now_ms, limit_ms);
            bool is_late = waiting && limit_ms && now_ms - peers[line[0]].since_ms > limit_ms;
            CHECK_EQ_INT(numberOf(late), is_late ? line[0] : -1);
            if (!late) break;
            handshakeQueueRemove(&q, late);
            modelRemove(numberOf(late));
            break;
        }
        default:
            if (peers[peer].waits) break;
            handshakeQueueAdd(&q, &peers[peer], now_ms);
            line[waiting++] = peer;
            break;
        }
    }
}

TEST(handshake_queue_is_in_order_while_few_wait) {
    handshakeQueue q = {0};
    handshakeWait few[HANDSHAKES_IN_ORDER + 1] = {{0}};
    CHECK(!handshakeQueueNext(&q));
    for (size_t i = 0; i < array_len(few); i++) handshakeQueueAdd(&q, &few[i], i);
    CHECK(handshakeQueueIsCrowded(&q) && handshakeQueueNext(&q) == &few[HANDSHAKES_IN_ORDER]);
    handshakeQueueRemove(&q, &few[3]);
    CHECK(!handshakeQueueIsCrowded(&q));
    CHECK(handshakeQueueNext(&q) == &few[0]);
}

TEST(handshake_queue_age) {
    CHECK(!handshakeIsLate(1000, 3000, 2000));
    CHECK(handshakeIsLate(1000, 3001, 2000));
    CHECK(!handshakeIsLate(1000, 900000, 0));
    CHECK(!handshakeIsLate(1000, 999, 1));
}
