/* io_owner.h -- ioOwner: the part of a thread that the connections it owns may use.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_IO_OWNER_H
#define NET_IO_OWNER_H

#include "ae.h"
#include "net_settings.h"
#include "request_block.h"

struct clientIo;

/* Counters that one thread writes and main reads: relaxed, since they are only displayed. */
typedef struct ioOwnerStats {
    _Atomic uint64_t reads, writes, freed, freed_bytes, active_ns, acting_ns, net_input, net_output, polls, caches;
} ioOwnerStats;

/* All fields but the stats are the thread's own. */
typedef struct ioOwner {
    unsigned id;          /* const: the thread's number, 0 is main's own */
    bool only_handshakes; /* const: makes TLS handshakes only; after the handshake another thread owns the connection */
    aeEventLoop *loop;    /* owns; main's own thread borrows the server's loop */
    bool direct;          /* has the main role: a message to main is a plain call, and values are warm in its cache */
    requestPool pool;
    requestArg *args; /* owns: scratch array of the parser */
    size_t args_cap;
    struct clientIo *unreported;          /* connections with written blocks to report */
    struct fanBatch *fan_head, *fan_tail; /* owns: batches to be written (client_io_fan.c) */
    unsigned reads;                       /* sockets read and ... */
    unsigned commands;                    /* ... commands handed over since mainWatchReset() */
    alignas(CACHE_LINE) ioOwnerStats stats;
} ioOwner;

#endif
