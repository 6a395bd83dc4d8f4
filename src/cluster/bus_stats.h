/* bus_stats.h -- what the bus counts, for CLUSTER INFO.
 *
 * Runs on: the bus thread counts; any thread reads.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_STATS_H
#define CLUSTER_BUS_STATS_H

#include "bus_bytes.h"
#include "bus_frame.h"

#include <stdatomic.h>

/* Atomic, relaxed: counts that order nothing else; the bus thread counts unless a field says otherwise. They are never
 * set back. A frame counts as received when it is
 * complete, before any check, and as sent when its last byte has been written. */
typedef struct busStats {
    _Atomic uint64_t sent[BUS_TYPES], received[BUS_TYPES]; /* frames; those of unknown types are not counted */
    _Atomic uint64_t bytes_sent, bytes_received;
    _Atomic uint64_t pubsub_bytes_sent, pubsub_bytes_received; /* of PUBLISH and PUBLISH_SHARD frames */
    _Atomic uint64_t module_bytes_sent, module_bytes_received; /* of MODULE frames */
    _Atomic uint64_t link_limit_exceeded;                      /* links dropped by cluster-link-sendbuf-limit */
    _Atomic uint64_t messages_dropped;                         /* for links whose peer does not read */
    _Atomic uint64_t messages_refused;  /* too many waited for the bus thread or main; counted under its lock */
    _Atomic uint64_t strangers_dropped; /* accepted links whose peer did not become known in time */
} busStats;

/* Adds to a count of which the calling thread is the only writer. */
static inline void busCount(_Atomic uint64_t *counter, uint64_t n) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Returns the type that a frame of at least BUS_HEAD_BYTES bytes has, known or not. */
static inline unsigned busTypeOf(const void *frame) { return loadBe16((const char *)frame + AT_TYPE) & ~BUS_LIGHT; }
/* Returns whether a frame is a message, which may be dropped when a peer does not read: nodes do not need it to agree
 * with each other. */
static inline bool busIsMessage(const void *frame) {
    unsigned type = busTypeOf(frame);
    return type == BUS_PUBLISH || type == BUS_PUBLISH_SHARD || type == BUS_MODULE;
}

static inline void busCountFrame(const void *frame, size_t len, _Atomic uint64_t *types, _Atomic uint64_t *pubsub_bytes,
                                 _Atomic uint64_t *module_bytes) {
    unsigned type = busTypeOf(frame);
    if (type < BUS_TYPES) busCount(&types[type], 1);
    if (type == BUS_PUBLISH || type == BUS_PUBLISH_SHARD) busCount(pubsub_bytes, len);
    else if (type == BUS_MODULE) busCount(module_bytes, len);
}
static inline void busCountSent(busStats *s, const void *frame, size_t len) {
    busCountFrame(frame, len, s->sent, &s->pubsub_bytes_sent, &s->module_bytes_sent);
}
static inline void busCountReceived(busStats *s, const void *frame, size_t len) {
    busCountFrame(frame, len, s->received, &s->pubsub_bytes_received, &s->module_bytes_received);
}

#endif
