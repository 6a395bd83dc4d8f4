/* rdb_transfer.h -- an RDB transfer: one snapshot is sent to one replica, or to several at once.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_RDB_TRANSFER_H
#define REPL_RDB_TRANSFER_H

#include "ae.h"
#include "replicas.h"

typedef struct rdbTransferEnds {
    void (*completed)(replicaState *r, bool ok); /* called for each target that was not freed meanwhile */
    void (*over)(void);                          /* called once after that; may be NULL */
} rdbTransferEnds;

/* Call once, at startup. */
void rdbTransfersInit(aeEventLoop *loop);
/* Sends the bytes of `source` (takes ownership of the descriptor) to these replicas: `length` bytes, or all if it is 0.
 * The transfer begins when the output that they already have is written, and their connections are detached for it. */
void rdbTransferStart(int source, uint64_t length, replicaState **to, size_t count, const rdbTransferEnds *ends);
/* Returns the time (monotonic, in ms) since which the replica has accepted no byte of an RDB, while there are some for
 * it, or 0. */
uint64_t rdbTransferFullSince(const replicaState *r);
/* Removes a replica from all RDB transfers. Call before it is freed. */
void rdbTransfersForget(const replicaState *r);

#endif
