/* web_slots.h -- which connection to the metrics port is closed when a new one needs its slot.
 *
 * Threads     any: there is no state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_SLOTS_H
#define WEB_WEB_SLOTS_H

#include "platform.h"

#define WEB_SLOTS_MAX 256

/* The properties of a connection that matter for this. */
typedef struct webSlot {
    uint64_t network;     /* webNetworkOf(): connections of one network share its part of the slots */
    uint64_t progress_ms; /* when the peer last sent a whole request or read some of a response */
    bool awaits_main;     /* its response waits for main, which is not the peer's fault */
} webSlot;

/* Returns a number for the network of an address as text: the address itself for IPv4, its first 64 bits for IPv6, of
 * which one peer usually has all addresses. */
uint64_t webNetworkOf(const char *ip);

/* Returns the index of the connection to close, of `count` (1 to WEB_SLOTS_MAX), for a new one from `network`. It
 * belongs to the network that has the most connections, the new one included; within it, it is the one without progress
 * for the longest time. Connections that wait for main come last. */
size_t webSlotPick(const webSlot *slots, size_t count, uint64_t network);

#endif
