/* handshake_queue.c -- TLS handshakes that wait for their turn on one thread.
 *
 * After a failure of the network thousands of clients connect at once. Each gives up after a second or some, and tries
 * again. Served in order of arrival, each handshake would be finished just when its peer has given up, so no client
 * would ever get in. So if more than a few wait, the newest is begun first: its peer has the most patience left. The
 * others age until their peer leaves or the limit has passed, and are dropped for the price of a close().
 *
 *     hello arrives --handshakeQueueAdd--> waits --handshakeQueueNext--> begun
 *                                            |
 *                                            +--handshakeQueueLate, or the peer has closed--> dropped
 *
 * Not here    sockets, OpenSSL and the clock (tls.c).
 * Owns        nothing: the links are in the connections.
 * Threads     the owner thread of the connections.
 * Invariants  1. `count` is the number of entries from `oldest` to `newest`, and exactly these have `waits`.
 *             2. In one iteration of the loop no more handshakes begin than the limit allows, whatever waits.
 * Cost        O(1), no allocation. As many may wait as there may be clients.
 * Tests       tests/unit/event/handshake_queue_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "handshake_queue.h"

#include "panic.h"

void handshakeQueueAdd(handshakeQueue *q, handshakeWait *w, uint64_t since_ms) {
    serverAssert(!w->waits);
    *w = (handshakeWait){.older = q->newest, .since_ms = since_ms, .waits = true};
    if (q->newest) q->newest->newer = w;
    else q->oldest = w;
    q->newest = w;
    q->count++;
}

void handshakeQueueRemove(handshakeQueue *q, handshakeWait *w) {
    if (!w->waits) return;
    serverAssert(q->count > 0);
    serverAssert(w->older ? w->older->newer == w : q->oldest == w);
    serverAssert(w->newer ? w->newer->older == w : q->newest == w);
    if (w->older) w->older->newer = w->newer;
    else q->oldest = w->newer;
    if (w->newer) w->newer->older = w->older;
    else q->newest = w->older;
    w->older = w->newer = NULL;
    w->waits = false;
    q->count--;
}

handshakeWait *handshakeQueueNext(const handshakeQueue *q) {
    return handshakeQueueIsCrowded(q) ? q->newest : q->oldest;
}

handshakeWait *handshakeQueueLate(const handshakeQueue *q, uint64_t now_ms, uint64_t limit_ms) {
    return q->oldest && handshakeIsLate(q->oldest->since_ms, now_ms, limit_ms) ? q->oldest : NULL;
}

bool handshakeQueueMayBegin(handshakeQueue *q, uint64_t iteration, long long most) {
    if (q->iteration != iteration) {
        q->iteration = iteration;
        q->begun = 0;
    }
    return q->begun < most;
}

void handshakeQueueBegun(handshakeQueue *q) { q->begun++; }
