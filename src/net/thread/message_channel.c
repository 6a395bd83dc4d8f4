/* message_channel.c -- messages from one thread to another: a ring, and an array for what does not fit.
 *
 * Invariants  1. One producer, one consumer.
 *             2. Overflowed messages are sent before any newer one: order is kept.
 *             3. Overflowed messages before overflow_first are in the ring already; when all are, the array is empty.
 * Threads     producer and consumer, as the header says.
 * Tests       tests/unit/net/thread/message_channel_test.c, tests/unit/net/thread/io_threads_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "message_channel.h"

#include "panic.h"
#include "zmalloc.h"

#include <string.h>

#define RING_MESSAGES 4096

/* Asserts the producer's fields, at both ends of its functions. */
static void producerCheck(const messageChannel *ch) {
    debugAssert(ch->overflow_first <= ch->overflow_len && ch->overflow_len <= ch->overflow_cap);
    debugAssert(ch->overflow_len == 0 || ch->overflow_first < ch->overflow_len);
    debugAssert((ch->overflow == NULL) == (ch->overflow_cap == 0));
    unused(ch);
}

void messageChannelInit(messageChannel *ch) {
    spscInit(&ch->ring, RING_MESSAGES, sizeof(ioMessage));
    ch->overflow = NULL;
    ch->overflow_len = ch->overflow_cap = ch->overflow_first = 0;
}

void messageChannelDestroy(messageChannel *ch) {
    serverAssert(spscIsEmpty(&ch->ring)); /* what its messages point to would leak */
    serverAssert(ch->overflow_len == 0);
    spscDestroy(&ch->ring);
    zfree(ch->overflow);
}

static void overflow(messageChannel *ch, const ioMessage *m) {
    if (ch->overflow_len == ch->overflow_cap && ch->overflow_first > 0) {
        ch->overflow_len -= ch->overflow_first;
        memmove(ch->overflow, ch->overflow + ch->overflow_first, ch->overflow_len * sizeof(ioMessage));
        ch->overflow_first = 0;
    }
    ch->overflow = zgrowArray(ch->overflow, ch->overflow_len, &ch->overflow_cap, sizeof(*ch->overflow));
    serverAssert(ch->overflow_len < ch->overflow_cap);
    ch->overflow[ch->overflow_len++] = *m;
}

void messageChannelPost(messageChannel *ch, const ioMessage *m) {
    producerCheck(ch);
    ioMessage *slot = ch->overflow_len ? NULL : spscReserve(&ch->ring);
    if (likely(slot != NULL)) *slot = *m;
    else overflow(ch, m);
    producerCheck(ch);
}

bool messageChannelCommit(messageChannel *ch) {
    producerCheck(ch);
    while (unlikely(ch->overflow_len > 0)) {
        ioMessage *slot = spscReserve(&ch->ring);
        if (!slot) break;
        *slot = ch->overflow[ch->overflow_first++];
        if (ch->overflow_first == ch->overflow_len) ch->overflow_first = ch->overflow_len = 0;
    }
    producerCheck(ch);
    return spscCommit(&ch->ring);
}

bool messageChannelHasOverflow(const messageChannel *ch) { return ch->overflow_len > 0; }
