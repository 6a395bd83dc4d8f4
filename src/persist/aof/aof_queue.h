/* aof_queue.h -- the queue of the log's bytes from main to the AOF thread, which writes them.
 *
 * It is a chain of blocks of one size. Main copies into the last one; the thread writes from the first one. The thread
 * may read the bytes that main has published (aofQueuePublish), which always end with a complete unit: a file never
 * ends within one, not even if the server is shut down in the middle of a transaction. Offsets only grow.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_QUEUE_H
#define PERSIST_AOF_QUEUE_H

#include "platform.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#define AOF_BLOCK_BYTES (64 * 1024 - 16) /* with its link it just fits a size class */

typedef struct aofBlock {
    struct aofBlock *next;
    char bytes[AOF_BLOCK_BYTES];
} aofBlock;

typedef struct aofQueue {
    /* main */
    alignas(CACHE_LINE) aofBlock *tail; /* owned by the chain */
    size_t used;                        /* bytes in it */
    uint64_t appended;
    uint64_t whole;  /* end of the last complete unit; bytes from here to `appended` are part of the next one */
    uint64_t units;  /* complete units; each stands for one reply */
    aofBlock *spare; /* owns: blocks to be used again */
    size_t spares;
    size_t blocks; /* number of all blocks, in the chain or not */

    /* thread */
    alignas(CACHE_LINE) aofBlock *head; /* owns the chain */
    size_t taken;                       /* bytes of it that are consumed */
    uint64_t consumed;

    /* atomic */
    alignas(CACHE_LINE) _Atomic uint64_t published; /* seq_cst by main: bytes before it, and the links to them */
    _Atomic uint64_t published_units;               /* by main, before `published`, which releases it */
    alignas(CACHE_LINE) _Atomic(aofBlock *) back;   /* release by the thread: a stack of consumed blocks */
} aofQueue;

/* Initializes the queue. `begin` is the offset of its first byte. */
void aofQueueInit(aofQueue *s, uint64_t begin);
/* Frees the blocks. No thread may use the queue any more. */
void aofQueueDestroy(aofQueue *s);

/* --- Runs on: main --------------------------------------------------------------------------------------- */
/* Adds a block after the last one, which is full. */
void aofQueueGrow(aofQueue *s);
static inline void aofQueueAppend(aofQueue *s, const void *bytes, size_t len) {
    const char *from = bytes;
    s->appended += len;
    for (;;) {
        size_t free = AOF_BLOCK_BYTES - s->used;
        if (likely(len <= free)) break;
        memcpy(s->tail->bytes + s->used, from, free);
        from += free;
        len -= free;
        aofQueueGrow(s);
    }
    memcpy(s->tail->bytes + s->used, from, len);
    s->used += len;
}
/* Call when the bytes that were appended last complete a unit. */
static inline void aofQueueEndUnit(aofQueue *s) {
    s->whole = s->appended;
    s->units++;
}
/* Allows the thread to read all complete units. Returns true if there are new ones. */
static inline bool aofQueuePublish(aofQueue *s) {
    if (atomic_load_explicit(&s->published, memory_order_relaxed) == s->whole) return false;
    atomic_store_explicit(&s->published_units, s->units, memory_order_relaxed);
    atomic_store(&s->published, s->whole);
    return true;
}
/* Frees returned blocks beyond those that are kept for a busy moment. Call it now and then. */
void aofQueueTrim(aofQueue *s);
/* Returns the memory of all blocks. */
static inline size_t aofQueueMemory(const aofQueue *s) { return s->blocks * sizeof(aofBlock); }

/* --- Runs on: the thread --------------------------------------------------------------------------------- */
/* Describes the bytes from `consumed` to `limit`, which is at most `published`, in up to `max` parts. Returns the
 * number of parts, and their sum in *bytes. */
int aofQueuePeek(const aofQueue *s, uint64_t limit, struct iovec *parts, int max, size_t *bytes);
/* Call when `bytes` more bytes have been written. */
void aofQueueConsume(aofQueue *s, size_t bytes);

#endif
