/* io_owner.h -- a thread as the streams know it that it holds.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_IO_OWNER_H
#define NET_IO_OWNER_H

#include "ae.h"
#include "request_block.h"

struct clientIo;

/* Counters that one thread writes and main reads (relaxed; each is only ever shown). */
typedef struct ioOwnerStats {
    _Atomic uint64_t reads, writes, freed, freed_bytes, active_ns, acting_ns, net_input, net_output, polls, caches;
} ioOwnerStats;

/* All fields are the thread's own, but for the stats. */
typedef struct ioOwner {
    unsigned id;       /* const: the thread's number, 0 is main's own */
    bool greets;       /* const: makes handshakes; what is connected is read by others */
    aeEventLoop *loop; /* owns; main's is lent by the server */
    bool direct;       /* it has main's role: what it posts to main is a plain call, and values are warm in its cache */
    requestPool pool;
    requestArg *args; /* owns: scratch of the parser */
    size_t args_cap;
    struct clientIo *unreported;          /* streams with written blocks to report */
    struct fanBatch *fan_head, *fan_tail; /* own: messages for many streams, to be written (client_io_fan.c) */
    unsigned reads;                       /* sockets read and ... */
    unsigned commands;                    /* ... commands handed over; io_threads.c resets both when it has looked */
    alignas(CACHE_LINE) ioOwnerStats stats;
} ioOwner;

/* One writer: a load and a store are enough. */
static inline void ioOwnerStatAdd(_Atomic uint64_t *counter, uint64_t n) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

#endif
