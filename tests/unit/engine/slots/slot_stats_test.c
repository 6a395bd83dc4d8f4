/* slot_stats_test.c -- what counts for a slot, and how often.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_stats.h"

#include "cluster_types.h"
#include "hash.h"
#include "panic.h"
#include "unit.h"
#include "zmalloc.h"

#define SLOT 7

static size_t replicas;

static size_t replicaCount(void) { return replicas; }

static void begin(void) {
    panicSetMainThread();
    replicas = 0;
    slotStatsSetReplicas(replicaCount);
    slotStatsEnable(false);
    slotStatsEnable(true);
}

static void checkFigures(int line, unsigned slot, uint64_t ns, uint64_t in, uint64_t out) {
    slotFigures f = slotStatsOf(slot);
    unitCheckInt((long long)f.ns, (long long)ns, "ns", __FILE__, line);
    unitCheckInt((long long)f.bytes_in, (long long)in, "bytes_in", __FILE__, line);
    unitCheckInt((long long)f.bytes_out, (long long)out, "bytes_out", __FILE__, line);
}
#define CHECK_FIGURES(slot, ns, in, out) checkFigures(__LINE__, slot, ns, in, out)

/* Runs a request of `slot` (-1: none) as client `c`. */
static void ran(client *c, int slot, uint32_t wire, uint64_t ns, size_t reply) {
    parsedCommand req = {.slot = (int16_t)slot, .wire_len = wire};
    c->req = &req;
    slotStatsRan(c, ns, reply);
    c->req = NULL;
}

TEST(slot_stats_of_commands) {
    client c = {.flags = 0}, fake = {.flags = CLIENT_FAKE};
    begin();
    ran(&c, SLOT, 31, 1000, 5);
    CHECK_FIGURES(SLOT, 1000, 31, 5);
    ran(&c, SLOT, 22, 500, 9);
    CHECK_FIGURES(SLOT, 1500, 53, 14);
    ran(&c, CLUSTER_SLOTS - 1, 1, 2, 3);
    CHECK_FIGURES(CLUSTER_SLOTS - 1, 2, 1, 3);
    ran(&c, -1, 100, 100, 100);      /* no slot */
    ran(&fake, SLOT, 100, 100, 100); /* a call of a script */
    CHECK_FIGURES(SLOT, 1500, 53, 14);
    CHECK_FIGURES(0, 0, 0, 0);
}

TEST(slot_stats_of_a_command_that_waits) {
    client c = {.flags = 0};
    parsedCommand req = {.slot = SLOT, .wire_len = 31};
    begin();
    c.req = &req;
    slotStatsWaits(&c, 40);
    CHECK_FIGURES(SLOT, 40, 0, 0);
    slotStatsRan(&c, 60, 24);
    CHECK_FIGURES(SLOT, 100, 31, 24);
}

TEST(slot_stats_of_what_replicas_get) {
    client c = {.flags = 0};
    begin();
    slotStatsPropagated(50); /* no replica */
    ran(&c, SLOT, 31, 1, 5);
    CHECK_FIGURES(SLOT, 1, 31, 5);
    replicas = 3;
    slotStatsPropagated(50);
    slotStatsPropagated(4);
    ran(&c, SLOT, 31, 1, 5);
    CHECK_FIGURES(SLOT, 2, 62, 10 + 3 * 54);
    slotStatsPropagated(50); /* of a command without slot: the next one does not get it */
    ran(&c, -1, 10, 1, 5);
    ran(&c, SLOT, 31, 1, 5);
    CHECK_FIGURES(SLOT, 3, 93, 15 + 3 * 54);
}

TEST(slot_stats_of_a_transaction) {
    client c = {.flags = 0};
    parsedCommand none = {.slot = -1, .wire_len = 14}, keyed = {.slot = SLOT, .wire_len = 31};
    parsedCommand *queue[] = {&none, &keyed};
    begin();
    replicas = 1;
    slotStatsQueued(&none);
    slotStatsQueued(&keyed);
    CHECK_FIGURES(SLOT, 0, 31, 0);
    slotStatsExecBegins(&c, queue, 2);
    slotStatsPropagated(70);
    ran(&c, -1, 14, 10, 7);
    ran(&c, SLOT, 31, 10, 5);
    CHECK_FIGURES(SLOT, 0, 31, 0);
    slotStatsExecEnds();
    ran(&c, -1, 14, 25, 9); /* EXEC itself */
    CHECK_FIGURES(SLOT, 25, 31 + 15 + 14, 9 + 70);
    ran(&c, -1, 14, 25, 9); /* the next command without slot is not the EXEC */
    CHECK_FIGURES(SLOT, 25, 31 + 15 + 14, 9 + 70);
    slotStatsExecBegins(&c, queue, 1);
    slotStatsExecEnds();
    ran(&c, -1, 14, 25, 9); /* it had no key */
    CHECK_FIGURES(SLOT, 25, 31 + 15 + 14, 9 + 70);
}

TEST(slot_stats_of_shard_messages) {
    slice channel = sliceStr("foo"), long_channel = sliceStr("{foo}012345"), payload = sliceStr("hello");
    unsigned slot = (unsigned)keyHashSlot("foo", 3);
    begin();
    slotStatsPublished(channel, payload, 3);
    CHECK_FIGURES(slot, 0, 0, 3 * strlen("*3\r\n$8\r\nsmessage\r\n$3\r\nfoo\r\n$5\r\nhello\r\n"));
    slotStatsReset();
    slotStatsPublished(long_channel, sliceOf("", 0), 1);
    CHECK_FIGURES(slot, 0, 0, strlen("*3\r\n$8\r\nsmessage\r\n$11\r\n{foo}012345\r\n$0\r\n\r\n"));
    slotStatsPublished(channel, payload, 0);
    CHECK_FIGURES(slot, 0, 0, strlen("*3\r\n$8\r\nsmessage\r\n$11\r\n{foo}012345\r\n$0\r\n\r\n"));
}

TEST(slot_stats_are_forgotten_by_slot_or_all) {
    client c = {.flags = 0};
    begin();
    for (int slot = 6; slot <= 8; slot++) ran(&c, slot, 31, 1, 5);
    slotStatsForget(7);
    CHECK_FIGURES(6, 1, 31, 5);
    CHECK_FIGURES(7, 0, 0, 0);
    CHECK_FIGURES(8, 1, 31, 5);
    slotStatsReset();
    CHECK_FIGURES(6, 0, 0, 0);
    CHECK_FIGURES(8, 0, 0, 0);
}

TEST(slot_stats_take_memory_only_while_they_are_on) {
    client c = {.flags = 0};
    begin();
    slotStatsEnable(false);
    size_t without = zmallocUsed();
    CHECK(!slotStatsAreOn());
    CHECK_FIGURES(SLOT, 0, 0, 0);
    slotStatsForget(SLOT);
    slotStatsReset();
    slotStatsEnable(false);
    slotStatsEnable(true);
    slotStatsEnable(true);
    CHECK(slotStatsAreOn() && zmallocUsed() >= without + CLUSTER_SLOTS * sizeof(slotFigures));
    ran(&c, SLOT, 31, 1, 5);
    slotStatsEnable(true); /* it is on: nothing is lost */
    CHECK_FIGURES(SLOT, 1, 31, 5);
    slotStatsPropagated(50);
    slotStatsEnable(false);
    CHECK_EQ_INT(zmallocUsed(), without);
    slotStatsEnable(true);
    replicas = 1;
    ran(&c, SLOT, 31, 1, 5); /* what was propagated before does not count */
    CHECK_FIGURES(SLOT, 1, 31, 5);
    slotStatsEnable(false);
}

TEST(slot_stats_stay_at_their_greatest) {
    client c = {.flags = 0};
    begin();
    ran(&c, SLOT, 31, INT64_MAX - 1, INT64_MAX - 1);
    CHECK_FIGURES(SLOT, INT64_MAX - 1, 31, INT64_MAX - 1);
    ran(&c, SLOT, 31, 1, 1);
    CHECK_FIGURES(SLOT, INT64_MAX, 62, INT64_MAX);
    ran(&c, SLOT, UINT32_MAX, UINT64_MAX, 100);
    CHECK_FIGURES(SLOT, INT64_MAX, 62 + (uint64_t)UINT32_MAX, INT64_MAX);
    slotStatsEnable(false);
}
