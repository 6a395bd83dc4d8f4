/* web_slots_test.c -- which connection is closed for a new one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"
#include "web_slots.h"

TEST(web_room_oldest_without_progress_goes) {
    const webSlot slots[] = {{1, 500, false}, {1, 300, false}, {1, 400, false}};
    CHECK_EQ_INT(webSlotPick(slots, 3, 1), 1);
    CHECK_EQ_INT(webSlotPick(slots, 1, 1), 0);
}

TEST(web_room_connections_that_await_main_go_last) {
    webSlot slots[] = {{1, 100, true}, {1, 300, false}, {1, 50, true}};
    CHECK_EQ_INT(webSlotPick(slots, 3, 1), 1);
    slots[1].awaits_main = true;
    CHECK_EQ_INT(webSlotPick(slots, 3, 1), 2);
}

TEST(web_room_network_with_the_most_connections_loses_one) {
    const webSlot slots[] = {{2, 1, false}, {1, 900, false}, {1, 800, false}, {3, 2, false}};
    CHECK_EQ_INT(webSlotPick(slots, 4, 4), 2);
    CHECK_EQ_INT(webSlotPick(slots, 4, 1), 2);
    CHECK_EQ_INT(webSlotPick(slots, 4, 2), 0); /* two of each address with the new one: the oldest of all */
    CHECK_EQ_INT(webSlotPick(slots, 4, 3), 3);
}

/* If a network has many connections, another with a few keeps them. */
TEST(web_room_few_connections_stay) {
    webSlot slots[WEB_SLOTS_MAX];
    uint64_t rng = unitRandomSeed();
    for (size_t i = 0; i < WEB_SLOTS_MAX; i++) slots[i] = (webSlot){i < 3 ? 7 : 1, i, false};
    for (uint64_t now = WEB_SLOTS_MAX; now < 5000; now++) {
        size_t at = webSlotPick(slots, WEB_SLOTS_MAX, 1);
        if (!CHECK(at >= 3)) return;
        slots[at] = (webSlot){1, now, unitRandom(&rng) % 4 == 0};
    }
}

TEST(web_room_networks_of_addresses) {
    CHECK(webNetworkOf("10.0.0.1") != webNetworkOf("10.0.0.2"));
    CHECK(webNetworkOf("10.0.0.1") == webNetworkOf("::ffff:10.0.0.1"));
    CHECK(webNetworkOf("2001:db8:0:1::1") == webNetworkOf("2001:db8:0:1:ffff::2"));
    CHECK(webNetworkOf("2001:db8:0:1::1") != webNetworkOf("2001:db8:0:2::1"));
    CHECK(webNetworkOf("0.0.0.0") != webNetworkOf("::1"));
    CHECK(webNetworkOf("") == webNetworkOf("nonsense"));
}
