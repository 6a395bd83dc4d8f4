/* bus_output.h -- the frames that a link has still to send.
 *
 * Frames are kept as references to blocks, which links share: a message to all nodes is in memory once. Frames that
 * nodes need to agree with each other go ahead of messages (PUBLISH, MODULE), so that a link that is full of messages
 * still answers pings. Frames of either kind keep their order.
 *
 *     plain  --+
 *              +--> begun: at most BUS_BEGUN_BYTES and one more frame, whose order is final
 *     messages-+
 *
 * Runs on: the bus thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_OUTPUT_H
#define CLUSTER_BUS_OUTPUT_H

#include "bus_stats.h"
#include "machine.h"

#include <sys/uio.h>

#define BUS_BEGUN_BYTES 65536

typedef struct blockQueue {
    frameBlock **at; /* owns, as a ring; each entry owns a reference */
    size_t first, count, capacity;
    size_t bytes; /* of all blocks in it */
} blockQueue;

/* Initialize to zero. */
typedef struct busOutput {
    blockQueue begun, plain, messages;
    size_t written; /* bytes of the first block of `begun` */
} busOutput;

/* Adds a frame, of which it takes the reference. */
void busOutputAddTake(busOutput *o, frameBlock *block);
/* Returns the bytes that are still to be written, and those of them that are messages not begun. */
size_t busOutputBytes(const busOutput *o);
static inline size_t busOutputMessageBytes(const busOutput *o) { return o->messages.bytes; }
/* Returns the bytes of memory, each block counted in full. */
size_t busOutputMemory(const busOutput *o);
/* Sets up to `max` pieces to the bytes that are to be written next, and returns their number; 0 if there are none. The
 * pieces of the next call begin with the same bytes, but for those that busOutputWritten() has dropped. */
int busOutputPieces(busOutput *o, struct iovec *pieces, int max);
/* Drops `n` bytes that were written, and counts the frames that are complete. */
void busOutputWritten(busOutput *o, size_t n, busStats *stats);
void busOutputFree(busOutput *o);

#endif
