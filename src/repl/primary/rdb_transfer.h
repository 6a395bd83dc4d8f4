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
    void (*completed)(replicaState *r, bool ok); /* of each that has not gone meanwhile */
    void (*over)(void);                          /* behind that, once; NULL */
} rdbTransferEnds;

/* Boot. */
void rdbTransfersInit(aeEventLoop *loop);
/* Send what comes from `source` (takes the descriptor), to its end or `length` bytes, to these replicas, behind what
 * they have been sent before. Their connections are lent for it. */
void rdbTransferStart(int source, uint64_t length, replicaState **to, size_t count, const rdbTransferEnds *ends);
/* The replica has gone. */
void rdbTransfersForget(const replicaState *r);

#endif
