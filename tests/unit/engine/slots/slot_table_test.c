/* slot_table_test.c -- the bits of served slots always agree with owners, open slots and state; endpoints of nodes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_table.h"

#include "engine/slots/slot_fixture.h"
#include "panic.h"
#include "unit.h"
#include "zmalloc.h"

#define SLOTS 200

static uint16_t owner[SLOTS], to[SLOTS], from[SLOTS];

static void checkSlot(unsigned slot, uint16_t myself, slotsState state) {
    bool mine = owner[slot] && owner[slot] == myself;
    slotView v = slotTableLook(slot);
    CHECK_EQ_INT(v.owner, owner[slot]);
    CHECK_EQ_INT(v.migrating_to, to[slot]);
    CHECK_EQ_INT(v.importing_from, from[slot]);
    CHECK_EQ_INT(v.mine, mine);
    CHECK(v.state == state && v.replica == (myself == PARTNER));
    CHECK_EQ_INT(v.followed, myself == PARTNER && owner[slot] == OWN_NODE);
    CHECK_EQ_INT(slotIsServed((int16_t)slot), mine && !to[slot] && !from[slot] && state == SLOTS_UP);
    CHECK(slotIsServed(-1));
}

/* Random changes, against arrays. PARTNER is the replica of OWN_NODE. */
TEST(served_slots_agree_with_owners_and_state) {
    uint64_t seed = unitRandomSeed();
    panicSetMainThread();
    fixtureSlots(false);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        slotTableSetOwner(slot, owner[slot] = 0);
        slotTableSetOpen(slot, to[slot] = 0, from[slot] = 0);
    }
    uint16_t myself = OWN_NODE;
    slotsState state = SLOTS_UP;
    for (int step = 0; step < 3000; step++) {
        unsigned slot = (unsigned)(unitRandom(&seed) % SLOTS), what = (unsigned)(unitRandom(&seed) % 100);
        if (what < 60) {
            slotTableSetOwner(slot, owner[slot] = (uint16_t)(unitRandom(&seed) % 5));
        } else if (what < 95) {
            to[slot] = unitRandom(&seed) % 3 ? 0 : OTHER;
            from[slot] = unitRandom(&seed) % 3 ? 0 : THIRD;
            slotTableSetOpen(slot, to[slot], from[slot]);
        } else if (what < 98) {
            slotTableSetState(state = (slotsState)(unitRandom(&seed) % 3));
        } else {
            slotTableSetMyself(myself = (uint16_t)(1 + unitRandom(&seed) % 4));
        }
        checkSlot(slot, myself, state);
        if (what >= 95)
            for (unsigned i = 0; i < SLOTS; i++) checkSlot(i, myself, state);
    }
    slotTableClear();
    for (int16_t slot = 0; slot < CLUSTER_SLOTS; slot++) CHECK(!slotIsServed(slot));
    CHECK(slotIsServed(-1));
    CHECK(!slotTableNode(OWN_NODE) && !slotTableLook(0).owner);
}

TEST(runs_of_slots_have_one_owner) {
    panicSetMainThread();
    for (int replica = 0; replica < 2; replica++) {
        fixtureSlots(replica);
        uint16_t shard = replica ? PARTNER : OWN_NODE;
        for (unsigned slot = 100; slot < 200; slot++) slotTableSetOwner(slot, slot < 150 ? shard : OTHER);
        CHECK_EQ_INT(slotTableRunEnd(100), 149);
        CHECK_EQ_INT(slotTableRunEnd(149), 149);
        slotTableSetOpen(120, OTHER, 0);
        CHECK_EQ_INT(slotTableRunEnd(101), 149);
        slotTableSetOwner(120, 0);
        CHECK_EQ_INT(slotTableRunEnd(101), 119);
        /* The slots of another node are not walked here, even while one of them is imported. */
        slotTableSetOpen(150, 0, OTHER);
        CHECK_EQ_INT(slotTableRunEnd(150), 150);
        slotTableSetOwner(CLUSTER_SLOTS - 2, shard);
        slotTableSetOwner(CLUSTER_SLOTS - 1, shard);
        CHECK_EQ_INT(slotTableRunEnd(CLUSTER_SLOTS - 2), CLUSTER_SLOTS - 1);
    }
    slotTableClear();
}

TEST(nodes_are_copied_and_freed) {
    char name[] = "a.example";
    panicSetMainThread();
    slotTableClear();
    size_t before = zmallocUsed();
    slotTableSetNode(900, &(slotNode){.hostname = name, .failed = true});
    name[0] = 'b';
    CHECK_EQ_STR(slotTableNode(900)->hostname, "a.example");
    CHECK(slotTableNode(900)->failed && !slotTableNode(899) && !slotTableNode(0) && !slotTableNode(65535));
    slotTableSetNode(900, &(slotNode){.hostname = name});
    CHECK_EQ_STR(slotTableNode(900)->hostname, "b.example");
    slotTableSetNode(900, NULL);
    CHECK(!slotTableNode(900));
    slotTableSetNode(3, &(slotNode){.hostname = name});
    slotTableClear();
    CHECK_EQ_INT(zmallocUsed(), before);
}

static const slotNode plain = {.ip = "10.0.0.1", .port = 7000, .tls_port = 7443, .hostname = "a.example"},
                      announced = {.ip = "10.0.0.1",
                                   .client_ipv4 = "1.2.3.4",
                                   .client_ipv6 = "2001:db8::1",
                                   .port = 7000,
                                   .tls_port = 7443,
                                   .client_port = 80,
                                   .client_tls_port = 443},
                      half = {.ip = "::1", .client_ipv4 = "1.2.3.4", .port = 7000, .client_port = 80},
                      unknown = {.port = 7000};

static const struct {
    const slotNode *node;
    slotAsker asker;
    const char *ip, *hostname;
    uint16_t port;
} endpoints[] = {
    {&plain, {false, false}, "10.0.0.1", "a.example", 7000},
    {&plain, {true, true}, "10.0.0.1", "a.example", 7443},
    {&announced, {false, false}, "1.2.3.4", "?", 80},
    {&announced, {true, false}, "1.2.3.4", "?", 443},
    {&announced, {false, true}, "2001:db8::1", "?", 80},
    {&half, {false, false}, "1.2.3.4", "?", 80},
    {&half, {true, true}, "::1", "?", 0},
    {&unknown, {false, false}, "", "?", 7000},
};

TEST(endpoints_suit_the_client_that_asks) {
    for (size_t i = 0; i < array_len(endpoints); i++) {
        const slotNode *n = endpoints[i].node;
        slotAsker asker = endpoints[i].asker;
        CHECK_EQ_STR(slotNodeAddress(n, asker), endpoints[i].ip);
        CHECK_EQ_INT(slotNodePort(n, asker), endpoints[i].port);
        engine_settings.cluster_preferred_endpoint_type = ENDPOINT_IP;
        CHECK_EQ_STR(slotNodeEndpoint(n, asker), endpoints[i].ip);
        engine_settings.cluster_preferred_endpoint_type = ENDPOINT_HOSTNAME;
        CHECK_EQ_STR(slotNodeEndpoint(n, asker), endpoints[i].hostname);
        engine_settings.cluster_preferred_endpoint_type = ENDPOINT_UNKNOWN;
        CHECK_EQ_STR(slotNodeEndpoint(n, asker), "");
    }
    engine_settings.cluster_preferred_endpoint_type = ENDPOINT_IP;
}
