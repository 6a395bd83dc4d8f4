/* stream_buffer_test.c -- the stream buffer keeps the replication stream in order, up to a limit, until main takes it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "link_job.h"

#include "clock.h"
#include "log.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES ((size_t)3 << 20)
#define EARLY 100

static char text[BYTES];

static void nothing(void) {}

/* Starts a job that buffers the bytes that the other end, *fd, writes; the first bytes have come already. */
static linkJob *startJob(int *fd, size_t buffer_max) {
    int fds[2];
    uint64_t seed = unitRandomSeed();
    signal(SIGPIPE, SIG_IGN);
    clockInit();
    logSetLevel(LL_NOTHING);
    for (size_t i = 0; i < BYTES; i++) text[i] = (char)unitRandom(&seed);
    int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds);
    CHECK_EQ_INT(rc, 0);
    linkJob *job = linkJobCreate(streamBufferWork, nothing);
    job->wire.conn = connCreateAcceptedSocket(fds[0], NULL);
    connAccept(job->wire.conn, NULL);
    job->wire.early = zmalloc(EARLY);
    memcpy(job->wire.early, text, EARLY);
    job->wire.early_len = job->wire.early_capacity = EARLY;
    job->buffer_max = buffer_max;
    CHECK(linkJobStart(job));
    *fd = fds[1];
    return job;
}

/* Writes text[at ..] until it is sent, or nothing is accepted for `patience_ms`. Returns the offset reached. */
static size_t writeFrom(int fd, size_t at, int patience_ms) {
    for (int idle = 0; at < BYTES && idle < patience_ms;) {
        ssize_t n = write(fd, text + at, BYTES - at);
        if (n > 0) at += (size_t)n;
        idle = n > 0 ? 0 : idle + 1;
        if (n <= 0) usleep(1000);
    }
    return at;
}

static void waitFor(const linkJob *job) {
    unitLimit limit = unitLimitStart(20000);
    while (!linkJobIsOver(job) && !unitLimitOver(&limit)) usleep(1000);
    CHECK(linkJobIsOver(job));
}

/* Reads the buffered bytes from the connection that they are given back to. */
static size_t giveBack(linkJob *job) {
    char got[10000];
    size_t at = 0, len = job->buffered.len;
    connUnread(job->wire.conn, &job->buffered);
    while (at < len) {
        ssize_t n = connRead(job->wire.conn, got, sizeof(got) < len - at ? sizeof(got) : len - at);
        if (!CHECK(n > 0) || !CHECK_MEM(got, text + at, (size_t)n)) break;
        at += (size_t)n;
    }
    return at;
}

TEST(stream_keeper_keeps_all_to_the_end_of_the_connection) {
    int fd;
    linkJob *job = startJob(&fd, 0);
    CHECK_EQ_INT(writeFrom(fd, EARLY, 20000), BYTES);
    shutdown(fd, SHUT_WR);
    waitFor(job);
    CHECK_EQ_INT(job->buffered.len, BYTES);
    CHECK(atomic_load(&job->buffered_memory) >= BYTES);
    CHECK_EQ_INT(giveBack(job), BYTES);
    linkJobDrop(job);
    close(fd);
}

TEST(stream_keeper_keeps_no_more_than_it_may) {
    int fd;
    const size_t most = 500000, block = 64 << 10;
    linkJob *job = startJob(&fd, most);
    size_t sent = writeFrom(fd, EARLY, 300);
    CHECK(sent < BYTES); /* the rest stays with the sender */
    atomic_store(&job->enough, true);
    waitFor(job);
    CHECK(job->buffered.memory >= most && job->buffered.memory <= most + block);
    size_t kept = job->buffered.len;
    CHECK(kept < sent);
    CHECK_EQ_INT(giveBack(job), kept);
    char next;
    CHECK_EQ_INT(connRead(job->wire.conn, &next, 1), 1); /* and is read after the buffer */
    CHECK_MEM(&next, text + kept, 1);
    linkJobDrop(job);
    close(fd);
}

TEST(stream_keeper_says_that_it_lives) {
    int fd;
    char said = 0;
    linkJob *job = startJob(&fd, 0);
    unitLimit limit = unitLimitStart(20000);
    while (read(fd, &said, 1) != 1 && !unitLimitOver(&limit)) usleep(1000);
    CHECK_EQ_INT(said, '\n');
    atomic_store(&job->enough, true);
    waitFor(job);
    CHECK_EQ_INT(job->buffered.len, EARLY);
    linkJobDrop(job);
    close(fd);
}

TEST(stream_keeper_that_is_dropped_closes_its_connection) {
    int fd;
    char said;
    linkJob *job = startJob(&fd, 0);
    linkJobDrop(job);
    unitLimit limit = unitLimitStart(20000);
    ssize_t n;
    while ((n = read(fd, &said, 1)) != 0 && !unitLimitOver(&limit))
        if (n < 0) usleep(1000);
    CHECK_EQ_INT(n, 0);
    close(fd);
}
