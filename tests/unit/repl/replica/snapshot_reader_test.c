/* snapshot_reader_test.c -- finds the end of a snapshot by its length or its mark, in any division of its bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_reader.h"

#include "log.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MARK "0123456789abcdef0123456789abcdef01234567"

typedef struct peer {
    int fd;
    const char *bytes;
    size_t len, piece;
} peer;

static void *sendPieces(void *arg) {
    peer *p = arg;
    for (size_t at = 0; at < p->len;) {
        size_t n = p->len - at < p->piece ? p->len - at : p->piece;
        if (write(p->fd, p->bytes + at, n) != (ssize_t)n) break;
        at += n;
    }
    shutdown(p->fd, SHUT_WR);
    return NULL;
}

static void nothing(void) {}

/* Returns a job whose peer sends `text` in pieces; `early` bytes of it arrived with the header. */
static linkJob *jobOf(peer *p, pthread_t *thread, const char *text, size_t len, size_t early, size_t piece) {
    int fds[2];
    signal(SIGPIPE, SIG_IGN);
    logSetLevel(LL_NOTHING);
    int rc = socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    CHECK(rc == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
    linkJob *job = linkJobCreate(NULL, nothing);
    job->timeout_s = 20;
    job->wire.conn = connCreateAcceptedSocket(fds[0], NULL);
    connAccept(job->wire.conn, NULL);
    job->wire.early = zmalloc(early + 1);
    memcpy(job->wire.early, text, early);
    job->wire.early_len = job->wire.early_capacity = early;
    *p = (peer){fds[1], text + early, len - early, piece};
    pthread_create(thread, NULL, sendPieces, p);
    return job;
}

/* Reads everything, `most` bytes at a time. Returns the number of bytes, or -1. */
static ssize_t readAll(linkJob *job, char *out, size_t most) {
    snapshotReader r;
    snapshotReaderBegin(&r, job);
    size_t got = 0;
    for (ssize_t n; (n = snapshotRead(&r, out + got, most)) != 0; got += (size_t)n)
        if (n < 0) return -1;
    return (ssize_t)got;
}

static void endJob(linkJob *job, peer *p, pthread_t thread) {
    linkJobDrop(job); /* first, as the peer may be blocked */
    pthread_join(thread, NULL);
    close(p->fd);
}

TEST(snapshot_up_to_its_mark_in_pieces_of_every_size) {
    uint64_t seed = unitRandomSeed();
    static char text[20000], got[30000];
    for (int round = 0; round < 60; round++) {
        size_t body = unitRandom(&seed) % (round % 2 ? 300 : 15000);
        for (size_t i = 0; i < body; i++) text[i] = MARK[unitRandom(&seed) % 40]; /* resembles the mark everywhere */
        memcpy(text + body, MARK, 40);
        size_t len = body + 40, early = unitRandom(&seed) % (len + 1), piece = 1 + unitRandom(&seed) % 100;
        size_t most = unitRandom(&seed) % 3 ? 4096 + unitRandom(&seed) % 9000 : 1 + unitRandom(&seed) % 300;
        peer p;
        pthread_t thread;
        linkJob *job = jobOf(&p, &thread, text, len, early, piece);
        memcpy(job->frame.mark, MARK, 40);
        CHECK_EQ_INT(readAll(job, got, most), body);
        CHECK_MEM(got, text, body);
        CHECK_EQ_INT(atomic_load(&job->received), body);
        endJob(job, &p, thread);
    }
}

TEST(snapshot_of_known_length_leaves_what_follows) {
    uint64_t seed = unitRandomSeed();
    static char text[20000], got[30000];
    for (int round = 0; round < 60; round++) {
        size_t body = unitRandom(&seed) % 9000, behind = 1 + unitRandom(&seed) % 500, len = body + behind;
        for (size_t i = 0; i < len; i++) text[i] = (char)unitRandom(&seed);
        peer p;
        pthread_t thread;
        size_t early = unitRandom(&seed) % (len + 1);
        linkJob *job = jobOf(&p, &thread, text, len, early, 1 + unitRandom(&seed) % 100);
        job->frame.has_length = true;
        job->frame.length = body;
        CHECK_EQ_INT(readAll(job, got, 1 + unitRandom(&seed) % 9000), body);
        CHECK_MEM(got, text, body);
        CHECK_MEM(job->wire.early, text + body, job->wire.early_len);
        CHECK(job->wire.early_len <= behind);
        endJob(job, &p, thread);
    }
}

TEST(snapshot_that_ends_too_early_is_an_error) {
    static char got[30000];
    for (int form = 0; form < 2; form++) {
        peer p;
        pthread_t thread;
        linkJob *job = jobOf(&p, &thread, MARK "x", 39 + form, 10, 7);
        job->frame.has_length = form;
        job->frame.length = 100;
        memcpy(job->frame.mark, MARK, 40);
        if (form) job->frame.mark[0] = 'z';
        CHECK_EQ_INT(readAll(job, got, 5000), -1);
        CHECK_EQ_INT(errno, ECONNRESET);
        endJob(job, &p, thread);
    }
}

TEST(lines_of_a_job) {
    static const char text[] = "+PONG\r\n\n-ERR no\n$12\r\nrest";
    static const char *const lines[] = {"+PONG", "", "-ERR no", "$12"};
    for (size_t early = 0; early < sizeof(text); early++) {
        peer p;
        pthread_t thread;
        char line[20];
        linkJob *job = jobOf(&p, &thread, text, sizeof(text) - 1, early < sizeof(text) - 1 ? early : 0, 3);
        for (size_t i = 0; i < array_len(lines); i++) {
            CHECK(linkReadLine(job, line, sizeof(line)));
            CHECK_EQ_STR(line, lines[i]);
        }
        CHECK(!linkReadLine(job, line, sizeof(line)));
        CHECK_EQ_INT(errno, ECONNRESET);
        CHECK_MEM(job->wire.early, "rest", 4);
        endJob(job, &p, thread);
    }
    peer p;
    pthread_t thread;
    char line[8];
    linkJob *job = jobOf(&p, &thread, "+01234567\r\n", 11, 0, 3);
    CHECK(!linkReadLine(job, line, sizeof(line)));
    CHECK_EQ_INT(errno, EMSGSIZE);
    endJob(job, &p, thread);
}

/* Also if there is always input. */
TEST(a_job_that_is_dropped_reads_no_more) {
    peer p;
    pthread_t thread;
    char got[100];
    linkJob *job = jobOf(&p, &thread, "there is something to read", 26, 0, 26);
    CHECK(linkWait(job, 20000));
    atomic_store(&job->dropped, true);
    CHECK_EQ_INT(linkRead(job, got, sizeof(got)), -1);
    CHECK_EQ_INT(errno, ECANCELED);
    endJob(job, &p, thread);
}

TEST(a_received_file_that_nobody_comes_for_goes) {
    static const char text[] = "dataset" MARK;
    peer p;
    pthread_t thread;
    for (int round = 0; round < 3; round++) {
        char path[] = "/tmp/snapshot-reader-test-XXXXXX", bytes[10];
        close(mkstemp(path));
        unlink(path);
        linkJob *job = jobOf(&p, &thread, text, sizeof(text) - 1, 0, 5);
        memcpy(job->frame.mark, MARK, 40);
        job->path = zstrdup(path);
        if (round == 1) job->frame.mark[0] = 'z'; /* the snapshot has no end */
        snapshotReceiveWork(job);
        CHECK_EQ_INT(job->outcome, round == 1 ? LINK_FAILED : LINK_RECEIVED);
        int fd = open(path, O_RDONLY);
        CHECK_EQ_INT(fd >= 0, round != 1);
        if (fd >= 0) {
            CHECK_EQ_INT(read(fd, bytes, sizeof(bytes)), 7);
            CHECK_MEM(bytes, "dataset", 7);
            close(fd);
        }
        if (round == 2) { /* the connection was taken */
            zfree(job->path);
            job->path = NULL;
        }
        endJob(job, &p, thread);
        CHECK_EQ_INT(access(path, F_OK) == 0, round == 2);
        unlink(path);
    }
}
