/* cluster_slot_stats_test.c -- CLUSTER SLOT-STATS: which slots, in which order, how many.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_commands.h"

#include "cluster_settings.h"
#include "command_record.h"
#include "db.h"
#include "gates.h"
#include "hash.h"
#include "keyspace_events.h"
#include "slot_check.h"
#include "slot_stats.h"
#include "slot_table.h"

#include "client/client_fixture.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { MYSELF = 1, OTHER };

static void countNs(unsigned slot, uint64_t ns, uint32_t in, size_t out) {
    client c = {.flags = 0};
    parsedCommand req = {.slot = (int16_t)slot, .wire_len = in};
    c.req = &req;
    slotStatsRan(&c, ns, out);
}

static void count(unsigned slot, uint64_t us, uint32_t in, size_t out) { countNs(slot, us * 1000, in, out); }

/* Slots 0 to 4 are this node's, 5 is another's. */
static void begin(bool counts) {
    fixtureInit();
    static bool is_ready;
    if (!is_ready) gateSet(GATE_CLUSTER, slotGate);
    is_ready = true;
    slotsEnable();
    slotTableClear();
    slotTableSetNode(MYSELF, &(slotNode){.ip = "10.0.0.1", .port = 7001});
    slotTableSetNode(OTHER, &(slotNode){.ip = "10.0.0.2", .port = 7002});
    slotTableSetMyself(MYSELF);
    for (unsigned slot = 0; slot < 5; slot++) slotTableSetOwner(slot, MYSELF);
    slotTableSetOwner(5, OTHER);
    slotStatsEnable(false);
    slotStatsEnable(counts);
    cluster_settings.slot_stats = counts;
}

static void end(void) {
    slotStatsEnable(false);
    cluster_settings.slot_stats = false;
    slotTableClear();
    dbEmpty(-1, false);
    slots_enabled = false;
    dbSetSlots(false);
    recordSetSlots(false);
    gateEnable(GATE_CLUSTER, false);
}

/* Returns the reply to "CLUSTER SLOT-STATS <words>". The caller frees it. */
static sds ask(const char *words) {
    static alignas(16) char piece[1024];
    recordArena arena;
    recordCache cache = {.name_len = 0};
    int n;
    sds text = sdsCatPrintf(sdsEmpty(), "cluster slot-stats %s", words), *argv = sdsSplitArgs(text, &n);
    client *c = fixtureClient(2);
    recordArenaInit(&arena, piece, sizeof(piece));
    parsedCommand *req = recordCreate(&arena, (uint32_t)n);
    for (int i = 0; i < n; i++) req->argv[i] = sdsSlice(argv[i]);
    recordComplete(&arena, &cache, req, 0);
    c->req = req;
    c->argv = req->argv;
    c->argc = (uint32_t)n;
    clusterSlotStatsCommand(c);
    sds reply = fixtureReplies(c);
    c->req = NULL;
    c->argv = NULL;
    c->argc = 0;
    clientFree(c);
    sdsFreeSplitRes(argv, n);
    sdsFree(text);
    return reply;
}

/* Returns the slots of a reply in their order, such as "3 0 1", valid until the next call. */
static const char *slotsOf(const char *words) {
    static char out[256];
    size_t len = 0;
    sds reply = ask(words);
    out[0] = '\0';
    for (const char *at = reply; (at = strstr(at, "*2\r\n:")) != NULL; at += 4)
        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%d", len ? " " : "", atoi(at + 5));
    sdsFree(reply);
    return out;
}

static void checkReply(const char *words, const char *want) {
    sds reply = ask(words);
    CHECK_EQ_STR(reply, want);
    sdsFree(reply);
}

#define ROW(slot, us, in, out)                                                                                       \
    "*2\r\n:" slot "\r\n*8\r\n$9\r\nkey-count\r\n:0\r\n$8\r\ncpu-usec\r\n:" us "\r\n$16\r\nnetwork-bytes-in\r\n:" in \
    "\r\n$17\r\nnetwork-bytes-out\r\n:" out "\r\n"

TEST(slot_stats_show_the_slots_of_this_shard) {
    begin(true);
    count(2, 7, 31, 5);
    count(5, 9, 9, 9);
    checkReply("slotsrange 2 5", "*3\r\n" ROW("2", "7", "31", "5") ROW("3", "0", "0", "0") ROW("4", "0", "0", "0"));
    checkReply("SLOTSRANGE 5 16383", "*0\r\n");
    CHECK_EQ_STR(slotsOf("slotsrange 0 16383"), "0 1 2 3 4");
    end();
    begin(false);
    checkReply("slotsrange 0 0", "*1\r\n*2\r\n:0\r\n*2\r\n$9\r\nkey-count\r\n:0\r\n");
    checkReply("orderby cpu-usec", "-ERR Unrecognized sort metric for ORDERBY.\r\n");
    end();
}

TEST(slot_stats_by_each_metric) {
    begin(true);
    count(0, 1, 40, 20);
    count(1, 3, 10, 40);
    count(2, 2, 20, 30);
    count(5, 99, 99, 99);
    CHECK_EQ_STR(slotsOf("orderby cpu-usec"), "1 2 0 3 4");
    CHECK_EQ_STR(slotsOf("orderby network-bytes-in desc"), "0 2 1 3 4");
    CHECK_EQ_STR(slotsOf("orderby NETWORK-BYTES-OUT DESC"), "1 2 0 3 4");
    CHECK_EQ_STR(slotsOf("orderby network-bytes-in asc"), "3 4 1 2 0");
    CHECK_EQ_STR(slotsOf("orderby key-count"), "0 1 2 3 4");
    CHECK_EQ_STR(slotsOf("orderby key-count asc"), "0 1 2 3 4");
    /* Nanoseconds below a microsecond do not show, and do not decide. */
    countNs(3, 999, 0, 0);
    countNs(4, 1999, 0, 0);
    CHECK_EQ_STR(slotsOf("orderby cpu-usec"), "1 2 0 4 3");
    end();
}

TEST(slot_stats_limit_and_ties) {
    begin(true);
    for (unsigned slot = 0; slot < 5; slot++) count(slot, slot == 3 ? 2 : 1, 10, 10);
    CHECK_EQ_STR(slotsOf("orderby cpu-usec limit 3"), "3 0 1");
    CHECK_EQ_STR(slotsOf("orderby cpu-usec limit 4 asc"), "0 1 2 4");
    CHECK_EQ_STR(slotsOf("orderby cpu-usec asc limit 1"), "0");
    CHECK_EQ_STR(slotsOf("orderby cpu-usec limit 16384"), "3 0 1 2 4");
    checkReply("orderby cpu-usec limit 0",
               "-ERR Limit has to lie in between 1 and 16384 (maximum number of slots).\r\n");
    checkReply("orderby cpu-usec limit 16385",
               "-ERR Limit has to lie in between 1 and 16384 (maximum number of slots).\r\n");
    end();
}

TEST(slot_stats_at_their_greatest) {
    begin(true);
    count(1, 1, 1, INT64_MAX);
    count(1, 1, 1, 1000);
    count(2, 1, 1, 1000);
    CHECK_EQ_STR(slotsOf("orderby network-bytes-out limit 2"), "1 2");
    checkReply("slotsrange 1 1", "*1\r\n" ROW("1", "2", "2", "9223372036854775807"));
    end();
}

TEST(slot_stats_count_keys) {
    begin(true);
    for (long i = 0; i < 3; i++) {
        char name[32];
        int len = snprintf(name, sizeof(name), "{06S}%ld", i); /* slot 0 */
        hashedKey key = hashedKeyOf(sliceOf(name, (size_t)len));
        dbAddTake(dbGet(i == 2), objectCreateString(key.name, sliceStr("v"), false, 0), key);
        dbKeyChanged(dbGet(i == 2), key, NOTIFY_STRING, "set", 1);
    }
    CHECK_EQ_STR(slotsOf("orderby key-count limit 1"), "0");
    CHECK_EQ_STR(slotsOf("orderby key-count asc limit 1"), "1");
    sds reply = ask("slotsrange 0 0");
    CHECK(strstr(reply, "key-count\r\n:3\r\n") != NULL); /* of both databases */
    sdsFree(reply);
    end();
}
