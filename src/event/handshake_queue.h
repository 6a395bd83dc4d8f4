/* handshake_queue.h -- TLS handshakes that wait for their turn on one thread: which is begun next, which are too old.
 *
 * Runs on: the thread that owns the connections of the queue.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_HANDSHAKE_QUEUE_H
#define EVENT_HANDSHAKE_QUEUE_H

#include "platform.h"

/* Up to this number are begun in order of arrival, however long they have waited: that takes some milliseconds, and a
 * client that is patient after a pause of the server gets in. */
#define HANDSHAKES_IN_ORDER 8

/* The part of a connection by which it stands in a queue. All zero: in none. */
typedef struct handshakeWait {
    struct handshakeWait *older, *newer; /* borrowed */
    uint64_t since_ms;                   /* monotonic: when the peer has asked for the handshake */
    bool waits;
} handshakeWait;

typedef struct handshakeQueue {
    handshakeWait *oldest, *newest; /* borrowed, as all between them; NULL if none waits */
    size_t count;
    uint64_t iteration; /* the loop iteration that `begun` counts */
    long long begun;
} handshakeQueue;

/* Appends a handshake as the newest one. */
void handshakeQueueAdd(handshakeQueue *q, handshakeWait *w, uint64_t since_ms);
/* Removes it, wherever it stands. Does nothing if it waits in no queue. */
void handshakeQueueRemove(handshakeQueue *q, handshakeWait *w);
/* Returns the handshake that is to be begun next, which stays in the queue; NULL if none waits. */
handshakeWait *handshakeQueueNext(const handshakeQueue *q);
/* Returns whether more wait than are begun in order. If so, late ones are to be dropped. */
static inline bool handshakeQueueIsCrowded(const handshakeQueue *q) { return q->count > HANDSHAKES_IN_ORDER; }
/* Returns the oldest one if its peer waits longer than `limit_ms`, else NULL. 0: no limit. */
handshakeWait *handshakeQueueLate(const handshakeQueue *q, uint64_t now_ms, uint64_t limit_ms);
/* Returns whether one more handshake may begin in this iteration of the loop. */
bool handshakeQueueMayBegin(handshakeQueue *q, uint64_t iteration, long long most);
/* Counts a handshake that has begun after handshakeQueueMayBegin() has returned true. */
void handshakeQueueBegun(handshakeQueue *q);

/* Returns whether a peer that has asked at `since_ms` waits longer than `limit_ms`. 0: no limit. */
static inline bool handshakeIsLate(uint64_t since_ms, uint64_t now_ms, uint64_t limit_ms) {
    return limit_ms && now_ms > since_ms && now_ms - since_ms > limit_ms;
}

#endif
