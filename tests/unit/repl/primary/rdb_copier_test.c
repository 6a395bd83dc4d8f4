/* rdb_copier_test.c -- copies the same bytes to several connections: slow, failing and dropped ones.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_copier.h"

#include "panic.h"
#include "unit.h"
#include "zmalloc.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEERS 3
#define BYTES ((size_t)3 << 20)

static char text[BYTES];

typedef struct peer {
    connection *conn;
    int fd;
    pthread_t thread;
    size_t most; /* limit of its reads */
    unsigned pause_us;
    size_t got;
    bool good;
} peer;

static void *readSlowly(void *arg) {
    peer *p = arg;
    static _Thread_local char buf[70000];
    p->good = true;
    while (p->got < p->most) {
        ssize_t n = read(p->fd, buf, sizeof(buf));
        if (n <= 0) break;
        p->good &= !memcmp(buf, text + p->got, (size_t)n);
        p->got += (size_t)n;
        if (p->pause_us) usleep(p->pause_us);
    }
    if (p->got >= p->most) close(p->fd);
    return NULL;
}

static void openPeer(peer *p, size_t most, unsigned pause_us) {
    int fds[2];
    signal(SIGPIPE, SIG_IGN);
    int rc = socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    CHECK(rc == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
    *p = (peer){.conn = connCreateAcceptedSocket(fds[0], NULL), .fd = fds[1], .most = most, .pause_us = pause_us};
    connAccept(p->conn, NULL);
}

static _Atomic int dones;
static void countDone(void) { dones++; }

static int sourceOf(size_t len) {
    char path[] = "/tmp/transfer-test-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0 && write(fd, text, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static void waitForEnd(rdbCopier *t) {
    for (int i = 0; i < 20000 && !rdbCopierIsOver(t); i++) usleep(1000);
    CHECK(rdbCopierIsOver(t));
}

static void fillText(void) {
    panicSetMainThread();
    uint64_t seed = unitRandomSeed();
    for (size_t i = 0; i < BYTES; i++) text[i] = (char)unitRandom(&seed);
}

TEST(transfer_gives_all_the_same) {
    static const size_t most[PEERS] = {SIZE_MAX, SIZE_MAX, 100000};
    static const unsigned pauses[PEERS] = {0, 3000, 0};
    peer peers[PEERS];
    connection *conns[PEERS];
    fillText();
    for (int i = 0; i < PEERS; i++) {
        openPeer(&peers[i], most[i], pauses[i]);
        conns[i] = peers[i].conn;
        pthread_create(&peers[i].thread, NULL, readSlowly, &peers[i]);
    }
    dones = 0;
    rdbCopier *t = rdbCopierStart(sourceOf(BYTES), BYTES, conns, PEERS, 20, countDone);
    CHECK(t != NULL);
    waitForEnd(t);
    CHECK(rdbCopierSucceeded(t, 0) && rdbCopierSucceeded(t, 1) && !rdbCopierSucceeded(t, 2));
    rdbCopierEnd(t);
    CHECK_EQ_INT(dones, 1);
    for (int i = 0; i < PEERS; i++) {
        connClose(conns[i]);
        pthread_join(peers[i].thread, NULL);
        CHECK(peers[i].good && (i == 2 || peers[i].got == BYTES));
        if (i != 2) close(peers[i].fd);
    }
}

TEST(transfer_of_a_file_that_is_too_short_fails) {
    peer p;
    fillText();
    openPeer(&p, SIZE_MAX, 0);
    pthread_create(&p.thread, NULL, readSlowly, &p);
    rdbCopier *t = rdbCopierStart(sourceOf(1000), 1001, &p.conn, 1, 20, countDone);
    waitForEnd(t);
    CHECK(!rdbCopierSucceeded(t, 0));
    rdbCopierEnd(t);
    connClose(p.conn);
    pthread_join(p.thread, NULL);
    close(p.fd);
}

TEST(transfer_that_nobody_wants_ends) {
    peer p;
    int pipe_fds[2];
    panicSetMainThread();
    CHECK(pipe(pipe_fds) == 0);
    openPeer(&p, 0, 0);
    rdbCopier *t = rdbCopierStart(pipe_fds[0], 0, &p.conn, 1, 20, countDone);
    CHECK(!rdbCopierIsOver(t));
    rdbCopierCancel(t, 0);
    waitForEnd(t);
    CHECK(!rdbCopierSucceeded(t, 0));
    rdbCopierEnd(t);
    connClose(p.conn);
    close(p.fd);
    close(pipe_fds[1]);
}

TEST(transfer_gives_up_who_takes_nothing) {
    peer p;
    fillText();
    openPeer(&p, 0, 0);
    rdbCopier *t = rdbCopierStart(sourceOf(BYTES), BYTES, &p.conn, 1, 1, countDone);
    waitForEnd(t);
    CHECK(!rdbCopierSucceeded(t, 0));
    rdbCopierEnd(t);
    connClose(p.conn);
    close(p.fd);
}
