/* stream_buffer.c -- the stream is kept while the snapshot before it comes by another connection, and is loaded.
 *
 * Each second the primary reads a newline: on this connection it sees that the replica lives, for acknowledgements come
 * only with the loaded dataset. If the connection ends, what has come is applied nevertheless, and the link made anew
 * from there.
 *
 * Not here    what becomes of what is kept (primary_link.c).
 * Owns        nothing.
 * Threads     the job's.
 * Tests       tests/unit/repl/replica/stream_buffer_test.c, tests/repl/dual_channel.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "stream_buffer.h"

#include "clock.h"

#define WAKE_MS 20 /* how long it takes until it hears that main has enough */
#define SAY_EVERY_MS 1000

static bool goesOn(const linkJob *job) {
    return linkJobIsWanted(job) && !atomic_load_explicit(&job->enough, memory_order_relaxed);
}

static bool mayKeepMore(const linkJob *job) {
    return !job->keep_max || job->kept.memory < job->keep_max;
}

/* False at the end of the connection. */
static bool keep(linkJob *job) {
    size_t room;
    char *to = unreadRoom(&job->kept, &room);
    ssize_t n = connRead(job->wire.conn, to, room);
    if (n > 0) unreadCommit(&job->kept, (size_t)n);
    atomic_store_explicit(&job->kept_memory, job->kept.memory, memory_order_relaxed);
    return n > 0 || (n < 0 && job->wire.conn->state == CONN_CONNECTED);
}

static void sayAlive(linkJob *job) {
    struct iovec newline = {(char[]){'\n'}, 1};
    (void)connWritev(job->wire.conn, &newline, 1);
}

void streamBufferWork(linkJob *job) {
    uint64_t said_ms = 0;
    bool open = true;
    unreadAdd(&job->kept, sliceOf(job->wire.early, job->wire.early_len));
    job->wire.early_len = 0;
    while (open && goesOn(job)) {
        uint64_t now_ms = clockMonotonicMs();
        if (now_ms - said_ms >= SAY_EVERY_MS) {
            said_ms = now_ms;
            sayAlive(job);
        }
        if (!mayKeepMore(job)) linkPause(WAKE_MS);
        else if (linkWait(job, WAKE_MS)) open = keep(job);
    }
}
