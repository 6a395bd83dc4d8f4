/* web_slots.c -- which connection to the metrics port is closed when a new one needs its slot.
 *
 * A peer can hold its connections for as long as their time limits allow, by sending headers byte by byte or by never
 * reading a response. It must not lock others out that way. Therefore a new connection always gets a slot, and the
 * slots are shared by networks: a peer with many connections loses its own, and one with few keeps them.
 *
 * Cost        count * count comparisons of adjacent numbers when all slots are in use: 20 us for 256 connections.
 * Tests       tests/unit/web/web_slots_test.c, tests/unit/web/http_server_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web_slots.h"

#include "panic.h"

#include <arpa/inet.h>
#include <string.h>

#define IPV4_MARK (1ull << 63) /* no global IPv6 address begins with this bit and 31 zeroes */

uint64_t webNetworkOf(const char *ip) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* ::ffff:1.2.3.4 */
    unsigned char bytes[16];
    uint32_t v4;
    uint64_t v6;
    if (inet_pton(AF_INET, ip, &v4) == 1) return IPV4_MARK | v4;
    if (inet_pton(AF_INET6, ip, bytes) != 1) return 0;
    memcpy(&v4, bytes + 12, sizeof(v4));
    memcpy(&v6, bytes, sizeof(v6));
    return memcmp(bytes, mapped, sizeof(mapped)) == 0 ? IPV4_MARK | v4 : v6;
}

static size_t connectionsOf(uint64_t network, const uint64_t *networks, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += networks[i] == network;
    return n;
}

static bool closesBefore(const webSlot *a, const webSlot *b) {
    if (a->awaits_main != b->awaits_main) return b->awaits_main;
    return a->progress_ms < b->progress_ms;
}

size_t webSlotPick(const webSlot *slots, size_t count, uint64_t network) {
    uint64_t networks[WEB_SLOTS_MAX];
    size_t pick = 0, most = 0;
    serverAssert(count >= 1 && count <= WEB_SLOTS_MAX);
    for (size_t i = 0; i < count; i++) networks[i] = slots[i].network;
    for (size_t i = 0; i < count; i++) {
        size_t n = connectionsOf(networks[i], networks, count) + (networks[i] == network);
        if (n < most || (n == most && !closesBefore(&slots[i], &slots[pick]))) continue;
        most = n;
        pick = i;
    }
    debugAssert(pick < count && most >= 1);
    return pick;
}
