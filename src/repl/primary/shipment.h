/* shipment.h -- a snapshot on its way to one replica, or to several at once.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SHIPMENT_H
#define REPL_SHIPMENT_H

#include "ae.h"
#include "replicas.h"

typedef struct shipmentEnds {
    void (*arrived)(replicaState *r, bool ok); /* of each that has not gone meanwhile */
    void (*over)(void);                        /* behind that, once; NULL */
} shipmentEnds;

/* Boot. */
void shipmentsInit(aeEventLoop *loop);
/* Send what comes from `source` (takes the descriptor), to its end or `length` bytes, to these replicas, behind what
 * they have been sent before. Their connections are lent for it. */
void shipmentSend(int source, uint64_t length, replicaState **to, size_t count, const shipmentEnds *ends);
/* The replica has gone. */
void shipmentsForget(const replicaState *r);

#endif
