/* listen.c -- listening sockets, and accepted connections until they have a client.
 *
 * Not here    sockets as such (event/anet.c), the client's life (client/client.c, client_io.c).
 * Owns        the listening descriptors; removes the Unix socket's path.
 * Threads     main.
 * Tests       tests/unit/net/listen_test.c, tests/server/process.tcl, tests/engine/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listen.h"

#include "anet.h"
#include "auth.h"
#include "clock.h"
#include "connection.h"
#include "log.h"
#include "log_limit.h"
#include "net_settings.h"
#include "panic.h"
#include "rebalance.h"
#include "reply.h"
#include "session_output.h"
#include "tls.h"
#include "tls_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LISTENERS_MAX (2 * BIND_MAX + 1) /* of two ports, and one for the Unix socket */

typedef enum { LISTEN_TCP, LISTEN_UNIX, LISTEN_TLS } listenKind; /* the numbers are those in INFO */
#define ACCEPT_REST_MS 100
/* Clients beyond maxclients that get a TLS handshake, only to learn why they are refused: in a second, and at once.
 * Their descriptors are among those that are reserved. */
#define TOLD_PER_SECOND 10
#define TOLD_AT_ONCE 4

typedef struct listener {
    int fd;
    listenKind kind;
} listener;

static struct {
    aeEventLoop *loop;
    listener at[LISTENERS_MAX];
    int count;
    bool resting; /* not accepting for ACCEPT_REST_MS */
} listeners;

/* --- accepting --------------------------------------------------------------------------------------- */

static const char max_clients_error[] = "-ERR max number of clients reached\r\n";
static const char protected_mode_error[] =
    "-DENIED Running in protected mode because protected mode is enabled and no password is set for the default "
    "user. Until then the server takes connections from its own machine only. For others to connect, do one of two "
    "things: 1) Set a password, with requirepass in the configuration file or by CONFIG SET requirepass. 2) If no "
    "stranger can reach this port, turn the protection off: protected-mode no in the file, --protected-mode no on the "
    "command line, or CONFIG SET protected-mode no from the server's own machine.\r\n";

/* Closes a connection that is refused. Over TLS it gets no text: that would take a handshake. */
static void listenRefuse(int fd, listenKind kind, const char *text, size_t len) {
    /* The socket's buffer is empty, so the text fits; if the peer has closed already, nothing is lost. */
    if (kind != LISTEN_TLS && write(fd, text, len) < 0)
        serverLog(LL_VERBOSE, "Error writing to a refused connection: %s", strerror(errno));
    close(fd);
    net_stats.rejected_connections++;
}

/* Returns whether a client beyond maxclients may have a TLS handshake for the reason of its refusal: a few do, unless
 * other handshakes wait. */
static bool mayTellByTls(void) {
    static uint64_t second;
    static int told;
    uint64_t now = clockMonotonicMs() / 1000;
    if (now != second) told = 0;
    second = now;
    if ((long long)listLength(client_state.clients) >= net_settings.maxclients + TOLD_AT_ONCE) return false;
    if (atomic_load_explicit(&tls_handshake_stats.waiting, memory_order_relaxed)) return false;
    return told++ < TOLD_PER_SECOND;
}

static connection *connectionOf(int fd, listenKind kind) {
    if (kind == LISTEN_UNIX) return connCreateAcceptedUnix(fd, NULL);
    if (kind == LISTEN_TLS) return connCreateAcceptedTls(fd, tlsServerContext(), NULL);
    return connCreateAcceptedSocket(fd, NULL);
}

static void acceptClient(int fd, const char *ip, listenKind kind) {
    bool is_unix = kind == LISTEN_UNIX;
    bool is_full = (long long)listLength(client_state.clients) >= net_settings.maxclients;
    if (is_full && !(kind == LISTEN_TLS && mayTellByTls())) {
        listenRefuse(fd, kind, max_clients_error, sizeof(max_clients_error) - 1);
        return;
    }
    if (!is_unix && net_settings.protected_mode && !authRequired() && !anetIsLoopback(ip)) {
        listenRefuse(fd, kind, protected_mode_error, sizeof(protected_mode_error) - 1);
        return;
    }
    char peer[CLIENT_IO_ADDR_LEN], local[CLIENT_IO_ADDR_LEN];
    if (is_unix) {
        snprintf(peer, sizeof(peer), "%s:0", net_settings.unixsocket);
        snprintf(local, sizeof(local), "%s:0", net_settings.unixsocket);
    } else {
        clientIoAddresses(fd, peer, local);
        anetNoDelay(NULL, fd, true);
        if (net_settings.tcp_keepalive_s > 0) anetKeepAlive(NULL, fd, (int)net_settings.tcp_keepalive_s);
    }
    clientIo *s = clientIoCreate(connectionOf(fd, kind), !authRequired());
    client *c = clientCreate(s, fd, peer, local, is_unix);
    if (kind == LISTEN_TLS) c->flags |= CLIENT_TLS;
    authForget(c);
    s->session = c;
    rebalanceAdopt(s);
    if (is_full) {
        addReplyProto(c, max_clients_error, sizeof(max_clients_error) - 1);
        sessionCloseAfterOutput(c); /* executes nothing */
        net_stats.rejected_connections++;
    } else {
        net_stats.connections_received++;
    }
}

static void onAcceptable(aeEventLoop *loop, int fd, void *arg, int mask);

/* Accepts again. While no descriptor is left a connection stays in the listen queue, and trying again at once would
 * only waste processor time. */
static long long onAcceptAgain(aeEventLoop *loop, long long id, void *arg) {
    unused(id), unused(arg);
    listeners.resting = false;
    for (int i = 0; i < listeners.count; i++)
        if (aeCreateFileEvent(loop, listeners.at[i].fd, AE_READABLE | AE_REENTRANT, onAcceptable, &listeners.at[i]) ==
            C_ERR)
            LOG_LIMITED(LL_WARNING, 1, "accepting connections could not be resumed",
                        "Cannot resume accepting connections: %s", strerror(errno));
    return AE_NOMORE;
}

static void restFromAccepting(aeEventLoop *loop) {
    if (listeners.resting) return;
    listeners.resting = aeCreateTimeEvent(loop, ACCEPT_REST_MS, onAcceptAgain, NULL) >= 0;
    for (int i = 0; i < listeners.count && listeners.resting; i++)
        aeDeleteFileEvent(loop, listeners.at[i].fd, AE_READABLE);
}

static void onAcceptable(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(mask);
    const listener *l = arg;
    /* Also with TLS: the newest of those that were accepted is served first, and the listen queue knows no such order.
     * max-new-tls-connections-per-cycle bounds what is expensive, the handshakes (tls.c). */
    for (long long i = 0; i < net_settings.max_new_connections_per_cycle; i++) {
        char ip[ANET_ADDR_LEN] = "", err[ANET_ERR_LEN];
        int port;
        int client_fd = l->kind == LISTEN_UNIX ? anetUnixAccept(err, fd)
                                               : anetTcpAccept(err, fd, ip, sizeof(ip), &port);
        if (client_fd < 0) {
            int why = errno;
            if (why == EAGAIN || why == EWOULDBLOCK) return;
            LOG_LIMITED(LL_WARNING, 1, "accepting a connection failed", "Accepting client connection: %s", err);
            if (why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM) restFromAccepting(loop);
            return;
        }
        acceptClient(client_fd, ip, l->kind);
    }
}

/* --- opening ----------------------------------------------------------------------------------------- */

static void setUpSocket(int fd) {
    anetNonBlock(NULL, fd);
    anetCloexec(fd);
    if (net_settings.socket_mark_id > 0) anetSetMark(NULL, fd, (uint32_t)net_settings.socket_mark_id);
}

static bool addListener(int fd, listenKind kind) {
    if (listeners.count == LISTENERS_MAX) {
        close(fd);
        return false;
    }
    listener *l = &listeners.at[listeners.count++];
    l->fd = fd;
    l->kind = kind;
    setUpSocket(fd);
    return aeCreateFileEvent(listeners.loop, fd, AE_READABLE | AE_REENTRANT, onAcceptable, l) == C_OK;
}

/* Returns whether the machine lacks the address, or does not support the protocol. */
static bool isUnavailable(int err) {
    return err == EADDRNOTAVAIL || err == ENOPROTOOPT || err == EPROTONOSUPPORT || err == ESOCKTNOSUPPORT ||
           err == EPFNOSUPPORT || err == EAFNOSUPPORT;
}

/* Opens one address of `bind` and sets *fd; -1 if it cannot be opened. A leading '-' makes it optional; "*" and "::*"
 * are all addresses of IPv4 and of IPv6. Returns false if it is required. */
static bool openAddress(const char *address, int port, int *fd) {
    bool optional = address[0] == '-';
    if (optional) address++;
    char err[ANET_ERR_LEN];
    int backlog = (int)net_settings.tcp_backlog;
    *fd = strchr(address, ':') ? anetTcp6Server(err, port, address, backlog, net_settings.mptcp)
                               : anetTcpServer(err, port, address, backlog, net_settings.mptcp);
    if (*fd >= 0) return true;
    int why = errno;
    serverLog(LL_WARNING, "Warning: Could not create server TCP listening socket %s:%d: %s", address, port, err);
    return optional && isUnavailable(why);
}

static bool openPort(long long port, listenKind kind) {
    int fd;
    if (port == 0) return true;
    for (int i = 0; i < net_settings.bind_count; i++) {
        if (!openAddress(net_settings.bind[i], (int)port, &fd)) return false;
        if (fd >= 0 && !addListener(fd, kind)) return false;
    }
    return true;
}

bool listenOpenOthers(int port, int *fds, size_t *count) {
    bool ok = true;
    *count = 0;
    for (int i = 0; ok && i < net_settings.bind_count; i++) {
        int *fd = &fds[*count];
        ok = openAddress(net_settings.bind[i], port, fd);
        if (*fd < 0) continue;
        setUpSocket(*fd);
        ++*count;
    }
    if (ok && *count) return true;
    while (*count) close(fds[--*count]);
    return false;
}

static bool openUnix(void) {
    if (!net_settings.unixsocket || !*net_settings.unixsocket) return true;
    unlink(net_settings.unixsocket); /* left by a server that was killed */
    char err[ANET_ERR_LEN];
    int fd = anetUnixServer(err, net_settings.unixsocket, (mode_t)net_settings.unixsocketperm,
                            (int)net_settings.tcp_backlog, net_settings.unixsocketgroup);
    if (fd >= 0) return addListener(fd, LISTEN_UNIX);
    serverLog(LL_WARNING, "Failed opening Unix socket: %s", err); /* err says what failed */
    return false;
}

bool listenOpen(aeEventLoop *loop) {
    assertMainThread();
    listeners.loop = loop;
    if (!openPort(net_settings.port, LISTEN_TCP)) {
        serverLog(LL_WARNING, "Failed listening on port %lld (tcp), aborting.", net_settings.port);
        return false;
    }
    if (!openUnix()) return false;
    if (!openPort(tls_settings.port, LISTEN_TLS)) {
        serverLog(LL_WARNING, "Failed listening on port %lld (tls), aborting.", tls_settings.port);
        return false;
    }
    if (listeners.count == 0) {
        serverLog(LL_WARNING, "Configured to not listen anywhere, exiting.");
        return false;
    }
    return true;
}

static void closeListeners(void) {
    while (listeners.count > 0) {
        int fd = listeners.at[--listeners.count].fd;
        aeDeleteFileEvent(listeners.loop, fd, AE_READABLE);
        close(fd);
    }
}

void listenClose(void) {
    assertMainThread();
    closeListeners();
    if (net_settings.unixsocket && *net_settings.unixsocket) unlink(net_settings.unixsocket);
}

bool listenReopen(const char **err) {
    assertMainThread();
    if (!listeners.loop) return true; /* before listenOpen() */
    /* Close the old sockets first, as the new set may need their addresses. */
    closeListeners();
    if (openPort(net_settings.port, LISTEN_TCP) && openUnix() && openPort(tls_settings.port, LISTEN_TLS)) return true;
    closeListeners();
    *err = "Unable to listen on this port. Check server logs.";
    return false;
}

static bool portInfo(const char *name, long long port, char *out, size_t size) {
    if (port == 0) return false;
    size_t n = (size_t)snprintf(out, size, "name=%s", name);
    for (int b = 0; b < net_settings.bind_count && n < size; b++)
        n += (size_t)snprintf(out + n, size - n, ",bind=%s", net_settings.bind[b]);
    if (n < size) snprintf(out + n, size - n, ",port=%lld", port);
    return true;
}

bool listenInfo(int i, char *out, size_t size) {
    assertMainRole();
    if (i == LISTEN_TCP) return portInfo("tcp", net_settings.port, out, size);
    if (i == LISTEN_TLS) return portInfo("tls", tls_settings.port, out, size);
    if (!net_settings.unixsocket || !*net_settings.unixsocket) return false;
    snprintf(out, size, "name=unix,bind=%s", net_settings.unixsocket);
    return true;
}
