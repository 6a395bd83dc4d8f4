/* anet_test.c -- listen, accept, connect, addresses and options over loopback and Unix sockets.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int listenLoopback(int *port) {
    char err[ANET_ERR_LEN], ip[ANET_ADDR_LEN];
    int fd = anetTcpServer(err, 0, "127.0.0.1", 16, false);

    if (CHECK(fd != C_ERR)) CHECK(anetFdToString(fd, ip, sizeof(ip), port, false) == C_OK);
    return fd;
}

static int intOption(int fd, int level, int option) {
    int value = -1;
    socklen_t len = sizeof(value);
    getsockopt(fd, level, option, &value, &len);
    return value;
}

TEST(anet_tcp_listen_connect_accept) {
    char err[ANET_ERR_LEN] = "", ip[ANET_ADDR_LEN], other[ANET_ADDR_LEN];
    int port, client_port, peer_port, server = listenLoopback(&port);

    CHECK(anetNonBlock(err, server) == C_OK);
    CHECK(anetTcpAccept(err, server, ip, sizeof(ip), &client_port) == C_ERR);
    CHECK(errno == EAGAIN);
    int client = anetTcpConnect(err, "127.0.0.1", port, "127.0.0.1", false);
    int accepted = anetTcpAccept(err, server, ip, sizeof(ip), &client_port);
    CHECK(client != C_ERR && accepted != C_ERR);
    CHECK_EQ_STR(ip, "127.0.0.1");
    CHECK(anetFdToString(client, other, sizeof(other), &peer_port, false) == C_OK);
    CHECK_EQ_STR(other, ip);
    CHECK_EQ_INT(peer_port, client_port);
    CHECK(anetFdToString(client, NULL, 0, &peer_port, true) == C_OK);
    CHECK_EQ_INT(peer_port, port);
    CHECK(fcntl(accepted, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(accepted, F_GETFD) & FD_CLOEXEC);

    CHECK(anetNoDelay(err, accepted, true) == C_OK);
    CHECK(intOption(accepted, IPPROTO_TCP, TCP_NODELAY) != 0);
    CHECK(anetKeepAlive(err, accepted, 300) == C_OK);
    CHECK_EQ_INT(intOption(accepted, IPPROTO_TCP, TCP_KEEPIDLE), 300);
    CHECK_EQ_INT(intOption(accepted, IPPROTO_TCP, TCP_KEEPINTVL), 100);
    CHECK_EQ_INT(intOption(accepted, IPPROTO_TCP, TCP_KEEPCNT), 3);
    CHECK(anetKeepAlive(err, accepted, 1) == C_OK);
    CHECK(anetSendTimeout(err, accepted, 1500) == C_OK);
    CHECK(anetRecvTimeout(err, accepted, 20) == C_OK);
    CHECK(fcntl(accepted, F_SETFL, 0) == 0);
    char byte;
    CHECK(read(accepted, &byte, 1) == -1 && errno == EAGAIN);
    CHECK(anetCloexec(client) == C_OK);
    CHECK_EQ_INT(anetGetError(client), 0);
    close(client);
    close(accepted);
    close(server);
}

TEST(anet_peer_has_closed) {
    char err[ANET_ERR_LEN] = "";
    int port, server = listenLoopback(&port);
    int client = anetTcpConnect(err, "127.0.0.1", port, NULL, false);
    int accepted = anetTcpAccept(err, server, NULL, 0, NULL);
    CHECK(!anetPeerHasClosed(accepted));
    CHECK(write(client, "x", 1) == 1);
    usleep(30000);
    uint64_t age_ms = anetLastInputMs(accepted);
    CHECK(age_ms >= 20 && age_ms < 10000);
    CHECK(!anetPeerHasClosed(accepted));
    CHECK(shutdown(client, SHUT_WR) == 0);
    CHECK(anetPeerHasClosed(accepted)); /* although a byte is left */
    close(client);
    close(accepted);
    close(server);

    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(!anetPeerHasClosed(pair[0]));
    CHECK_EQ_INT(anetLastInputMs(pair[0]), 0);
    close(pair[1]);
    CHECK(anetPeerHasClosed(pair[0]));
    close(pair[0]);
}

TEST(anet_failures_say_why) {
    char err[ANET_ERR_LEN] = "";
    int port, server = listenLoopback(&port);

    CHECK(anetTcpServer(err, port, "127.0.0.1", 16, false) == C_ERR);
    CHECK(errno == EADDRINUSE);
    CHECK(strncmp(err, "bind: ", 6) == 0 && strcmp(err + 6, strerror(EADDRINUSE)) == 0);
    close(server);
    CHECK(anetTcpConnect(err, "127.0.0.1", port, NULL, false) == C_ERR);
    CHECK(errno == ECONNREFUSED);
    CHECK_EQ_STR(err, "connect: Connection refused");
    CHECK(anetTcpConnect(NULL, "127.0.0.1", port, NULL, false) == C_ERR);

    char path[300], ip[ANET_ADDR_LEN];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    CHECK(anetUnixServer(err, path, 0, 16, NULL) == C_ERR && errno == ENAMETOOLONG);
    CHECK(anetUnixConnect(err, "/nowhere/at/all", false) == C_ERR && errno == ENOENT);
    CHECK(anetFdToString(-1, ip, sizeof(ip), &port, true) == C_ERR);
    CHECK_EQ_STR(ip, "?");
    CHECK_EQ_INT(port, 0);
    CHECK(anetNonBlock(err, -1) == C_ERR && errno == EBADF);
}

TEST(anet_unix_sockets) {
    char err[ANET_ERR_LEN] = "", path[64], ip[ANET_ADDR_LEN];
    int port = -1;

    snprintf(path, sizeof(path), "/tmp/anet_test.%d.sock", (int)getpid());
    unlink(path);
    int server = anetUnixServer(err, path, 0600, 16, NULL);
    if (!CHECK(server != C_ERR)) return;
    struct stat st;
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    int client = anetUnixConnect(err, path, true), accepted = anetUnixAccept(err, server);
    CHECK(client != C_ERR && accepted != C_ERR);
    for (int peer = 0; peer < 2; peer++) {
        CHECK(anetFdToString(accepted, ip, sizeof(ip), &port, peer) == C_OK);
        CHECK_EQ_STR(ip, path);
        CHECK_EQ_INT(port, 0);
    }
    CHECK(anetUnixServer(err, path, 0, 16, NULL) == C_ERR && errno == EADDRINUSE);
    close(client);
    close(accepted);
    close(server);
    unlink(path);
    CHECK(anetUnixServer(err, path, 0, 16, "no such group") == C_ERR);
    unlink(path);

    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(anetFdToString(pair[0], ip, sizeof(ip), &port, true) == C_OK);
    CHECK_EQ_STR(ip, "/unixsocket");
    close(pair[0]);
    close(pair[1]);
}

/* Replaces a function of the C library, to try to connect just before the permissions are set. */
static const char *private_path;
static int intruders;

int chmod(const char *path, mode_t mode) {
    char err[ANET_ERR_LEN];
    int fd = private_path && strcmp(path, private_path) == 0 ? anetUnixConnect(err, path, false) : C_ERR;

    if (fd != C_ERR) {
        intruders++;
        close(fd);
    }
    return fchmodat(AT_FDCWD, path, mode, 0);
}

TEST(anet_unix_sockets_are_never_open_to_all) {
    char err[ANET_ERR_LEN] = "", path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/tmp/anet_test.%d.private", (int)getpid());
    unlink(path);
    private_path = path;
    intruders = 0;
    int server = anetUnixServer(err, path, 0600, 16, NULL);
    private_path = NULL;
    CHECK(server != C_ERR);
    CHECK_EQ_INT(intruders, 0);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    close(server);
    unlink(path);
}

TEST(anet_addresses) {
    char out[80];

    anetFormatAddr(out, sizeof(out), "127.0.0.1", 6379);
    CHECK_EQ_STR(out, "127.0.0.1:6379");
    anetFormatAddr(out, sizeof(out), "::1", 1);
    CHECK_EQ_STR(out, "[::1]:1");
    anetFormatAddr(out, sizeof(out), "/tmp/s", 0);
    CHECK_EQ_STR(out, "/tmp/s:0");
}

TEST(anet_ipv6_only) {
    char err[ANET_ERR_LEN], ip[ANET_ADDR_LEN];
    int port, server = anetTcp6Server(err, 0, "::1", 16, false);

    if (server == C_ERR) return; /* no IPv6 on this system */
    CHECK(intOption(server, IPPROTO_IPV6, IPV6_V6ONLY) == 1);
    CHECK(anetFdToString(server, ip, sizeof(ip), &port, false) == C_OK);
    CHECK_EQ_STR(ip, "::1");
    int client = anetTcpConnect(err, "::1", port, NULL, false);
    int accepted = anetTcpAccept(err, server, ip, sizeof(ip), NULL);
    CHECK(client != C_ERR && accepted != C_ERR);
    CHECK_EQ_STR(ip, "::1");
    close(client);
    close(accepted);
    close(server);
}

TEST(anet_pipes) {
    int fds[2];

    CHECK(anetPipe(fds, O_NONBLOCK | O_CLOEXEC, 0) == C_OK);
    CHECK(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
    CHECK(!(fcntl(fds[1], F_GETFL) & O_NONBLOCK));
    CHECK(!(fcntl(fds[1], F_GETFD) & FD_CLOEXEC));
    close(fds[0]);
    close(fds[1]);
}

/* Works also if the peer supports only TCP; if this system supports only TCP, it fails with an error. */
TEST(anet_connects_over_several_paths) {
    char err[ANET_ERR_LEN] = "", ip[ANET_ADDR_LEN];
    int port, server = listenLoopback(&port);
    int client = anetMptcpConnect(err, "127.0.0.1", port, false);

    if (client == C_ERR) {
        CHECK(errno == EPROTONOSUPPORT || errno == ENOPROTOOPT || errno == EINVAL);
        CHECK_EQ_STR(err, errno == ENOPROTOOPT ? "creating socket: Protocol not available"
                          : errno == EINVAL    ? "creating socket: Invalid argument"
                                               : "creating socket: Protocol not supported");
    } else {
        int accepted = anetTcpAccept(err, server, ip, sizeof(ip), NULL);
        CHECK(accepted >= 0);
        CHECK_EQ_INT(write(client, "x", 1), 1);
        close(accepted);
        close(client);
    }
    close(server);
    CHECK(anetMptcpConnect(NULL, "127.0.0.1", port, false) == C_ERR);
}
