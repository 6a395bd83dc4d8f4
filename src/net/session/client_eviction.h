/* client_eviction.h -- maxmemory-clients: closes the clients that take most memory if all together take too much.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_EVICTION_H
#define NET_CLIENT_EVICTION_H

#include "client.h"

extern bool client_eviction_on; /* there is a limit, as of the last clientEvictionSwitch() */

typedef struct evictionSlot {
    size_t flow_noted; /* bytes of requests and output at the last clientEvictionNote() */
    size_t heap_slot;  /* index + 1 in the heap of costs; 0 if not in it */
} evictionSlot;
extern size_t client_eviction_slot; /* const after startup */
static inline evictionSlot *evictionSlotOf(const client *c) { return clientSlot(c, client_eviction_slot); }

/* Call at startup. */
void clientEvictionInit(void);
/* Reads the limit from the settings. After it is turned on, no client is evicted until each was checked once. */
void clientEvictionSwitch(void);
/* Notes the memory of a client, in the periodic check of all (client_cron.c). */
void clientEvictionUpdate(client *c);
/* The same for a client whose requests or output have changed so much that it should not wait for that check. */
void clientEvictionNote(client *c);
/* Call before the client is freed. */
void clientEvictionForget(client *c);

/* Returns whether the clients together take too much, by what was noted. */
bool clientEvictionWanted(void);
/* Notes the most expensive client anew, and evicts it if it still is that one and the clients still take too much.
 * Returns whether it was evicted. Only if clientEvictionWanted(). */
bool clientEvictionStep(void);

#define EVICTION_FLOW_MIN ((size_t)64 * 1024)
/* Call after the client's requests or output have changed. Does nothing without a limit. */
static inline void clientEvictionFlow(client *c) {
    if (likely(!client_eviction_on)) return;
    size_t flow = c->input_bytes + c->output_memory;
    size_t noted = evictionSlotOf(c)->flow_noted, changed = flow > noted ? flow - noted : noted - flow;
    if (changed >= EVICTION_FLOW_MIN) clientEvictionNote(c);
}

long long clientEvictionCount(void); /* evicted_clients of INFO */
void clientEvictionResetStats(void); /* CONFIG RESETSTAT */

#endif
