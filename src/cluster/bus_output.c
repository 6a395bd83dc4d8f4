/* bus_output.c -- the frames that a link has still to send.
 *
 * A frame that was written in part must be finished before another one, and TLS must be offered the same bytes again
 * after the socket was full. So a frame gets its final position when it is moved to `begun`, which is done for a few
 * frames at a time; a ping waits for those at most.
 *
 * Not here    limits, and what happens above them; sockets.
 * Owns        references to blocks. A block is freed when the last link has sent it.
 * Threads     the bus thread: only it changes the references of a block that was handed over.
 * Invariants  1. `bytes` of a queue is the sum of its blocks.
 *             2. 0 <= written < length of the first block of `begun`, or 0 if it is empty.
 * Cost        no byte is copied or moved; a ring is freed when it is empty.
 * Tests       tests/unit/cluster/bus_output_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_output.h"

#include "zmalloc.h"

#define KEPT_CAPACITY 16 /* a larger ring is freed when it is empty */

static void grow(blockQueue *q) {
    size_t capacity = q->capacity ? 2 * q->capacity : KEPT_CAPACITY;
    frameBlock **at = zmalloc(capacity * sizeof(*at));
    for (size_t i = 0; i < q->count; i++) at[i] = q->at[(q->first + i) % q->capacity];
    zfree(q->at);
    q->at = at;
    q->first = 0;
    q->capacity = capacity;
}

static void append(blockQueue *q, frameBlock *block) {
    if (q->count == q->capacity) grow(q);
    q->at[(q->first + q->count++) % q->capacity] = block;
    q->bytes += sdsLen(block->bytes);
}

static frameBlock *nth(const blockQueue *q, size_t i) { return q->at[(q->first + i) % q->capacity]; }

static frameBlock *removeFirst(blockQueue *q) {
    frameBlock *block = nth(q, 0);
    q->first = (q->first + 1) % q->capacity;
    q->bytes -= sdsLen(block->bytes);
    if (--q->count == 0 && q->capacity > KEPT_CAPACITY) {
        zfree(q->at);
        *q = (blockQueue){0};
    }
    return block;
}

void busOutputAddTake(busOutput *o, frameBlock *block) {
    append(busIsMessage(block->bytes) ? &o->messages : &o->plain, block);
}

size_t busOutputBytes(const busOutput *o) { return o->begun.bytes + o->plain.bytes + o->messages.bytes - o->written; }

size_t busOutputMemory(const busOutput *o) {
    size_t entries = o->begun.capacity + o->plain.capacity + o->messages.capacity;
    return o->begun.bytes + o->plain.bytes + o->messages.bytes + entries * sizeof(frameBlock *) +
           (o->begun.count + o->plain.count + o->messages.count) * sizeof(frameBlock);
}

static void begin(busOutput *o) {
    while (o->begun.bytes < BUS_BEGUN_BYTES && o->plain.count + o->messages.count)
        append(&o->begun, removeFirst(o->plain.count ? &o->plain : &o->messages));
}

int busOutputPieces(busOutput *o, struct iovec *pieces, int max) {
    int n = 0;
    begin(o);
    for (; n < max && (size_t)n < o->begun.count; n++) {
        frameBlock *block = nth(&o->begun, (size_t)n);
        size_t skip = n == 0 ? o->written : 0;
        pieces[n] = (struct iovec){.iov_base = block->bytes + skip, .iov_len = sdsLen(block->bytes) - skip};
    }
    return n;
}

void busOutputWritten(busOutput *o, size_t n, busStats *stats) {
    busCount(&stats->bytes_sent, n);
    o->written += n;
    while (o->begun.count && o->written >= sdsLen(nth(&o->begun, 0)->bytes)) {
        frameBlock *block = removeFirst(&o->begun);
        o->written -= sdsLen(block->bytes);
        busCountSent(stats, block->bytes, sdsLen(block->bytes));
        frameBlockRelease(block);
    }
}

static void empty(blockQueue *q) {
    for (size_t i = 0; i < q->count; i++) frameBlockRelease(nth(q, i));
    zfree(q->at);
    *q = (blockQueue){0};
}

void busOutputFree(busOutput *o) {
    empty(&o->begun);
    empty(&o->plain);
    empty(&o->messages);
    o->written = 0;
}
