/* aof_queue.h -- the bytes of the log on their way from main to the thread that writes them.
 *
 * A chain of blocks of one size. Main copies into the last one; the thread writes from the first one. The thread may
 * see what main has published (aofQueuePublish), which always ends with a complete unit: a file never ends within
 * one, not even if the server is shut down in the middle of a transaction. Offsets only grow.
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
    uint64_t whole;  /* where the last complete unit ends: what lies between this and `appended` is a part of one */
    uint64_t units;  /* complete ones: ends of what one reply stands for */
    aofBlock *spare; /* owns: to be used again */
    size_t spares;
    size_t blocks; /* all there are, wherever */

    /* thread */
    alignas(CACHE_LINE) aofBlock *head; /* owns the chain */
    size_t taken;                       /* bytes of it that are done with */
    uint64_t consumed;

    /* atomic */
    alignas(CACHE_LINE) _Atomic uint64_t published; /* seq_cst by main: bytes before it, and the links to them */
    _Atomic uint64_t published_units;               /* by main, before `published`, which releases it */
    alignas(CACHE_LINE) _Atomic(aofBlock *) back;   /* release by the thread: blocks that are done with, a stack */
} aofQueue;

/* `begin` is the offset of its first byte. */
void aofQueueInit(aofQueue *s, uint64_t begin);
/* Nobody uses it any more. */
void aofQueueDestroy(aofQueue *s);

/* --- Runs on: main --------------------------------------------------------------------------------------- */
/* Another block behind the last one, which is full. */
void aofQueueGrow(aofQueue *s);
static inline void aofQueueAppend(aofQueue *s, const void *bytes, size_t len) {
    const char *from = bytes;
    s->appended += len;
    for (;;) {
        size_t room = AOF_BLOCK_BYTES - s->used;
        if (likely(len <= room)) break;
        memcpy(s->tail->bytes + s->used, from, room);
        from += room;
        len -= room;
        aofQueueGrow(s);
    }
    memcpy(s->tail->bytes + s->used, from, len);
    s->used += len;
}
/* What was appended last completes a unit. */
static inline void aofQueueEndUnit(aofQueue *s) {
    s->whole = s->appended;
    s->units++;
}
/* All complete units may be written. Returns true when there are new ones. */
static inline bool aofQueuePublish(aofQueue *s) {
    if (atomic_load_explicit(&s->published, memory_order_relaxed) == s->whole) return false;
    atomic_store_explicit(&s->published_units, s->units, memory_order_relaxed);
    atomic_store(&s->published, s->whole);
    return true;
}
/* Free blocks that have come back and are more than a busy moment needs; now and then. */
void aofQueueTrim(aofQueue *s);
/* Memory of all its blocks. */
static inline size_t aofQueueMemory(const aofQueue *s) {
    return s->blocks * sizeof(aofBlock);
}

/* --- Runs on: the thread --------------------------------------------------------------------------------- */
/* The bytes from `consumed` to `limit` (at most `published`), in up to `max` parts: gives how many, their sum in
 * *bytes. */
int aofQueuePeek(const aofQueue *s, uint64_t limit, struct iovec *parts, int max, size_t *bytes);
/* So many bytes are done with. */
void aofQueueConsume(aofQueue *s, size_t bytes);

#endif
