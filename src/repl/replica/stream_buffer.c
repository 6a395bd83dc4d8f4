/* stream_buffer.c -- fills the stream buffer while the RDB arrives on another connection and is loaded.
 *
 * The job writes a newline each second, so that the primary does not time the replica out: acknowledgments begin only
 * when the dataset is loaded. If the connection ends, the buffered bytes are applied nevertheless, and the replica
 * reconnects from the end of them.
 *
 *   KEEPS --buffer_max is reached--> FULL: only newlines are sent
 *     `----------the connection ends, main sets `enough`, or the job is dropped--------> over
 *
 * Not here    applying the stream buffer (primary_link.c).
 * Owns        nothing.
 * Threads     the job's.
 * Invariants  1. All bytes that were received are in `buffered`, in order; the wire has no early bytes.
 *             2. `buffered` exceeds buffer_max by at most one block.
 * Tests       tests/unit/repl/replica/stream_buffer_test.c, tests/repl/dual_channel.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "link_job.h"

#include "clock.h"
#include "panic.h"

#define WAKE_MS 20 /* longest wait before the thread checks whether main has set `enough` */
#define KEEP_ALIVE_MS 1000

static void bufferCheck(const linkJob *job) {
    debugAssert(job->wire.conn && job->wire.early_len == 0);
    debugAssert(job->buffered.len <= job->buffered.memory && (job->buffered.len == 0 || job->buffered.first));
    debugAssert(!job->buffered.last == (job->buffered.memory == 0));
    debugAssert(!linkJobIsOver(job));
    unused(job);
}

static bool goesOn(const linkJob *job) {
    return linkJobIsWanted(job) && !atomic_load_explicit(&job->enough, memory_order_relaxed);
}

static bool mayKeepMore(const linkJob *job) { return !job->buffer_max || job->buffered.memory < job->buffer_max; }

/* Reads available bytes into the stream buffer. Returns false at the end of the connection. */
static bool streamBufferKeep(linkJob *job) {
    size_t capacity, before = job->buffered.len;
    bufferCheck(job);
    char *to = unreadReserve(&job->buffered, &capacity);
    ssize_t n = connRead(job->wire.conn, to, capacity);
    if (n > 0) unreadCommit(&job->buffered, (size_t)n);
    atomic_store_explicit(&job->buffered_memory, job->buffered.memory, memory_order_relaxed);
    debugAssert(job->buffered.len - before <= capacity && n <= (ssize_t)capacity);
    bufferCheck(job);
    return n > 0 || (n < 0 && job->wire.conn->state == CONN_CONNECTED);
}

static void sendKeepAlive(linkJob *job) {
    struct iovec newline = {(char[]){'\n'}, 1};
    (void)connWritev(job->wire.conn, &newline, 1);
}

void streamBufferWork(linkJob *job) {
    uint64_t sent_ms = 0;
    bool open = true;
    debugAssert(job->wire.conn && !job->stream.conn && job->buffered.len == 0);
    unreadAdd(&job->buffered, sliceOf(job->wire.early, job->wire.early_len));
    job->wire.early_len = 0;
    while (open && goesOn(job)) {
        uint64_t now_ms = clockMonotonicMs();
        if (now_ms - sent_ms >= KEEP_ALIVE_MS) {
            sent_ms = now_ms;
            sendKeepAlive(job);
        }
        if (!mayKeepMore(job)) linkPause(WAKE_MS);
        else if (linkWait(job, WAKE_MS)) open = streamBufferKeep(job);
    }
    bufferCheck(job);
}
