/* rdb_transfer.h -- a snapshot on its way to one replica, or to several at once.
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

/* Boot. */
void rdbTransfersInit(aeEventLoop *loop);
/* Sends the bytes of `source` (takes ownership of the descriptor), to its end or, if `length` is not 0, so many, to
 * these replicas, after the output that they have already. Their connections are detached for it. */
void rdbTransferStart(int source, uint64_t length, replicaState **to, size_t count, const rdbTransferEnds *ends);
/* Removes a replica that is freed from all RDB transfers. */
void rdbTransfersForget(const replicaState *r);

#endif
