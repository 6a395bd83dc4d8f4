/* listen_test.c -- setting up a listener; it pauses when the process has no descriptor left, and continues.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl.h"
#include "listen.h"
#include "net_fixture.h"
#include "net_settings.h"
#include "unit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define REST_MS 100 /* ACCEPT_REST_MS */

static char folder[] = "/tmp/listen_test.XXXXXX", path[64];

static bool openListener(void) {
    netFixtureInit();
    if (!aclDefaultUser()) aclInit();
    if (!CHECK(mkdtemp(folder) != NULL)) return false;
    snprintf(path, sizeof(path), "%s/socket", folder);
    net_settings.unixsocket = path;
    net_settings.unixsocketperm = 0700;
    net_settings.tcp_backlog = 16;
    net_settings.max_new_connections_per_cycle = 10;
    return CHECK(listenOpen(fixture_loop));
}

/* Returns the listening descriptor. */
static int listenerFd(void) {
    for (int fd = 0; fd < 1000; fd++) {
        int listens = 0;
        socklen_t len = sizeof(listens);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens) return fd;
    }
    return -1;
}

static int connectPeer(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK_EQ_INT(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* Allows no more descriptors than there are, or as many as before. */
static void setFilesShort(bool is_short) {
    static struct rlimit before;
    if (is_short) {
        getrlimit(RLIMIT_NOFILE, &before);
        int lowest = dup(0);
        close(lowest);
        struct rlimit none = {.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
        CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    } else {
        CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
    }
}

static bool hasClient(void *arg) {
    unused(arg);
    return listLength(client_state.clients) == 1;
}

static bool hasNone(void *arg) {
    unused(arg);
    return listLength(client_state.clients) == 0;
}

/* Runs iterations with a pending connection that cannot be accepted: accept is tried once at the beginning, and again
 * (timer, then socket) after each pause. */
static void restWhileShort(int fd) {
    uint64_t began = clockMonotonicMs();
    int done = 0, most = 1;
    for (int iterations = 0; iterations < 2000; iterations++)
        done += aeProcessEvents(fixture_loop, AE_ALL_EVENTS | AE_DONT_WAIT);
    most += 2 * (1 + (int)((clockMonotonicMs() - began) / REST_MS));
    CHECK(done > 0 && done <= most);
    CHECK_EQ_INT(listLength(client_state.clients), 0);
    if (clockMonotonicMs() - began < REST_MS) CHECK_EQ_INT(aeGetFileEvents(fixture_loop, fd), 0);
}

static void acceptWithoutFiles(void *arg) {
    unused(arg);
    setvbuf(stdout, NULL, _IONBF, 0);

    if (!openListener()) _exit(1);
    int fd = listenerFd();
    CHECK(fd >= 0);
    for (int i = 0; i < 5; i++) fixtureTurn();
    for (int round = 0; round < 3; round++) {
        int peer = connectPeer();
        setFilesShort(true);
        restWhileShort(fd);
        setFilesShort(false);
        if (!CHECK(fixtureUntil(hasClient, NULL, 20000))) _exit(1);
        CHECK_EQ_INT(aeGetFileEvents(fixture_loop, fd), AE_READABLE);
        CHECK_EQ_INT(net_stats.connections_received, round + 1);
        fixtureSend(peer, "PING\r\n", 6);
        sds got = fixtureReceiveBytes(peer, 7);
        CHECK_EQ_STR(got, "+PONG\r\n");
        sdsFree(got);
        close(peer);
        CHECK(fixtureUntil(hasNone, NULL, 20000));
    }
    listenClose();
    CHECK_EQ_INT(rmdir(folder), 0); /* its socket was deleted */
    puts("to the end");
    _exit(0);
}

/* In a process of its own, as that runs out of descriptors. */
TEST(listen_rests_when_no_descriptor_is_left) {
    char out[8192];
    netFixtureInit();
    int status = unitInChild(acceptWithoutFiles, NULL, out, sizeof(out));
    CHECK_EQ_INT(status, 0);
    CHECK_EQ_STR(out, "to the end\n");
}

#ifdef SO_MARK
/* Returns true if this process may mark sockets; otherwise the test cannot check it. */
static bool mayMark(void) {
    unsigned mark = 1;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool may = setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) == 0;
    close(fd);
    return may;
}

static void openMarked(void *arg) {
    const unsigned *mark = arg;
    unsigned got = 0;
    socklen_t len = sizeof(got);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!mayMark()) _exit(0);
    netFixtureInit();
    net_settings.socket_mark_id = *mark;
    if (!openListener()) _exit(1);
    CHECK_EQ_INT(getsockopt(listenerFd(), SOL_SOCKET, SO_MARK, &got, &len), 0);
    CHECK_EQ_INT(got, *mark);
    listenClose();
    CHECK_EQ_INT(rmdir(folder), 0);
    _exit(0);
}

TEST(listen_marks_its_sockets) {
    char out[8192];
    netFixtureInit();
    for (unsigned mark = 0; mark < 3; mark++) {
        int status = unitInChild(openMarked, &mark, out, sizeof(out));
        CHECK_EQ_INT(status, 0);
        CHECK_EQ_STR(out, "");
    }
}
#endif
