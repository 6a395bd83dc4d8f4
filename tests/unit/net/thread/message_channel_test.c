/* message_channel_test.c -- a channel with the test at both ends: order, with any overflow.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "message_channel.h"
#include "unit.h"

static struct {
    messageChannel ch;
    size_t posted, taken;
} end;

static void openChannel(void) {
    messageChannelInit(&end.ch);
    end.posted = end.taken = 0;
}

static void post(size_t n) {
    for (; n > 0; n--) {
        const ioMessage m = {.type = IO_MSG_WRITTEN, .bytes = end.posted++};
        messageChannelPost(&end.ch, &m);
    }
}

/* Takes at most `max` messages, which must be the next in order. Returns their number. */
static size_t take(size_t max) {
    size_t n = 0;
    const ioMessage *m;
    while (n < max && (m = spscTake(&end.ch.ring)) != NULL) {
        if (!CHECK_EQ_INT(m->bytes, end.taken)) end.taken = m->bytes;
        end.taken++;
        n++;
    }
    spscRelease(&end.ch.ring);
    return n;
}

static void takeAll(void) {
    while (end.taken < end.posted) {
        messageChannelCommit(&end.ch);
        if (!CHECK(take(SIZE_MAX) > 0)) return; /* a message was lost */
    }
    CHECK(!messageChannelHasOverflow(&end.ch));
    CHECK(!messageChannelCommit(&end.ch));
    CHECK_EQ_INT(take(SIZE_MAX), 0);
}

static void closeChannel(void) {
    takeAll();
    CHECK_EQ_INT(end.taken, end.posted);
    messageChannelDestroy(&end.ch);
}

/* Posts until the ring is full and `over` messages wait. Returns the number posted. */
static size_t fill(size_t over) {
    size_t before = end.posted;
    while (!messageChannelHasOverflow(&end.ch)) post(1);
    post(over - 1);
    return end.posted - before;
}

TEST(channel_shows_nothing_before_it_is_published) {
    openChannel();
    post(3);
    CHECK_EQ_INT(take(10), 0);
    CHECK(messageChannelCommit(&end.ch));
    CHECK(!messageChannelCommit(&end.ch));
    CHECK_EQ_INT(take(10), 3);
    closeChannel();
}

/* The ring has space again, but older messages wait for it: new ones are posted after them, published or not. */
TEST(channel_puts_nothing_before_what_has_overflowed) {
    for (size_t over = 1; over <= 5; over += 2)
        for (size_t room = 1; room <= 6; room++) {
            openChannel();
            fill(over);
            CHECK(messageChannelCommit(&end.ch));
            CHECK_EQ_INT(take(room), room);
            post(2);
            CHECK(messageChannelHasOverflow(&end.ch));
            CHECK(messageChannelCommit(&end.ch));
            CHECK_EQ_INT(messageChannelHasOverflow(&end.ch), over + 2 > room);
            post(1);
            closeChannel();
        }
}

/* The buffer for overflow is used again from its start, and grows, while part of it has been sent. */
TEST(channel_keeps_much_in_order) {
    openChannel();
    size_t ring = fill(1) - 1;
    CHECK(messageChannelCommit(&end.ch));
    for (int i = 0; i < 20; i++) {
        post(1000);
        CHECK_EQ_INT(take(300 + 70 * (size_t)i), 300 + 70 * (size_t)i);
        CHECK(messageChannelCommit(&end.ch));
    }
    CHECK(end.posted > end.taken + ring);
    closeChannel();
}

TEST(channel_equals_a_queue) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 40; round++) {
        openChannel();
        for (int i = 0; i < 400; i++) {
            switch (unitRandom(&seed) % 4) {
            case 0: post(unitRandom(&seed) % 1500); break;
            case 1: post(unitRandom(&seed) % 4); break;
            case 2: messageChannelCommit(&end.ch); break;
            case 3: take(unitRandom(&seed) % (round % 2 ? 1000 : 3000)); break;
            }
            if (end.posted - end.taken > 50000) takeAll();
        }
        closeChannel();
    }
}
