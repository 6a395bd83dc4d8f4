/* client_eviction.h -- maxmemory-clients: close the clients that cost most when all together cost too much.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_EVICTION_H
#define NET_CLIENT_EVICTION_H

#include "client.h"

extern bool client_eviction_on; /* there is a limit, as of the last clientEvictionSwitch() */

typedef struct evictionSlot {
    size_t flow_noted; /* bytes of requests and output when that was noted last */
    size_t place;      /* in the heap of what clients cost: index + 1; 0 if it is not in it */
} evictionSlot;
extern size_t client_eviction_slot; /* const after boot */
static inline evictionSlot *evictionSlotOf(const client *c) {
    return clientSlot(c, client_eviction_slot);
}

/* Boot. */
void clientEvictionInit(void);
/* Look whether there is a limit. With a new one nobody is evicted until each client was looked at once. */
void clientEvictionSwitch(void);
/* Note what the client costs, in the round over all (client_cron.c). */
void clientEvictionUpdate(client *c);
/* The same for one whose requests or output have changed by so much that it should not wait for that. */
void clientEvictionNote(client *c);
/* It is about to be freed. */
void clientEvictionForget(client *c);

/* Whether, as far as is noted, clients cost too much together. */
bool clientEvictionWanted(void);
/* Look at the one that costs most by what is noted, and evict it if it does: true; else what it costs was noted anew.
 * Only when it is wanted. */
bool clientEvictionStep(void);

#define EVICTION_FLOW_MIN ((size_t)64 * 1024)
/* Its requests or output have changed. Nothing while there is no limit. */
static inline void clientEvictionFlow(client *c) {
    if (likely(!client_eviction_on)) return;
    size_t flow = c->input_bytes + c->output_memory;
    size_t noted = evictionSlotOf(c)->flow_noted, changed = flow > noted ? flow - noted : noted - flow;
    if (changed >= EVICTION_FLOW_MIN) clientEvictionNote(c);
}

long long clientEvictionCount(void); /* INFO evicted_clients */
void clientEvictionResetStats(void);

#endif
