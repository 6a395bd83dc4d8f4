/* anet.c -- sockets: open, listen, accept, options; errors as text.
 *
 * Not here    waiting (ae.c), reading and writing (connection.c), the reaction to a failed bind (server/).
 * Owns        nothing: each descriptor is returned to the caller, or closed if a later step fails.
 * Threads     any. Name resolution blocks: only at startup, and on threads that may block.
 * Invariants  1. With C_ERR errno is that of the step that failed, not of the clean-up.
 * Tests       tests/unit/event/anet_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "forked.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif
#define KEEPALIVE_PROBES 3

/* Writes the text to `err`, keeps errno, and returns C_ERR. */
static int failText(char *err, const char *fmt, ...) printf_like(2, 3);
static int failText(char *err, const char *fmt, ...) {
    int saved = errno;

    if (err) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(err, ANET_ERR_LEN, fmt, args);
        va_end(args);
    }
    errno = saved;
    return C_ERR;
}

static int failErrno(char *err, const char *what) { return failText(err, "%s: %s", what, strerror(errno)); }

static void closeKeepErrno(int fd) {
    int saved = errno;

    close(fd);
    errno = saved;
}

static int setOption(char *err, int fd, int level, int option, const char *what, int value) {
    return setsockopt(fd, level, option, &value, sizeof(value)) == 0 ? C_OK : failErrno(err, what);
}

/* Sets *list to the addresses of a host, which freeList() frees. `port` -1: none. */
static int lookUp(char *err, const char *host, int port, int family, int flags, struct addrinfo **list) {
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    char port_text[12];
    snprintf(port_text, sizeof(port_text), "%d", port);
    int rc = getaddrinfo(host, port < 0 ? NULL : port_text, &hints, list);
    if (rc == 0) return C_OK;
    if (rc != EAI_SYSTEM) errno = EADDRNOTAVAIL;
    return failText(err, "%s", gai_strerror(rc));
}

/* Keeps errno. */
static void freeList(struct addrinfo *list) {
    int saved = errno;
    freeaddrinfo(list);
    errno = saved;
}

/* ----------------------------------------------------------------------------------------- options */

int anetNonBlock(char *err, int fd) {
    int flags = fcntl(fd, F_GETFL);

    if (flags == -1) return failErrno(err, "fcntl(F_GETFL)");
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1) return failErrno(err, "fcntl(F_SETFL,O_NONBLOCK)");
    return C_OK;
}

int anetCloexec(int fd) {
    int flags = fcntl(fd, F_GETFD);

    if (flags == -1) return C_ERR;
    return flags & FD_CLOEXEC || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == 0 ? C_OK : C_ERR;
}

int anetNoDelay(char *err, int fd, bool on) {
    return setOption(err, fd, IPPROTO_TCP, TCP_NODELAY, "setsockopt TCP_NODELAY", on);
}

int anetKeepAlive(char *err, int fd, int interval_s) {
    int step_s = interval_s / 3 > 0 ? interval_s / 3 : 1;

    if (setOption(err, fd, SOL_SOCKET, SO_KEEPALIVE, "setsockopt SO_KEEPALIVE", 1) != C_OK) return C_ERR;
#ifdef TCP_KEEPIDLE
    if (setOption(err, fd, IPPROTO_TCP, TCP_KEEPIDLE, "setsockopt TCP_KEEPIDLE", interval_s) != C_OK) return C_ERR;
    if (setOption(err, fd, IPPROTO_TCP, TCP_KEEPINTVL, "setsockopt TCP_KEEPINTVL", step_s) != C_OK) return C_ERR;
    return setOption(err, fd, IPPROTO_TCP, TCP_KEEPCNT, "setsockopt TCP_KEEPCNT", KEEPALIVE_PROBES);
#else
    unused(step_s);
    return C_OK;
#endif
}

static int setTimeoutOption(char *err, int fd, int option, const char *what, long long ms) {
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    if (setsockopt(fd, SOL_SOCKET, option, &tv, sizeof(tv)) == -1) return failErrno(err, what);
    return C_OK;
}

int anetSendTimeout(char *err, int fd, long long ms) {
    return setTimeoutOption(err, fd, SO_SNDTIMEO, "setsockopt SO_SNDTIMEO", ms);
}

int anetRecvTimeout(char *err, int fd, long long ms) {
    return setTimeoutOption(err, fd, SO_RCVTIMEO, "setsockopt SO_RCVTIMEO", ms);
}

int anetSetMark(char *err, int fd, uint32_t id) {
#ifdef SO_MARK
    if (setsockopt(fd, SOL_SOCKET, SO_MARK, &id, sizeof(id)) == -1) return failErrno(err, "setsockopt SO_MARK");
    return C_OK;
#else
    unused(fd);
    unused(id);
    errno = EOPNOTSUPP;
    return failErrno(err, "setsockopt SO_MARK");
#endif
}

bool anetIsLoopback(const char *ip) {
    return !strncmp(ip, "127.", 4) || !strcmp(ip, "::1") || !strncmp(ip, "::ffff:127.", 11);
}

int anetGetError(int fd) {
    int value = 0;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &len) == -1 ? errno : value;
}

int anetPipe(int fds[2], int read_flags, int write_flags) {
    const int flags[2] = {read_flags, write_flags};

#ifdef __linux__
    if (pipe2(fds, O_CLOEXEC) == -1) return C_ERR;
#else
    if (pipe(fds) == -1) return C_ERR;
#endif
    for (int i = 0; i < 2; i++) {
        bool failed = (flags[i] & O_NONBLOCK) && fcntl(fds[i], F_SETFL, O_NONBLOCK) == -1;
        if (!failed) failed = fcntl(fds[i], F_SETFD, flags[i] & O_CLOEXEC ? FD_CLOEXEC : 0) == -1;
        if (!failed) continue;
        closeKeepErrno(fds[0]);
        closeKeepErrno(fds[1]);
        return C_ERR;
    }
    return C_OK;
}

/* --------------------------------------------------------------------------------------- listening */

/* Binds and listens. Returns fd, or closes it and returns C_ERR. */
static int listenOn(char *err, int fd, const struct sockaddr *addr, socklen_t len, int backlog) {
    bool bound = bind(fd, addr, len) == 0;
    if (bound && listen(fd, backlog) == 0) return fd;
    closeKeepErrno(fd);
    return failErrno(err, bound ? "listen" : "bind");
}

static int tcpServer(char *err, int port, const char *bindaddr, int family, int backlog, bool mptcp) {
    struct addrinfo *list;
    int result = C_ERR;

    if (bindaddr && (strcmp(bindaddr, "*") == 0 || strcmp(bindaddr, "::*") == 0)) bindaddr = NULL;
    if (lookUp(err, bindaddr, port, family, AI_PASSIVE, &list) != C_OK) return C_ERR;
    for (const struct addrinfo *at = list; at && result == C_ERR; at = at->ai_next) {
        int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, mptcp ? IPPROTO_MPTCP : at->ai_protocol);
        if (fd == -1) {
            failErrno(err, "socket");
        } else if ((family == AF_INET6 &&
                    setOption(err, fd, IPPROTO_IPV6, IPV6_V6ONLY, "setsockopt IPV6_V6ONLY", 1) != C_OK) ||
                   setOption(err, fd, SOL_SOCKET, SO_REUSEADDR, "setsockopt SO_REUSEADDR", 1) != C_OK) {
            closeKeepErrno(fd);
        } else {
            result = listenOn(err, fd, at->ai_addr, at->ai_addrlen, backlog);
        }
    }
    freeList(list);
    return result;
}

int anetTcpServer(char *err, int port, const char *bindaddr, int backlog, bool mptcp) {
    return tcpServer(err, port, bindaddr, AF_INET, backlog, mptcp);
}

int anetTcp6Server(char *err, int port, const char *bindaddr, int backlog, bool mptcp) {
    return tcpServer(err, port, bindaddr, AF_INET6, backlog, mptcp);
}

static int unixAddress(char *err, const char *path, struct sockaddr_un *addr) {
    size_t len = strlen(path);

    if (len >= sizeof(addr->sun_path)) {
        errno = ENAMETOOLONG;
        return failText(err, "unix socket path too long (%zu), must be under %zu", len, sizeof(addr->sun_path));
    }
    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    memcpy(addr->sun_path, path, len + 1);
    return C_OK;
}

static int setOwningGroup(char *err, const char *path, const char *group) {
    const struct group *entry = getgrnam(group);

    if (!entry) {
        errno = EINVAL;
        return failText(err, "Failed to get group ID for '%s'", group);
    }
    if (chown(path, (uid_t)-1, entry->gr_gid) == -1) return failErrno(err, "chown");
    return C_OK;
}

/* Binds the socket and sets its permissions before it listens, so that no client without permission can connect. */
static int bindPrivately(char *err, int fd, const struct sockaddr_un *addr, mode_t perm, const char *group) {
    if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) == -1) return failErrno(err, "bind");
    if (perm && chmod(addr->sun_path, perm) == -1) return failErrno(err, "chmod");
    return group && *group ? setOwningGroup(err, addr->sun_path, group) : C_OK;
}

int anetUnixServer(char *err, const char *path, mode_t perm, int backlog, const char *group) {
    struct sockaddr_un addr;

    if (unixAddress(err, path, &addr) != C_OK) return C_ERR;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1) return failErrno(err, "socket");
    if (bindPrivately(err, fd, &addr, perm, group) == C_OK) {
        if (listen(fd, backlog) == 0) return fd;
        failErrno(err, "listen");
    }
    closeKeepErrno(fd);
    return C_ERR;
}

/* --------------------------------------------------------------------------------------- accepting */

static int acceptAny(char *err, int listen_fd, struct sockaddr *addr, socklen_t *len) {
    int fd;

    /* The kernel removes an aborted connection from the queue, so the loop ends. */
    do fd = accept4(listen_fd, addr, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd == -1 && (errno == EINTR || errno == ECONNABORTED));
    return fd == -1 ? failErrno(err, "accept") : fd;
}

static void addressText(const struct sockaddr_storage *addr, char *ip, size_t ip_len, int *port) {
    if (addr->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)addr;
        if (ip) inet_ntop(AF_INET6, &in6->sin6_addr, ip, (socklen_t)ip_len);
        if (port) *port = ntohs(in6->sin6_port);
    } else {
        const struct sockaddr_in *in4 = (const void *)addr;
        if (ip) inet_ntop(AF_INET, &in4->sin_addr, ip, (socklen_t)ip_len);
        if (port) *port = ntohs(in4->sin_port);
    }
}

int anetTcpAccept(char *err, int listen_fd, char *ip, size_t ip_len, int *port) {
    struct sockaddr_storage addr = {0};
    socklen_t len = sizeof(addr);
    int fd = acceptAny(err, listen_fd, (struct sockaddr *)&addr, &len);

    if (fd != C_ERR) addressText(&addr, ip, ip_len, port);
    return fd;
}

int anetUnixAccept(char *err, int listen_fd) { return acceptAny(err, listen_fd, NULL, NULL); }

/* -------------------------------------------------------------------------------------- connecting */

static int bindSource(char *err, int fd, int family, const char *source_addr) {
    struct addrinfo *list;
    int result = C_ERR;

    if (lookUp(err, source_addr, -1, family, 0, &list) != C_OK) return C_ERR;
    for (const struct addrinfo *at = list; at && result == C_ERR; at = at->ai_next)
        result = bind(fd, at->ai_addr, at->ai_addrlen) == 0 ? C_OK : failErrno(err, "bind");
    freeList(list);
    return result;
}

/* Connects to one address. Returns a descriptor, or C_ERR. */
static int connectTo(char *err, const struct addrinfo *at, const char *source_addr, bool nonblock, bool mptcp) {
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0),
                    mptcp ? IPPROTO_MPTCP : at->ai_protocol);

    if (fd == -1) return failErrno(err, "creating socket");
    if (setOption(err, fd, SOL_SOCKET, SO_REUSEADDR, "setsockopt SO_REUSEADDR", 1) == C_OK &&
        (!source_addr || !*source_addr || bindSource(err, fd, at->ai_family, source_addr) == C_OK)) {
        if (connect(fd, at->ai_addr, at->ai_addrlen) == 0 || (nonblock && errno == EINPROGRESS)) return fd;
        failErrno(err, "connect");
    }
    closeKeepErrno(fd);
    return C_ERR;
}

/* Returns false in a forked copy of the server, which must not connect to other servers (forked.h). */
static bool mayConnect(char *err) {
    if (!forkedIsCopy()) return true;
    errno = EPERM;
    return failErrno(err, "connect") == C_OK;
}

/* Connects to the first address of the host that accepts. */
static int connectHost(char *err, const char *host, int port, const char *source_addr, bool nonblock, bool mptcp) {
    struct addrinfo *list;
    int fd = C_ERR;

    if (!mayConnect(err) || lookUp(err, host, port, AF_UNSPEC, 0, &list) != C_OK) return C_ERR;
    for (const struct addrinfo *at = list; at && fd == C_ERR; at = at->ai_next)
        fd = connectTo(err, at, source_addr, nonblock, mptcp);
    freeList(list);
    return fd;
}

int anetTcpConnect(char *err, const char *host, int port, const char *source_addr, bool nonblock) {
    return connectHost(err, host, port, source_addr, nonblock, false);
}

int anetMptcpConnect(char *err, const char *host, int port, bool nonblock) {
    return connectHost(err, host, port, NULL, nonblock, true);
}

int anetUnixConnect(char *err, const char *path, bool nonblock) {
    struct sockaddr_un addr;

    if (!mayConnect(err) || unixAddress(err, path, &addr) != C_OK) return C_ERR;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0), 0);
    if (fd == -1) return failErrno(err, "creating socket");
    if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0) return fd;
    if (nonblock && errno == EINPROGRESS) return fd;
    closeKeepErrno(fd);
    return failErrno(err, "connect");
}

/* --------------------------------------------------------------------------------------- addresses */

bool anetPeerHasClosed(int fd) {
    struct pollfd polled = {.fd = fd, .events = POLLRDHUP};
    return poll(&polled, 1, 0) == 1;
}

uint64_t anetLastInputMs(int fd) {
#ifdef __linux__
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0) return info.tcpi_last_data_recv;
#else
    unused(fd);
#endif
    return 0;
}

static int socketName(int fd, struct sockaddr_storage *addr, bool peer) {
    socklen_t len = sizeof(*addr);

    memset(addr, 0, sizeof(*addr));
    return peer ? getpeername(fd, (struct sockaddr *)addr, &len) : getsockname(fd, (struct sockaddr *)addr, &len);
}

int anetFdToString(int fd, char *ip, size_t ip_len, int *port, bool peer) {
    struct sockaddr_storage addr;

    bool named = socketName(fd, &addr, peer) == 0;
    if (named && (addr.ss_family == AF_INET || addr.ss_family == AF_INET6)) {
        addressText(&addr, ip, ip_len, port);
        return C_OK;
    }
    if (port) *port = 0;
    if (!named || addr.ss_family != AF_UNIX) {
        if (named) errno = EAFNOSUPPORT;
        if (ip && ip_len > 0) snprintf(ip, ip_len, "?");
        return C_ERR;
    }
    /* Of a Unix socket only the listening end has a path; it is used for both. */
    const char *path = ((const struct sockaddr_un *)(const void *)&addr)->sun_path;
    if (!*path && socketName(fd, &addr, !peer) == -1) addr.ss_family = AF_UNSPEC;
    if (ip && ip_len > 0) snprintf(ip, ip_len, "%s", addr.ss_family == AF_UNIX && *path ? path : "/unixsocket");
    return C_OK;
}

int anetFormatAddr(char *out, size_t size, const char *ip, int port) {
    return snprintf(out, size, strchr(ip, ':') ? "[%s]:%d" : "%s:%d", ip, port);
}
